package factory_test

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

// sequence is a random sequence of what can happen to one subject.
type sequence struct {
	*scene
	servers   [2]*testworld.World
	random    *rand.Rand
	atOnce    bool // some things happen at once
	pr        int
	now       int // the number of the step
	events    []*event
	replays   []*event          // by people
	messages  map[string]string // of people, with their runs
	received  *testworld.Received
	ended     map[string]bool // runs that did not end by themselves with success
	cancelled int             // the step in which a person last cancelled a run
	lease     penstock.Lease  // of the run at work
	turn      int             // of the lease
	reports   bool            // its worker reports the end of the turn in this step
	unknown   bool            // a worker may have claimed a run without knowing it
	live      string          // the run that works or waits
	latest    string          // the newest run
	runs      []string
	steps     []string
	shown     map[string]store.Delivery // the log at its end, as people see it
}

// event is what a sender has sent, maybe more than once.
type event struct {
	action      string
	starter     string // the action that starts runs of its automation
	minute      int    // when the pull request changed
	identity    string
	body        string
	first, last int // the steps in which it was sent
	answers     []factory.DeliveryResult
	id          string // of its accepted delivery, as soon as the sender knows it
	of          *event // it is a replay of this one
	strayed     bool   // it was also sent elsewhere
}

// act is something that happens at a server.
type act struct {
	name string
	do   func(w *testworld.World) error
	// settle notes what became of it. If it failed because its server was killed, nobody knows.
	settle func(err error, lost bool)
	twin   func() act // the same once more; nil: it makes no sense
}

func (s *sequence) one(n int) bool { return s.random.IntN(n) == 0 }

func (s *sequence) server() *testworld.World { return s.servers[s.random.IntN(2)] }

// subject is the name of the sequence's subject.
func (s *sequence) subject() string { return fmt.Sprintf("acme/shop#%d", s.pr) }

func (s *sequence) failf(format string, args ...any) {
	s.T.Errorf(format+" after the steps %v", append(args, s.steps)...)
}

// run takes random steps, lets all end, and checks what became of the events.
func (s *sequence) run() {
	before := s.lastLogged()
	for s.now = range 4 + s.random.IntN(20) {
		s.step()
		if s.look(); s.T.Failed() {
			return
		}
	}
	s.drain()
	if !s.T.Failed() {
		s.verify(before)
	}
}

// step does one of the things that can happen, or two at once.
func (s *sequence) step() {
	s.reports = false
	s.counts.Steps++
	acts := s.pick()
	if !s.atOnce || s.one(2) {
		for _, a := range acts {
			s.happen(a)
		}
		return
	}
	if twin := acts[0].twin; twin != nil && s.one(3) {
		acts = append(acts, twin())
	} else {
		acts = append(acts, s.pick()...)
	}
	s.happen(acts...)
}

// happen lets acts happen at once, each at one of the servers. Sometimes one of these is killed.
func (s *sequence) happen(acts ...act) {
	at, errs := make([]*testworld.World, len(acts)), make([]error, len(acts))
	for i, a := range acts {
		n := s.random.IntN(2)
		at[i] = s.servers[n]
		s.steps = append(s.steps, fmt.Sprintf("%s@%d", a.name, n))
	}
	if s.one(6) {
		where := at[s.random.IntN(len(at))].Killer.Somewhere(s.random)
		s.steps[len(s.steps)-1] += " kill " + where
	}
	if len(acts) == 1 {
		errs[0] = acts[0].do(at[0])
	} else {
		s.counts.AtOnce++
		s.steps[len(s.steps)-1] += fmt.Sprintf(" (%d at once)", len(acts))
		var all sync.WaitGroup
		for i, a := range acts {
			all.Go(func() { errs[i] = a.do(at[i]) })
		}
		all.Wait()
	}
	killed := make([]bool, len(acts))
	for i, w := range at {
		killed[i] = w.Killer.Spare() // before one of them starts again: it may be the same
	}
	s.restart()
	for i, a := range acts {
		a.settle(errs[i], errs[i] != nil && killed[i])
	}
}

// restart starts the servers again that were killed.
func (s *sequence) restart() (killed bool) {
	var dead []*testworld.World
	for _, w := range s.servers {
		if w.Killer.Spare() {
			dead = append(dead, w)
		}
	}
	if len(dead) == 0 {
		return false
	}
	s.counts.Kills++
	s.steps[len(s.steps)-1] += " killed"
	for _, w := range dead {
		w.Restart()
	}
	return true
}

// pick returns one of the things that can happen now, or a burst of events.
func (s *sequence) pick() []act {
	for {
		switch s.random.IntN(15) {
		case 0, 1, 2:
			return []act{s.send(s.newEvent())}
		case 3, 4:
			if s.lease.RunID == "" && (s.live != "" || s.one(4)) { // mostly if there is work
				return []act{s.work()}
			}
		case 5, 6:
			if s.lease.RunID != "" && !s.reports {
				return []act{s.finish(penstock.StateSucceeded)}
			}
		case 7:
			if s.lease.RunID != "" && !s.reports {
				return []act{s.finish([]penstock.State{penstock.StateFailed, penstock.StateError}[s.random.IntN(2)])}
			}
		case 8, 9:
			return []act{s.give([]time.Duration{0, 31 * time.Second, time.Hour}[s.random.IntN(3)])}
		case 10:
			if s.live != "" && s.one(2) {
				return []act{s.stop()}
			}
		case 11:
			if s.latest != "" {
				return []act{s.speak()}
			}
		case 12:
			if len(s.events) > 0 {
				e := s.events[s.random.IntN(len(s.events))]
				if !e.strayed && s.one(3) {
					return []act{s.strayed(e)}
				}
				return []act{s.send(e)}
			}
		case 13:
			if len(s.events) > 0 {
				if e := s.events[s.random.IntN(len(s.events))]; e.id != "" {
					return []act{s.replay(e)}
				}
			}
		case 14:
			var burst []act
			for range 2 + s.random.IntN(4) {
				burst = append(burst, s.send(s.newEvent()))
			}
			return burst
		}
	}
}

// newEvent makes an event that may start a run, only continue one, or close the subject. Some come late.
func (s *sequence) newEvent() *event {
	e := &event{
		action:   []string{"opened", "opened", "opened", "opened", "comment", "comment", "closed"}[s.random.IntN(7)],
		minute:   len(s.events) + 4,
		identity: fmt.Sprintf("%d-%d", s.pr, len(s.events)),
		first:    s.now,
	}
	if s.one(5) {
		e.minute -= 1 + s.random.IntN(3)
	}
	action := e.action
	if e.starter = s.starts[0]; action == "opened" && len(s.starts) > 1 {
		e.starter = s.starts[s.random.IntN(len(s.starts))]
		action = e.starter
	}
	e.body = fmt.Sprintf(
		`{"repo": "acme/shop", "pr": %d, "action": %q, "pull_request": {"updated_at": "2026-01-01T00:%02d:00Z"}, "n": %d}`,
		s.pr, action, e.minute, len(s.events),
	)
	s.events = append(s.events, e)
	s.counts.Events++
	return e
}

// send delivers an event. The sender sends it again later if it gets no response.
func (s *sequence) send(e *event) act {
	if len(e.answers) > 0 {
		s.counts.Doubles++
	}
	e.last = s.now
	var got factory.DeliveryResult
	return act{e.action, func(w *testworld.World) (err error) {
		got, err = w.Deliver(s.webhook.UID, s.request(e))
		return err
	}, func(err error, lost bool) {
		switch {
		case lost:
		case err != nil:
			s.failf("event %s: %v", e.identity, err)
		default:
			e.answers = append(e.answers, got)
			e.id = cmp.Or(got.DuplicateOf, got.DeliveryID)
		}
	}, func() act { return s.send(e) }}
}

// strayed delivers an event to another webhook, which has not had it before.
func (s *sequence) strayed(e *event) act {
	e.strayed = true
	var got factory.DeliveryResult
	return act{"elsewhere", func(w *testworld.World) (err error) {
		got, err = w.Deliver(s.elsewhere.UID, s.request(e))
		return err
	}, func(err error, lost bool) {
		if !lost && (err != nil || got.Outcome != penstock.OutcomeAccepted) {
			s.failf("event %s elsewhere: %+v, %v", e.identity, got, err)
		}
	}, nil}
}

func (s *sequence) request(e *event) *factory.InboundDelivery {
	return &factory.InboundDelivery{
		Outcome: penstock.OutcomeAccepted, ReceivedAt: penstock.Now(), Body: []byte(e.body), Size: int64(len(e.body)),
		ClientIP: "192.0.2.1", Secret: -1, IdentitySource: penstock.IdentityHeader, Identity: e.identity,
	}
}

// replay lets a person start what an event starts once more.
func (s *sequence) replay(of *event) act {
	s.counts.Replays++
	e := &event{
		action: of.action, starter: of.starter, minute: of.minute, body: of.body, first: s.now, last: s.now, of: of,
	}
	return act{"replay", func(w *testworld.World) error {
		d, err := w.Deliveries.Replay(s.T.Context(), s.Admin, s.factory, s.webhook.UID, of.id)
		if err == nil {
			e.id = d.ID
		}
		return err
	}, func(err error, lost bool) {
		if err != nil && !lost {
			s.failf("replay event %s: %v", of.identity, err)
		}
		s.replays = append(s.replays, e)
	}, func() act { return s.replay(of) }}
}

// work lets a worker claim a run and begin. The worker repeats what gets no response, but not the claim.
func (s *sequence) work() act {
	var a penstock.Assignment
	return act{"work", func(w *testworld.World) (err error) {
		request := testworld.AnyWorker
		request.Wait = 0
		a, err = w.Executions.Control().Claim(s.T.Context(), request)
		return err
	}, func(err error, lost bool) {
		switch {
		case lost:
			if s.unknown = true; s.one(2) {
				s.loseOthers()
			}
		case err == nil:
			s.begin(a)
		case !errors.Is(err, penstock.ErrNoWork):
			s.failf("claim: %v", err)
		}
	}, s.work}
}

// begin starts the agent.
func (s *sequence) begin(a penstock.Assignment) {
	if s.lease.RunID != "" {
		s.failf("run %s was given to a worker while another one works on run %s", a.Lease.RunID, s.lease.RunID)
	}
	var moves []penstock.Draft
	for i, state := range []penstock.State{penstock.StatePending, penstock.StateInProgress} {
		d := penstock.NewDraft(penstock.EventState, penstock.Now(), penstock.StateData{State: state})
		d.N = int64(i + 1)
		moves = append(moves, d)
	}
	s.received.Add(a.Run, a.Prompts)
	if s.one(6) { // the worker dies before it begins
		s.unknown = true
		return
	}
	s.lease, s.turn = a.Lease, 1
	err := s.insist("begin", func(w *testworld.World) error {
		return w.Executions.Control().Append(s.T.Context(), a.Lease, moves)
	})
	if err == nil && s.one(3) { // another worker can continue from here
		s.servers[0].SaveSession(a.Lease)
	}
	if errors.Is(err, penstock.ErrLeaseLost) { // it was cancelled meanwhile
		s.lease = penstock.Lease{}
	} else if err != nil {
		s.failf("begin run %s: %v", a.Lease.RunID, err)
	}
}

// insist repeats a call of a worker until a server responds.
func (s *sequence) insist(name string, call func(w *testworld.World) error) error {
	for {
		w := s.server()
		if s.one(8) {
			s.steps = append(s.steps, name+" kill "+w.Killer.Somewhere(s.random))
		}
		err := call(w)
		if !s.restart() || err == nil {
			return err
		}
	}
}

// finish ends the turn. The worker repeats it until it gets a response.
func (s *sequence) finish(state penstock.State) act {
	s.reports = true
	lease, result := s.lease, penstock.Result{State: state, Turn: s.turn}
	var prompts []penstock.Prompt
	call := func(w *testworld.World) (err error) {
		prompts, err = w.Executions.Control().Finish(s.T.Context(), lease, result)
		return err
	}
	return act{string(state), call, func(err error, lost bool) {
		if lost {
			err = s.insist("finish", call)
		}
		if err != nil && !errors.Is(err, penstock.ErrLeaseLost) {
			s.failf("finish run %s: %v", lease.RunID, err)
		}
		if state != penstock.StateSucceeded {
			s.ended[lease.RunID] = true
		}
		if err != nil || len(prompts) == 0 {
			if s.lease == lease {
				s.lease = penstock.Lease{}
			}
			return
		}
		s.received.Add(penstock.Run{ID: lease.RunID}, prompts)
		s.turn++
	}, nil}
}

// give gives the events that wait.
func (s *sequence) give(d time.Duration) act {
	return act{"give", func(w *testworld.World) error {
		return w.Subjects.GiveDue(s.T.Context(), penstock.Now().Add(d))
	}, func(err error, lost bool) {
		if err != nil && !lost {
			s.failf("give: %v", err)
		}
	}, func() act { return s.give(d) }}
}

// stop lets a person cancel the run, or loses its worker.
func (s *sequence) stop() act {
	id, lease := s.live, s.lease
	if lease.RunID != "" && s.one(2) {
		s.ended[id] = s.ended[id] || s.atOnce // otherwise its state says so
		s.db.Exec("UPDATE queue SET lease_until = 1 WHERE token = $1", lease.Token)
		return act{"lose", func(w *testworld.World) error {
			return w.Executions.EndLostLeases(s.T.Context())
		}, func(err error, lost bool) {
			if err != nil && !lost {
				s.failf("lose a worker: %v", err)
			}
			s.unknown = s.unknown || lost
			if s.lease == lease {
				s.lease = penstock.Lease{}
			}
		}, nil}
	}
	s.cancelled, s.ended[id] = s.now, true
	return act{"cancel", func(w *testworld.World) error {
		_, err := w.Runs.Cancel(s.T.Context(), s.Admin, id, false)
		if penstock.CodeOf(err) == penstock.CodeInvalidRequest && s.atOnce { // it ended at the same time
			return nil
		}
		return err
	}, func(err error, lost bool) {
		if err != nil && !lost {
			s.failf("cancel run %s: %v", id, err)
		}
	}, nil}
}

// speak lets a person send a message, which is a conflict if another run works on the subject.
func (s *sequence) speak() act {
	id := s.latest
	var said run.FollowupAccepted
	return act{"speak", func(w *testworld.World) (err error) {
		said, err = w.Runs.FollowUp(s.T.Context(), s.Admin, id, run.FollowupRequest{Message: "and this"})
		return err
	}, func(err error, lost bool) {
		if err == nil {
			s.messages[said.FollowupID] = id
		} else if !lost && penstock.CodeOf(err) != penstock.CodeConflict {
			s.failf("speak to run %s: %v", id, err)
		}
	}, s.speak}
}

// loseOthers lets leases end that no worker knows of, because the response to its claim was lost.
func (s *sequence) loseOthers() {
	if !s.unknown {
		return
	}
	s.unknown = false
	s.db.Exec("UPDATE queue SET lease_until = 1 WHERE token NOT IN ('', $1)", s.lease.Token)
	if err := s.server().Executions.EndLostLeases(s.T.Context()); err != nil {
		s.T.Fatal(err)
	}
}

// drain lets the senders repeat what got no response, and everything end that waits.
func (s *sequence) drain() {
	s.steps = append(s.steps, "drain")
	for _, e := range s.events {
		if len(e.answers) == 0 {
			s.happenSafely(s.send(e))
		}
	}
	for range 200 {
		if s.look(); s.T.Failed() || s.live == "" && !s.waits() {
			return
		}
		s.loseOthers()
		s.happenSafely(s.give(time.Hour))
		if s.look(); s.lease.RunID == "" && s.live != "" {
			s.happenSafely(s.work())
		}
		if s.lease.RunID != "" {
			s.happenSafely(s.finish(penstock.StateSucceeded))
		}
	}
	s.failf("something still works or waits")
}

// happenSafely lets an act happen at a server that is not killed.
func (s *sequence) happenSafely(a act) { a.settle(a.do(s.server()), false) }

// look fails if two runs work on the subject, and notes how the others ended.
func (s *sequence) look() {
	var live []string
	s.runs = s.runs[:0]
	for _, row := range s.db.Rows(`SELECT id, state
		FROM runs
		WHERE team = $1 AND subject = $2 AND subject <> ''
		ORDER BY id`, s.Admin.Team, s.subject()) {
		id, state := row[0], penstock.State(row[1])
		s.runs, s.latest = append(s.runs, id), id
		if !state.Done() {
			live = append(live, id)
			continue
		}
		if state != penstock.StateSucceeded {
			s.ended[id] = true
		}
		if id == s.lease.RunID {
			s.lease = penstock.Lease{}
		}
	}
	if s.live = strings.Join(live, " "); len(live) > 1 {
		s.failf("%d runs work on the subject", len(live))
	}
	if again := s.received.Unmarked; len(again) > 0 {
		s.failf("the prompts %v were handed over again without saying so", again)
	}
	for id, prompts := range s.received.In {
		if len(prompts) > 1 {
			s.failf("the event %s is in the prompts %v", id, prompts)
		}
	}
}

// waits reports whether an event waits.
func (s *sequence) waits() bool {
	return len(s.db.Rows("SELECT 1 FROM subject_events WHERE fate = 'waiting' LIMIT 1")) > 0
}
