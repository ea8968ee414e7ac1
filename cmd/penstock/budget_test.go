package main_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

func TestBudgets(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{})
	env := client(s)
	call(t, env, "factory", "create", "payments").want(t, 0)
	made := callFor[penstock.SharedBudget](
		t, env, "budget", "create", "--factory", "payments", "--max-cost", "12.5", "--period", "day",
		"--time-zone", "Europe/Berlin",
	)
	if made.Scope != store.BudgetOfFactory || made.ScopeName != "payments" || made.TimeZone != "Europe/Berlin" {
		t.Errorf("got %+v", made)
	}
	call(t, env, "budget", "create", "--max-cost", "500").want(t, 0, "team", "month (UTC)", "$500.00", "80 %")
	call(t, env, "budget", "list").want(t, 0, made.UID, "factory payments", "$12.50", "team")
	call(t, env, "budget", "set", made.UID, "--max-cost", "20", "--action", "refuse", "--notify-at", "0.5").want(
		t, 0, "$20.00", "refuse", "50 %",
	)
	call(t, env, "budget", "get", made.UID).want(t, 0, "$20.00", "spent", "$0.00")
	call(t, env, "budget", "set", made.UID).want(t, 64, "nothing to change")
	call(t, env, "budget", "create", "--max-cost=-1").want(t, 65, "--max-cost: must be from 0")
	call(t, env, "budget", "create", "--max-cost", "1", "--time-zone", "Mars").want(t, 65, "--time-zone: must be an IANA")
	call(t, env, "budget", "create", "--max-cost", "1", "--key", "nobody").want(t, 65, "--key: there is no key")
	call(t, env, "budget", "delete", made.UID).want(t, 0)
	call(t, env, "budget", "get", made.UID).want(t, 65, "no budget")
}

func TestTheBudgetOfARun(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{})
	env := client(s)
	id := startRun(t, env, "x", "--worker-host", "none")
	call(t, env, "run", "budget", id).want(t, 0, "none", "$0.00")
	call(t, env, "run", "budget", id, "--max-cost", "5", "--max-tokens", "1000").want(
		t, 0, "$0.00 spent and $0.00 reserved of $5.00", "0 spent and 0 reserved of 1000",
	)
	want := penstock.Budget{MaxCostUSD: 5, MaxTotalTokens: 1000}
	if got := getRun(t, env, id).Config.Budget; got == nil || *got != want {
		t.Errorf("got %+v", got)
	}
	call(t, env, "run", "budget", id, "--no-max-cost").want(t, 0, "0 spent and 0 reserved of 1000")
	call(t, env, "run", "budget", id, "--no-max-tokens").want(t, 0, "none")
	capped := startRun(t, env, "x", "--worker-host", "none", "--max-cost", "2.5", "--max-tokens", "300")
	want = penstock.Budget{MaxCostUSD: 2.5, MaxTotalTokens: 300}
	if got := getRun(t, env, capped).Config.Budget; got == nil || *got != want {
		t.Errorf("created with %+v", got)
	}
	call(t, env, "run", "create", "x", "--max-cost=-1").want(t, 65, "--max-cost: must not be negative")
	call(t, env, "run", "create", "x", "--max-cost=1e-12").want(t, 65, "--max-cost: must be at least a nano-dollar")
	call(t, env, "run", "budget", id, "--max-cost", "0").want(
		t, 65, "--max-cost: must be above 0 and at most a billion (inv",
	)
	call(t, env, "run", "budget", id, "--max-cost", "1", "--no-max-cost").want(t, 64)
}

func TestUsageOfTheTeam(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{})
	env := client(s)
	call(t, env, "usage").want(t, 0, "GROUP", "total", "$0.00")
	call(t, env, "usage", "--by", "day", "--csv").want(t, 0, "key,name,calls,")
	call(t, env, "usage", "--from", "24h", "--to", "48h").want(t, 65, "--from: must be earlier than --to (")
	call(t, env, "usage", "--time-zone", "Mars").want(t, 65, "--time-zone: must be an IANA")
	var report run.UsageReport
	fromJSON(t, call(t, env, "usage", "-o", "json").out, &report)
	if report.GroupBy != penstock.UsageByModel || report.Total.Calls != 0 {
		t.Errorf("got %+v", report)
	}
}

func TestTheCostOfUnpricedCallsIsAtLeast(t *testing.T) {
	t.Parallel()
	env := respondingEnv(t, `{"from": "2026-02-01T00:00:00.000Z", "to": "2026-02-02T00:00:00.000Z", "group_by": "model",
		"time_zone": "UTC", "rows": [{"key": "local/llama", "calls": 1234, "cost_usd": null, "priced_cost_usd": 1.25}],
		"omitted_rows": 3, "total": {"calls": 1234, "cost_usd": null, "priced_cost_usd": 1.25, "unsettled_calls": 1,
		"reserved_usd": 0.5}}`)
	call(t, env, "usage").want(t, 0, "local/llama", "1,234", "≥ $1.25", "(3 more)", "$0.50")
}

// A run that is blocked by a budget says how to continue.
func TestARunThatABudgetBlocks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ budget, want string }{
		"its own, of costs": {
			`{"budget_uid": "r1", "spent_usd": 4.9, "cap_usd": 5, "needed_usd": 0.2055}`,
			"$4.90 of $5.00 is spent or reserved, and the next call may need $0.2055. To continue the run, raise the " +
				"budget, for example: penstock run budget r1 --max-cost 5.11",
		},
		"its own, of tokens": {
			`{"budget_uid": "r1", "spent_tokens": 9000, "cap_tokens": 10000, "needed_tokens": 2000}`,
			"9,000 tokens of 10,000 are spent or reserved, and the next call may need 2,000. To continue the run, raise " +
				"the budget, for example: penstock run budget r1 --max-tokens 11000",
		},
		"one of nothing": {
			`{"budget_uid": "b1", "spent_usd": 0, "cap_usd": 0, "needed_usd": 0}`,
			"penstock budget set b1 --max-cost 1",
		},
		"a shared one": {
			`{"budget_uid": "b1", "budget_name": "monthly budget of the team", "spent_usd": 499.5, "cap_usd": 500,
				"needed_usd": 1}`,
			"The monthly budget of the team: $499.50 of $500.00 is spent or reserved, and the next call may need $1.00. " +
				"To continue the run, raise the budget, for example: penstock budget set b1 --max-cost 500.5",
		},
		"of a run above it": {
			`{"budget_uid": "019a0000-0000-7000-8000-000000000001", "spent_usd": 4.9, "cap_usd": 5, "needed_usd": 1}`,
			"The budget of a run above this one: $4.90 of $5.00 is spent or reserved, and the next call may need $1.00. " +
				"To continue the run, raise the budget, for example: " +
				"penstock run budget 019a0000-0000-7000-8000-000000000001 --max-cost 5.9",
		},
	} {
		env := respondingEnv(t, `{"run_id": "r1", "state": "BLOCKED", "status_message": {"message": "m",
			"error_code": "budget_exceeded", "budget": `+c.budget+`}}`)
		got := call(t, env, "run", "get", "r1")
		got.want(t, 0)
		if !strings.Contains(got.out, c.want) {
			t.Errorf("%s: got %s, want %q", name, got.out, c.want)
		}
	}
}

// respondingEnv returns the environment of a client whose server always sends the same response.
func respondingEnv(t *testing.T, body string) []string {
	t.Helper()
	url := responding(t, func(*http.Request) string { return body })
	return []string{"PENSTOCK_BASE_URL=" + url, "PENSTOCK_API_KEY=psk_test_00000000000000000000"}
}
