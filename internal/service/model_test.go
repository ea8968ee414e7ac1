package service_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/service"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// workerOf is a worker that has the providers; none: it does not say.
func workerOf(id string, providers ...string) penstock.Claim {
	c := anyWorker
	c.WorkerID, c.Models, c.Wait = id, providers, time.Millisecond
	return c
}

// takes claims a run for a worker and brings it to where the agent works; "" where
// there is none.
func (w *world) takes(c penstock.Claim) (id string, l penstock.Lease) {
	w.t.Helper()
	a, err := w.Control().Claim(w.t.Context(), c)
	if err != nil && !errors.Is(err, penstock.ErrNoWork) {
		w.t.Fatal(err)
	}
	if err == nil {
		w.moves(a.Lease, penstock.StatePending, penstock.StateInProgress)
	}
	return a.Run.ID, a.Lease
}

func withModel(model string) penstock.RunRequest {
	return penstock.RunRequest{Prompt: "p", Config: &penstock.Config{ModelID: model}}
}

func TestRunWaitsForAProviderOfItsModel(t *testing.T) {
	worlds(t, func(o *service.Options) {
		o.ModelAliases = map[string]string{"small": "google/gemini-flash"}
	}, func(w *world) {
		for name, test := range map[string]struct{ model, provider, reason string }{
			"of a provider":          {"anthropic/claude-x", "anthropic/", `a provider for the model "anthropic/claude-x": set ANTHROPIC_API_KEY for a worker`},
			"by a bare name":         {"gpt-x", "openai/", `"gpt-x": set OPENAI_API_KEY`},
			"by an alias":            {"small", "google/", `"google/gemini-flash": set GEMINI_API_KEY`},
			"of an unknown provider": {"acme/x", "acme/", `"acme/x": the built-in agent has models of anthropic/, openai/ and google/`},
		} {
			if id, _ := w.takes(workerOf(name, penstock.ModelOffline)); id != "" {
				w.t.Fatalf("a run of another test waits: %s", id)
			}
			created := w.create(withModel(test.model))
			if id, _ := w.takes(workerOf(name, penstock.ModelOffline)); id != "" {
				w.t.Fatalf("%s: a worker without the provider got the run", name)
			}
			if run := w.mustBe(created.ID, penstock.StateQueued); run.StatusMessage == nil || !strings.Contains(run.StatusMessage.Message, test.reason) {
				w.t.Errorf("%s: got %+v, want %q", name, run.StatusMessage, test.reason)
			}
			if !created.AtCapacity {
				w.t.Errorf("%s: no worker has a slot for the run", name)
			}
			if id, l := w.takes(workerOf(name+" 2", penstock.ModelOffline, test.provider)); id != created.ID {
				w.t.Errorf("%s: the worker with the provider got %q", name, id)
			} else {
				w.finish(l, penstock.Result{State: penstock.StateSucceeded})
			}
		}
	})
}

func TestRunWhoseModelNobodyHasIsCancelled(t *testing.T) {
	worlds(t, nil, func(w *world) {
		for _, model := range []string{"sonnet", "demo/online", "openai/", "/x", "a,b/" + strings.Repeat("x", 190)} {
			id := w.create(withModel(model)).ID
			if got, _ := w.takes(workerOf("w", penstock.ModelOffline, "anthropic/", "openai/", "google/", "demo/")); got != "" {
				w.t.Errorf("%.20s: a worker got the run", model)
			}
			if run := w.mustBe(id, penstock.StateQueued); run.StatusMessage == nil || !strings.Contains(run.StatusMessage.Message, "no connected worker has a provider") ||
				len(run.StatusMessage.Message) > 400 {
				w.t.Errorf("%.20s: got %+v", model, run.StatusMessage)
			}
			if _, err := w.CancelRun(w.t.Context(), w.admin, id, false); err != nil {
				w.t.Error(err)
			}
			w.mustBe(id, penstock.StateCancelled)
		}
	})
}

// What the built-in agent has without a provider, what other harnesses name, and
// what a worker of an earlier version may take does not wait.
func TestRunThatNeedsNoProviderDoesNotWait(t *testing.T) {
	worlds(t, nil, func(w *world) {
		demo := workerOf("w", penstock.ModelOffline)
		old := workerOf("old")
		command := &penstock.Harness{Type: penstock.HarnessCommand}
		for name, test := range map[string]struct {
			worker penstock.Claim
			config *penstock.Config
		}{
			"no model":                        {demo, nil},
			"the demonstration":               {demo, &penstock.Config{ModelID: penstock.ModelOffline}},
			"the server's own":                {demo, &penstock.Config{ModelID: "auto-genius"}},
			"another harness":                 {demo, &penstock.Config{Harness: command, ModelID: "sonnet"}},
			"another harness's own":           {demo, &penstock.Config{Harness: &penstock.Harness{Type: penstock.HarnessCommand, ModelID: "sonnet"}}},
			"a worker that does not say":      {old, &penstock.Config{ModelID: "anthropic/claude-x"}},
			"a name nobody knows, old worker": {old, &penstock.Config{ModelID: "sonnet"}},
		} {
			id := w.create(penstock.RunRequest{Prompt: "p", Config: test.config}).ID
			got, l := w.takes(test.worker)
			if got != id {
				w.t.Errorf("%s: the worker got %q; %+v", name, got, w.get(id).StatusMessage)
				continue
			}
			w.finish(l, penstock.Result{State: penstock.StateSucceeded})
			if _, err := w.Control().Claim(w.t.Context(), penstock.Claim{WorkerID: test.worker.WorkerID, Stopping: true}); !errors.Is(err, penstock.ErrNoWork) {
				w.t.Fatal(err)
			}
		}
	})
}

// Every way back into the queue asks for the same provider.
func TestRunThatWaitsAgainWaitsForItsProvider(t *testing.T) {
	worlds(t, nil, func(w *world) {
		able, demo := workerOf("able", penstock.ModelOffline, "anthropic/"), workerOf("demo", penstock.ModelOffline)
		id := w.create(withModel("anthropic/claude-x")).ID
		_, l := w.takes(able)
		w.saveSession(l)
		w.loseLease(l)
		testkit.Eventually(w.t, 10*time.Second, func() error { return w.is(id, penstock.StateQueued) })
		if got, _ := w.takes(demo); got != "" {
			w.t.Error("after its worker was lost, a worker without the provider got the run")
		}
		_, l = w.takes(able)
		w.finish(l, penstock.Result{State: penstock.StateSucceeded})
		w.followUp(id, "go on")
		w.mustBe(id, penstock.StateQueued)
		if got, _ := w.takes(demo); got != "" {
			w.t.Error("with a follow-up, a worker without the provider got the run")
		}
		if got, _ := w.takes(able); got != id {
			w.t.Errorf("the worker with the provider got %q", got)
		}
	})
}
