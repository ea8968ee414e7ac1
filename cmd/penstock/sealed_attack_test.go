package main_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// An attackOfARun is a shell command. It prints want if the attack is stopped.
type attackOfARun struct{ name, stoppedBy, script, want string }

const (
	ownRoutes   = "the relay serves only the routes of the API about the run itself"
	noKeyInside = "keys stay with the worker"
	noNetwork   = "a network namespace with nothing but loopback"
	noRule      = "no rule of the policy allows it"
	ownPaths    = "the gateway forwards only listed paths of configured providers"
)

// Shell functions of the attacks. The patterns are written so that they do not match themselves.
const attackFunctions = `
status() { curl -s -o /dev/null -w '%{http_code}' --path-as-is -m 20 "$@"; }
through() { status --noproxy '' -x http://127.0.0.1:3128 "$@"; }
api=$PENSTOCK_BASE_URL/api/v1
run=$PENSTOCK_RUN_ID
canary='sk-can[a]ry|ps[k]_[A-Za-z0-9]'
none() { if [ -z "$("$@" 2>/dev/null | head -c 1)" ]; then echo none; else echo found; fi; }
`

var attacksOfARun = []attackOfARun{
	{"a key in its environment", noKeyInside, `none sh -c "env | grep -E '$canary'"`, "none"},
	{
		"a key in the environment or arguments of any process", noKeyInside,
		`none grep -lsaE "$canary" /proc/[0-9]*/environ /proc/[0-9]*/cmdline`, "none",
	},
	{
		"a key in a file", noKeyInside,
		`none grep -rlsaE --exclude-dir=proc "$canary" "$HOME" . /tmp /run /etc`, "none",
	},
	{"a key in the configuration of git", noKeyInside, `none sh -c "git config --list | grep -E '$canary'"`, "none"},
	{
		"the certificate of its proxy in a home that is saved", "the certificates are outside of HOME",
		`none grep -rlsa 'BEGI[N] CERTIFICATE' "$HOME"`, "none",
	},
	{"the conversation of another run", ownRoutes, `status "$api/agent/runs/$VICTIM/conversation"`, "403"},
	{"another run by ..", ownRoutes, `status "$api/agent/runs/$run/../$VICTIM"`, "403"},
	{"another run by an encoded slash", ownRoutes, `status "$api/agent/runs/$run%2f..%2f$VICTIM"`, "403"},
	{"another run by an empty element", ownRoutes, `status "$api/agent//runs/$VICTIM"`, "403"},
	{
		"another run with a key of its own", ownRoutes,
		`status -H "Authorization: Bearer something" "$api/agent/runs/$VICTIM"`, "403",
	},
	{"another run by the absolute form", ownRoutes, `through "$api/agent/runs/$VICTIM"`, "403"},
	{"stopping another run", ownRoutes, `status -X POST "$api/agent/runs/$VICTIM/cancel"`, "403"},
	{"a new run", ownRoutes, `status -d '{"prompt": "x"}' -H 'Content-Type: application/json' "$api/agent/runs"`, "403"},
	{"a message to itself", ownRoutes, `status -d '{"message": "x"}' "$api/agent/runs/$run/followups"`, "403"},
	{"another method on its own route", ownRoutes, `status -X DELETE "$api/agent/runs/$run"`, "403"},
	{
		"a pull request that claims to be one that the proxy saw", "only the proxy observes pull requests",
		`status -H 'Content-Type: application/json' -d '{"artifact_type": "PULL_REQUEST", "data": ` +
			`{"branch": "b", "url": "https://example.com/pull/1", "observed": true}}' "$api/agent/runs/$run/artifacts"`, "400",
	},
	{"the list of secrets", ownRoutes, `status "$api/secrets"`, "403"},
	{"another path of its provider", ownPaths, `status "$GATEWAY/v1/files"`, "403"},
	{"another provider", ownPaths, `status -d '{"model": "m"}' "$GATEWAY/../anthropic/v1/messages"`, "403"},
	{"a look-up in the DNS", noNetwork, `getent hosts example.com || echo none`, "none"},
	{"TCP to the port of the server", noNetwork, `status --noproxy '*' "$SERVER"`, "000"},
	{"TCP to the port of the provider", noNetwork, `status --noproxy '*' "$PROVIDER"`, "000"},
	{"the server through the proxy", noRule, `through "$SERVER"`, "403"},
	{
		"the server through a tunnel", noRule,
		`curl -s -o /dev/null -w '%{http_connect}' -m 20 -p --noproxy '' -x http://127.0.0.1:3128 "$SERVER"`, "403",
	},
	{"the metadata service through the proxy", noRule, `through http://169.254.169.254/latest/meta-data/`, "403"},
	{
		"the socket of another run", "mounts of its own",
		`status --unix-socket "$SOCKET" http://relay/penstock/api/v1/me`, "000",
	},
}

// attackConfig returns a configuration with a harness that waits, and one that tries every attack
// and prints the results.
func attackConfig(t *testing.T, provider string) string {
	t.Helper()
	script := attackFunctions + `echo "control: $(status "$api/agent/runs/$run") $(status "$GATEWAY/v1/models")"` + "\n"
	for i, a := range attacksOfARun {
		script += fmt.Sprintf("echo \"attack %d: $(%s) end\"\n", i, a.script)
	}
	text, err := json.Marshal(map[string]any{
		"providers": map[string]any{"local": map[string]any{
			"api": "openai", "base_url": provider + "/v1", "key": "sk-canary-of-the-provider", "models": []string{"test"},
		}},
		"harnesses": map[string]any{
			"wait": map[string]any{"protocol": "command", "command": []string{"sleep", "3600"}},
			"attack": map[string]any{
				"protocol": "command", "command": []string{"sh", "-c", script},
				"env": map[string]string{"GATEWAY": "{gateway}/model/local"},
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return writeFile(t, "penstock.yaml", string(text))
}

// attackRun creates a run and returns its id.
func attackRun(t *testing.T, s *testkit.Server, harness string, config map[string]any) string {
	t.Helper()
	config["harness"] = map[string]string{"type": harness}
	body, err := json.Marshal(map[string]any{"prompt": "Go.", "config": config})
	if err != nil {
		t.Fatal(err)
	}
	got := send(t, s, http.MethodPost, "/agent/runs", string(body))
	var run run.Created
	if err := json.Unmarshal(got.body, &run); err != nil || got.status != http.StatusOK {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	return run.ID
}

// relayOf finds the socket of the only run that has one.
func relayOf(t *testing.T, s *testkit.Server) string {
	t.Helper()
	var found string
	testkit.Eventually(t, timeout, func() error {
		_ = filepath.WalkDir(s.Data, func(path string, entry fs.DirEntry, err error) error {
			if err == nil && entry.Name() == "relay" && entry.Type()&fs.ModeSocket != 0 {
				found = path
			}
			return nil
		})
		if found == "" {
			return errors.New("no run has a socket")
		}
		return nil
	})
	return found
}

// A sealed run tries to reach keys, other runs and networks.
func TestAttackFromARun(t *testing.T) {
	t.Parallel()
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer sk-canary-of-the-provider" || r.URL.Path != "/v1/models" {
			w.WriteHeader(http.StatusTeapot)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"object":"list","data":[]}`)
	}))
	t.Cleanup(provider.Close)
	s := testkit.Serve(t, testkit.ServeOptions{Args: []string{"--config", attackConfig(t, provider.URL)}})
	if got := send(t, s, http.MethodPost, "/secrets", `{"name": "TOKEN", "value": "sk-canary-of-a-host",
		"hosts": ["api.example.com"]}`); got.status != http.StatusCreated {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	made := send(t, s, http.MethodPost, "/agent/environments", `{"name": "with a credential", "network": {"allow": [
		{"host": "api.example.com", "credential": {"secret": "TOKEN", "as": "bearer"}}]}}`)
	var environment penstock.Environment
	if err := json.Unmarshal(made.body, &environment); err != nil || environment.UID == "" {
		t.Fatalf("got %d %s", made.status, made.body)
	}
	victim := attackRun(t, s, "wait", map[string]any{})
	socket := relayOf(t, s)
	id := attackRun(t, s, "attack", map[string]any{
		"environment_id": environment.UID,
		"env":            map[string]string{"VICTIM": victim, "SOCKET": socket, "SERVER": s.URL, "PROVIDER": provider.URL},
	})
	testkit.Eventually(t, timeout, func() error { return inState(t, client(s), id, penstock.StateSucceeded) })
	said := string(send(t, s, http.MethodGet, "/agent/runs/"+id+"/conversation", "").body)
	if !strings.Contains(said, "control: 200 200") {
		t.Fatalf("the run does not reach what it may reach: %s", said)
	}
	attacks := testkit.NewAttacks(t, "A run")
	for i, a := range attacksOfARun {
		attacks.Run(a.name, a.stoppedBy, func(t *testing.T) {
			_, got, _ := strings.Cut(said, fmt.Sprintf("attack %d: ", i))
			if got, _, _ = strings.Cut(got, " end"); got != a.want {
				t.Errorf("got %.200q, want %q", got, a.want)
			}
		})
	}
	if got := send(t, s, http.MethodPost, "/agent/runs/"+victim+"/cancel", ""); got.status != http.StatusOK {
		t.Errorf("the other run is not running any more: %d %s", got.status, got.body)
	}
}
