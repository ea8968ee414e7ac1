package main_test

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// Under a cap on costs, a run of a local model without a price is refused when it is created, with the line of the
// configuration that fixes it. With that line, or without a cap, the run works.
func TestALocalModelWithoutAPriceIsRefusedAtCreation(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, database string) {
		const body = `{"prompt":"Fix the login","config":{"model_id":"ollama/qwen3"%s}}`
		model := testkit.NewModel(t, testkit.Turn{Text: "Done."})
		settings := "providers:\n  ollama: {api: openai, base_url: \"" + model.URL + "/v1\", models: [qwen3]%s}\n"
		config := writeFile(t, "penstock.yaml", fmt.Sprintf(settings, ""))
		s := testkit.Serve(t, testkit.ServeOptions{Database: database, Args: []string{"--config", config}})
		if got := send(t, s, http.MethodPost, "/agent/runs", fmt.Sprintf(body, "")); got.status >= 300 {
			t.Errorf("without a cap: %d %s", got.status, got.body)
		}
		wantRefused := func(what, request string) {
			t.Helper()
			got := send(t, s, http.MethodPost, "/agent/runs", request)
			if got.status != http.StatusUnprocessableEntity || !strings.Contains(string(got.body), "prices: free") ||
				!strings.Contains(string(got.body), "providers.ollama") {
				t.Errorf("%s: %d %s", what, got.status, got.body)
			}
		}
		wantRefused("its own budget", fmt.Sprintf(body, `,"budget":{"max_cost_usd":5}`))
		if got := send(t, s, http.MethodPost, "/budgets",
			`{"scope":"team","period":"month","max_cost_usd":50}`); got.status >= 300 {
			t.Fatalf("create a budget: %d %s", got.status, got.body)
		}
		wantRefused("a team's budget", fmt.Sprintf(body, ""))
		if got := send(t, s, http.MethodPost, "/agent/runs",
			strings.Replace(fmt.Sprintf(body, ""), "ollama/qwen3", "elsewhere/m", 1)); got.status >= 300 {
			t.Errorf("a provider of another worker: %d %s", got.status, got.body)
		}
		if err := os.WriteFile(config, fmt.Appendf(nil, settings, ", prices: free"), 0o600); err != nil {
			t.Fatal(err)
		}
		s.Restart()
		var created run.Created
		fromJSON(t, string(send(t, s, http.MethodPost, "/agent/runs", fmt.Sprintf(body, "")).body), &created)
		env := client(s)
		testkit.Eventually(t, time.Minute, func() error { return inState(t, env, created.ID, penstock.StateSucceeded) })
	})
}

// Plans of deliveries are kept until something changes, and a budget changes which runs can be created.
func TestABudgetReachesTheNextDelivery(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, database string) {
		config := writeFile(
			t, "penstock.yaml", "providers:\n  ollama: {api: openai, base_url: \"http://127.0.0.1:1/v1\", models: [qwen3]}\n",
		)
		h := serveHooks(t, testkit.ServeOptions{Database: database, Args: append(slices.Clip(noWorker), "--config", config)})
		w := h.tokenHook("orders")
		h.ask(http.MethodPost, h.path()+"/automations", map[string]any{
			"name": "fix", "prompt": "Fix it.", "model": "ollama/qwen3", "triggers": []any{map[string]any{
				"provider": "webhook", "event": "received", "filter": map[string]any{"webhook_ids": []string{w.UID}},
			}},
		}, http.StatusCreated, nil)
		header := map[string]string{"Authorization": "Bearer " + w.Secret}
		starts := func(body string) int {
			t.Helper()
			return len(h.entry(w, newSender(t).accepted(h.url(w), header, body)).Runs)
		}
		if got := starts(`{"n":1}`); got != 1 {
			t.Errorf("without a budget: %d runs", got)
		}
		var budget penstock.SharedBudget
		h.ask(http.MethodPost, "/budgets", map[string]any{"scope": "team", "period": "month", "max_cost_usd": 50},
			http.StatusCreated, &budget)
		if got := starts(`{"n":2}`); got != 0 {
			t.Errorf("under a budget: %d runs, whose calls would be refused", got)
		}
		h.ask(http.MethodDelete, "/budgets/"+budget.UID, nil, http.StatusNoContent, nil)
		if got := starts(`{"n":3}`); got != 1 {
			t.Errorf("after the end of the budget: %d runs", got)
		}
	})
}

// A follow-up would bring the first cap to a run whose model has no price. All its calls would fail.
func TestAFollowUpBringsNoCapToARunWithoutAPrice(t *testing.T) {
	t.Parallel()
	config := writeFile(
		t, "penstock.yaml", "providers:\n  ollama: {api: openai, base_url: \"http://127.0.0.1:1/v1\", models: [qwen3]}\n",
	)
	h := serveHooks(t, testkit.ServeOptions{Args: append(slices.Clip(noWorker), "--config", config)})
	var key penstock.Key
	h.ask(http.MethodPost, "/keys", map[string]any{"name": "k", "scopes": []string{"runs:read", "runs:write"}},
		http.StatusCreated, &key)
	h.ask(http.MethodPost, "/budgets", map[string]any{
		"scope": "key", "scope_uid": key.UID, "period": "month", "max_cost_usd": 50,
	}, http.StatusCreated, nil)
	var run run.Created
	h.ask(http.MethodPost, "/agent/runs", map[string]any{
		"prompt": "Fix it.", "config": map[string]any{"model_id": "ollama/qwen3"},
	}, http.StatusOK, &run)
	path, body := "/agent/runs/"+run.ID+"/followups", `{"message":"And this."}`
	got := ask(t, http.MethodPost, h.Server, path, testkit.Bearer(key.Key), body)
	if got.status != http.StatusUnprocessableEntity || !strings.Contains(string(got.body), "prices: free") {
		t.Errorf("a key with a budget: %d %s", got.status, got.body)
	}
	if got := send(t, h.Server, http.MethodPost, path, body); got.status != http.StatusOK {
		t.Errorf("a key without one: %d %s", got.status, got.body)
	}
}
