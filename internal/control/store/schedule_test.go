package store_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

func addSchedule(t *testing.T, s *store.Store, change func(*store.ScheduleRow)) store.ScheduleRow {
	t.Helper()
	now := penstock.Now()
	r := store.ScheduleRow{
		Schedule: penstock.Schedule{
			ID: penstock.NewID(), Name: "nightly", Cron: "@daily", Enabled: true, Prompt: "go", Mode: penstock.ModePlan,
			CreatedAt: now, UpdatedAt: now,
			CreatedBy: &ada, UpdatedBy: &ada,
		},
		Team: store.DefaultTeam, NextAt: now, Version: 1,
	}
	if change != nil {
		change(&r)
	}
	write(t, s, func(tx *store.Tx) error {
		return errors.Join(tx.Keys().AddPrincipal(t.Context(), store.DefaultTeam, ada), tx.Schedules().Add(t.Context(), r))
	})
	return r
}

func TestScheduleIsReadBackUnchanged(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		e := addEnvironment(t, s, "app")
		want := addSchedule(t, s, func(r *store.ScheduleRow) {
			r.Personal, r.AgentUID, r.Metadata = true, "agent", map[string]string{"k": "v"}
			r.TimeZone, r.CatchUp, r.Overlap = "Asia/Tokyo", penstock.CatchUpAll, penstock.OverlapSkip
			r.Config = &penstock.Config{EnvironmentID: e.UID, Env: map[string]string{"A": "b"}}
		})
		want.Environment = &e.Config
		owner := store.Viewer{Team: store.DefaultTeam, UID: "ada"}
		got, err := s.Schedules.Find(t.Context(), owner, want.ID)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
		for name, v := range map[string]store.Viewer{
			"somebody else of the team": {Team: store.DefaultTeam, UID: "bob"},
			"another team's admin":      {Team: "another", UID: "ada", All: true},
		} {
			if _, err := s.Schedules.Find(t.Context(), v, want.ID); penstock.CodeOf(err) != penstock.CodeNotFound {
				t.Errorf("%s reads it: %v", name, err)
			}
			if list, err := s.Schedules.List(t.Context(), v); err != nil || len(list) != 0 {
				t.Errorf("%s lists %d (%v), want none", name, len(list), err)
			}
		}
	})
}

func TestOnlyDueSchedulesAreReturned(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		now := penstock.Now()
		add := func(name string, change func(*store.ScheduleRow)) {
			addSchedule(t, s, func(r *store.ScheduleRow) { r.Name = name; change(r) })
		}
		add("due", func(r *store.ScheduleRow) { r.NextAt = now })
		add("long due", func(r *store.ScheduleRow) { r.NextAt = now - 5000 })
		add("of another team", func(r *store.ScheduleRow) { r.NextAt, r.Team = now-1, "another" })
		add("not yet", func(r *store.ScheduleRow) { r.NextAt = now + 1 })
		add("paused", func(r *store.ScheduleRow) { r.NextAt, r.Enabled = now, false })
		due, err := s.Schedules.Due(t.Context(), now, store.ScheduleRow{}, 10)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range due {
			got = append(got, r.Name)
		}
		if diff := cmp.Diff([]string{"long due", "of another team", "due"}, got); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	})
}

func TestScheduleAdvancesOncePerTime(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		r := addSchedule(t, s, nil)
		var won atomic.Int32
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				err := s.Write(t.Context(), func(tx *store.Tx) error {
					first, err := tx.Schedules().Advance(t.Context(), r, r.NextAt+1000)
					if first {
						won.Add(1)
					}
					return err
				})
				if err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if won.Load() != 1 {
			t.Errorf("%d of 8 that saw the same time took it, want 1", won.Load())
		}
	})
}

func TestScheduleThatChangedDoesNotAdvance(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*store.ScheduleRow){
		"its prompt": func(r *store.ScheduleRow) { r.Prompt = "something else" },
		"its time":   func(r *store.ScheduleRow) { r.NextAt++ },
		"paused":     func(r *store.ScheduleRow) { r.Enabled, r.NextAt = false, 0 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testkit.Stores(t, func(t *testing.T, s *store.Store) {
				seen := addSchedule(t, s, nil)
				write(t, s, func(tx *store.Tx) error {
					r, err := tx.Schedules().Lock(t.Context(), store.Viewer{Team: store.DefaultTeam}, seen.ID)
					change(&r)
					return errors.Join(err, tx.Schedules().Set(t.Context(), r))
				})
				write(t, s, func(tx *store.Tx) error {
					first, err := tx.Schedules().Advance(t.Context(), seen, seen.NextAt+1000)
					if first {
						t.Error("it advanced by what it was before")
					}
					return err
				})
			})
		})
	}
}
