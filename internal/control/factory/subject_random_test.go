package factory_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

// sequence is a random sequence of what can happen to one subject.
type sequence struct {
	*topics
	random   *rand.Rand
	pr       int
	events   []string // deliveries, in order
	received *testworld.Received
	ended    map[string]bool // runs that did not end by themselves with success
	lease    penstock.Lease  // of the run at work
	steps    []string
}

// subject is the name of the sequence's subject.
func (s *sequence) subject() string { return fmt.Sprintf("acme/shop#%d", s.pr) }

func (s *sequence) work() {
	request := testworld.AnyWorker
	request.Wait = 0
	a, err := s.Executions.Control().Claim(s.T.Context(), request)
	if err != nil {
		return
	}
	s.Moves(a.Lease, penstock.StatePending, penstock.StateInProgress)
	s.lease = a.Lease
	s.received.Add(s.Get(a.Lease.RunID), a.Prompts)
}

func (s *sequence) finish(state penstock.State) {
	if s.lease.RunID == "" {
		return
	}
	id := s.lease.RunID
	prompts := s.Finish(s.lease, penstock.Result{State: state})
	s.received.Add(s.Get(id), prompts)
	if len(prompts) == 0 {
		s.lease = penstock.Lease{}
	}
	if state != penstock.StateSucceeded {
		s.ended[id] = true
	}
}

// step does one of the things that can happen.
func (s *sequence) step() {
	pick := s.random.IntN(11)
	s.steps = append(s.steps, strconv.Itoa(pick))
	switch pick {
	case 0, 1, 2:
		s.happens([]string{"opened", "opened", "opened", "opened", "comment", "comment", "closed"}[s.random.IntN(7)])
	case 3, 4:
		if s.lease.RunID == "" {
			s.work()
		}
	case 5, 6:
		s.finish(penstock.StateSucceeded)
	case 7:
		s.finish([]penstock.State{penstock.StateFailed, penstock.StateError}[s.random.IntN(2)])
	case 8:
		s.give([]time.Duration{0, 31 * time.Second, time.Hour}[s.random.IntN(3)])
	case 9:
		s.stop()
	case 10:
		if runs := s.ofSubject(); len(runs) > 0 { // a conflict if another one works on the subject
			id := runs[s.random.IntN(len(runs))].ID
			_, _ = s.Runs.FollowUp(s.T.Context(), s.Admin, id, run.FollowupRequest{Message: "and this"})
		}
	}
}

// happens delivers an event that may start a run, only continue one, or close the subject.
func (s *sequence) happens(action string) {
	s.steps = append(s.steps, action)
	body := fmt.Sprintf(`{"repo": "acme/shop", "pr": %d, "action": %q, "n": %d}`, s.pr, action, len(s.events))
	s.events = append(s.events, s.arrive(s.webhook.UID, body).DeliveryID)
}

// give gives the events that wait, and notices if an event that closed the subject cancels the run.
func (s *sequence) give(d time.Duration) {
	s.after(d)
	for _, r := range s.ofSubject() {
		if r.State == penstock.StateCancelled {
			s.ended[r.ID] = true
		}
		if r.State.Done() && r.ID == s.lease.RunID {
			s.lease = penstock.Lease{}
		}
	}
}

// stop cancels the run at work, or loses its worker.
func (s *sequence) stop() {
	for _, r := range s.ofSubject() {
		if r.State.Done() {
			continue
		}
		s.ended[r.ID] = true
		if s.lease.RunID != "" && s.random.IntN(2) == 0 {
			s.LoseLease(s.lease)
		} else if _, err := s.Runs.Cancel(s.T.Context(), s.Admin, r.ID, false); err != nil {
			s.T.Fatal(err)
		}
		s.lease = penstock.Lease{}
	}
}

func (s *sequence) ofSubject() []penstock.Run {
	page, err := s.Runs.List(s.T.Context(), s.Admin, penstock.RunQuery{Subject: s.subject()})
	if err != nil {
		s.T.Fatal(err)
	}
	return page.Runs
}

// check fails if two runs work on the subject, or an event is in two prompts.
func (s *sequence) check() {
	live := 0
	for _, r := range s.ofSubject() {
		if !r.State.Done() {
			live++
		}
	}
	if live > 1 {
		s.T.Fatalf("%d runs work on the subject after the steps %v", live, s.steps)
	}
	for id, prompts := range s.received.In {
		if len(prompts) > 1 {
			s.T.Fatalf("the event %s is in the prompts %v after the steps %v", id, prompts, s.steps)
		}
	}
}

// drain lets everything end that waits, and checks that each event has one fate and one prompt.
func (s *sequence) drain() {
	for range 200 {
		s.give(time.Hour)
		if s.lease.RunID == "" {
			s.work()
		}
		if s.lease.RunID == "" {
			break
		}
		s.finish(penstock.StateSucceeded)
	}
	s.check()
	for _, id := range s.events {
		d, err := s.Deliveries.Read(s.T.Context(), s.Admin, s.factory, s.webhook.UID, id)
		if err != nil {
			s.T.Fatal(err)
		}
		m := d.Matches[0]
		received, dropped := m.RunID != "", m.Fate == penstock.FateSkipped || m.Fate == penstock.FateSuperseded ||
			m.Fate == "" && m.Reason != ""
		if m.Fate == penstock.FateWaiting || received == dropped {
			s.T.Errorf("the event %s has the fate %s and the run %q after the steps %v", id, m.Fate, m.RunID, s.steps)
		}
		if prompts := len(s.received.In[id]); prompts != 1 && received && !s.ended[m.RunID] || prompts > 0 && !received {
			s.T.Errorf("the event %s, %s, is in %d prompts after the steps %v", id, m.Fate, prompts, s.steps)
		}
	}
}

// run takes random steps, lets all end, and checks what became of the events.
func (s *sequence) run() {
	for range 4 + s.random.IntN(24) {
		s.step()
		s.check()
	}
	s.drain()
}

// perWorld is how many sequences share a world, each with a subject of its own.
const perWorld = 2000

// Whatever happens in whatever order, one run at most works on a subject, and each event reaches one
// prompt or has a fate that says why not. Each sequence has a seed of its own, in a row.
// PENSTOCK_TEST_SEED sets the first, PENSTOCK_TEST_SEQUENCES how many there are for each mode; make
// sequences runs many.
func TestSequencesOfEventsOnASubject(t *testing.T) {
	sequences := uint64(12)
	if n, err := strconv.ParseUint(os.Getenv("PENSTOCK_TEST_SEQUENCES"), 10, 64); err == nil {
		sequences = n
	}
	first := uint64(rand.Uint32())
	if n, err := strconv.ParseUint(os.Getenv("PENSTOCK_TEST_SEED"), 10, 64); err == nil {
		first = n
	}
	for _, busy := range []penstock.WhenBusy{
		penstock.WhenBusyCoalesce, penstock.WhenBusyQueue, penstock.WhenBusyReplace,
	} {
		t.Run(string(busy), func(t *testing.T) {
			for seed := first; seed < first+sequences; seed += perWorld {
				t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) {
					testSequences(t, busy, seed, min(seed+perWorld, first+sequences))
				})
			}
		})
	}
}

// testSequences runs the sequences of the seeds from first to before end.
func testSequences(t *testing.T, busy penstock.WhenBusy, first, end uint64) {
	t.Helper()
	most := penstock.MostFollowups
	rules := closable(busy != penstock.WhenBusyQueue)
	rules.WhenBusy, rules.MaxFollowups = &busy, &most
	withSubjects(t, rules, func(w *topics) {
		if _, err := w.Resources.UpdateAutomation(
			w.T.Context(), w.Admin, w.factory, w.automation.UID, factory.AutomationRequest{Triggers: on(`"opened"`)},
		); err != nil {
			w.T.Fatal(err)
		}
		begun, seed := time.Now(), first
		defer func() {
			if w.T.Failed() {
				w.T.Logf("failed after %d others in this world; make sequences N=3 WORLDS=1 ENGINE=%s SEED=%d repeats it",
					seed-first, w.Deps.Store.Engine(), seed)
			}
		}()
		for ; seed < end; seed++ {
			s := &sequence{
				topics: w, random: rand.New(rand.NewPCG(seed, 1)), pr: int(seed-first) + 1,
				received: testworld.NewReceived(), ended: map[string]bool{},
			}
			if s.run(); w.T.Failed() {
				return
			}
		}
		w.T.Logf("%s, seeds %d to %d: %.0f sequences a second", busy, first, end-1,
			float64(end-first)/time.Since(begun).Seconds())
	})
}
