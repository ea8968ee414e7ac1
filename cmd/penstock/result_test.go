package main_test

import (
	"bufio"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"github.com/penstock-dev/penstock/internal/testkit"
)

// hostileRun has texts that YAML reads as something else without quotes, and one that turns the
// direction of a terminal.
const hostileRun = `{"run_id":"01900000-0000-7000-8000-000000000001","title":"no","state":"QUEUED",` +
	`"prompt":"first\nsecond: x\n# third","execution_id":1,"serial":12345678901234567890,"metadata":` +
	`{"a":"1e3","b":"0x1f","c":"2026-01-01","d":"","e":"~","f":" x ","i":"12:30:45","j":"0777","k":"1_000","l":"Off",` +
	`"g":"\u202egnp.exe\u001b[2J","h":"\ud83d\ude00",` +
	`"null":"- y","\u202ekey":"&a"},"interactive":true,"started_at":null,"artifacts":[],"cost":1.50,"agent_config":{}}`

func TestResultAsYAML(t *testing.T) {
	t.Parallel()
	s := script(t, responds(200, hostileRun), responds(200, hostileRun))
	got := call(t, s.env(), "run", "get", "x", "-o", "yaml")
	got.want(
		t, 0, "serial: 12345678901234567890\n", "cost: 1.50\n", "artifacts: []\n", "prompt: |", `title: "no"`,
		`i: "12:30:45"`, `l: "Off"`,
	)
	if strings.ContainsAny(got.out, "\u202e\x1b") {
		t.Errorf("the output affects a terminal: %q", got.out)
	}
	var loaded, fromYAML, fromAPI any
	if err := yaml.Load([]byte(got.out), &loaded); err != nil {
		t.Fatalf("%v: %s", err, got.out)
	}
	raw, err := json.Marshal(loaded)
	if err != nil {
		t.Fatal(err)
	}
	fromJSON(t, string(raw), &fromYAML)
	fromJSON(t, call(t, s.env(), "run", "get", "x", "-o", "json").out, &fromAPI)
	if diff := cmp.Diff(fromAPI, fromYAML); diff != "" {
		t.Errorf("YAML (-JSON +YAML):\n%s", diff)
	}
	if first, _, _ := strings.Cut(got.out, ":"); first != "run_id" {
		t.Errorf("the first field is %q, want the order of the API", first)
	}
}

func TestJQ(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ expression, want string }{
		"a text, without quotes":     {".title", "no\n"},
		"a text of several lines":    {".prompt", "first\nsecond: x\n# third\n"},
		"several values":             {".state, .interactive, .started_at", "QUEUED\ntrue\nnull\n"},
		"an object in one line":      {`{title, serial}`, `{"serial":12345678901234567890,"title":"no"}` + "\n"},
		"the digits of a number":     {".cost, .serial", "1.50\n12345678901234567890\n"},
		"nothing":                    {"empty", ""},
		"the end of the program":     {".title, halt, .state", "no\n"},
		"no access to the variables": {"env, $ENV", "{}\n{}\n"},
		"escapes in JSON":            {"[.metadata.g]", `["\u202egnp.exe\u001b[2J"]` + "\n"},
		"the bytes of a text":        {".metadata.g", "\u202egnp.exe\x1b[2J\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := script(t, responds(200, hostileRun))
			got := call(t, s.env(), "run", "get", "x", "--jq", test.expression)
			got.want(t, 0)
			if got.out != test.want {
				t.Errorf("got %q, want %q", got.out, test.want)
			}
		})
	}
}

// An expression that cannot be compiled is an error before the first request, also of a write. One
// that does not fit the result is not, because the request was sent.
func TestJQThatIsBroken(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{
		{"run", "create", "x"}, {"run", "list"}, {"run", "cancel", "x"}, {"webhook", "delete", "x"}, {"usage"}, {"version"},
	} {
		for _, expression := range []string{"", ".[", "nosuch", "$nosuch", `import "a" as a; .`} {
			s := script(t) // no request is expected
			got := call(t, s.env(), append(args, "--jq", expression)...)
			if got.want(t, 64, "--jq: "); got.out != "" {
				t.Errorf("%q: got %q on standard output", expression, got.out)
			}
		}
	}
	s := script(t, responds(200, created))
	call(t, s.env(), "run", "create", "x", "--jq", ".state[]").want(t, 70, "the request has succeeded, but --jq")
}

// A text that a jq expression selects cannot control a terminal. Its program ends with Ctrl-C.
func TestJQOnATerminal(t *testing.T) {
	t.Parallel()
	s := script(t, responds(200, hostileRun))
	term := newTerminal(t)
	cmd := command(t, s.env(), "run", "get", "x", "--jq", ".metadata.g, range(infinite)")
	term.attach(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, timeout, func() error { return term.shows("gnp.exe\r\n0\r\n1\r\n") })
	term.write("\x03")
	_ = cmd.Wait() // the test checks the code
	if got := cmd.ProcessState.ExitCode(); got != 130 {
		t.Errorf("got exit code %d, want 130", got)
	}
	if strings.ContainsAny(term.screen(), "\u202e\x1b") {
		t.Errorf("the terminal gets %.200q", term.screen())
	}
}

// The IDs of a list and of a resource are what other commands accept.
func TestNamesOfEachNoun(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{})
	env := client(s)
	for _, args := range [][]string{
		{"factory", "create", "shop"},
		{"environment", "create", "--name", "app"},
		{"agent", "create", "--name", "reviewer"},
		{"automation", "create", "fix", "--prompt", "x", "--cron", "0 0 29 2 *"},
		{"budget", "create", "--max-cost", "5"},
		{"schedule", "create", "--name", "nightly", "--cron", "0 0 29 2 *", "--prompt", "x"},
		{"run", "create", "x", "--worker-host", "none"},
	} {
		got := call(t, env, append(args, "-o", "name")...)
		got.want(t, 0)
		id := strings.TrimSuffix(got.out, "\n")
		if got := call(t, env, args[0], "get", id, "-o", "name"); got.code != 0 || got.out != id+"\n" {
			t.Errorf("%q: the ID is %q, and get shows %q", args, id, got.out+got.err)
		}
		all := strings.Split(strings.TrimSpace(call(t, env, args[0], "list", "-o", "name").out), "\n")
		if !slices.Contains(all, id) {
			t.Errorf("%s list shows %q, want %s in it", args[0], all, id)
		}
		for _, id := range all {
			call(t, env, args[0], "get", id).want(t, 0)
		}
	}
	callWith(t, "0123456789", env, "secret", "create", "DEPLOY_TOKEN", "--value-file", "-", "-o", "name").want(
		t, 0, "DEPLOY_TOKEN\n",
	)
	key := call(t, env, "key", "create", "ci", "--scope", "runs:read", "--jq", ".uid")
	key.want(t, 0)
	if got := call(t, env, "key", "delete", strings.TrimSpace(key.out), "-o", "name"); got.out != key.out {
		t.Errorf("a deletion shows %q, want %q", got.out, key.out)
	}
	two := call(t, env, "run", "create", "x", "--worker-host", "none", "--attempts", "2", "-o", "name")
	if ids := strings.Fields(two.out); len(ids) != 2 {
		t.Errorf("got %q, want the IDs of two runs", two.out)
	}
	call(t, env, append([]string{"run", "cancel", "-o", "name"}, strings.Fields(two.out)...)...).want(t, 0, two.out)
	if got := call(t, env, "forge", "list", "-o", "name"); got.code != 0 || got.out != "" {
		t.Errorf("an empty list shows %q", got.out)
	}
}

// A list has the same pages in each format, and its rest is announced where the output does not show it.
func TestFormatsOfAPage(t *testing.T) {
	t.Parallel()
	const page = `{"runs":[{"run_id":"a"},{"run_id":"b"}],"page_info":{"has_next_page":true,"next_cursor":"n3xt"}}`
	for name, test := range map[string]struct {
		args      []string
		want      string
		announced bool
	}{
		"name": {[]string{"-o", "name"}, "a\nb\n", true},
		"jq":   {[]string{"--jq", ".runs[].run_id"}, "a\nb\n", true},
		"yaml": {[]string{"-o", "yaml"}, "next_cursor: n3xt\n", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := script(t, responds(200, page))
			got := call(t, s.env(), append([]string{"run", "list", "--limit", "2"}, test.args...)...)
			got.want(t, 0)
			if !strings.Contains(got.out, test.want) {
				t.Errorf("got %q, want %q", got.out, test.want)
			}
			if announced := strings.Contains(got.err, "--cursor n3xt"); announced != test.announced {
				t.Errorf("got %q on standard error", got.err)
			}
			if n := len(s.seen()); n != 1 {
				t.Errorf("got %d requests, want 1", n)
			}
		})
	}
}

// A format that would lose what a command is for is refused before the request.
func TestFormatsThatAreRefused(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		says string
		args []string
	}{
		{"has no IDs", []string{"usage"}},
		{"has no IDs", []string{"run", "logs", "x"}},
		{"has no IDs", []string{"run", "watch", "x"}},
		{"--watch prints events", []string{"run", "create", "x", "--watch"}},
		{"--watch prints events", []string{"run", "follow-up", "x", "y", "--watch"}},
		{"shown only once", []string{"key", "create", "x", "--scope", "runs:read"}},
		{"shown only once", []string{"webhook", "create", "x"}},
		{"shown only once", []string{"webhook", "rotate", "x"}},
		{"shown only once", []string{"endpoint", "rotate", "x"}},
	} {
		s := script(t) // no request is expected
		call(t, s.env(), append(test.args, "-o", "name")...).want(t, 64, test.says)
	}
}

// Standard output holds only data, also if a command waits.
func TestDataIsNotMixedWithText(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{})
	env := client(s)
	for _, args := range [][]string{
		{"run", "create", "demo: say done", "--wait"}, {"run", "create", "demo: error it broke", "--wait"},
	} {
		got := call(t, env, append(args, "--jq", ".run_id")...)
		id := strings.TrimSpace(got.out)
		if strings.Count(got.out, "\n") != 1 || !strings.Contains(got.err, "ED") {
			t.Errorf("%q: got %q and %q, want the ID alone, and the state beside it", args, got.out, got.err)
		}
		state := call(t, env, "run", "wait", id, "--jq", ".state")
		if state.code != got.code || state.out != "SUCCEEDED\n" && state.out != "FAILED\n" {
			t.Errorf("run wait shows %q with %d", state.out, state.code)
		}
		for _, args := range [][]string{
			{"run", "watch", id, "--jq", ".event"}, {"run", "follow-up", id, "demo: say more", "--wait", "--jq", ".run_id"},
		} {
			for line := range strings.Lines(call(t, env, args...).out) {
				if strings.ContainsAny(line, ` "{`) {
					t.Errorf("%q shows %q", args, line)
				}
			}
		}
	}
	// The events of a stream are documents.
	id := strings.TrimSpace(call(t, env, "run", "create", "demo: say done", "--wait", "-o", "name").out)
	events := call(t, env, "run", "watch", id, "-o", "yaml").out
	loader, err := yaml.NewLoader(bufio.NewReader(strings.NewReader(events)))
	if err != nil {
		t.Fatal(err)
	}
	var last struct{ Event string }
	n := 0
	for loader.Load(&last) == nil {
		n++
	}
	if n < 3 || last.Event != "done" {
		t.Errorf("got %d events, the last one %q: %s", n, last.Event, events)
	}
}
