package main_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/testkit"
)

func TestEnvironments(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{})
	env := client(s)
	got := call(t, env, "environment", "create", "app", "--repo", "acme/app", "--repo", "https://git.example/lib.git#v2",
		"--setup", "npm ci", "--setup", "npm test, then more", "-o", "json")
	got.want(t, 0)
	var made penstock.Environment
	fromJSON(t, got.out, &made)
	want := penstock.EnvironmentConfig{
		Name: "app", GitHubRepos: []penstock.GitHubRepo{{Owner: "acme", Repo: "app"}},
		Repos:         []penstock.GitRepo{{URL: "https://git.example/lib.git", Ref: "v2"}},
		SetupCommands: []string{"npm ci", "npm test, then more"},
	}
	if diff := cmp.Diff(want, made.Config); diff != "" {
		t.Errorf("environment (-want +got):\n%s", diff)
	}
	call(t, env, "environment", "get", "app").want(t, 0, made.UID)
	call(
		t, env, "environment", "update", "app", "--description", "for tests", "--setup", "make",
	).want(t, 0, "for tests", "acme/app", "make")
	call(t, env, "environment", "list").want(t, 0, made.UID, "acme/app https://git.example/lib.git#v2")
	call(
		t, env, "environment", "update", "app", "--prebuild-input", "**/go.sum", "--prebuild-secret", "NPM_TOKEN",
	).want(t, 0, "lazy, inputs **/go.sum, secrets NPM_TOKEN")
	off := callFor[penstock.Environment](t, env, "environment", "update", "app", "--prebuild", "off")
	prebuild := &penstock.Prebuild{
		Mode: penstock.PrebuildOff, Inputs: []string{"**/go.sum"}, Secrets: []string{"NPM_TOKEN"},
	}
	if diff := cmp.Diff(prebuild, off.Config.Prebuild); diff != "" {
		t.Errorf("prebuild of a change of its mode (-want +got):\n%s", diff)
	}
	call(t, env, "environment", "update", "app", "--prebuild", "eager").want(
		t, 65, "Invalid request: --prebuild: must be off or lazy",
	)
	for _, kept := range []struct {
		given string
		want  *int
	}{{"90s", new(2)}, {"1s", new(1)}, {"0", nil}} {
		changed := callFor[penstock.Environment](t, env, "environment", "update", "app", "--keep-failed", kept.given)
		if diff := cmp.Diff(kept.want, changed.Config.FailureSessionRetentionMinutes); diff != "" {
			t.Errorf("minutes of --keep-failed %s (-want +got):\n%s", kept.given, diff)
		}
	}
	call(t, env, "environment", "update", "app", "--keep-failed=-1m").want(
		t, 65, "Invalid request: --keep-failed: must be",
	)
	call(t, env, "environment", "update", "app", "--keep-failed=61m").want(
		t, 65, "Invalid request: --keep-failed: must be from 1m to 1h",
	)
	id := startRun(t, env, "x", "--environment", "app", "--worker-host", "none")
	if got := getRun(t, env, id).Config.EnvironmentID; got != made.UID {
		t.Errorf("the run's environment is %q, want %q", got, made.UID)
	}
	call(t, env, "run", "list", "--environment", "app").want(t, 0, id)
	call(t, env, "environment", "create", "--name", "app").want(t, 65, "conflict")
	call(t, env, "environment", "delete", made.UID).want(t, 0)
	call(t, env, "environment", "get", made.UID).want(t, 65, "no environment with")
}

func TestAgents(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{})
	env := client(s)
	file := writeFile(
		t, "agent.yaml", "name: from the file\nprompt: |\n  Be brief.\n  Be kind.\nbase_model: demo/offline\n",
	)
	made := callFor[penstock.Identity](t, env, "agent", "create", "reviewer", "-f", file)
	if diff := cmp.Diff(
		[]string{"reviewer", "Be brief.\nBe kind.\n", "demo/offline"}, []string{made.Name, made.Prompt, made.BaseModel},
	); diff != "" {
		t.Errorf("agent (-want +got):\n%s", diff)
	}
	callWith(
		t, "Be thorough.", env, "agent", "update", made.UID, "--prompt", "-", "--description", "reads code",
	).want(t, 0, "Be thorough.", "reads code", "demo/offline")
	if out := call(t, env, "agent", "update", made.UID, "--description", "").out; strings.Contains(out, "reads code") {
		t.Errorf("got %s, want no description", out)
	}
	call(t, env, "agent", "list").want(t, 0, made.UID, "reviewer")
	id := startRun(t, env, "x", "--agent", "reviewer", "--worker-host", "none")
	if run := getRun(t, env, id); run.Executor == nil || run.Executor.UID != made.UID {
		t.Errorf("the run's executor is %v, want the agent", run.Executor)
	}
	call(t, env, "agent", "get", "reviewer").want(t, 0, made.UID)
	call(t, env, "agent", "delete", "reviewer").want(t, 0)
	call(t, env, "agent", "get", made.UID).want(t, 65, "no agent with")
}

func TestDeletions(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{})
	env := client(s)
	call(t, env, "schedule", "create", "nightly", "--cron", "0 3 * * *", "--prompt", "x").want(t, 0)
	call(t, env, "schedule", "delete", "nightly", "-o", "json").want(t, 0, `"success": true`)

	factory := func(name string) string {
		made := callFor[penstock.Factory](t, env, "factory", "create", name)
		return made.UID
	}
	first := factory("first")
	call(t, env, "factory", "delete", "").want(t, 64, "the UID, name or alias of the factory is empty")
	call(t, env, "factory", "get", first).want(t, 0, first)
	factory(first) // a name that is the uid of another one
	call(t, env, "factory", "delete", first).want(t, 0)
	call(t, env, "factory", "get", "first").want(t, 65, "no factory with")
	call(t, env, "factory", "get", first).want(t, 0) // by its name

	for _, name := range []string{"a", "b"} {
		call(t, env, "automation", "create", name, "--cron", "0 3 * * *", "--prompt", "x").want(t, 0)
	}
	call(t, env, "automation", "delete", "a", "typo", "b").want(t, 65, "typo")
	call(t, env, "automation", "list").want(t, 0, " a ", " b ")
	call(t, env, "automation", "delete", "a", "b").want(t, 0)
}

func TestSchedules(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{})
	env := client(s)
	made := callFor[penstock.Schedule](
		t, env, "schedule", "create", "nightly", "--cron", "30 2 * * *", "--prompt", "tidy up", "--model", "demo/offline",
	)
	if !made.Enabled || made.Cron != "30 2 * * *" || len(made.Upcoming) != 5 {
		t.Errorf("got %+v, want it enabled, with its cron expression and five times", made)
	}
	call(t, env, "schedule", "list").want(t, 0, made.ID, "nightly", "(in ")
	call(t, env, "schedule", "get", "nightly").want(t, 0, made.ID)
	call(t, env, "schedule", "pause", "nightly").want(t, 0, "enabled", "false")
	call(t, env, "schedule", "list").want(t, 0, "paused")
	call(t, env, "schedule", "resume", made.ID).want(t, 0, "true")
	call(
		t, env, "schedule", "replace", made.ID, "--name", "hourly", "--cron", "@hourly", "--prompt", "tidy up", "--paused",
	).want(t, 0, "hourly", "@hourly", "false")
	call(
		t, env, "schedule", "create", "never", "--cron", "0 0 31 2 *", "--prompt", "x",
	).want(t, 65, "Invalid request: --cron: ")
	call(t, env, "schedule", "get", made.ID).want(t, 0, "hourly")
	planned := call(
		t, env, "schedule", "replace", made.ID, "--name", "hourly", "--cron", "@hourly", "--prompt", "tidy up", "--mode",
		"plan",
	)
	planned.want(t, 0, "mode", "plan")
	call(
		t, env, "schedule", "create", "fast", "--cron", "@hourly", "--prompt", "x", "--mode", "fast",
	).want(t, 64, "--mode", "orchestrate")
	call(t, env, "schedule", "delete", "hourly").want(t, 0)
	call(t, env, "schedule", "get", made.ID).want(t, 65, "no schedule with")
}

// TestBothNamesOfTheTimeZone uses the older name of a flag, and its variable.
func TestBothNamesOfTheTimeZone(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{Args: noWorker})
	makeFactory(t, s, "acme")
	for i, name := range []string{"time-zone", "timezone"} {
		for _, noun := range []string{"schedule", "automation"} {
			create := []string{noun, "create", fmt.Sprintf("%s-%d", noun, i), "--cron", "0 9 * * *", "--prompt", "x"}
			variable := "PENSTOCK_" + strings.ToUpper(noun+"_create_"+strings.ReplaceAll(name, "-", "_"))
			call(t, client(s), append(create, "--"+name, "Asia/Kathmandu")...).want(t, 0, "Asia/Kathmandu")
			create[2] += "-variable"
			call(t, append(client(s), variable+"=Asia/Kathmandu"), create...).want(t, 0, "Asia/Kathmandu")
			create[2] += "-wrong"
			call(t, client(s), append(create, "--"+name, "Mars/X")...).want(t, 65, "--time-zone", "IANA")
		}
	}
}

func TestOccurrences(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, database string) {
		s := testkit.Serve(t, testkit.ServeOptions{Database: database, Args: noWorker})
		env := client(s)
		call(t, env, "occurrences").want(t, 0, "FATE")
		var made penstock.Schedule
		got := call(
			t, env, "schedule", "create", "nightly", "--cron", "@every 17h", "--prompt", "tidy up", "--time-zone",
			"Asia/Kathmandu", "--catch-up", "all", "--overlap", "skip", "-o", "json",
		)
		got.want(t, 0)
		fromJSON(t, got.out, &made)
		due := penstock.Now().Add(-50 * time.Hour) // so three times have passed
		testkit.Exec(t, database, fmt.Sprintf("UPDATE schedules SET next_at = %d WHERE id = '%s'", due, made.ID))
		// A change of schedules starts the job that reads their times.
		call(t, env, "schedule", "create", "weekly", "--cron", "@weekly", "--prompt", "x").want(t, 0)
		testkit.Eventually(t, time.Minute, func() error {
			got := call(t, env, "occurrences", "--schedule", "nightly", "--fate", "skipped")
			if !strings.Contains(got.out, "not ended") {
				return fmt.Errorf("got %s%s", got.out, got.err)
			}
			return nil
		})
		call(t, env, "occurrences", "--fate", "started", "-o", "json").want(t, 0, made.ID, `"run_ids": [`)
		call(t, env, "occurrences", "--kind", "tick", "--fate", "started").want(t, 0, "AUTOMATION", made.ID)
		call(t, env, "run", "create", "by hand").want(t, 0)
		call(t, env, "occurrences", "--kind", "call").want(t, 0, "KIND", "call", "started")
		call(t, env, "occurrences", "--kind", "tock").want(t, 64, "--kind", "tick")
		call(t, env, "occurrences", "--fate", "lost").want(t, 64, "--fate", "superseded")
		call(t, env, "occurrences", "--schedule", "yearly").want(t, 65, "yearly")
		call(t, env, "schedule", "get", "nightly").want(t, 0, "Asia/Kathmandu", "skip", "all")
		call(
			t, env, "schedule", "create", "x", "--cron", "@daily", "--prompt", "x", "--overlap", "wait",
		).want(t, 64, "--overlap", "replace")
		call(t, env, "schedule", "create", "x", "--cron", "@daily", "--prompt", "x", "--time-zone", "Asia/Atlantis").want(
			t, 65, "--time-zone", "IANA",
		)
	})
}

func TestKeys(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{})
	env := client(s)
	got := call(t, env, "key", "create", "ci", "--scope", "runs:read", "--expires", "1h")
	got.want(t, 0)
	key := strings.TrimSpace(got.out)
	if !strings.HasPrefix(key, "psk_") || strings.ContainsAny(key, " \n") {
		t.Fatalf("got %q, want the key and nothing else", got.out)
	}
	narrow := []string{"PENSTOCK_BASE_URL=" + s.URL, "PENSTOCK_API_KEY=" + key}
	call(t, narrow, "run", "list").want(t, 0)
	call(t, narrow, "run", "create", "x").want(t, 77, "not_authorized")
	call(t, narrow, "key", "list").want(t, 77, "not_authorized")

	saved := filepath.Join(t.TempDir(), "key")
	call(t, env, "key", "create", "saved", "--scope", "runs:read,runs:write", "--save", saved).want(t, 0, saved)
	info, err := os.Stat(saved)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file has the mode %v (%v), want 0600", info.Mode(), err)
	}
	call(t, []string{"PENSTOCK_BASE_URL=" + s.URL}, "run", "list", "--key-file", saved).want(t, 0)
	call(t, env, "key", "create", "saved", "--scope", "runs:read", "--save", saved).want(t, 64, "file exists")
	refused := filepath.Join(t.TempDir(), "key")
	call(
		t, env, "key", "create", "bad", "--scope", "everything", "--save", refused,
	).want(t, 65, `--scope: "everything" is not a scope; use one of runs:read, runs:write, `)
	if _, err := os.Stat(refused); err == nil {
		t.Error("a refused key left a file")
	}

	list := call(t, env, "key", "list")
	list.want(t, 0, "ci", "saved", "runs:read runs:write")
	if strings.Contains(list.out, key) {
		t.Error("the list shows a key")
	}
	var keys struct {
		Keys []penstock.Key `json:"keys"`
	}
	fromJSON(t, call(t, env, "key", "list", "-o", "json").out, &keys)
	for _, k := range keys.Keys {
		if k.Name == "ci" {
			call(t, env, "key", "delete", k.UID).want(t, 0)
		}
	}
	call(t, narrow, "run", "list").want(t, 77, "authentication_required")
}
