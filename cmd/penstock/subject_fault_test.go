package main_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// The server gets SIGKILL while senders post events about few subjects and a worker works on them. Each
// acknowledged event has one final fate and one run, and one run has worked on each subject at a time.
func TestKillLosesNoEventOfASubject(t *testing.T) {
	t.Parallel()
	const subjects, each = 3, 12
	testkit.Engines(t, func(t *testing.T, database string) {
		testkit.TakesLongOnPostgres(t, database)
		h := serveHooks(t, testkit.ServeOptions{Database: database, Args: noWorker})
		startWorker(t, h.Server)
		w := h.tokenHook("events")
		h.ask(http.MethodPatch, h.path()+"/automations/"+h.automation(w, "review", "demo: say seen", nil).UID, map[string]any{
			"subject": "{{pr}}", "quiet": "0", "max_followups": 1000,
		}, http.StatusOK, nil)
		s := newSender(t)
		var told ledger
		var all sync.WaitGroup
		for pr := range subjects {
			all.Go(func() {
				for n := range each {
					identity := fmt.Sprintf("%d-%d", pr, n)
					for !told.has(identity) { // like a sender that gets no response
						got, err := s.try(
							t.Context(), http.MethodPost, h.url(w), bearer(w, "X-Penstock-Delivery-Id", identity),
							strings.NewReader(fmt.Sprintf(`{"pr": %d, "n": %d}`, pr, n)),
						)
						if err == nil && got.status == http.StatusAccepted {
							told.note(identity, got.deliveryID())
						}
						<-time.After(20 * time.Millisecond)
					}
				}
			})
		}
		for _, accepted := range []int{subjects, subjects * each / 2, subjects * each} {
			testkit.Eventually(t, time.Minute, func() error {
				if n := told.size(); n < accepted {
					return fmt.Errorf("%d events were accepted, waiting for %d", n, accepted)
				}
				return nil
			})
			h.Kill9()
			h.Restart()
		}
		all.Wait()
		testkit.Eventually(t, time.Minute, func() error { return h.settled(w, &told) })
		live, reached := map[string]bool{}, int64(0)
		for _, r := range h.runs(w) {
			if r.State != penstock.StateSucceeded || live[r.Subject] {
				t.Errorf("subject %s has the run %s in state %s", r.Subject, r.ID, r.State)
			}
			live[r.Subject] = true
			reached += r.EventsCount
		}
		if len(live) != subjects || reached != subjects*each {
			t.Errorf(
				"%d subjects have a run, want %d; %d events reached them, want %d",
				len(live), subjects, reached, subjects*each,
			)
		}
	})
}

// settled returns an error unless each acknowledged event is in the log with a final fate and its run,
// and no run works any more.
func (h *hooked) settled(w penstock.Webhook, told *ledger) error {
	events := map[string]store.DeliveryMatch{}
	for _, d := range h.log(w, "outcome=accepted") {
		if len(d.Matches) != 1 {
			return fmt.Errorf("delivery %s has %d matches", d.ID, len(d.Matches))
		}
		events[d.ID] = d.Matches[0]
	}
	if len(events) != len(told.acknowledged) {
		return fmt.Errorf("%d events are in the log, and %d were sent", len(events), len(told.acknowledged))
	}
	for id, m := range events {
		if m.Fate == store.FateWaiting || m.Fate == "" || m.RunID == "" {
			return fmt.Errorf("event %s has the fate %q and the run %q", id, m.Fate, m.RunID)
		}
	}
	for _, r := range h.runs(w) {
		if !r.State.Done() {
			return errors.New("run " + r.ID + " is " + string(r.State))
		}
	}
	return nil
}
