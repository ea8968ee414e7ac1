package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// The payload of a delivery whose log entry is gone stays for its runs, and goes
// with the last of them.
func TestPayloadsGoWithTheLastRun(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		addReceiver(t, s)
		at := penstock.Now().Add(-time.Hour)
		var runs []*store.NewRun
		d, _ := mustDeliver(t, s, func(d *store.NewDelivery) {
			d.ID, d.ReceivedAt = idAt(at), at
			matches := ""
			for range 2 {
				run := newRun(func(r *store.NewRun) {
					r.CreatedAt, r.UpdatedAt, r.WebhookUID, r.DeliveryID = at, at, d.WebhookUID, d.ID
				})
				runs = append(runs, run)
				matches += fmt.Sprintf(`,{"automation":"a","automation_uid":"u","would_trigger":true,"run_id":%q}`, run.ID)
			}
			d.Runs, d.Matches = runs, "["+matches[1:]+"]"
		})
		if n, err := s.ClearLog(t.Context(), d.WebhookUID, penstock.OutcomeAccepted, store.Keep{Since: penstock.Now()}, 10); n != 1 || err != nil {
			t.Fatalf("cleared %d, %v, want the entry", n, err)
		}
		remove := func(run *store.NewRun) {
			t.Helper()
			err := s.Write(t.Context(), func(tx *store.Tx) error {
				_, err := tx.RemoveRun(t.Context(), run.ID, penstock.Now().Add(time.Minute))
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		remove(runs[0])
		if _, err := s.Run(t.Context(), store.DefaultTeam, runs[0].ID); err != nil {
			t.Errorf("a run that waits was removed: %v", err)
		}
		for i, run := range runs {
			if err := move(t, s, run.ID, penstock.StateCancelled); err != nil {
				t.Fatal(err)
			}
			remove(run)
			if _, err := s.Run(t.Context(), store.DefaultTeam, run.ID); penstock.CodeOf(err) != penstock.CodeNotFound {
				t.Errorf("a run that is over is left: %v", err)
			}
			if _, err := s.Payload(t.Context(), d.ID); (err == nil) != (i == 0) {
				t.Errorf("with %d runs left, the payload: %v", 1-i, err)
			}
		}
	})
}
