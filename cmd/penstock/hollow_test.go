package main_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// An agent only claims to have worked. A client that waits for its run sees the failure, never a success before it.
func TestAutomationFailsARunThatDidNothing(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, database string) {
		testkit.TakesLongOnPostgres(t, database)
		h := serveHooks(t, testkit.ServeOptions{Database: database, Args: unlimited})
		h.tokenHook("ci")
		env := client(h.Server)
		create := func(name, prompt string, args ...string) called {
			return call(t, env, append([]string{
				"automation", "create", name, "--webhook", "ci", "--prompt", prompt, "--model", "demo/offline",
			}, args...)...)
		}
		const claims = "demo: say Done. I fixed the test."
		create("strict", claims, "--on-hollow", "fail").want(t, 0)
		create("typo", claims, "--on-hollow", "failed").want(
			t, 65, "Invalid request: --on-hollow: must be alert, fail or none",
		)
		call(t, env, "automation", "get", "typo").want(t, 65, "no automation with")
		call(t, env, "automation", "get", "strict").want(t, 0, "on hollow", "fail")
		request := writeFile(t, "quiet.json", `{"name": "quiet", "prompt": "`+claims+`", "model": "demo/offline",
			"on_hollow": "none", "triggers": [{"provider": "webhook", "event": "received",
				"filter": {"webhook_ids": ["ci"]}}]}`)
		call(t, env, "automation", "create", "-f", request).want(t, 0)

		run := func(automation string) string {
			t.Helper()
			made := callFor[run.Created](t, env, "automation", "run", automation)
			return made.ID
		}
		id := run("strict")
		const why = "without an action, a changed file or an output"
		call(t, env, "run", "wait", id, "--timeout", "240s").want(t, 1, "FAILED", why, "on_hollow: fail")
		got := getRun(t, env, id)
		if got.State != penstock.StateFailed || !got.Hollow || got.StatusMessage == nil ||
			got.StatusMessage.ErrorCode != penstock.CodeAgentDidNothing {
			t.Errorf("the run is %s, hollow %t: %+v", got.State, got.Hollow, got.StatusMessage)
		}
		call(t, env, "run", "list").want(t, 0, "FAILED (hollow)")
		metrics, err := newSender(t).try(
			t.Context(), http.MethodGet, h.URL+"/metrics", map[string]string{"Authorization": "Bearer " + h.Key}, http.NoBody,
		)
		const counted = `penstock_executions_total{state="FAILED"} 1`
		if err != nil || !strings.Contains(string(metrics.body), counted) {
			t.Errorf("the metrics lack %s: %v", counted, err)
		}

		call(t, env, "run", "follow-up", id, "demo: run echo fixed > test.txt").want(t, 0)
		call(t, env, "run", "wait", id, "--timeout", "240s").want(t, 0, "SUCCEEDED")
		if got := getRun(t, env, id); got.Hollow || got.HollowReason != "" || got.StatusMessage != nil {
			t.Errorf("the run that worked is hollow %t, and says %+v", got.Hollow, got.StatusMessage)
		}
		quiet := run("quiet")
		call(t, env, "run", "wait", quiet, "--timeout", "240s").want(t, 0, "SUCCEEDED")
		if got := getRun(t, env, quiet); !got.Hollow {
			t.Errorf("the run is not hollow: %+v", got.Evidence)
		}
	})
}
