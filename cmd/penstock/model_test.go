package main_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// A server without provider keys executes runs that need none. Other runs wait for a worker with
// the key.
func TestRunWaitsForAWorkerWithTheProvider(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, url string) {
		s := testkit.Serve(t, testkit.ServeOptions{
			Database: url, Args: []string{"--sandbox", "process", "--allow-open-network"},
		})
		env := client(s)
		id := startRun(t, env, "Fix the login", "--model", "openai/gpt-test")
		testkit.Eventually(t, timeout, func() error {
			if run := getRun(t, env, id); run.StatusMessage == nil ||
				!strings.Contains(run.StatusMessage.Message, "OPENAI_API_KEY") {
				return fmt.Errorf("the run is %s, %+v", run.State, run.StatusMessage)
			}
			return nil
		})
		call(t, env, "run", "get", id).want(
			t, 0, "QUEUED", `no connected worker has a provider for the model "openai/gpt-test"`,
		)
		call(t, env, "run", "create", "--wait", "Look around").want(t, 0, "SUCCEEDED") // nobody waits behind it
		if run := getRun(t, env, id); run.State != penstock.StateQueued {
			t.Errorf("the run is %s, %+v", run.State, run.StatusMessage)
		}
		startScripted(t, s, testkit.NewModel(t, testkit.Turn{Text: "It is fixed."}))
		testkit.Eventually(t, timeout, func() error {
			run := getRun(t, env, id)
			if run.State.Done() && run.State != penstock.StateSucceeded {
				t.Fatalf("the run is %s, %+v", run.State, run.StatusMessage)
			}
			if run.State != penstock.StateSucceeded {
				return errors.New("the run is " + string(run.State))
			}
			return nil
		})
	})
}

func TestUnknownModelsCauseAWarning(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{Args: noWorker})
	env := client(s)
	got := call(t, env, "run", "create", "--model", "claud-opus-5-5", "Fix the login")
	got.want(t, 0)
	if want := `warning: unknown model "claud-opus-5-5"`; !strings.Contains(got.err, want) ||
		!strings.Contains(got.err, "penstock run cancel "+strings.TrimSpace(got.out)) ||
		strings.Contains(got.err, "no worker is free") || strings.Contains(got.out, "warning") {
		t.Errorf("got %q and %q, want %s", got.out, got.err, want)
	}
	if got := call(t, env, "run", "create", "--model", "gpt-9", "Fix the login"); got.code != 0 ||
		strings.Contains(got.err, "warning") {
		t.Errorf("got %+v", got)
	}
	folder := t.TempDir()
	write := func(model string) {
		for name, content := range map[string]string{
			"factory.yaml":            "schemaVersion: v1alpha1\nname: acme\nagentDefaults:\n  model: " + model + "\n",
			"agents/foreman/agent.md": "---\nagentType: FOREMAN\n---\n",
		} {
			file := filepath.Join(folder, name)
			if err := errors.Join(
				os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(content), 0o600),
			); err != nil {
				t.Fatal(err)
			}
		}
	}
	quiet := func(args ...string) {
		t.Helper()
		if got := call(t, env, args...); got.code != 0 || strings.Contains(got.out+got.err, "(warning)") {
			t.Errorf("%v: got %+v", args, got)
		}
	}
	for _, model := range []string{"auto-genius", "gpt-9", "demo/offline", "some-alias"} {
		write(model)
		quiet("factory", "validate", folder)
	}
	write("antropic/claude-opus-5-5")
	call(t, nil, "factory", "validate", folder).want(
		t, 0, "factory.yaml:4:10: FF_INVALID_REFERENCE (warning)", `did you mean "anthropic/claude-opus-5-5"?`,
	)
	aliases := writeFile(t, "c.yaml", "models: {aliases: {antropic/claude-opus-5-5: gpt-9}}\n")
	quiet("factory", "validate", folder, "--config", aliases)
	for _, description := range []string{"First.", "Second."} { // first it creates the factory, then it changes it
		write("sonnet\ndescription: " + description)
		call(t, env, "factory", "plan", folder).want(
			t, 0, "factory.yaml:4:10: FF_INVALID_REFERENCE (warning)", `unknown model "sonnet"`,
		)
		call(t, env, "factory", "apply", folder).want(
			t, 0, "factory.yaml:4:10: FF_INVALID_REFERENCE (warning)", `unknown model "sonnet"`,
		)
	}
	write("auto")
	quiet("factory", "apply", folder)
}
