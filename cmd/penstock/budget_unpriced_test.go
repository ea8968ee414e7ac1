package main_test

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
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
		var created penstock.RunCreated
		fromJSON(t, string(send(t, s, http.MethodPost, "/agent/runs", fmt.Sprintf(body, "")).body), &created)
		env := client(s)
		testkit.Eventually(t, time.Minute, func() error { return inState(t, env, created.ID, penstock.StateSucceeded) })
	})
}
