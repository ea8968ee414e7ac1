package main_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// startPriced starts a worker for a scripted model, with a price list.
func startPriced(t *testing.T, s *testkit.Server, model *testkit.Model, list string) {
	t.Helper()
	env := []string{"OPENAI_API_KEY=sk-test", "OPENAI_BASE_URL=" + model.URL + "/v1"}
	startWorkerWith(t, s, env, "--prices", list)
}

// startWithBudget starts a run whose budget is a number of US dollars.
func startWithBudget(t *testing.T, s *testkit.Server, model, usd string) (id string) {
	t.Helper()
	got := send(t, s, http.MethodPost, "/agent/runs",
		`{"prompt":"Fix the login","config":{"model_id":"`+model+`","budget":{"max_cost_usd":`+usd+`}}}`)
	if got.status != http.StatusOK && got.status != http.StatusCreated && got.status != http.StatusAccepted {
		t.Fatalf("got %d: %s", got.status, got.body)
	}
	var run penstock.Run
	fromJSON(t, string(got.body), &run)
	return run.ID
}

// If a run's budget has no room for its next call, the run pauses before it sends the call. It
// continues when the budget is raised.
func TestARunPausesAtItsBudgetAndContinuesWhenItIsRaised(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, database string) {
		list := writeFile(t, "prices.yaml", "models:\n  openai/gpt-test: {input: 2.5, output: 10}\n")
		s := testkit.Serve(t, testkit.ServeOptions{Database: database, Args: []string{"--no-worker", "--prices", list}})
		model := testkit.NewModel(t, testkit.Turn{Text: "Done.", InputTokens: 1000, OutputTokens: 7})
		startPriced(t, s, model, list)
		env := client(s)

		id := startWithBudget(t, s, "openai/gpt-test", "0.001")
		testkit.Eventually(t, time.Minute, func() error { return inState(t, env, id, penstock.StateBlocked) })
		run := getRun(t, env, id)
		if m := run.StatusMessage; m == nil || m.ErrorCode != penstock.CodeBudgetExceeded || m.Budget == nil ||
			m.Budget.BudgetUID != id || m.Budget.CapUSD != 0.001 || m.Budget.NeededUSD <= 0.001 {
			t.Errorf("blocked with %+v", m)
		}
		if n := len(model.Requests()); n > 0 {
			t.Fatalf("%d calls were sent", n)
		}
		raised := send(t, s, http.MethodPatch, "/agent/runs/"+id, `{"config":{"budget":{"max_cost_usd":5}}}`)
		if raised.status != http.StatusOK {
			t.Fatalf("got %d: %s", raised.status, raised.body)
		}
		testkit.Eventually(t, time.Minute, func() error { return inState(t, env, id, penstock.StateSucceeded) })
		run = getRun(t, env, id)
		const want = 0.00257 // 1000 × 2.5 and 7 × 10 millionths
		if run.Usage == nil || run.Usage.InferenceCostUSD == nil || *run.Usage.InferenceCostUSD != want {
			t.Errorf("used %+v, want %v US dollars", run.Usage, want)
		}
	})
}

// Under a cost cap, a call to a model without a price is not sent. The run says how to set a price.
func TestAModelWithoutAPriceIsRefusedUnderACap(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{Args: []string{"--no-worker"}})
	model := testkit.NewModel(t, testkit.Turn{Text: "Done."})
	startScripted(t, s, model)
	env := client(s)
	id := startWithBudget(t, s, "openai/gpt-test", "5")
	testkit.Eventually(t, time.Minute, func() error { return inState(t, env, id, penstock.StateFailed) })
	m := getRun(t, env, id).StatusMessage
	if m == nil || m.ErrorCode != penstock.CodeUnpricedModel || !strings.Contains(m.Message, "price") {
		t.Errorf("failed with %+v", m)
	}
	if n := len(model.Requests()); n > 0 {
		t.Errorf("%d calls were sent", n)
	}
}

// A shared budget that refuses ends a run at its first call without room, and later runs as they are created.
func TestABudgetThatRefusesFailsItsRuns(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, database string) {
		list := writeFile(t, "prices.yaml", "models:\n  openai/gpt-test: {input: 2.5, output: 10}\n")
		s := testkit.Serve(t, testkit.ServeOptions{Database: database, Args: []string{"--no-worker", "--prices", list}})
		hold := make(chan struct{})
		model := testkit.NewModel(t,
			testkit.Turn{
				Calls: []testkit.Call{{Name: "run_command", Input: map[string]string{"command": "true"}}}, Hold: hold,
				InputTokens: 1000, OutputTokens: 7,
			},
			testkit.Turn{Text: "Never said."},
		)
		startPriced(t, s, model, list)
		env := client(s)
		var b penstock.SharedBudget
		fromJSON(t, call(t, env, "budget", "create", "--max-cost", "5", "--action", "refuse", "-o", "json").out, &b)
		id := startRun(t, env, "Fix the login", "--model", "openai/gpt-test")
		testkit.Eventually(t, time.Minute, func() error {
			if n := len(model.Requests()); n != 1 {
				return fmt.Errorf("%d calls were sent", n)
			}
			return nil
		})
		call(t, env, "budget", "set", b.UID, "--max-cost", "0.001").want(t, 0)
		close(hold)
		testkit.Eventually(t, time.Minute, func() error { return inState(t, env, id, penstock.StateFailed) })
		m := getRun(t, env, id).StatusMessage
		if m == nil || m.ErrorCode != penstock.CodeBudgetExceeded || m.Budget == nil || m.Budget.BudgetUID != b.UID ||
			m.Budget.SpentUSD != 0.00257 || m.Budget.CapUSD != 0.001 {
			t.Errorf("failed with %+v", m)
		}
		next := startRun(t, env, "And then", "--model", "openai/gpt-test")
		if got := getRun(t, env, next); got.State != penstock.StateFailed || got.StatusMessage.Budget.BudgetUID != b.UID {
			t.Errorf("the next run is %s: %+v", got.State, got.StatusMessage)
		}
		if n := len(model.Requests()); n != 1 {
			t.Errorf("%d calls were sent, want 1", n)
		}
	})
}
