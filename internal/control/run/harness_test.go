package run_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
)

func TestVariablesOfAPresetAreRefused(t *testing.T) {
	configure := func(o *run.Deps) {
		o.Programs = map[string]run.Program{"claude": {API: "anthropic", Variables: []string{"ANTHROPIC_BASE_URL"}}}
	}
	worlds(t, configure, func(w *world) {
		request := func(harness string, env map[string]string) penstock.RunRequest {
			return penstock.RunRequest{Prompt: "p", Config: &penstock.Config{
				Env: env, Harness: &penstock.Harness{Type: harness},
			}}
		}
		owned := map[string]string{"ANTHROPIC_BASE_URL": "http://elsewhere", "MINE": "1"}
		_, err := w.Runs.Create(w.T.Context(), w.Admin, request("claude", owned), run.SourceAPI)
		var invalid *penstock.Error
		if !errors.As(err, &invalid) || len(invalid.Fields) != 1 ||
			invalid.Fields[0].Pointer != "/config/env/ANTHROPIC_BASE_URL" ||
			!strings.Contains(invalid.Fields[0].Detail, "the harness claude") {
			w.T.Errorf("got %+v, want an error about the variable", err)
		}
		w.Create(request("claude", map[string]string{"MINE": "1"}))
		w.Create(request("gemini", owned))
	})
}

func TestHarnessesListTheirModels(t *testing.T) {
	configure := func(o *run.Deps) {
		o.Programs = map[string]run.Program{
			"builtin": {AnyModel: true}, "claude": {API: "anthropic"}, "qwen": {API: "openai"}, "mine": {Provider: "local/"},
		}
		o.Providers = map[string]string{"anthropic/": "anthropic", "openai/": "openai", "local/": "openai"}
		o.Models = []penstock.ModelInfo{
			{ID: "anthropic/a"}, {ID: "openai/o", DisableReason: penstock.DisabledByAdmin}, {ID: "local/m"},
		}
	}
	worlds(t, configure, func(w *world) {
		list, err := w.Catalog.Harnesses(w.T.Context(), w.Admin)
		if err != nil {
			w.T.Fatal(err)
		}
		got := map[string][]string{}
		for _, h := range list {
			if len(h.Models) > 0 {
				got[h.Name] = h.Models
			}
		}
		want := map[string][]string{
			"builtin": {"anthropic/a", "local/m"}, "claude": {"anthropic/a"}, "qwen": {"local/m"}, "mine": {"local/m"},
		}
		if diff := cmp.Diff(want, got); diff != "" {
			w.T.Errorf("the models by harness (-want +got):\n%s", diff)
		}
		if !slices.ContainsFunc(list, func(h run.HarnessInfo) bool { return h.Name == "mine" }) {
			w.T.Error("the harness of the configuration is not listed")
		}
	})
}

// A worker reports its harnesses with each call. What it reported before does not count.
func TestHarnessesFollowTheWorkers(t *testing.T) {
	const missing = "No connected worker has it: install it with penstock harness install codex."
	worlds(t, nil, func(w *world) {
		hello := func(id string, harnesses []string, agents ...penstock.AgentState) {
			w.T.Helper()
			c := penstock.ClaimRequest{
				WorkerID: id, Host: id, Harnesses: harnesses, Agents: agents, Capacity: 1, Busy: 1,
			}
			if _, err := w.Executions.Control().Claim(w.T.Context(), c); !errors.Is(err, penstock.ErrNoWork) {
				w.T.Fatal(err)
			}
		}
		listed := func(step string, want run.HarnessInfo) {
			w.T.Helper()
			list, err := w.Catalog.Harnesses(w.T.Context(), w.Admin)
			if err != nil {
				w.T.Fatal(err)
			}
			want.Name, want.Usable, want.Models = "codex", want.Workers > 0, []string{}
			i := slices.IndexFunc(list, func(h run.HarnessInfo) bool { return h.Name == "codex" })
			if diff := cmp.Diff(want, list[i]); diff != "" {
				w.T.Errorf("%s (-want +got):\n%s", step, diff)
			}
		}
		plain, both := []string{"builtin"}, []string{"builtin", "codex"}
		codex := func(version, reason string) penstock.AgentState {
			return penstock.AgentState{Name: "codex", Version: version, Reason: reason}
		}
		hello("a", plain)
		listed("not installed", run.HarnessInfo{Reason: missing})
		hello("a", plain, codex("1", "It is being checked."))
		listed("being checked", run.HarnessInfo{Version: "1", Reason: "It is being checked."})
		hello("a", both, codex("1", ""))
		listed("ready", run.HarnessInfo{Version: "1", Workers: 1})
		hello("b", plain, codex("2", "Its check failed."))
		listed("broken on another worker", run.HarnessInfo{Version: "1", Workers: 1})
		hello("b", both, codex("1", ""))
		listed("ready on both", run.HarnessInfo{Version: "1", Workers: 2})
		hello("a", plain, codex("1", "Its check failed."))
		listed("broken on one of two", run.HarnessInfo{Version: "1", Workers: 1})
		hello("b", plain)
		listed("removed from the other", run.HarnessInfo{Version: "1", Reason: "Its check failed."})
		hello("a", plain)
		listed("removed from both", run.HarnessInfo{Reason: missing})
	})
}
