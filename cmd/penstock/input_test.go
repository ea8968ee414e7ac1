package main_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// Errors name a field as the command line does, not as the API does.
func TestRefusalsNameFlagsAndArguments(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{})
	env := client(s)
	call(t, env, "factory", "create", "Shop").want(t, 0)
	for name, test := range map[string]struct {
		args string
		code int
		says string
	}{
		"run without a prompt": {
			"run create", 64, "penstock: nothing to do: set a prompt, --skill, --conversation or --again",
		},
		"run with an empty prompt": {"run create -", 65, "penstock: Invalid request: <prompt>: is required unless"},
		"several fields": {
			"run create x --parent y --conversation z", 65,
			")\n  --conversation: is not a valid conversation id\n  --parent: is not",
		},
		"key of a map": {
			"run create x --metadata a=b --metadata c/d=e", 65, "Invalid request: --metadata c/d: is not a valid key",
		},
		"name of a variable": {
			"run create x --env A-B=c", 65, "Invalid request: --env A-B: \"A-B\" is not a valid environment variable name; use",
		},
		"field of an object": {
			"run create x --harness none", 65, `Invalid request: --harness: "none" is not a harness`,
		},
		"query parameter":           {"run list --state none", 65, "Invalid request: --state: must be one of QUEUED"},
		"schedule without anything": {"schedule create", 64, "penstock: missing: <name>, --cron, --prompt or --skill\n"},
		"schedule without a name": {
			"schedule replace nightly --prompt x --cron @daily", 64, "penstock: missing: --name\n",
		},
		"schedule that cannot fire": {
			"schedule create x --prompt x --cron 61", 65, `Invalid request: --cron: "61" is not valid`,
		},
		"agent without a name": {"agent create", 65, "Invalid request: <name>: is required"},
		"one item of a list": {
			"environment create x --setup a --setup=", 65, "Invalid request: --setup (number 2): is empty",
		},
		"the only item of a list": {"environment create x --setup=", 65, "Invalid request: --setup: is empty"},
		"a flag for two fields": {
			"environment create x --repo a/b --repo ftp://x", 65, "Invalid request: --repo: the URL names no repository",
		},
		"another field in the detail": {
			"webhook create x --mode token --scheme github", 65,
			"Invalid request: --scheme: is allowed only with --mode signature",
		},
		"place in a filter": {
			"automation create x --prompt x --webhook y --filter {\"a\":[]}", 65, "Invalid request: --filter /a: empty",
		},
		"schedule of an automation": {
			"automation create x --prompt x --cron 61", 65, `Invalid request: --cron: "61" is not valid`,
		},
		"ticket of a dispatch": {
			"factory dispatch shop x --ticket y", 65, "Invalid request: --ticket: must be <source>:<id>",
		},
		"repository of a factory": {"factory create --repository x", 65, "Invalid request: --repository: "},
		"message of a follow-up": {
			"run follow-up 01900000-0000-7000-8000-000000000001 x --wait --mode plan", 65, "Resource not found",
		},
		"name that is given twice":     {"agent create a --name b", 64, `the name is set twice, as "a" and as --name "b"`},
		"name that is given two times": {"agent create a --name a", 0, "name "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := call(t, env, strings.Split(test.args, " ")...)
			got.want(t, test.code, test.says)
		})
	}
	file := writeFile(t, "run.yaml", "config: {max_duration_minutes: -1}\n")
	call(t, env, "run", "create", "-f", file).want(
		t, 65, "/prompt (<prompt>): is required", "/config/max_duration_minutes (--max-duration)",
	)
	call(t, env, "run", "create", "x", "-f", file).want(
		t, 65, "Invalid request: /config/max_duration_minutes (--max-duration)",
	)
}

func TestNamesOfNewResources(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{})
	env := client(s)
	for kind, more := range map[string][]string{
		"environment": nil, "agent": nil, "schedule": {"--cron", "@daily", "--prompt", "x"},
	} {
		call(t, env, slices.Concat([]string{kind, "create", "by argument"}, more)...).want(t, 0, "by argument")
		call(t, env, slices.Concat([]string{kind, "create", "--name", "by flag"}, more)...).want(t, 0, "by flag")
		file := writeFile(t, kind+".yaml", "name: by file\n")
		call(t, env, slices.Concat([]string{kind, "create", "-f", file}, more)...).want(t, 0, "by file")
		call(t, env, slices.Concat([]string{kind, "create", "over file", "-f", file}, more)...).want(t, 0, "over file")
		call(
			t, env, slices.Concat([]string{kind, "create", "a", "--name", "b"}, more)...,
		).want(t, 64, "the name is set twice")
		for _, name := range []string{"by argument", "by flag", "by file", "over file"} {
			call(t, env, kind, "get", name).want(t, 0, name)
		}
	}
}

func TestDeletePrintsNothing(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{})
	env := client(s)
	for _, form := range []string{"table", "json"} {
		call(t, env, "factory", "create", "Shop").want(t, 0)
		call(t, env, "webhook", "create", "orders").want(t, 0)
		call(t, env, "automation", "create", "ship", "--webhook", "orders", "--prompt", "x").want(t, 0)
		call(t, env, "agent", "create", "helper").want(t, 0)
		call(t, env, "environment", "create", "app").want(t, 0)
		call(t, env, "secret", "create", "TOKEN", "--pending").want(t, 0)
		for _, args := range [][]string{
			{"automation", "delete", "ship"},
			{"webhook", "delete", "orders"},
			{"factory", "delete", "Shop"},
			{"agent", "delete", "helper"},
			{"environment", "delete", "app"},
			{"secret", "delete", "TOKEN"},
		} {
			if got := call(t, env, append(args, "-o", form)...); got.code != 0 || got.out+got.err != "" {
				t.Errorf("%v: exit code %d, printed %q and %q; want 0 and nothing", args, got.code, got.out, got.err)
			}
		}
	}
}

func TestAddressOfTheServerMayEndInItsAPI(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{})
	for _, end := range []string{"", "/", "/api/v1", "/api/v1/"} {
		env := []string{"PENSTOCK_BASE_URL=" + s.URL + end, "PENSTOCK_API_KEY=" + s.Key}
		call(t, env, "run", "list").want(t, 0, "RUN")
		call(t, env[1:], "run", "list", "--server", s.URL+end).want(t, 0, "RUN")
	}
	env := []string{"PENSTOCK_BASE_URL=" + s.URL + "/api/v2", "PENSTOCK_API_KEY=" + s.Key}
	call(t, env, "run", "list").want(t, 65, "Resource not found")
}

func TestAgentsAreListedWithTheirFactory(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{})
	env := client(s)
	call(t, env, "agent", "create", "alone").want(t, 0)
	made := callFor[penstock.Factory](t, env, "factory", "create", "Card payments")
	list := call(t, env, "agent", "list")
	list.want(t, 0, "FACTORY")
	rows := map[string]bool{}
	for line := range strings.Lines(list.out) {
		rows[strings.Join(strings.Fields(line)[1:], " ")] = true
	}
	for _, want := range []string{"alone - CUSTOM - -", "foreman Card payments FOREMAN - -"} {
		if !rows[want] {
			t.Errorf("got\n%swant a row with %q", list.out, want)
		}
	}
	call(t, env, "agent", "get", "foreman").want(t, 0, "Card payments")
	call(t, env, "factory", "create", "Refunds").want(t, 0, "on this server")
	call(t, env, "agent", "get", "foreman").want(
		t, 64, `2 agents have the name "foreman"; use the UID: `, " of Card payments", " of Refunds",
	)
	key := strings.TrimSpace(call(t, env, "key", "create", "narrow", "--scope", "runs:read").out)
	call(t, []string{"PENSTOCK_BASE_URL=" + s.URL, "PENSTOCK_API_KEY=" + key}, "agent", "list").want(t, 0, made.UID)
}
