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

// Whatever happens in whatever order, one run at most works on a subject, and each event reaches one
// prompt or has a fate that says why not. PENSTOCK_TEST_SEED repeats a seed, PENSTOCK_TEST_SEQUENCES
// sets how many sequences there are.
func TestSequencesOfEventsOnASubject(t *testing.T) {
	sequences := 12
	if n, err := strconv.Atoi(os.Getenv("PENSTOCK_TEST_SEQUENCES")); err == nil {
		sequences = n
	}
	seed := rand.Uint64()
	if n, err := strconv.ParseUint(os.Getenv("PENSTOCK_TEST_SEED"), 10, 64); err == nil {
		seed = n
	}
	for _, busy := range []penstock.WhenBusy{
		penstock.WhenBusyCoalesce, penstock.WhenBusyQueue, penstock.WhenBusyReplace,
	} {
		t.Run(string(busy), func(t *testing.T) {
			t.Logf("seed %d", seed)
			most := penstock.MostFollowups
			rules := closable(busy != penstock.WhenBusyQueue)
			rules.WhenBusy, rules.MaxFollowups = &busy, &most
			withSubjects(t, rules, func(w *topics) {
				if _, err := w.Resources.UpdateAutomation(
					t.Context(), w.Admin, w.factory, w.automation.UID, factory.AutomationRequest{Triggers: on(`"opened"`)},
				); err != nil {
					t.Fatal(err)
				}
				random := rand.New(rand.NewPCG(seed, 1))
				for pr := range sequences {
					s := &sequence{
						topics: w, random: random, pr: pr + 1, received: testworld.NewReceived(),
						ended: map[string]bool{},
					}
					for range 4 + random.IntN(24) {
						s.step()
						s.check()
					}
					s.drain()
				}
			})
		})
	}
}
