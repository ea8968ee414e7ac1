package main_test

import (
	"crypto/sha256"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/testkit"
)

func TestSecrets(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{Args: []string{"--limit-secrets-per-team", "2"}})
	env := client(s)
	call(t, env, "secret", "create", "DEPLOY_KEY", "--pending").want(t, 0, "DEPLOY_KEY", "pending")
	got := callWith(t, "hunter22\n", env, "secret", "set", "DEPLOY_KEY", "--value-file", "-", "-o", "json")
	got.want(t, 0)
	var set penstock.ManagedSecret
	fromJSON(t, got.out, &set)
	if diff := cmp.Diff([]any{"DEPLOY_KEY", int64(1), false}, []any{set.Name, set.Version, set.Pending}); diff != "" {
		t.Errorf("given a value (-want +got):\n%s", diff)
	}
	call(
		t, env, "secret", "create", "PEM", "--value-file", writeFile(t, "key.pem", "line one\nline two\n"),
	).want(t, 0, "version", "1")
	call(t, env, "secret", "create", "THIRD", "--pending").want(t, 65, "secrets_per_team")
	call(t, env, "agent", "create", "--name", "reviewer", "--secret", "PEM", "--secret", "DEPLOY_KEY").want(t, 0, "PEM")
	call(t, env, "secret", "list").want(t, 0, "DEPLOY_KEY", `agent "reviewer"`)
	call(t, env, "secret", "get", "PEM").want(t, 0, `agent "reviewer"`, "changed by")
	call(t, env, "secret", "delete", "DEPLOY_KEY").want(t, 65, `used by the agent "reviewer"`)
	call(t, env, "secret", "get", "OTHER").want(t, 65, "resource_not_found")
	call(t, env, "run", "create", "x", "--secret", "DEPLOYKEY").want(t, 65, `did you mean "DEPLOY_KEY"?`)

	// A run shows the stored values. The line feed at the end of a line is not part of the value.
	id := startRun(
		t, env, `demo: run echo "${#DEPLOY_KEY} ${#PEM}"`, "--secret", "DEPLOY_KEY", "--secret", "PEM", "--wait",
	)
	call(t, env, "run", "logs", id).want(t, 0, "8 18")
	var agents struct {
		Agents []penstock.Identity `json:"agents"`
	}
	fromJSON(t, call(t, env, "agent", "list", "-o", "json").out, &agents)
	call(t, env, "agent", "delete", agents.Agents[0].UID).want(t, 0)
	call(t, env, "secret", "delete", "DEPLOY_KEY", "PEM").want(t, 0)
	call(t, env, "secret", "get", "PEM").want(t, 65, "resource_not_found")
}

func TestHostsOfASecretCanBeRemoved(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{Args: []string{"--no-worker"}})
	env := client(s)
	call(t, env, "secret", "create", "TOKEN", "--pending", "--host", "a.example").want(t, 0, "a.example")
	got := call(t, env, "secret", "set", "TOKEN", "--no-hosts")
	if got.want(t, 0, "TOKEN"); strings.Contains(got.out, "a.example") {
		t.Errorf("got %s, want no host", got.out)
	}
}

func TestSecretValuesComeFromFilesAndPeople(t *testing.T) {
	t.Parallel()
	arrived := make(chan string, 1)
	env := []string{"PENSTOCK_API_KEY=" + someKey, "PENSTOCK_BASE_URL=" + responding(t, func(r *http.Request) string {
		body, _ := io.ReadAll(r.Body)
		arrived <- r.Method + " " + r.URL.Path + " " + string(body)
		return `{"name":"S","version":1,"pending":false,"created_at":"2026-01-01T00:00:00Z",` +
			`"updated_at":"2026-01-01T00:00:00Z","used_by":[]}`
	})}
	long := strings.Repeat("x", access.MaxSecretBytes)
	for name, tt := range map[string]struct {
		args  []string
		stdin string
		code  int
		says  string
		sent  string
	}{
		"one line from standard input": {
			args: []string{"set", "S", "--value-file", "-"}, stdin: "hunter22\r\n",
			sent: `PUT /api/v1/secrets/S {"value":"hunter22"}`,
		},
		"as long as may be": {
			args: []string{"set", "S", "--value-file", "-"}, stdin: long + "\n",
			sent: `PUT /api/v1/secrets/S {"value":"` + long + `"}`,
		},
		"several lines": {
			args: []string{"create", "S", "--value-file", "-"}, stdin: "hunter22\nb\n",
			sent: `POST /api/v1/secrets {"name":"S","value":"hunter22\nb\n"}`,
		},
		"a value that is not masked": {
			args: []string{"set", "S", "--value-file", "-"}, stdin: "abc", says: "is not masked in the output",
			sent: `PUT /api/v1/secrets/S {"value":"abc"}`,
		},
		"no terminal to ask on": {args: []string{"set", "S"}, code: 64, says: "--value-file"},
		"too long": {
			args: []string{"set", "S", "--value-file", "-"}, stdin: long + "yy", code: 64, says: "more than 65536 bytes",
		},
		"nothing": {args: []string{"set", "S", "--value-file", "-"}, stdin: "\n", code: 64, says: "empty"},
		"not valid UTF-8 text": {
			args: []string{"set", "S", "--value-file", "-"}, stdin: "hunter22\xff", code: 64, says: "not valid UTF-8 text",
		},
		"no such file": {args: []string{"set", "S", "--value-file", "/nowhere"}, code: 64, says: "no such file"},
		"value and pending": {
			args: []string{"create", "S", "--pending", "--value-file", "-"}, code: 64,
			says: "see: penstock secret create --help",
		},
		"a value as an argument": {args: []string{"set", "S", "hunter22"}, code: 64, says: "never an argument"},
		"a value in a flag":      {args: []string{"set", "S", "--value=hunter22"}, code: 64, says: "never an argument"},
		"a value with the name":  {args: []string{"create", "S=hunter22"}, code: 64, says: "never an argument"},
	} {
		t.Run(name, func(t *testing.T) {
			got := callWith(t, tt.stdin, env, append([]string{"secret"}, tt.args...)...)
			got.want(t, tt.code, tt.says)
			if strings.Contains(got.out+got.err, "hunter22") {
				t.Errorf("the value is repeated: %s%s", got.out, got.err)
			}
			select {
			case sent := <-arrived:
				if sent != tt.sent {
					t.Errorf("sent %.200s, want %.200s", sent, tt.sent)
				}
			default:
				if tt.sent != "" {
					t.Error("nothing was sent")
				}
			}
		})
	}
}

// responding starts a server that responds to every request with the result of response.
func responding(t *testing.T, response func(*http.Request) string) string {
	t.Helper()
	server := httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, response(r)) }),
	)
	t.Cleanup(server.Close)
	return server.URL
}

// fetch returns a server's response to the admin.
func fetch(t *testing.T, s *testkit.Server, path string) string {
	t.Helper()
	got := testkit.Request(t, http.MethodGet, s.URL+path, testkit.Bearer(s.Key), "")
	if got.Status != http.StatusOK {
		t.Fatalf("%s: got %d %s", path, got.Status, got.Body)
	}
	return string(got.Body)
}

func TestSecretIsAskedForWithoutEcho(t *testing.T) {
	t.Parallel()
	arrived := make(chan string, 1)
	address := responding(t, func(r *http.Request) string {
		body, _ := io.ReadAll(r.Body)
		arrived <- string(body)
		return `{"name":"S","version":1,"pending":false,"created_at":"2026-01-01T00:00:00Z",` +
			`"updated_at":"2026-01-01T00:00:00Z","used_by":[]}`
	})
	terminal := newTerminal(t)
	cmd := command(t, []string{"PENSTOCK_BASE_URL=" + address, "PENSTOCK_API_KEY=" + someKey}, "secret", "set", "S")
	terminal.attach(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	testkit.Eventually(t, timeout, func() error { return terminal.shows("Value of S: ") })
	terminal.write("hunter22\n")
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v: %s", err, terminal.screen())
	}
	if got, want := <-arrived, `{"value":"hunter22"}`; got != want {
		t.Errorf("sent %s, want %s", got, want)
	}
	if strings.Contains(terminal.screen(), "hunter22") {
		t.Errorf("the terminal shows the value: %q", terminal.screen())
	}
}

// A program gets the value of its secret. If the program prints it, the value appears nowhere: not
// in API responses, the log, the metrics or the data folder.
func TestSecretOfARunIsNowhereButInItsEnvironment(t *testing.T) {
	t.Parallel()
	config := writeFile(
		t, "c.yaml",
		"harnesses:\n  command:\n    command: [sh, -c, 'echo \"the token is $TOKEN\"; printf %s \"$TOKEN\" | sha256sum; "+
			"echo \"error: $TOKEN\" >&2']\n",
	)
	s := testkit.Serve(
		t, testkit.ServeOptions{Args: []string{
			"--config", config, "--sandbox", "process", "--allow-open-network", "--log-level", "debug",
		}},
	)
	env := client(s)
	const value = "tok_8Jq2vX7mZk-in-the-clear"
	callWith(t, value, env, "secret", "create", "TOKEN", "--value-file", "-").want(t, 0)
	id := startRun(t, env, "go", "--harness", "command", "--secret", "TOKEN", "--wait")
	logs := call(t, env, "run", "logs", id)
	logs.want(t, 0, "the token is ***", fmt.Sprintf("%x", sha256.Sum256([]byte(value))))

	records := logs.out + call(t, env, "run", "logs", id, "--raw").out + call(t, env, "run", "get", id, "-o", "json").out +
		call(t, env, "secret", "list", "-o", "json").out + s.Logs()
	for _, path := range []string{
		"/metrics", "/api/v1/agent/runs/" + id + "/timeline", "/api/v1/agent/runs/" + id + "/conversation",
	} {
		records += fetch(t, s, path)
	}
	if n := strings.Count(records, value); n > 0 {
		t.Errorf("the value stands in the records %d times", n)
	}
	s.Stop()
	err := filepath.WalkDir(s.Data, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		content, err := os.ReadFile(path)
		if strings.Contains(string(content), value) {
			t.Errorf("%s holds the value", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
