package store_test

import (
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// A time of a source has one fate, whichever server is first, and a final one stays.
func TestATimeHasOneFate(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		of := func(fate store.Fate, change func(*store.OccurrenceRow)) store.OccurrenceRow {
			r := store.OccurrenceRow{
				Occurrence: store.Occurrence{
					UID: penstock.NewID(), Kind: store.OccurrenceTick, ScheduleID: "s", DueAt: 1000, Fate: fate, RunIDs: []string{},
				},
				Team: store.DefaultTeam, Source: "s",
			}
			change(&r)
			return r
		}
		same := func(*store.OccurrenceRow) {}
		waiting := of(store.FateWaiting, same)
		for _, step := range []struct {
			name string
			row  store.OccurrenceRow
			want bool
		}{
			{"the first", waiting, true},
			{"the same time", of(store.FateStarted, same), false},
			{"another time", of(store.FateStarted, func(r *store.OccurrenceRow) { r.DueAt = 2000 }), true},
			{"of an automation", of(store.FateStarted, func(r *store.OccurrenceRow) { r.AutomationUID = "a" }), true},
			{"of another clock", of(store.FateStarted, func(r *store.OccurrenceRow) { r.Clock = "UTC @daily" }), true},
			{"of another source", of(store.FateStarted, func(r *store.OccurrenceRow) { r.Source = "t" }), true},
		} {
			write(t, s, func(tx *store.Tx) error {
				first, err := tx.Occurrences().Add(ctx, step.row)
				if first != step.want {
					t.Errorf("%s: first is %t", step.name, first)
				}
				return err
			})
		}
		waiting.Fate, waiting.DecidedAt = store.FateStarted, 3000
		for _, want := range []bool{true, false} {
			write(t, s, func(tx *store.Tx) error {
				decided, err := tx.Occurrences().Decide(ctx, waiting)
				if decided != want {
					t.Errorf("decided is %t, want %t", decided, want)
				}
				return err
			})
		}
		if at, err := s.Occurrences.DecidedUntil(ctx, "s", "", "", 1999); err != nil || at != 1000 {
			t.Errorf("decided until %d (%v), want 1000", at, err)
		}
	})
}
