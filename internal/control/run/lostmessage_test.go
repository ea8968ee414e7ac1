package run_test

import (
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/announce"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// Each server looks for lost workers, and each run has at most one message about its lease.
func TestEndpointsHearOfALostWorkerOnce(t *testing.T) {
	worlds(t, nil, func(w *world) {
		e := w.Listen(announce.EndpointRequest{}, store.EventWorkerLost)
		lose := func(l penstock.Lease) {
			w.T.Helper()
			testkit.Exec(w.T, w.URL, "UPDATE queue SET lease_until = 1 WHERE token = '"+l.Token+"'")
			var servers sync.WaitGroup
			for range 4 {
				servers.Go(func() {
					if err := w.Executions.EndLostLeases(w.T.Context()); err != nil {
						w.T.Error(err)
					}
				})
			}
			servers.Wait()
		}
		personal := w.Create(penstock.RunRequest{Prompt: "mine", Team: new(false)}).ID
		lease := w.Work().Lease
		if lease.RunID != personal {
			w.T.Fatalf("the worker got run %s", lease.RunID)
		}
		lose(lease)

		id := w.Create(penstock.RunRequest{Prompt: "ours"}).ID
		lease = w.Claim().Lease
		w.Moves(lease, penstock.StatePending)
		lose(lease)
		lease = w.Work().Lease // the same run again
		lose(lease)
		w.MustBe(id, penstock.StateError)

		message := func(state penstock.State) penstock.EndpointMessage {
			return penstock.EndpointMessage{Type: store.EventWorkerLost, Data: penstock.EndpointData{
				RunID: id, State: state, URL: "/api/v1/agent/runs/" + id,
			}}
		}
		want := []penstock.EndpointMessage{message(penstock.StatePending), message(penstock.StateInProgress)}
		got := w.Heard(e)
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(penstock.EndpointData{}, "Sequence")); diff != "" {
			w.T.Fatal(diff)
		}
		if first, last := got[0].Data.Sequence, got[1].Data.Sequence; first < 1 || last <= first {
			w.T.Errorf("the sequences are %d and %d", first, last)
		}
	})
}
