package main_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/penstock-dev/penstock/internal/testkit"
)

func TestFactoryPlanAndApply(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{})
	env, folder := client(s), t.TempDir()
	write := func(name, content string) { t.Helper(); writeBelow(t, folder, name, content) }
	write("factory.yaml", "schemaVersion: v1alpha1\nname: Example\nagentDefaults: {model: auto}\n")
	write("agents/lead/agent.md", "---\nagentType: FOREMAN\n---\nLead.\n")
	call(t, env, "factory", "plan", folder).want(t, 0, "create", "lead", "apply makes it")
	call(t, env, "factory", "list").want(t, 0)
	call(t, env, "factory", "apply", folder).want(t, 0, "create", "revision 1 is in force")
	call(t, env, "factory", "apply", folder).want(t, 0, "nothing changes; revision 1 is in force")

	write("webhooks/ci.yaml", "secretName: CI_TOKEN\n")
	call(t, env, "factory", "apply", folder).want(t, 1, "webhooks/ci.yaml:1:13: FF_INVALID_REFERENCE")
	call(t, env, "factory", "get", "example").want(t, 0, "webhooks")
	write("webhooks/ci.yaml", "")
	call(t, env, "factory", "plan", folder).want(t, 1, "webhooks/ci.yaml:1:1:")
	if err := os.Remove(filepath.Join(folder, "webhooks/ci.yaml")); err != nil {
		t.Fatal(err)
	}
	write("agents/lead/agent.md", "---\nagentType: FOREMAN\n---\nLead them.\n")
	call(t, env, "factory", "plan", folder).want(t, 0, "change", "prompt", "revision 1 is in force")
	call(t, env, "factory", "apply", folder, "--base", "1").want(t, 0, "change", "revision 2 is in force")
	write("agents/lead/agent.md", "---\nagentType: FOREMAN\n---\nLead.\n")
	call(t, env, "factory", "apply", folder, "--base", "1").want(t, 65, "read its files again")
	call(t, env, "factory", "apply", folder, "--factory", "nobody").want(t, 65, "there is no factory")
	call(t, env, "run", "list").want(t, 0)
}
