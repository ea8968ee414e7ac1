package main_test

import (
	"net/http"
	"testing"

	"github.com/penstock-dev/penstock/internal/testkit"
)

func TestNetworkExplain(t *testing.T) {
	t.Parallel()
	config := writeFile(t, "penstock.yaml", "network:\n  allow: [{preset: pypi}]\n  ceiling:\n    allow:\n"+
		"      - {preset: pypi}\n      - {host: '*.example.com', ports: [443, 8443]}\n")
	s := testkit.Serve(t, testkit.ServeOptions{Args: []string{"--config", config}})
	env := client(s)
	create := func(path, body string) (made struct {
		UID string `json:"uid"`
	},
	) {
		t.Helper()
		got := send(t, s, http.MethodPost, path, body)
		if got.status/100 != 2 {
			t.Fatalf("POST %s: %d %s", path, got.status, got.body)
		}
		fromJSON(t, string(got.body), &made)
		return made
	}
	create("/agent/environments", `{"name": "app", "network": {"allow": [{"host": "env.example.com"}]}}`)
	create("/secrets", `{"name": "TOKEN", "value": "sk-canary", "hosts": ["git.example.com"]}`)
	create("/agent/identities", `{"name": "fixer", "network": {"allow": [
		{"host": "git.example.com", "credential": {"secret": "TOKEN", "as": "bearer"}}, {"host": "outside.test"}]}}`)
	factory := "/factory/" + create("/factory", `{"name": "pay"}`).UID
	rule := `{"network": {"allow": [{"host": "pay.example.com", "ports": [8443]}]}}`
	if got := send(t, s, http.MethodPatch, factory, rule); got.status != http.StatusOK {
		t.Fatalf("PATCH %s: %d %s", factory, got.status, got.body)
	}

	const missing = "no rule of the run's network policy allows it. To allow it, add it to " +
		"network.allow of the run's agent"
	for name, c := range map[string]struct {
		args []string
		want []string
	}{
		"the server's preset": {
			[]string{"pypi.org"},
			[]string{"pypi.org is allowed by the rule for pypi.org of the preset pypi of the server.", "methods GET, HEAD"},
		},
		"the environment": {
			[]string{"--environment", "app", "env.example.com"},
			[]string{"env.example.com is allowed by the rule for env.example.com of the environment app.", "(tunnel)"},
		},
		"without that environment": {[]string{"env.example.com"}, []string{"env.example.com is refused: " + missing}},
		"the agent's credential": {
			[]string{"--agent", "fixer", "git.example.com"},
			[]string{"allowed by the rule for git.example.com of the agent fixer", "with the secret TOKEN"},
		},
		"agent and environment": {
			[]string{"--agent", "fixer", "--environment", "app", "env.example.com"},
			[]string{"env.example.com is allowed", "of the environment app"},
		},
		"outside the ceiling": {
			[]string{"--agent", "fixer", "outside.test"}, []string{
				"outside.test is refused: it is outside the ceiling", "Only the operator of the server can change that.",
			},
		},
		"the factory": {
			[]string{"--factory", "pay", "pay.example.com:8443"},
			[]string{"pay.example.com:8443 is allowed", "of the factory pay."},
		},
		"another port": {
			[]string{"--factory", "pay", "pay.example.com:443"},
			[]string{"does not have the port 443. Add it to the ports of that rule"},
		},
		"a URL": {
			[]string{"https://pypi.org/simple/"}, []string{"pypi.org is allowed", "preset pypi"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			call(t, env, append([]string{"network", "explain"}, c.args...)...).want(t, 0, c.want...)
		})
	}

	var said struct {
		Host    string `json:"host"`
		Port    int    `json:"port"`
		Allowed bool   `json:"allowed"`
		Mode    string `json:"mode"`
		Source  string `json:"source"`
		Name    string `json:"name"`
	}
	got := call(t, env, "network", "explain", "--environment", "app", "ENV.example.com.", "-o", "json")
	got.want(t, 0)
	fromJSON(t, got.out, &said)
	if !said.Allowed || said.Host != "env.example.com" || said.Port != 443 || said.Source != "environment" ||
		said.Name != "app" || said.Mode != "tunnel" {
		t.Errorf("got %+v from %s", said, got.out)
	}

	call(t, env, "network", "explain", "--environment", "other", "pypi.org").want(t, 65, "other")
	call(t, env, "network", "explain", "ftp://pypi.org").want(t, 64, "neither http nor https")
	call(t, env, "network", "explain", "--factory", "pay", "--agent", "fixer", "pypi.org").want(
		t, 64, "cannot be used together",
	)
	const nobody = "?agent_uid=AAAAAAAAAAAAAAAAAAAAAA"
	if got := send(t, s, http.MethodGet, "/agent/network"+nobody, ""); got.status != http.StatusNotFound {
		t.Errorf("an agent that does not exist: got %d %s", got.status, got.body)
	}
}

func TestNetworkPresets(t *testing.T) {
	t.Parallel()
	all := call(t, nil, "network", "presets")
	all.want(t, 0, "packages: ", "npm: ", "github: ", "  registry.npmjs.org: GET, HEAD\n")
	one := call(t, nil, "network", "presets", "go")
	one.want(t, 0)
	if want := "go: Go modules and their checksum database\n  proxy.golang.org: GET, HEAD\n" +
		"  sum.golang.org: GET, HEAD\n" +
		"  storage.googleapis.com/proxy-golang-org-prod/*: GET, HEAD\n"; one.out != want {
		t.Errorf("got %q, want %q", one.out, want)
	}
	call(t, nil, "network", "presets", "nothing").want(t, 64, "packages")
}
