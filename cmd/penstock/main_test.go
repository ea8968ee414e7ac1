package main_test

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/internal/testkit"
)

// called is the result of a call of the binary.
type called struct {
	out, err string
	code     int
}

// command prepares a call of the binary with its own environment.
func command(t *testing.T, env []string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), testkit.Binary(t), args...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir()}, env...)
	cmd.Dir = t.TempDir()
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// call runs the binary to its end.
func call(t *testing.T, env []string, args ...string) called {
	t.Helper()
	return callWith(t, "", env, args...)
}

// callWith is call with standard input.
func callWith(t *testing.T, stdin string, env []string, args ...string) called {
	t.Helper()
	return finish(t, stdin, command(t, env, args...))
}

// finish runs a command to its end.
func finish(t *testing.T, stdin string, cmd *exec.Cmd) called {
	t.Helper()
	var out, errs bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(stdin), &out, &errs
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", strings.Join(cmd.Args, " "), err)
	}
	return called{out.String(), errs.String(), cmd.ProcessState.ExitCode()}
}

// want fails unless the call exited with code and printed each of the texts.
func (c called) want(t *testing.T, code int, says ...string) {
	t.Helper()
	if c.code != code {
		t.Errorf("got exit code %d, want %d\nout: %s\nerr: %s", c.code, code, c.out, c.err)
	}
	for _, text := range says {
		if !strings.Contains(c.out+c.err, text) {
			t.Errorf("got %q and %q, want %q in it", c.out, c.err, text)
		}
	}
}

func TestUsage(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		args []string
		env  []string
		code int
		says string
	}{
		"nothing shows the help":        {args: nil, code: 0, says: "Usage: penstock <command>"},
		"the help lists the exit codes": {args: []string{"--help"}, code: 0, says: "124  --timeout expired"},
		"the help of a command names its variables": {
			args: []string{"run", "create", "--help"}, code: 0, says: "PENSTOCK_RUN_CREATE_MODEL",
		},
		"serve names its variables":      {args: []string{"serve", "--help"}, code: 0, says: "$PENSTOCK_LISTEN"},
		"hidden commands are not listed": {args: []string{"agent", "--help"}, code: 0, says: "agent list"},
		"help as a word":                 {args: []string{"help"}, code: 0, says: "Usage: penstock <command>"},
		"help as a word about a command": {
			args: []string{"help", "run", "create"}, code: 0, says: "Usage: penstock run create",
		},
		"unknown command": {args: []string{"rnu"}, code: 64, says: `did you mean "run"?`},
		"unknown verb":    {args: []string{"run", "lst"}, code: 64, says: "see: penstock run --help"},
		"unknown flag": {
			args: []string{"run", "list", "--stat", "QUEUED"}, code: 64, says: "unknown flag --stat",
		},
		"missing argument": {args: []string{"run", "get"}, code: 64, says: "penstock: missing argument <run>\n"},
		"one missing flag": {
			args: []string{"budget", "create"}, code: 64, says: "penstock: missing flag --max-cost=USD\n",
		},
		"missing verb": {
			args: []string{"budget"}, code: 64, says: `missing command: one of "list", "create", "get", "set", "delete"`,
		},
		"bad duration": {
			args: []string{"serve", "--queue-timeout", "x"}, code: 64,
			says: "--queue-timeout: must be a duration such as 90s or 24h, not \"x\"\n",
		},
		"bad count": {
			args: []string{"run", "list", "--limit", "x"}, code: 64, says: `--limit: must be a whole number, not "x"`,
		},
		"bad amount": {
			args: []string{"budget", "create", "--max-cost", "x"}, code: 64, says: `--max-cost: must be a number, not "x"`,
		},
		"bad enumeration with a default": {
			args: []string{"budget", "create", "--period", "year"}, code: 64,
			says: `--period: must be one of "day", "week", "month", "total", not "year"`,
		},
		"bad argument": {
			args: []string{"completion", "tcsh"}, code: 64,
			says: `penstock: <shell>: must be one of "bash", "zsh", "fish", not "tcsh"`,
		},
		"negative number after a space": {
			args: []string{"serve", "--concurrency", "-1"}, code: 64,
			says: `--concurrency: needs a value; if the value begins with -, write --concurrency="-1"` + "\n",
		},
		"bad truth value": {
			args: []string{"serve", "--worker=maybe"}, code: 64, says: `--worker: must be true or false, not "maybe"`,
		},
		"flag without its value": {
			args: []string{"environment", "create", "x", "--repo"}, code: 64, says: "--repo: needs a value\n",
		},
		"label without a value": {
			args: []string{"run", "create", "x", "--metadata", "a"}, code: 64,
			says: `--metadata: must have the form KEY=VALUE, not "a"`,
		},
		"no harness to check": {
			args: []string{
				"harness", "check", "codex", "--sandbox", "process", "--allow-open-network", "--data", "/nonexistent",
			},
			code: 1, says: "the harness codex is not installed; install it with penstock harness install codex",
		},
		"flags that exclude each other": {
			args: []string{"harness", "install", "x", "--from", "a", "--save", "b"}, code: 64, says: "cannot be used together",
		},
		"bad enumeration": {
			args: []string{"run", "list", "--sort-by", "size"}, code: 64, says: "--sort-by: must be one of ",
		},
		"bad value in the environment": {
			args: []string{"serve"}, env: []string{"PENSTOCK_QUEUE_TIMEOUT=soon"}, code: 64,
			says: `a duration such as 90s or 24h, not "soon" (from the environment: PENSTOCK_QUEUE_TIMEOUT="soon")`,
		},
		"an empty variable is no value": {
			args: []string{"version"}, env: []string{"PENSTOCK_OUTPUT="}, code: 0, says: "penstock ",
		},
		"no key": {args: []string{"run", "list"}, code: 77, says: "PENSTOCK_API_KEY"},
		"key file that is not there": {
			args: []string{"run", "list", "--key-file", "none"}, code: 77, says: "no such file",
		},
		"server that is not there": {
			args: []string{"run", "list", "--server", "http://127.0.0.1:1"}, env: []string{"PENSTOCK_API_KEY=psk_x"}, code: 69,
			says: "check that the server is running",
		},
		"server that is no address": {
			args: []string{"run", "list", "--server", "localhost"}, env: []string{"PENSTOCK_API_KEY=psk_x"}, code: 64,
			says: "is not a URL",
		},
		"server on another machine in clear": {
			args: []string{"run", "list", "--server", "http://192.0.2.1"}, env: []string{"PENSTOCK_API_KEY=psk_x"}, code: 64,
			says: "plain HTTP would expose",
		},
		"version as a flag": {args: []string{"--version"}, code: 0, says: "penstock "},
		"a variable for no flag": {
			args: []string{"version"}, env: []string{"PENSTOCK_VERSION=1"}, code: 0, says: "penstock ",
		},
		"version as JSON": {args: []string{"version", "-o", "json"}, code: 0, says: `"platform": "linux/`},
		"watch and wait exclude each other": {
			args: []string{"run", "create", "x", "--wait", "--watch"}, code: 64, says: "--wait",
		},
		"two readers of standard input": {
			args: []string{"run", "create", "-", "-f", "-"}, env: []string{"PENSTOCK_API_KEY=psk_x"}, code: 64,
			says: "standard input",
		},
		"a request from an empty file": {
			args: []string{"run", "create", "-f", "/dev/null"}, env: []string{"PENSTOCK_API_KEY=psk_x"}, code: 64,
			says: "--file /dev/null is empty",
		},
		"listening beyond loopback": {args: []string{"serve", "--listen", ":0"}, code: 64, says: "--trusted-proxies"},
		"proxy that is no network": {
			args: []string{"serve", "--trusted-proxies", "proxy"}, code: 64, says: "such as 10.0.0.0/8",
		},
		"certificate without its key": {args: []string{"serve", "--tls-cert", "x"}, code: 64, says: "must be set together"},
		"no slots": {
			args: []string{"serve", "--concurrency", "0"}, code: 64, says: "--concurrency must be at least 1",
		},
		"a negative rate": {
			args: []string{"serve", "--limit-requests-per-minute=-1"}, code: 64, says: "must not be negative",
		},
		"no time in the queue": {
			args: []string{"serve", "--queue-timeout", "0"}, code: 64, says: "--queue-timeout must be greater than 0",
		},
		"unknown database": {args: []string{"migrate", "--database", "mysql://x"}, code: 64, says: "postgres://"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := call(t, test.env, test.args...)
			got.want(t, test.code, test.says)
			if test.code != 0 && got.out != "" {
				t.Errorf("an error printed a result: %q", got.out)
			}
		})
	}
}

func TestHelpHidesInternalCommands(t *testing.T) {
	t.Parallel()
	help := call(t, nil, "--help").out
	for _, hidden := range []string{"supervise", "agent acp", "  complete "} {
		if strings.Contains(help, hidden) {
			t.Errorf("the help shows %q", hidden)
		}
	}
}

func TestAgentWithoutVerbSpeaksACP(t *testing.T) {
	t.Parallel()
	request := `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{}}}` +
		"\n"
	for _, args := range [][]string{{"agent"}, {"agent", "acp"}} {
		callWith(t, request, nil, args...).want(t, 0, `"protocolVersion":1`)
	}
}
