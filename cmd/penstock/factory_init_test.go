package main_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/penstock-dev/penstock/internal/testkit"
)

func TestFactoryInit(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{Args: noWorker})
	env := client(s)
	folder := filepath.Join(t.TempDir(), "Payments: team")
	call(t, nil, "factory", "init", folder).want(t, 0, "wrote 2 files", "penstock factory apply")
	call(t, nil, "factory", "validate", folder).want(t, 0, "is valid: 2 files")
	call(t, nil, "factory", "init", folder).want(t, 64, "agents/foreman/agent.md already exists: nothing was written")
	call(t, env, "factory", "apply", folder).want(t, 0, "revision 1 is active")
	call(t, env, "factory", "get", "payments: team").want(t, 0, "foreman")

	call(t, env, "factory", "update", "payments: team", "--description", "refunds").want(t, 0)
	edited := filepath.Join(t.TempDir(), "a", "b")
	call(t, env, "factory", "init", edited, "--from", "Payments: Team").want(t, 0, "wrote 2 files", "--base 2")
	call(t, env, "factory", "apply", edited, "--base", "2").want(t, 0, "nothing changes")
	call(t, env, "factory", "init", filepath.Join(t.TempDir(), "x"), "--from", "nobody").want(t, 65, "no factory with")
	call(
		t, nil, "factory", "init", filepath.Join(t.TempDir(), "x"), "--name", "a\nb",
	).want(t, 64, "is not a valid factory name")
	call(t, nil, "factory", "init", filepath.Join(t.TempDir(), "x"), "--name", "a", "--from", "b").want(t, 64, "--name")

	// A link in the folder is not followed, and existing files stay.
	linked, elsewhere := t.TempDir(), t.TempDir()
	if err := os.Symlink(elsewhere, filepath.Join(linked, "agents")); err != nil {
		t.Fatal(err)
	}
	call(t, nil, "factory", "init", linked).want(t, 64, "nothing was written")
	if left, err := os.ReadDir(elsewhere); err != nil || len(left) > 0 {
		t.Errorf("got %v, %v in the folder that a link leads to, want nothing", left, err)
	}
}
