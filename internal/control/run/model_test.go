package run_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

// workerOf is a worker with the given providers. Without any, it does not report them.
func workerOf(id string, providers ...string) penstock.ClaimRequest {
	c := testworld.AnyWorker
	c.WorkerID, c.Models, c.Wait = id, providers, time.Millisecond
	return c
}

// takes claims a run on a worker and starts its agent. It returns "" if there is no run.
func (w *world) takes(c penstock.ClaimRequest) (id string, l penstock.Lease) {
	w.T.Helper()
	a, err := w.Executions.Control().Claim(w.T.Context(), c)
	if err != nil && !errors.Is(err, penstock.ErrNoWork) {
		w.T.Fatal(err)
	}
	if err == nil {
		w.Moves(a.Lease, penstock.StatePending, penstock.StateInProgress)
	}
	return a.Run.ID, a.Lease
}

func withModel(model string) penstock.RunRequest {
	return penstock.RunRequest{Prompt: "p", Config: &penstock.Config{ModelID: model}}
}

func TestRunWaitsForAProviderOfItsModel(t *testing.T) {
	worlds(t, func(o *run.Deps) {
		o.ModelAliases = map[string]string{"small": "google/gemini-flash"}
	}, func(w *world) {
		for name, test := range map[string]struct{ model, provider, reason string }{
			"of a provider": {
				"anthropic/claude-x", "anthropic/",
				`a provider for the model "anthropic/claude-x": set ANTHROPIC_API_KEY on a worker`,
			},
			"by a bare name": {"gpt-x", "openai/", `"gpt-x": set OPENAI_API_KEY`},
			"by an alias":    {"small", "google/", `"google/gemini-flash": set GEMINI_API_KEY`},
			"of an unknown provider": {
				"acme/x", "acme/", `"acme/x": the built-in agent supports anthropic/, openai/ and google/ models`,
			},
		} {
			if id, _ := w.takes(workerOf(name, penstock.ModelOffline)); id != "" {
				w.T.Fatalf("a run of another test waits: %s", id)
			}
			created := w.Create(withModel(test.model))
			if id, _ := w.takes(workerOf(name, penstock.ModelOffline)); id != "" {
				w.T.Fatalf("%s: a worker without the provider got the run", name)
			}
			if run := w.MustBe(created.ID, penstock.StateQueued); run.StatusMessage == nil ||
				!strings.Contains(run.StatusMessage.Message, test.reason) {
				w.T.Errorf("%s: got %+v, want %q", name, run.StatusMessage, test.reason)
			}
			if !created.AtCapacity {
				w.T.Errorf("%s: no worker has a slot for the run", name)
			}
			if id, l := w.takes(workerOf(name+" 2", penstock.ModelOffline, test.provider)); id != created.ID {
				w.T.Errorf("%s: the worker with the provider got %q", name, id)
			} else {
				w.Finish(l, penstock.Result{State: penstock.StateSucceeded})
			}
		}
	})
}

func TestRunWhoseModelNobodyHasIsCancelled(t *testing.T) {
	worlds(t, nil, func(w *world) {
		for _, model := range []string{"sonnet", "demo/online", "openai/", "/x", "a,b/" + strings.Repeat("x", 190)} {
			id := w.Create(withModel(model)).ID
			if got, _ := w.takes(workerOf("w", penstock.ModelOffline, "anthropic/", "openai/", "google/", "demo/")); got != "" {
				w.T.Errorf("%.20s: a worker got the run", model)
			}
			if run := w.MustBe(id, penstock.StateQueued); run.StatusMessage == nil ||
				!strings.Contains(run.StatusMessage.Message, "no connected worker has a provider") ||
				len(run.StatusMessage.Message) > 400 {
				w.T.Errorf("%.20s: got %+v", model, run.StatusMessage)
			}
			if _, err := w.Runs.Cancel(w.T.Context(), w.Admin, id, false); err != nil {
				w.T.Error(err)
			}
			w.MustBe(id, penstock.StateCancelled)
		}
	})
}

// These runs do not wait: the built-in agent without a model provider, other harnesses, and runs
// for a worker of an earlier version.
func TestRunThatNeedsNoProviderDoesNotWait(t *testing.T) {
	worlds(t, nil, func(w *world) {
		demo := workerOf("w", penstock.ModelOffline)
		old := workerOf("old")
		command := &penstock.Harness{Type: penstock.HarnessCommand}
		for name, test := range map[string]struct {
			worker penstock.ClaimRequest
			config *penstock.Config
		}{
			"no model":          {demo, nil},
			"the demonstration": {demo, &penstock.Config{ModelID: penstock.ModelOffline}},
			"the server's own":  {demo, &penstock.Config{ModelID: "auto-genius"}},
			"another harness":   {demo, &penstock.Config{Harness: command, ModelID: "sonnet"}},
			"another harness's own": {
				demo, &penstock.Config{Harness: &penstock.Harness{Type: penstock.HarnessCommand, ModelID: "sonnet"}},
			},
			"a worker that does not say":      {old, &penstock.Config{ModelID: "anthropic/claude-x"}},
			"a name nobody knows, old worker": {old, &penstock.Config{ModelID: "sonnet"}},
		} {
			id := w.Create(penstock.RunRequest{Prompt: "p", Config: test.config}).ID
			got, l := w.takes(test.worker)
			if got != id {
				w.T.Errorf("%s: the worker got %q; %+v", name, got, w.Get(id).StatusMessage)
				continue
			}
			w.Finish(l, penstock.Result{State: penstock.StateSucceeded})
			if _, err := w.Executions.Control().Claim(
				w.T.Context(), penstock.ClaimRequest{WorkerID: test.worker.WorkerID, Stopping: true},
			); !errors.Is(err, penstock.ErrNoWork) {
				w.T.Fatal(err)
			}
		}
	})
}

// Each way back into the queue requires the same provider.
func TestRunThatWaitsAgainWaitsForItsProvider(t *testing.T) {
	worlds(t, nil, func(w *world) {
		able, demo := workerOf("able", penstock.ModelOffline, "anthropic/"), workerOf("demo", penstock.ModelOffline)
		id := w.Create(withModel("anthropic/claude-x")).ID
		_, l := w.takes(able)
		w.SaveSession(l)
		w.LoseLease(l)
		testkit.Eventually(w.T, 10*time.Second, func() error { return w.is(id, penstock.StateQueued) })
		if got, _ := w.takes(demo); got != "" {
			w.T.Error("after its worker was lost, a worker without the provider got the run")
		}
		_, l = w.takes(able)
		w.Finish(l, penstock.Result{State: penstock.StateSucceeded})
		w.FollowUp(id, "go on")
		w.MustBe(id, penstock.StateQueued)
		if got, _ := w.takes(demo); got != "" {
			w.T.Error("with a follow-up, a worker without the provider got the run")
		}
		if got, _ := w.takes(able); got != id {
			w.T.Errorf("the worker with the provider got %q", got)
		}
	})
}

// warned creates a run and returns its warnings.
func (w *world) warned(req penstock.RunRequest) []string {
	w.T.Helper()
	return w.Create(req).Warnings
}

func TestRunWithAnUnknownModelCausesAWarning(t *testing.T) {
	worlds(t, func(o *run.Deps) {
		o.Models = append(penstock.Models(), penstock.ModelInfo{ID: "listed/x"})
		o.ModelAliases = map[string]string{"small": "google/gemini-flash", "own": "acme/own"}
	}, func(w *world) {
		w.takes(workerOf("w", penstock.ModelOffline, "theirs/"))
		command := &penstock.Harness{Type: penstock.HarnessCommand}
		known := []penstock.Config{
			{},
			{ModelID: penstock.ModelOffline},
			{ModelID: "auto"},
			{ModelID: "auto-genius"},
			{ModelID: "small"},
			{ModelID: "own"},
			{ModelID: "acme/own"},
			{ModelID: "listed/x"},
			{ModelID: "theirs/y"},
			{ModelID: "openai/gpt-of-tomorrow"},
			{ModelID: "claude-9"},
			{ModelID: "o9-mini"},
			{ModelID: "sonnet", Harness: command},
			{Harness: &penstock.Harness{Type: "codex", ModelID: "sonnet"}},
		}
		for _, config := range known {
			if got := w.warned(penstock.RunRequest{Prompt: "p", Config: &config}); got != nil {
				w.T.Errorf("%+v: got %q", config, got)
			}
		}
		for model, want := range map[string]string{
			"sonnet":                 `unknown model "sonnet": the run waits for a worker that has a provider for it`,
			"antropic/claude-opus":   `unknown model "antropic/claude-opus"`,
			"claud-opus-5-5":         `did you mean "claude-opus-5-5"?`,
			"demo/online":            `"demo/online"`,
			"ä,\r\nX: y":             `unknown model "\u00e4\x2c\r\nX: y"`,
			strings.Repeat("x", 200): strings.Repeat("x", 100) + `..."`,
		} {
			got := w.warned(withModel(model))
			if len(got) != 1 || !strings.Contains(got[0], want) || len(got[0]) > 300 {
				w.T.Errorf("%q: got %q, want %s", model, got, want)
			}
		}
		if got := w.warned(
			penstock.RunRequest{Prompt: "p", Config: &penstock.Config{Harness: &penstock.Harness{ModelID: "sonnet"}}},
		); len(got) != 1 {
			w.T.Errorf("the model of the harness: got %q", got)
		}
	})
}

func TestAliasesAreListedAsModels(t *testing.T) {
	worlds(t, func(o *run.Deps) {
		o.Models = []penstock.ModelInfo{
			{ID: "openai/gpt-6.1-sol", Provider: penstock.ProviderOpenAI, DisableReason: penstock.DisabledByAdmin},
		}
		o.ModelAliases = map[string]string{"auto-genius": "gpt-6.1-sol", "cheap": "auto", "new": "google/gemini-9"}
	}, func(w *world) {
		list, err := w.Catalog.Models(w.T.Context(), w.Admin)
		if err != nil {
			w.T.Fatal(err)
		}
		got := map[string]string{}
		for _, m := range list.Models[2:] {
			got[m.ID] = strings.Join([]string{m.DisplayName, string(m.Provider), m.Description, string(m.DisableReason)}, "|")
		}
		want := map[string]string{
			"auto-genius": "auto-genius|OPENAI|An alias of gpt-6.1-sol.|ADMIN_DISABLED",
			"cheap":       "cheap|UNKNOWN|An alias of demo/offline.|",
			"new":         "new|GOOGLE|An alias of google/gemini-9.|",
		}
		if diff := cmp.Diff(want, got); diff != "" {
			w.T.Errorf("models (-want +got):\n%s", diff)
		}
	})
}

func TestFilesWithAnUnknownModelCauseAWarning(t *testing.T) {
	worlds(t, func(o *run.Deps) {
		o.ModelAliases = map[string]string{
			"small": "google/gemini-flash",
		}
	}, func(w *world) {
		files := func(model string) map[string]string {
			return map[string]string{
				"factory.yaml": "schemaVersion: v1alpha1\nname: " + model[:1] + "\nagentDefaults: {model: " + model +
					"}\n",
				"agents/foreman/agent.md": "---\nagentType: FOREMAN\nharness: {type: builtin, model: " + model + "}\n---\n",
				"agents/other/agent.md":   "---\nharness: {type: codex, model: " + model + "}\n---\n",
			}
		}
		for _, model := range []string{"auto", "small", "gpt-9", "demo/offline"} {
			if got, err := w.Factories.Validate(w.T.Context(), w.Admin, files(model)); err != nil || !got.Valid ||
				len(got.Diagnostics) > 0 {
				w.T.Errorf("%s: got %+v, %v", model, got, err)
			}
		}
		check := func(what string, found []penstock.Diagnostic) {
			w.T.Helper()
			for _, d := range found {
				if d.Severity != "warning" || d.Code != "FF_INVALID_REFERENCE" ||
					!strings.Contains(d.Message, `unknown model "sonnet"`) {
					w.T.Errorf("%s: got %+v", what, d)
				}
			}
			if len(found) != 2 {
				w.T.Errorf("%s: got %+v", what, found)
			}
		}
		validated, err := w.Factories.Validate(w.T.Context(), w.Admin, files("sonnet"))
		if err != nil || !validated.Valid {
			w.T.Errorf("got %+v, %v", validated, err)
		}
		check("validated", validated.Diagnostics)
		made, err := w.Factories.Create(w.T.Context(), w.Admin, factory.FactoryRequest{Files: files("sonnet")})
		if err != nil {
			w.T.Fatal(err)
		}
		check("made", made.Definition.Diagnostics)
		changed := files("sonnet")
		changed["factory.yaml"] += "description: Changed.\n"
		applied, err := w.Factories.Apply(
			w.T.Context(), w.Admin, made.UID, factory.ApplyRequest{Files: changed, DryRun: true},
		)
		if err != nil {
			w.T.Fatal(err)
		}
		check("applied", applied.Diagnostics)
		dispatched, err := w.Factories.Dispatch(
			w.T.Context(), w.Admin, made.UID, factory.DispatchRequest{Prompt: "p"}, run.SourceAPI,
		)
		if err != nil || len(dispatched.Warnings) != 1 {
			w.T.Errorf("dispatched: got %q, %v", dispatched.Warnings, err)
		}
	})
}
