package main_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/testkit"
)

func TestFactoryPlanAndApply(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{})
	env, folder := client(s), t.TempDir()
	write := func(name, content string) { t.Helper(); writeBelow(t, folder, name, content) }
	write("factory.yaml", "schemaVersion: v1alpha1\nname: Example\nagentDefaults: {model: auto}\n")
	write("agents/lead/agent.md", "---\nagentType: FOREMAN\n---\nLead.\n")
	call(t, env, "factory", "plan", folder).want(t, 0, "create", "lead", "apply creates it")
	call(t, env, "factory", "list").want(t, 0)
	call(t, env, "factory", "apply", folder).want(t, 0, "create", "revision 1 is active")
	call(t, env, "factory", "apply", folder).want(t, 0, "nothing changes; revision 1 is active")

	write("webhooks/ci.yaml", "secretName: CI_TOKEN\n")
	call(t, env, "factory", "apply", folder).want(t, 1, "webhooks/ci.yaml:1:13: FF_INVALID_REFERENCE")
	call(t, env, "factory", "get", "example").want(t, 0, "webhooks")
	write("webhooks/ci.yaml", "")
	call(t, env, "factory", "plan", folder).want(t, 1, "webhooks/ci.yaml:1:1:")
	if err := os.Remove(filepath.Join(folder, "webhooks/ci.yaml")); err != nil {
		t.Fatal(err)
	}
	write("agents/lead/agent.md", "---\nagentType: FOREMAN\n---\nLead them.\n")
	call(t, env, "factory", "plan", folder).want(t, 0, "change", "prompt", "revision 1 is active")
	call(t, env, "factory", "apply", folder, "--base", "1").want(t, 0, "change", "revision 2 is active")
	write("agents/lead/agent.md", "---\nagentType: FOREMAN\n---\nLead.\n")
	call(t, env, "factory", "apply", folder, "--base", "1").want(t, 65, "read its files again")
	call(t, env, "factory", "apply", folder, "--factory", "nobody").want(t, 65, "no factory with")
	call(t, env, "run", "list").want(t, 0)
}

func TestFactoryOfARepository(t *testing.T) {
	t.Parallel()
	w := serveTracked(t, testkit.ServeOptions{Args: asked})
	env := client(w.Server)
	w.repository.Commit("Begin", acmeFiles())
	call(t, env, "factory", "create").want(t, 64, "give the factory a name")
	call(t, env, "factory", "create", "x", "--branch", "main").want(t, 64, "need --repository")
	call(
		t, env, "factory", "create", "--repository", w.repository.URL(), "--branch", "gone",
	).want(t, 1, "problem", "the branch does not exist")
	call(t, env, "factory", "update", "factories", "--name", "x").want(t, 65, "read-only on this server")
	var f penstock.Factory
	fromJSON(t, call(t, env, "factory", "get", "factories", "-o", "json").out, &f)
	call(t, env, "factory", "update", f.UID, "--repository", w.repository.URL()).want(t, 0, "syncing")
	call(t, env, "factory", "sync", f.UID).want(t, 0, "in a repository", "the default branch", "applied", "lead (foreman)")
	call(t, env, "webhook", "disable", "ci", "--factory", "tracked").want(
		t, 65, "read-only on this server", "webhooks/ci.yaml",
	)
	more := filepath.Join(t.TempDir(), "more.json")
	if err := os.WriteFile(more, []byte(`{"secrets_append": []}`), 0o600); err != nil {
		t.Fatal(err)
	}
	call(t, env, "agent", "update", "lead", "--file", more).want(t, 65, "read-only on this server", "agents/lead/agent.md")
	call(t, env, "webhook", "suspend", "ci", "--factory", "tracked").want(t, 0, "suspended")
	call(t, env, "webhook", "resume", "ci", "--factory", "tracked").want(t, 0, "enabled")
	id := w.repository.Commit("Break it", with(acmeFiles(), "webhooks/ci.yaml", "secretName: CI_TOKN\n"))
	call(t, env, "factory", "sync", "tracked").want(t, 1, "rejected", id, "webhooks/ci.yaml:1:13: FF_INVALID_REFERENCE")
	call(t, env, "factory", "get", "tracked").want(t, 0, "invalid", id)
	call(t, env, "factory", "history", "tracked", "--diff").want(
		t, 0, "1 rejected", "1 applied", "Ada Brandt", "create", "webhook ci", "+secretName: CI_TOKEN", "Break it",
	)
	call(t, env, "factory", "history", "tracked", "--limit", "1").want(t, 0, "rejected")
	call(t, env, "factory", "history", "nobody").want(t, 65, "no factory with")
}
