package run_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

// ledgerCall is a call to a model that the tests put into the ledger.
type ledgerCall struct {
	at                              time.Time
	state                           string // "": settled
	run, model                      string
	factory, agent, automation, key string
	inherited                       string
	cost, tokens                    int64 // in nano-dollars; of input
	unpriced, estimated, unknown    bool
}

// record puts calls into the ledger, as if they had been made.
func (w *world) record(calls ...ledgerCall) {
	w.T.Helper()
	number := map[bool]int{true: 1}
	for i, c := range calls {
		if c.state == "" {
			c.state = "settled"
		}
		provider, model, _ := strings.Cut(c.model, "/")
		testkit.Exec(w.T, w.URL, fmt.Sprintf(`INSERT INTO calls (id, team, run_id, execution_id, token, state, created_at,
				settled_at, provider, model, factory_uid, agent_uid, automation_id, key_uid, inherited, cost, cost_input, tokens,
				tokens_input, unpriced, estimated, unknown)
			VALUES ('%s-%d', 'default', '%s', 1, '', '%s', %d, %d, '%s', '%s', '%s', '%s', '%s', '%s', '%s', %d, %d, %d, %d,
				%d, %d, %d)`, penstock.NewID(), i, c.run, c.state, c.at.UnixMilli(), c.at.UnixMilli(), provider, model,
			c.factory, c.agent, c.automation, c.key, c.inherited, c.cost, c.cost, c.tokens, c.tokens, number[c.unpriced],
			number[c.estimated], number[c.unknown]))
	}
}

func TestBudgetFromItsCreationToItsEnd(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		made := w.CreateBudget(testworld.OfTeam(penstock.BudgetTotal, 2.5))
		want := penstock.SharedBudget{
			Scope: store.BudgetOfTeam, Period: penstock.BudgetTotal, TimeZone: "UTC", MaxCostUSD: 2.5,
			Action: penstock.BudgetPause, NotifyAt: []float64{0.8},
		}
		ignored := cmpopts.IgnoreFields(penstock.SharedBudget{}, "UID", "CreatedAt", "UpdatedAt")
		if diff := cmp.Diff(want, made, ignored); diff != "" || made.UID == "" || made.CreatedAt == 0 {
			w.T.Errorf("created, -want +got:\n%s", diff)
		}
		changed, err := w.Budgets.Update(ctx, w.Admin, made.UID, run.SharedBudgetRequest{
			MaxCostUSD: new(0.0), Action: new(penstock.BudgetRefuse), TimeZone: new("Europe/Berlin"),
			Period: new(penstock.BudgetDay), NotifyAt: &[]float64{1, 0.5}, Scope: new(store.BudgetOfTeam),
		})
		if err != nil {
			w.T.Fatal(err)
		}
		want = penstock.SharedBudget{
			Scope: store.BudgetOfTeam, Period: penstock.BudgetDay, TimeZone: "Europe/Berlin",
			Action: penstock.BudgetRefuse, NotifyAt: []float64{0.5, 1},
		}
		want.PeriodStart, want.PeriodEnd, _ = want.PeriodAt(penstock.Now())
		if diff := cmp.Diff(want, changed, ignored); diff != "" {
			w.T.Errorf("changed, -want +got:\n%s", diff)
		}
		cleared, err := w.Budgets.Update(ctx, w.Admin, made.UID, run.SharedBudgetRequest{
			NotifyAt: &[]float64{}, Cleared: []string{"action", "time_zone"},
		})
		if err != nil || cleared.Action != penstock.BudgetPause || cleared.TimeZone != "UTC" || len(cleared.NotifyAt) != 0 {
			w.T.Errorf("set to defaults: got %+v, %v", cleared, err)
		}
		list, err := w.Budgets.List(ctx, w.As("bob", penstock.ScopeRunsRead))
		if diff := cmp.Diff([]penstock.SharedBudget{cleared}, list); diff != "" || err != nil {
			w.T.Errorf("listed: %v, -want +got:\n%s", err, diff)
		}
		if err := w.Budgets.Delete(ctx, w.Admin, made.UID); err != nil {
			w.T.Fatal(err)
		}
		_, err = w.Budgets.Read(ctx, w.Admin, made.UID)
		testworld.WantCode(w.T, err, penstock.CodeNotFound, made.UID)
		_, err = w.Budgets.Update(ctx, w.Admin, made.UID, testworld.OfTeam(penstock.BudgetDay, 1))
		testworld.WantCode(w.T, err, penstock.CodeNotFound, made.UID)
		testworld.WantCode(w.T, w.Budgets.Delete(ctx, w.Admin, made.UID), penstock.CodeNotFound, made.UID)
	})
}

func TestBudgetsOfEachScope(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		factory, err := w.Factories.Create(ctx, w.Admin, factory.FactoryRequest{Name: new("payments")})
		if err != nil {
			w.T.Fatal(err)
		}
		key, err := w.Keys.Create(ctx, w.Admin, access.KeyRequest{
			Name: "ci", Scopes: []penstock.Scope{penstock.ScopeRunsWrite},
		})
		if err != nil {
			w.T.Fatal(err)
		}
		nightly, err := w.Resources.CreateAutomation(
			ctx, w.Admin, factory.UID, testworld.ClockAutomation("nightly", "0 3 1 1 *"),
		)
		if err != nil {
			w.T.Fatal(err)
		}
		now := time.Now()
		w.record(
			ledgerCall{at: now, factory: factory.UID, cost: 1e9},
			ledgerCall{at: now, state: "reserved", factory: factory.UID, key: key.UID, cost: 3e9},
			ledgerCall{at: now, inherited: ",key:" + key.UID + ",", cost: 2e9},
			ledgerCall{at: now.Add(-60 * 24 * time.Hour), factory: factory.UID, cost: 64e9},
			ledgerCall{at: now, state: "unsent", factory: factory.UID},
		)
		for _, c := range []struct {
			scope           penstock.BudgetScope
			uid, name       string // with its factory
			period          penstock.BudgetPeriod
			spent, reserved float64
		}{
			{store.BudgetOfTeam, "", "", penstock.BudgetTotal, 67, 3},
			{store.BudgetOfTeam, "", "", penstock.BudgetMonth, 3, 3},
			{store.BudgetOfFactory, factory.UID, "payments", penstock.BudgetTotal, 65, 3},
			{store.BudgetOfFactory, factory.UID, "payments", penstock.BudgetMonth, 1, 3},
			{store.BudgetOfAgent, factory.ForemanUID, "foreman of payments", penstock.BudgetTotal, 0, 0},
			{store.BudgetOfAutomation, nightly.UID, "nightly of payments", penstock.BudgetTotal, 0, 0},
			{store.BudgetOfKey, key.UID, "ci", penstock.BudgetTotal, 2, 3},
		} {
			req := run.SharedBudgetRequest{Scope: &c.scope, Period: &c.period, MaxCostUSD: new(100.0)}
			if c.uid != "" {
				req.ScopeUID = &c.uid
			}
			b := w.CreateBudget(req)
			name := b.ScopeName
			if b.FactoryName != "" {
				name += " of " + b.FactoryName
			}
			if name != c.name || b.SpentUSD != c.spent || b.ReservedUSD != c.reserved {
				w.T.Errorf("%s %s: got %q, %v spent, %v reserved, want %q, %v, %v",
					c.scope, c.period, name, b.SpentUSD, b.ReservedUSD, c.name, c.spent, c.reserved)
			}
			if read, err := w.Budgets.Read(ctx, w.Admin, b.UID); err != nil || !cmp.Equal(read, b) {
				w.T.Errorf("read: got %+v, %v, want %+v", read, err, b)
			}
		}
	})
}

// A budget whose period changes counts the calls of the new period.
func TestABudgetCountsItsNewPeriod(t *testing.T) {
	worlds(t, nil, func(w *world) {
		w.record(
			ledgerCall{at: time.Now(), cost: 1e9}, ledgerCall{at: time.Now().Add(-60 * 24 * time.Hour), cost: 2e9},
		)
		b := w.CreateBudget(testworld.OfTeam(penstock.BudgetMonth, 5))
		changed, err := w.Budgets.Update(
			w.T.Context(), w.Admin, b.UID, run.SharedBudgetRequest{Period: new(penstock.BudgetTotal)},
		)
		if err != nil || b.SpentUSD != 1 || changed.SpentUSD != 3 {
			w.T.Errorf("got %v, then %v spent (%v), want 1, then 3", b.SpentUSD, changed.SpentUSD, err)
		}
	})
}

func TestBadBudgetsAreRefused(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		for name, c := range map[string]struct {
			req  run.SharedBudgetRequest
			want []string
		}{
			"nothing": {run.SharedBudgetRequest{}, []string{"/scope", "/period", "/max_cost_usd"}},
			"null": {
				run.SharedBudgetRequest{Cleared: []string{"scope", "period", "max_cost_usd"}},
				[]string{"/scope", "/period", "/max_cost_usd"},
			},
			"an unknown scope": {
				run.SharedBudgetRequest{
					Scope: new(penstock.BudgetScope("user")), Period: new(penstock.BudgetDay), MaxCostUSD: new(1.0),
				},
				[]string{"/scope"},
			},
			"a factory without its uid": {
				run.SharedBudgetRequest{
					Scope: new(store.BudgetOfFactory), Period: new(penstock.BudgetDay), MaxCostUSD: new(1.0),
				},
				[]string{"/scope_uid"},
			},
			"a factory that does not exist": {
				run.SharedBudgetRequest{
					Scope: new(store.BudgetOfFactory), ScopeUID: new(penstock.NewID()),
					Period: new(penstock.BudgetDay), MaxCostUSD: new(1.0),
				},
				[]string{"/scope_uid"},
			},
			"a team with a uid": {
				run.SharedBudgetRequest{
					Scope: new(store.BudgetOfTeam), ScopeUID: new("default"), Period: new(penstock.BudgetDay),
					MaxCostUSD: new(1.0),
				},
				[]string{"/scope_uid"},
			},
			"bad values": {
				run.SharedBudgetRequest{
					Scope: new(store.BudgetOfTeam), Period: new(penstock.BudgetPeriod("hour")), MaxCostUSD: new(-1.0),
					TimeZone: new("Mars/Olympus"), Action: new(penstock.BudgetAction("shout")), NotifyAt: &[]float64{1.1},
				},
				[]string{"/period", "/action", "/time_zone", "/max_cost_usd", "/notify_at"},
			},
		} {
			_, err := w.Budgets.Create(ctx, w.Admin, c.req)
			if diff := cmp.Diff(c.want, testworld.Pointers(err)); diff != "" {
				w.T.Errorf("%s: %v, -want +got:\n%s", name, err, diff)
			}
		}
		b := w.CreateBudget(testworld.OfTeam(penstock.BudgetDay, 1))
		_, err := w.Budgets.Update(ctx, w.Admin, b.UID, run.SharedBudgetRequest{
			Scope: new(store.BudgetOfKey), ScopeUID: new("x"), Cleared: []string{"max_cost_usd"},
		})
		if diff := cmp.Diff([]string{"/max_cost_usd", "/scope", "/scope_uid"}, testworld.Pointers(err)); diff != "" {
			w.T.Errorf("a change: %v, -want +got:\n%s", err, diff)
		}
	})
}

// An agent must never raise a budget, not even with a key that has all of an admin's scopes.
func TestRightsToChangeBudgets(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		b := w.CreateBudget(testworld.OfTeam(penstock.BudgetDay, 1))
		agent := w.As("agent", penstock.ScopeAdmin)
		agent.AgentUID = penstock.NewID()
		for name, p := range map[string]penstock.Principal{
			"a manager": w.As(
				"bob", penstock.ScopeRunsRead, penstock.ScopeRunsWrite, penstock.ScopeFactoriesManage, penstock.ScopeKeysManage,
			),
			"an agent's admin key": agent,
			"a run": {
				Team: store.DefaultTeam, RunID: penstock.NewID(), Scopes: []penstock.Scope{penstock.ScopeOwnRun},
			},
		} {
			_, err := w.Budgets.Create(ctx, p, testworld.OfTeam(penstock.BudgetDay, 1))
			_, err2 := w.Budgets.Update(ctx, p, b.UID, run.SharedBudgetRequest{MaxCostUSD: new(100.0)})
			for _, err := range []error{err, err2, w.Budgets.Delete(ctx, p, b.UID)} {
				if penstock.CodeOf(err) != penstock.CodeNotAuthorized {
					w.T.Errorf("%s: got %v, want not_authorized", name, err)
				}
			}
		}
		if _, err := w.Budgets.List(ctx, w.As("eve", penstock.ScopeFactoriesRead)); err == nil {
			w.T.Error("a key without runs:read may list budgets")
		}
		if list, err := w.Budgets.List(ctx, w.Admin); err != nil || len(list) != 1 || list[0].MaxCostUSD != 1 {
			w.T.Errorf("got %+v, %v, want the budget as it was", list, err)
		}
		other := w.Admin
		other.Team = "another"
		_, err := w.Budgets.Read(ctx, other, b.UID)
		testworld.WantCode(w.T, err, penstock.CodeNotFound, b.UID)
		testworld.WantCode(w.T, w.Budgets.Delete(ctx, other, b.UID), penstock.CodeNotFound, b.UID)
	})
}
