package store_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

func newBudget(change func(*store.BudgetRow)) store.BudgetRow {
	b := store.BudgetRow{SharedBudget: penstock.SharedBudget{
		UID: penstock.NewUID(), Scope: store.BudgetOfTeam, Period: penstock.BudgetTotal, TimeZone: "UTC", MaxCostUSD: 10,
		Action: penstock.BudgetPause, NotifyAt: []float64{0.5, 0.8}, CreatedAt: penstock.Now(), UpdatedAt: penstock.Now(),
	}, Team: store.DefaultTeam, MaxCost: 10e9}
	if change != nil {
		change(&b)
	}
	return b
}

func mustAddBudget(t *testing.T, s *store.Store, change func(*store.BudgetRow)) store.BudgetRow {
	t.Helper()
	b := newBudget(change)
	if err := s.Write(t.Context(), func(tx *store.Tx) error { return tx.Budgets().Add(t.Context(), b) }); err != nil {
		t.Fatal(err)
	}
	return b
}

func TestBudgetsAreStoredUnchanged(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		ctx := t.Context()
		b := mustAddBudget(t, s, func(b *store.BudgetRow) { b.Period, b.TimeZone = "month", "Europe/Berlin" })
		other := mustAddBudget(t, s, func(b *store.BudgetRow) { b.Scope, b.ScopeUID = "agent", "a1" })
		list, err := s.Budgets.List(ctx, store.DefaultTeam)
		if err != nil {
			t.Fatal(err)
		}
		same := cmpopts.SortSlices(func(a, b store.BudgetRow) bool { return a.UID < b.UID })
		if diff := cmp.Diff([]store.BudgetRow{b, other}, list, same); diff != "" {
			t.Errorf("budgets (-want +got):\n%s", diff)
		}
		change := func(tx *store.Tx) error {
			before, err := tx.Budgets().Lock(ctx, b.Team, b.UID)
			if err != nil {
				return err
			}
			b.MaxCostUSD, b.MaxCost, b.Period = 0.1, 100_000_000, penstock.BudgetDay
			return tx.Budgets().Update(ctx, before, b)
		}
		if err := s.Write(ctx, change); err != nil {
			t.Fatal(err)
		}
		got, err := s.Budgets.Find(ctx, b.Team, b.UID)
		if diff := cmp.Diff(b, got); err != nil || diff != "" {
			t.Errorf("changed budget (-want +got):\n%s%v", diff, err)
		}
		remove := func(tx *store.Tx) error { return tx.Budgets().Delete(ctx, b.Team, b.UID) }
		if err := s.Write(ctx, remove); err != nil {
			t.Fatal(err)
		}
		if err := s.Write(ctx, remove); penstock.CodeOf(err) != penstock.CodeNotFound {
			t.Errorf("a second removal: %v", err)
		}
		if _, err := s.Budgets.Find(ctx, b.Team, b.UID); penstock.CodeOf(err) != penstock.CodeNotFound {
			t.Errorf("the removed budget: %v", err)
		}
	})
}

// A transaction may be repeated: a budget that held the run up in the first attempt may have room in
// the second.
func TestARunIsCreatedAgainAfterARollback(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		ctx, failure, r := t.Context(), errors.New("rolled back"), newRun(nil)
		for _, want := range []penstock.State{penstock.StateBlocked, penstock.StateQueued} {
			err := s.Write(ctx, func(tx *store.Tx) error {
				if want == penstock.StateQueued {
					_, err := tx.Runs().Create(ctx, r)
					return err
				}
				spent := newBudget(func(b *store.BudgetRow) { b.MaxCostUSD, b.MaxCost = 0, 0 })
				if err := tx.Budgets().Add(ctx, spent); err != nil {
					return err
				}
				if _, err := tx.Runs().Create(ctx, r); err != nil {
					return err
				}
				return failure
			})
			if r.State != want || err != nil && !errors.Is(err, failure) {
				t.Fatalf("the run is %s, want %s: %v", r.State, want, err)
			}
		}
		got, err := s.Runs.Find(ctx, r.Team, r.ID)
		if err != nil || got.State != penstock.StateQueued || got.StatusMessage != nil {
			t.Errorf("the stored run is %s: %v, %v", got.State, got.StatusMessage, err)
		}
	})
}

func TestARunShowsTheCurrentStateOfItsBudget(t *testing.T) {
	t.Parallel()
	testkit.Stores(t, func(t *testing.T, s *store.Store) {
		r := mustCreate(t, s, func(r *store.NewRun) {
			r.Config.Budget = &penstock.Budget{MaxCostUSD: 0.25, MaxTotalTokens: 1000}
		})
		for _, want := range []*penstock.Budget{{MaxCostUSD: 0.25, MaxTotalTokens: 1000}, {MaxCostUSD: 7}, nil} {
			if want == nil || want.MaxCostUSD == 7 {
				cost := int64(0)
				if want != nil {
					cost = penstock.NanosOf(want.MaxCostUSD)
				}
				if err := s.Write(t.Context(), func(tx *store.Tx) error {
					return tx.Budgets().SetRunBudget(t.Context(), r.Team, r.ID, cost, 0)
				}); err != nil {
					t.Fatal(err)
				}
			}
			got, err := s.Runs.Find(t.Context(), r.Team, r.ID)
			if diff := cmp.Diff(want, got.Config.Budget); err != nil || diff != "" {
				t.Errorf("budget (-want +got):\n%s%v", diff, err)
			}
		}
	})
}
