package control_test

import (
	"context"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"testing/synctest"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control"
	"github.com/penstock-dev/penstock/internal/control/announce"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// sending is the part of a year in which its servers send messages. It draws from a source of its own, so that the
// rest of the year repeats: when a message is attempted again depends on the sender's jitter, which has no seed.
type sending struct {
	*network
	random *rand.Rand
	direct *testkit.Direct
	ledger string // an endpoint to which nothing is sent: its messages say what happened
	look   time.Time
	kills  bool   // a server is to be killed while it sends
	lapses []span // in which nobody sends, or an endpoint is kept by a server that is not there
	wrong  []span // in which a clock is wrong
}

// span is from one time to another one, both included.
type span struct{ from, to time.Time }

func (s span) overlaps(from, to time.Time) bool { return !s.from.After(to) && !s.to.Before(from) }

func overlaps(list []span, from, to time.Time) bool {
	for _, s := range list {
		if s.overlaps(from, to) {
			return true
		}
	}
	return false
}

// leaseKept is how long an endpoint waits at most for another server: its lease, and the second of a look.
const leaseKept = 12 * time.Second

// largeWorld is how many sources a world has at least in which receivers choose rare events.
const largeWorld = 100

// newSending creates the endpoints and the servers.
func (y *year) newSending(seed uint64, sources int) {
	y.sending = &sending{
		network: &network{
			t: y.T, seed: seed, begun: y.begun, receivers: newReceivers(sources >= largeWorld),
			lines: map[net.Conn]*server{}, busy: map[*server]int{},
		},
		random: rand.New(rand.NewPCG(seed, 1)), direct: testkit.OpenDirect(y.T, y.URL), look: y.begun.Add(36 * time.Hour),
	}
	y.T.Cleanup(func() { y.cut(nil) })
	y.ledger = y.Listen(announce.EndpointRequest{})
	testkit.Exec(y.T, y.URL, "UPDATE event_endpoints SET waits_until = "+strconv.Itoa(math.MaxInt64/4))
	for _, r := range y.receivers {
		url := r.url()
		e, err := y.Endpoints.Create(y.T.Context(), y.Admin, announce.EndpointRequest{URL: &url, Events: &r.events})
		if err != nil {
			y.T.Fatal(err)
		}
		r.uid, r.secret = e.UID, e.Secrets[0].Secret
	}
	for i := range y.servers {
		s := &server{deps: y.Deps, killer: y.Killer}
		if i > 0 { // it can lose its connection to the database alone
			s.killer = new(testkit.Killer)
			s.deps.Store = testkit.OpenMortal(y.T, y.URL, s.killer)
		}
		s.deps.EventDial = y.dialer(s)
		s.deps.EventNow = func() time.Time { return time.Now().Add(time.Duration(s.clock.Load())) }
		y.servers[i] = s
		y.boot(s)
	}
}

// boot starts a server.
func (y *year) boot(s *server) {
	s.rules = control.New(s.deps)
	s.ctx, s.cancel = context.WithCancel(y.T.Context())
}

// crash kills a server: nothing that it has begun is recorded, and its connections break. Another one takes its place.
func (y *year) crash(s *server) {
	y.heal(s)
	now := time.Now()
	if y.waiting(s) > 0 {
		y.counts.Broken++
	}
	s.cuts = append(s.cuts, span{now, now})
	y.lapses = append(y.lapses, span{now, now.Add(leaseKept)})
	s.killer.BeforeStatement(1)
	y.cut(s)
	s.rules.Endpoints.Wait()
	s.cancel()
	s.killer.Revive()
	y.boot(s)
}

// restart lets a server end in order, which gives up the requests that wait for an answer, and starts it again.
func (y *year) restart(s *server) {
	y.heal(s)
	now := time.Now()
	s.cuts = append(s.cuts, span{now, now})
	s.cancel()
	s.rules.Endpoints.Wait()
	y.boot(s)
}

// halt stops a server until it is started again.
func (y *year) halt(s *server) {
	if y.sending.random.IntN(2) == 0 {
		y.crash(s)
	} else {
		y.restart(s)
	}
	s.down = true
	y.attended()
}

// attended notes from when to when no server is there.
func (y *year) attended() {
	alone := y.servers[0].down && y.servers[1].down
	switch {
	case alone && y.alone.IsZero():
		y.alone = time.Now()
	case !alone && !y.alone.IsZero():
		y.lapses = append(y.lapses, span{y.alone, time.Now()})
		y.alone = time.Time{}
	}
}

// heal gives a server its connection to the database back.
func (y *year) heal(s *server) {
	if s.apart.IsZero() {
		return
	}
	y.counts.Partitions++
	s.killer.Revive()
	s.cuts = append(s.cuts, span{s.apart, time.Now()})
	y.lapses = append(y.lapses, span{s.apart, time.Now().Add(leaseKept)})
	s.apart = time.Time{}
}

// shift sets the clock of a server wrong, or right.
func (y *year) shift(s *server, skew time.Duration) {
	now := time.Now()
	if s.skew != 0 {
		y.wrong = append(y.wrong, span{s.shifted, now})
	}
	s.skew, s.shifted = skew, now
	s.clock.Store(int64(skew))
}

// poll returns when a server has to look for messages again, at the latest at a time. Like a server, it looks each
// second; it leaves out those seconds in which nothing can be due.
func (y *year) poll(until time.Time) time.Time {
	now := time.Now()
	soon := now.Truncate(time.Second).Add(time.Second)
	if !until.After(soon) {
		return until
	}
	ahead, up := time.Duration(0), false
	for _, s := range y.servers {
		if y.waiting(s) > 0 || !s.apart.IsZero() {
			return soon
		}
		if !s.down {
			ahead, up = max(ahead, s.skew), true
		}
	}
	if !up {
		return until
	}
	if y.look.Before(until) {
		until = y.look
	}
	for _, row := range y.direct.Rows(`SELECT waits_until, lease_until, (
			SELECT next_at
			FROM endpoint_messages m
			WHERE m.endpoint_uid = e.uid AND m.state = 'waiting'
			ORDER BY m.next_at
			LIMIT 1
		)
		FROM event_endpoints e
		WHERE enabled = 1 AND uid <> $1`, y.ledger) {
		if row[2] == "" {
			continue
		}
		due := max(penstock.Time(number(row[0])), penstock.Time(number(row[2]))).Add(-ahead)
		at := time.UnixMilli(int64(max(due, penstock.Time(number(row[1]))))).Add(time.Second).Truncate(time.Second)
		if at.Before(until) {
			until = at
		}
	}
	if until.Before(soon) {
		return soon
	}
	return until
}

// mishaps lets things go wrong in the middle of an attempt, and somebody enable endpoints that were disabled.
func (y *year) mishaps() {
	for i, s := range y.servers {
		if !s.apart.IsZero() {
			if time.Since(s.apart) > s.lost {
				y.heal(s)
			}
			continue
		}
		if y.waiting(s) == 0 {
			continue
		}
		switch luck := y.sending.random.IntN(150); {
		case luck == 0:
			y.crash(s)
		case luck == 1:
			y.restart(s)
		case luck < 5 && i > 0:
			s.apart, s.lost = time.Now(), time.Duration(5+y.sending.random.IntN(20))*time.Second
			s.killer.BeforeStatement(1)
		}
	}
	if time.Now().Before(y.look) {
		return
	}
	y.look = time.Now().Add(36 * time.Hour)
	y.enableAll()
}

// answer does what a receiver does with a request. The status is 0 if the server has got no answer.
func answer(how conduct, in io.Reader, conn net.Conn) (status int, good bool) {
	if how.away || how.lose {
		return 0, false
	}
	if how.status == 0 {
		_, _ = io.Copy(io.Discard, in) // until the server gives up
		return 0, false
	}
	time.Sleep(how.after)
	text := fmt.Sprintf("HTTP/1.1 %d -\r\n%s", how.status, how.header)
	if how.status != http.StatusNoContent {
		text += "Content-Length: 0\r\n"
	}
	if _, err := io.WriteString(conn, text+"\r\n"); err != nil {
		return 0, false
	}
	return how.status, true
}

func (y *year) enableAll() {
	for _, r := range y.receivers {
		e, err := y.Endpoints.Read(y.T.Context(), y.Admin, r.uid)
		if err != nil {
			y.T.Fatal(err)
		}
		if e.Enabled {
			continue
		}
		if _, err := y.Endpoints.Update(y.T.Context(), y.Admin, r.uid, announce.EndpointRequest{
			Enabled: new(true),
		}); err != nil {
			y.T.Fatal(err)
		}
		r.enabled = append(r.enabled, time.Now())
	}
}

// send lets the servers send what is due, as their background work does at each change and each second.
func (y *year) send() {
	first := y.sending.random.IntN(2)
	for i := range y.servers {
		s := y.servers[(first+i)%2]
		if s.down || !s.apart.IsZero() {
			continue
		}
		if y.kills = y.kills || y.sending.random.IntN(1000) == 0; y.kills {
			s.killer.Somewhere(y.sending.random)
			_ = s.rules.Endpoints.Send(s.ctx)
			synctest.Wait()
			if s.killer.Spare() { // otherwise it had too little to write
				y.kills = false
				y.counts.Kills++
				y.crash(s)
			}
			continue
		}
		if err := s.rules.Endpoints.Send(s.ctx); err != nil {
			y.T.Fatal(err)
		}
		synctest.Wait()
	}
}

// sendRest lets the receivers take what is left, and the servers end.
func (y *year) sendRest() {
	y.mu.Lock()
	y.well = true
	y.mu.Unlock()
	y.enableAll()
	for range 40 {
		y.send()
		if len(y.rows(waitingMessages, y.ledger)) == 0 {
			break
		}
		y.sleep(time.Hour)
	}
	for _, s := range y.servers {
		y.shift(s, 0)
		y.restart(s)
	}
	y.cut(nil)
	synctest.Wait()
}

const waitingMessages = "SELECT id FROM endpoint_messages WHERE state = 'waiting' AND endpoint_uid <> $1"
