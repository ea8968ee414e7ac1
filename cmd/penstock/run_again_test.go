package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/testkit"
)

func TestRunAgain(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{})
	env := client(s)
	call(t, env, "environment", "create", "--name", "app").want(t, 0)
	agent := call(t, env, "agent", "create", "--name", "reviewer", "--prompt", "Be brief.", "-o", "name").out
	first := startRun(
		t, env, "demo: say hello\ndemo: say bye", "--title", "Nightly", "--name", "nightly", "--environment", "app",
		"--agent", strings.TrimSpace(agent), "--metadata", "team=core", "--env", "COLOR=blue", "--env", "SIZE=1",
		"--max-duration", "30m",
		"--max-cost", "5", "--interactive", "--worker-host", "none",
	)
	was := getRun(t, env, first)
	same := func(id string) penstock.Run {
		t.Helper()
		run := getRun(t, env, id)
		if run.ID == first || run.ConversationID == was.ConversationID {
			t.Errorf("the run is not a new one: %s", id)
		}
		return run
	}
	run := same(startRun(t, env, "", "--again", first))
	if diff := cmp.Diff(was.Config, run.Config); diff != "" {
		t.Errorf("configuration (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(
		[]any{was.Prompt, was.Title, was.Metadata, was.Interactive, was.Mode},
		[]any{run.Prompt, run.Title, run.Metadata, run.Interactive, run.Mode},
	); diff != "" {
		t.Errorf("run (-want +got):\n%s", diff)
	}

	// Flags override it.
	run = same(startRun(t, env, "demo: say else", "--again", "@last", "--env", "SIZE=2", "--max-cost", "1"))
	if got := run.Config.Env; run.Prompt != "demo: say else" || run.Title != "demo: say else" ||
		!cmp.Equal(got, map[string]string{"COLOR": "blue", "SIZE": "2"}) || run.Config.Budget.MaxCostUSD != 1 {
		t.Errorf("got the prompt %q, the title %q, and %v", run.Prompt, run.Title, got)
	}
	call(t, env, "run", "create", "--again", penstock.NewID()).want(t, 65, "resource_not_found")
}

// A repeated run says what it lacks. It needs no right to name secrets, and a personal run stays personal.
func TestRunAgainLeavesOut(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{Args: noWorker})
	env := client(s)
	callWith(t, "0123456789", env, "secret", "create", "DEPLOY_TOKEN", "--value-file", "-").want(t, 0)
	dir := t.TempDir()
	file, notes := filepath.Join(dir, "request.yaml"), filepath.Join(dir, "notes.txt")
	for name, content := range map[string]string{notes: "x", file: `
team: false
config:
  mcp_servers:
    linear: {url: "https://mcp.example.com", headers: {Authorization: "Bearer ${{ secrets.DEPLOY_TOKEN }}"}}
    plain: {url: "https://plain.example.com"}
`} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	first := startRun(
		t, env, "x", "-f", file, "--attach", notes, "--secret", "DEPLOY_TOKEN",
	)
	got := call(t, env, "run", "create", "--again", first)
	got.want(
		t, 0, "not repeated: the secret DEPLOY_TOKEN; to add it: --secret\n",
		"not repeated: the MCP server linear, which uses the secret DEPLOY_TOKEN; to add it: --file\n",
		"not repeated: the attachments notes.txt; to add it: --attach\n",
	)
	run := getRun(t, env, strings.TrimSpace(got.out))
	if len(run.Config.MCPServers) != 1 || run.Config.Secrets != nil || run.Scope.Type != "User" || run.Subject != "" {
		t.Errorf("got %+v in the scope %s", run.Config, run.Scope.Type)
	}
	again := call(t, env, "run", "create", "--again", first, "--secret", "DEPLOY_TOKEN", "--attach", notes)
	again.want(t, 0)
	if strings.Contains(again.err, "--secret") || strings.Contains(again.err, "--attach") {
		t.Errorf("got %q, although both are given", again.err)
	}
	child, about := startRun(t, env, "x", "--parent", first), startRun(t, env, "x", "--subject", "acme/shop#7")
	call(t, env, "run", "create", "--again", child).want(t, 0, "not repeated: the parent run "+first)
	call(t, env, "run", "create", "--again", about).want(
		t, 0, "not repeated: the subject acme/shop#7; to add it: --subject\n",
	)
	call(t, env, "run", "create", "x", "--again", "").want(t, 64, "--again needs the ID of a run")
}

// Fields of the configuration that this version does not know are repeated.
func TestRunAgainKeepsUnknownFields(t *testing.T) {
	t.Parallel()
	s := script(t, responds(200, `{"run_id":"r","prompt":"x","state":"SUCCEEDED",`+
		`"agent_config":{"novel":12345678901234567890,"skills":["a"],"skill_spec":"a"},`+
		`"metadata":{"automation_id":"u","team":"core"}}`),
		responds(200, `{"attachments":[]}`), responds(200, created))
	call(t, s.env(), "run", "create", "--again", "r").want(t, 0)
	want := `{"config":{"novel":12345678901234567890,"skills":["a"]},"metadata":{"team":"core"},"prompt":"x"}`
	if got := s.seen()[2].body; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
