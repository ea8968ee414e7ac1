package control_test

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control"
	"github.com/penstock-dev/penstock/internal/control/definition"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

// setting returns a number from the environment.
func setting(name string, otherwise uint64) uint64 {
	if n, err := strconv.ParseUint(os.Getenv(name), 10, 64); err == nil {
		return n
	}
	return otherwise
}

// A long time of schedules, automations and events, while servers stop, are killed between two statements or have
// wrong clocks, workers die, and runs stall: each time of a schedule has one fate, each event is in one prompt or has
// a fate that says why not, each change of a run has one message, and nothing goes silent.
//
// PENSTOCK_TEST_SEED repeats a seed. PENSTOCK_TEST_DAYS sets how long, PENSTOCK_TEST_SOURCES how many schedules and
// automations; make simulate takes a year, in several worlds.
func TestALongTime(t *testing.T) {
	t.Parallel()
	seed := setting("PENSTOCK_TEST_SEED", 1)
	days, sources := setting("PENSTOCK_TEST_DAYS", 4), setting("PENSTOCK_TEST_SOURCES", 20)
	testkit.Engines(t, func(t *testing.T, url string) {
		begun := time.Now()
		synctest.Test(t, func(t *testing.T) {
			y := newYear(t, url, seed, int(sources))
			y.live(time.Duration(days) * 24 * time.Hour)
			y.drain()
			y.sendRest()
			y.check()
			t.Logf("%+v", y.counts)
		})
		t.Logf("seed %d: %d days took %s", seed, days, time.Since(begun).Round(time.Second))
	})
}

// year is a team with schedules, automations, workers and two servers over one database.
type year struct {
	*testworld.World
	*sending
	setClock func() // sets the clock of the database
	random   *rand.Rand
	begun    time.Time
	end      time.Time
	looked   time.Time // when a server last did its background work
	agenda   []step    // sorted
	servers  [2]*server
	sources  []*source
	webhooks []penstock.Webhook
	jobs     map[string]penstock.Lease // of runs at work
	received *testworld.Received
	broken   map[string]bool          // runs that did not end by themselves with success
	stalls   map[string]penstock.Time // when a run that said nothing stalls, by run
	stalling bool                     // a run stalls about now, or a server can see only now that one did
	covered  bool                     // a server was there since the last step
	alone    time.Time                // since when no server is there; zero: one is
	killing  bool                     // a server is to be killed
	counts   counts
}

type counts struct {
	Times, Deliveries, Duplicates, Claims, Deaths, Kills, Outages, Jumps, Stalls, Refused int
	// Kills in the middle of attempts, and servers that lost the database there.
	Broken, Partitions               int
	Requests, Taken, Twice, Disabled int // at receivers
}

// server is one of the servers.
type server struct {
	deps    run.Deps
	rules   *control.Rules
	killer  *testkit.Killer
	down    bool
	skew    time.Duration   // of its clock
	clock   atomic.Int64    // the same, for its sender
	shifted time.Time       // when the clock became wrong
	apart   time.Time       // since when it does not reach the database; zero: it does
	lost    time.Duration   // for how long
	cuts    []span          // in which requests that it has sent may not be recorded
	ctx     context.Context //nolint:containedctx // ends when the server does
	cancel  context.CancelFunc
}

// step is something that happens at a time.
type step struct {
	at time.Time
	do func()
}

// after adds a step, behind others of the same time.
func (y *year) after(d time.Duration, do func()) {
	at := time.Now().Add(d)
	i, _ := slices.BinarySearchFunc(y.agenda, at, func(s step, at time.Time) int {
		if s.at.After(at) {
			return 1
		}
		return -1
	})
	y.agenda = slices.Insert(y.agenda, i, step{at, do})
}

// next removes and returns the first step.
func (y *year) next() step {
	first := y.agenda[0]
	y.agenda = y.agenda[1:]
	return first
}

func (y *year) one(n int) bool { return y.random.IntN(n) == 0 }

func pick[T any](y *year, list ...T) T { return list[y.random.IntN(len(list))] }

// perFactory is how many sources share a factory: a new automation compares all of its factory.
const perFactory = 100

func newYear(t *testing.T, url string, seed uint64, sources int) *year {
	t.Helper()
	y := &year{
		random: rand.New(rand.NewPCG(seed, seed)), received: testworld.NewReceived(),
		jobs: map[string]penstock.Lease{}, broken: map[string]bool{}, stalls: map[string]penstock.Time{},
	}
	url, y.setClock = testkit.ClockOfTest(t, url)
	y.World = testworld.New(t, url, func(d *run.Deps) {
		testworld.DefaultWebhooks(d)
		d.Log, d.TimesByHand = slog.New(slog.DiscardHandler), true
		d.Stall = &penstock.StallRule{}
		d.QueueTimeout = 1000 * 24 * time.Hour
		d.Webhooks.DeliveriesPerMinute, d.Webhooks.DedupBodyWindow = 0, 0
		d.Webhooks.KeepDeliveries, d.Webhooks.KeepDeliveriesFor = 0, 0
	})
	y.begun = time.Now()
	y.newSending(seed, sources)
	watched := y.CreateEnvironment(penstock.EnvironmentConfig{Name: "watched", StallAfter: "10m"}).UID
	home := y.NewFactory("acme")
	y.newWebhooks(home)
	for i := range sources {
		if i > 0 && i%perFactory == 0 {
			home = y.NewFactory("acme-" + strconv.Itoa(i))
		}
		y.sources = append(y.sources, y.newSource(home, watched, i))
	}
	return y
}

// newWebhooks makes webhooks with an automation each, one for each way to treat events about one subject.
func (y *year) newWebhooks(home string) {
	for i, busy := range []penstock.WhenBusy{
		penstock.WhenBusyCoalesce, penstock.WhenBusyQueue, penstock.WhenBusyReplace, penstock.WhenBusyParallel,
	} {
		name := "events-" + strconv.Itoa(i)
		hook, err := y.Resources.CreateWebhook(y.T.Context(), y.Admin, home, factory.WebhookRequest{
			Name: &name, AuthMode: new(penstock.AuthToken),
		})
		if err != nil {
			y.T.Fatal(err)
		}
		y.webhooks = append(y.webhooks, hook)
		if _, err := y.Resources.CreateAutomation(y.T.Context(), y.Admin, home, factory.AutomationRequest{
			Name: &name, Prompt: new("Look."),
			SubjectRequest: factory.SubjectRequest{
				Subject: new("{{pr}}"), WhenBusy: &busy, MaxFollowups: new(definition.MostFollowups),
			},
			HealthRequest: factory.HealthRequest{ExpectEvery: new(penstock.Period("3d"))},
			Triggers: &[]penstock.Trigger{{
				Provider: penstock.ProviderWebhook, Event: penstock.EventReceived,
				Filter: []byte(`{"webhook_ids": ["` + hook.UID + `"], "payload": {"action": ["opened"]}}`),
			}},
		}); err != nil {
			y.T.Fatal(err)
		}
	}
}

// live lets the time pass.
func (y *year) live(d time.Duration) {
	y.end = y.begun.Add(d)
	for _, s := range y.sources {
		y.tick(s)
	}
	y.deliver()
	y.trouble()
	for len(y.agenda) > 0 {
		at := y.agenda[0].at
		if at.After(y.end) {
			break
		}
		y.sleep(time.Until(at))
		for len(y.agenda) > 0 && y.agenda[0].at.Equal(at) {
			y.next().do()
		}
		y.pass()
	}
	y.sleep(time.Until(y.end))
}

// sleep lets a time pass, also in the database.
func (y *year) sleep(d time.Duration) {
	until := time.Now().Add(d)
	for {
		time.Sleep(time.Until(y.poll(until)))
		synctest.Wait()
		y.setClock()
		if !time.Now().Before(until) {
			return
		}
		y.mishaps()
		y.send()
	}
}

// drain lets everything end that works or waits.
func (y *year) drain() {
	for _, s := range y.servers {
		y.start(s)
		y.shift(s, 0)
	}
	for range 1000 {
		y.pass()
		if len(y.rows(liveRuns)) == 0 && len(y.rows("SELECT 1 FROM occurrences WHERE fate = 'waiting' LIMIT 1")) == 0 &&
			len(y.rows("SELECT 1 FROM subject_events WHERE fate = 'waiting' LIMIT 1")) == 0 {
			return
		}
		for _, l := range y.jobs {
			y.finish(l, penstock.StateSucceeded)
		}
		y.sleep(time.Minute)
		for len(y.agenda) > 0 && y.agenda[0].at.Before(time.Now()) {
			y.next()
		}
	}
	y.T.Error("something still works or waits")
}

// tick does nothing but let the servers look at the next time of a source.
func (y *year) tick(s *source) {
	next := s.next(time.Now())
	late := time.Duration(next.Unix()%977) * time.Millisecond // as the second of a server's pass
	y.after(time.Until(next)+late, func() { y.tick(s) })
}

// deliver sends events, some twice, and some that start nothing.
func (y *year) deliver() {
	hook := y.webhooks[y.random.IntN(3)]
	if y.one(40) {
		hook = y.webhooks[3] // is mostly silent
	}
	action := pick(y, "opened", "opened", "opened", "labeled")
	pr := time.Now().Format("0102-") + strconv.Itoa(y.random.IntN(3))
	body := fmt.Sprintf(`{"pr": %q, "action": %q, "n": %d}`, pr, action, y.counts.Deliveries)
	identity := penstock.NewID()
	for range pick(y, 1, 1, 1, 1, 2, 3) {
		result, err := y.Deliver(hook.UID, &factory.InboundDelivery{
			Outcome: penstock.OutcomeAccepted, ReceivedAt: penstock.Now(), Body: []byte(body), Size: int64(len(body)),
			ClientIP: "192.0.2.1", Secret: -1, IdentitySource: penstock.IdentityHeader, Identity: identity,
		})
		switch {
		case err != nil:
			y.T.Fatal(err)
		case result.DuplicateOf != "":
			y.counts.Duplicates++
		default:
			y.counts.Deliveries++
		}
	}
	y.after(31*time.Second, func() {}) // quiet is over
	gap := time.Duration(y.random.IntN(180)) * time.Minute
	if y.one(3) {
		gap /= 100 // a burst
	}
	y.after(gap, y.deliver)
}

// trouble stops servers, starts them again, and sets their clocks.
func (y *year) trouble() {
	s := pick(y, y.servers[:]...)
	switch y.random.IntN(4) {
	case 0:
		y.counts.Outages++
		y.halt(s)
		y.after(time.Duration(y.random.IntN(12*60))*time.Minute, func() { y.start(s) })
	case 1:
		y.counts.Jumps++
		y.shift(s, pick(y, -3*time.Hour, -time.Minute, 0, time.Minute, 3*time.Hour))
		y.after(time.Duration(y.random.IntN(600))*time.Minute, func() {
			y.shift(s, 0)
			y.stalling = true
		})
	case 2: // the whole machine sleeps
		y.counts.Outages++
		for _, s := range y.servers {
			y.halt(s)
		}
		y.after(time.Duration(y.random.IntN(40))*time.Hour, func() {
			for _, s := range y.servers {
				y.start(s)
			}
		})
	}
	y.after(time.Duration(y.random.IntN(6*24))*time.Hour, y.trouble)
}

// start starts a server, which looks for stalled runs soon.
func (y *year) start(s *server) {
	y.restart(s)
	s.down, y.stalling = false, true
	y.attended()
}

// pass lets the servers do their background work, and the workers theirs.
func (y *year) pass() {
	y.covered = false
	for i, s := range y.servers {
		if first := y.servers[0]; s.down || i > 0 && !first.down && first.skew == 0 && s.skew == 0 && !y.one(8) {
			continue // most of the time, one of two finds nothing left to do
		}
		y.heal(s)
		if y.killing = y.killing || y.one(60); y.killing {
			s.killer.Somewhere(y.random)
			_ = y.work(y.T.Context(), s)
			if s.killer.Spare() { // otherwise it had too little to write: another one is killed
				y.killing = false
				y.counts.Kills++
				y.crash(s)
			} else {
				y.restart(s)
			}
		}
		if err := y.work(y.T.Context(), s); err != nil {
			y.T.Fatal(err)
		}
		y.looked, y.covered = time.Now(), y.covered || s.skew == 0
	}
	y.stalling = false
	if y.covered {
		y.claim()
	}
	y.send()
}

// work is one pass of a server.
func (y *year) work(ctx context.Context, s *server) error {
	now := penstock.Now().Add(s.skew)
	for _, do := range []func(context.Context, penstock.Time) error{
		s.rules.Schedules.FireDue, s.rules.Schedules.FireClocks, s.rules.Subjects.GiveDue,
		s.rules.Executions.AnnounceSilence,
	} {
		if err := do(ctx, now); err != nil {
			return err
		}
	}
	if y.stalling || y.one(20) {
		if err := s.rules.Executions.AnnounceStalls(ctx, now); err != nil {
			return err
		}
	}
	if y.one(60) {
		if err := s.rules.Schedules.Replan(ctx, now); err != nil {
			return err
		}
	}
	return s.rules.Executions.EndLostLeases(ctx)
}

// claim lets workers take what waits.
func (y *year) claim() {
	request := testworld.AnyWorker
	request.Wait, request.Capacity = 0, 5000
	for {
		a, err := y.Executions.Control().Claim(y.T.Context(), request)
		if err != nil {
			return
		}
		y.counts.Claims++
		y.hold(a.Lease, 1000*24*time.Hour)
		y.Moves(a.Lease, penstock.StatePending, penstock.StateInProgress)
		r := y.Get(a.Lease.RunID)
		y.received.Add(r, a.Prompts)
		y.jobs[r.ID] = a.Lease
		y.turn(r)
	}
}

// turn lets the agent of a run work until its turn ends somehow.
func (y *year) turn(r penstock.Run) {
	takes := time.Duration(1+y.random.IntN(120)) * time.Minute
	if s := y.sourceOf(r); s != nil {
		takes = s.takes(y)
		if s.watched {
			deadline := penstock.Now().Add(10 * time.Minute)
			y.stalls[r.ID] = deadline
			for _, d := range []time.Duration{-2 * time.Second, -time.Second, 0, run.AnnounceStallsEvery, time.Minute} {
				y.after(10*time.Minute+d, func() { y.stalled(r.ID, deadline) })
			}
		}
	}
	const succeeded, failed = penstock.StateSucceeded, penstock.StateFailed
	next := pick(y, succeeded, succeeded, succeeded, succeeded, succeeded, succeeded, failed, penstock.StateError, "")
	lease := y.jobs[r.ID]
	y.after(takes, func() { y.finish(lease, next) })
}

// hold gives a lease another time, as its worker does that renews it.
func (y *year) hold(l penstock.Lease, d time.Duration) {
	y.direct.Exec("UPDATE queue SET lease_until = $1 WHERE token = $2", int64(penstock.Now().Add(d)), l.Token)
}

// finish ends a turn, or the worker is lost and comes back later with what it has.
func (y *year) finish(l penstock.Lease, next penstock.State) {
	if y.jobs[l.RunID] != l {
		return
	}
	delete(y.stalls, l.RunID)
	if y.Get(l.RunID).State.Done() { // it was canceled
		y.broken[l.RunID] = true
		delete(y.jobs, l.RunID)
		return
	}
	if next == "" {
		y.counts.Deaths++
		y.broken[l.RunID] = true
		delete(y.jobs, l.RunID)
		y.hold(l, penstock.LeaseTime)
		ends := time.Now().Add(penstock.LeaseTime + time.Hour) // a server waits so long for the only worker
		y.after(penstock.LeaseTime+time.Second, func() {})
		y.after(time.Duration(2+y.random.IntN(100))*time.Hour, func() { y.returns(l, ends) })
		return
	}
	if next != penstock.StateSucceeded {
		y.broken[l.RunID] = true
	}
	prompts, err := y.Executions.Control().Finish(y.T.Context(), l, penstock.Result{State: next})
	if err != nil {
		y.T.Fatal(err)
	}
	r := y.Get(l.RunID)
	y.received.Add(r, prompts)
	if len(prompts) == 0 {
		delete(y.jobs, l.RunID)
		return
	}
	y.turn(r)
}

// returns lets a worker report what it did, long after it was silent. It is refused if a server has looked since.
func (y *year) returns(l penstock.Lease, ends time.Time) {
	_, err := y.Executions.Control().Finish(y.T.Context(), l, penstock.Result{State: penstock.StateSucceeded})
	if err == nil && y.looked.After(ends) {
		y.T.Errorf("a worker that was lost ended run %s", l.RunID)
	}
	y.counts.Refused++
}

// stalled notices when a run that says nothing is announced.
func (y *year) stalled(id string, deadline penstock.Time) {
	if y.stalls[id] != deadline {
		return
	}
	y.stalling = true
	if !y.covered {
		return
	}
	late := penstock.Now().Sub(deadline)
	switch stalled := y.Get(id).Stalled; {
	case stalled != nil && late < 0 && y.servers[0].skew <= 0 && y.servers[1].skew <= 0:
		y.T.Errorf("run %s stalls %s early", id, -late)
	case stalled != nil:
		y.counts.Stalls++
		delete(y.stalls, id)
	case late >= time.Minute:
		y.T.Errorf("the stall of run %s is not announced %s after its deadline", id, late)
	}
}

// source is a schedule, or an automation with a clock.
type source struct {
	id      string
	first   time.Time // its times are this one and those that follow by every
	every   time.Duration
	overlap penstock.Overlap
	watched bool
}

// next returns the first time after one.
func (s *source) next(after time.Time) time.Time {
	if after.Before(s.first) {
		return s.first
	}
	return after.Add(s.every - after.Sub(s.first)%s.every)
}

// takes returns how long a run of it works. What skips is mostly busy.
func (s *source) takes(y *year) time.Duration {
	switch {
	case s.watched:
	case s.overlap == penstock.OverlapSkip:
		return s.every * time.Duration(4+y.random.IntN(40))
	case s.overlap == penstock.OverlapQueue:
		return s.every * time.Duration(1+y.random.IntN(4)) / 2
	}
	return time.Duration(20+y.random.IntN(100)) * time.Minute
}

// newSource makes a schedule or a clock that fires each day, each sixth hour or each week.
func (y *year) newSource(home, watched string, i int) *source {
	minute, hour := 15*y.random.IntN(4), y.random.IntN(6)
	midnight := y.begun.Truncate(24 * time.Hour)
	s := &source{overlap: penstock.OverlapSkip, every: 24 * time.Hour, watched: i%20 == 1}
	s.first = midnight.Add(time.Duration(hour)*time.Hour + time.Duration(minute)*time.Minute)
	cron := fmt.Sprintf("%d %d * * *", minute, hour)
	switch kind := i % 12; {
	case kind == 0:
		s.every, cron = 6*time.Hour, fmt.Sprintf("%d %d-23/6 * * *", minute, hour)
	case kind > 3:
		s.overlap = definition.Overlaps()[i%4]
		s.every, cron = 7*24*time.Hour, fmt.Sprintf("%d %d * * %d", minute, hour, midnight.Weekday())
	}
	for !s.first.After(y.begun) {
		s.first = s.first.Add(s.every)
	}
	catchUp := pick(y, definition.CatchUps()...)
	pause := factory.HealthRequest{}
	if s.overlap == penstock.OverlapSkip && !s.watched {
		pause.PauseAfterFailures = new(pick(y, 0, 1, 2))
	}
	config := &penstock.Config{}
	if s.watched {
		config.EnvironmentID = watched
	}
	name := "source-" + strconv.Itoa(i)
	if y.one(2) {
		s.id = y.CreateSchedule(factory.ScheduleRequest{
			Name: name, Cron: cron, Prompt: "Work.", CatchUp: catchUp, Overlap: s.overlap, Config: config,
			HealthRequest: pause,
		}).ID
		return s
	}
	a, err := y.Resources.CreateAutomation(y.T.Context(), y.Admin, home, factory.AutomationRequest{
		Name: &name, Prompt: new("Work."), EnvironmentID: &config.EnvironmentID, HealthRequest: pause,
		Triggers: &[]penstock.Trigger{{
			Provider: penstock.ProviderSchedule, Event: penstock.EventCronFired,
			Schedule: &penstock.CronTrigger{Cron: cron, CatchUp: catchUp, Overlap: s.overlap},
		}},
	})
	if err != nil {
		y.T.Fatal(err)
	}
	s.id = a.UID
	return s
}

func (y *year) sourceOf(r penstock.Run) *source {
	for _, s := range y.sources {
		if r.Schedule != nil && r.Schedule.ID == s.id {
			return s
		}
	}
	return nil
}
