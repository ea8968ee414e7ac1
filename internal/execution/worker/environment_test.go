package worker_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/worker"
	"github.com/penstock-dev/penstock/internal/wall/sandbox"
)

// The process with the providers' keys has no variables of a run, and the processes of the run have
// none of the providers' variables.
func TestRunEnvironmentAndProviderKeysNeverMeet(t *testing.T) {
	eachKind(t, func(w *world, box sandbox.Sandbox) {
		t := w.t
		w.secret("OPENAI_LOG", "secret-place-1")
		dir := t.TempDir()
		w.start(func(o *worker.Options) { o.Sandbox, o.Dir = box, dir })
		config := w.environment(penstock.EnvironmentConfig{SetupCommands: []string{"env > setup.txt"}})
		config.Env = map[string]string{
			"OPENAI_ORG": "other", "GODEBUG": "http2debug=2", "STATE": "/nowhere", "TMPDIR": "/nowhere",
		}
		config.Secrets = []string{"OPENAI_LOG"}
		config.MCPServers = map[string]penstock.MCPServer{
			"tracker": {Command: box.Layout(sandbox.Spec{}).Exe, Args: []string{"misbehave", "reveal"}},
		}
		id := w.create(
			penstock.RunRequest{Config: config}, "demo: run env > command.txt", "demo: call mcp__tracker__reveal {}",
		)
		w.becomes(id, penstock.StateSucceeded)

		place := filepath.Join(dir, "runs", id)
		own := []string{
			"OPENAI_ORG=other", "GODEBUG=http2debug=2", "OPENAI_LOG=secret-place-1", "PENSTOCK_RUN_ID=" + id,
		}
		for _, file := range []string{"setup.txt", "command.txt"} {
			env := entries(t, filepath.Join(place, "work", file))
			masked := strings.Repeat("*", len("secret-place-1")) // at the end of the execution
			for _, want := range own {
				if !slices.Contains(env, want) && !slices.Contains(env, strings.Replace(want, "secret-place-1", masked, 1)) {
					t.Errorf("%s: %s is missing in %v", file, want, env)
				}
			}
			if slices.Contains(env, "OPENAI_API_KEY=provider-key-123") {
				t.Errorf("%s holds the provider's key", file)
			}
		}
		if out := strings.Join(w.outputs(id, "call_mcp_tool"), ""); !strings.Contains(out, "OPENAI_ORG=") ||
			strings.Contains(out, "OPENAI_API_KEY") {
			t.Errorf("the MCP server says %s", out)
		}

		env := entries(t, filepath.Join(place, "home", "state", "environment"))
		names := []string{"HOME", "LANG", "LOGNAME", "OPENAI_API_KEY", "PATH", "SHELL", "STATE", "USER"}
		var got []string
		for _, e := range env {
			name, _, _ := strings.Cut(e, "=")
			got = append(got, name)
		}
		if slices.Sort(got); !slices.Equal(got, names) {
			t.Errorf("the agent's own environment has %v, want %v", got, names)
		}
	})
}

// entries are the lines of a file that holds an environment.
func entries(t *testing.T, file string) []string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// A server with another configuration may have accepted it.
func TestWorkerRejectsVariablesThatRedirectKeys(t *testing.T) {
	w := newWorld(t)
	w.start(func(o *worker.Options) {
		program := o.Harnesses["misbehaving"]
		program.Env = map[string]string{"ACME_API_KEY": "operators"}
		o.Harnesses["misbehaving"] = program
	})
	w.secret("LD_PRELOAD", "/workspace/thief.so")
	harness := &penstock.Harness{Type: "misbehaving"}
	for what, config := range map[string]penstock.Config{
		"config/env/LD_LIBRARY_PATH: must not": {
			Harness: harness, Env: map[string]string{"LD_LIBRARY_PATH": "/workspace"},
		},
		"config/secrets/0: the secret LD_PRELOAD must not": {Harness: harness, Secrets: []string{"LD_PRELOAD"}},
	} {
		id := w.create(penstock.RunRequest{Prompt: "hello", Config: &config})
		run := w.becomes(id, penstock.StateFailed)
		if m := run.StatusMessage; m.ErrorCode != penstock.CodeEnvironmentSetupFailed || !strings.HasPrefix(m.Message, what) {
			t.Errorf("got %+v", m)
		}
	}
	w.becomes(
		w.create(
			penstock.RunRequest{
				Prompt: "hello", Config: &penstock.Config{Harness: harness, Env: map[string]string{"COLOR": "blue"}},
			},
		),
		penstock.StateSucceeded,
	)
}
