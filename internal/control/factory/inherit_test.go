package factory_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
)

func agentUID(t *testing.T, f penstock.Factory, name string) string {
	t.Helper()
	for _, a := range f.Agents {
		if a.Name == name {
			return a.UID
		}
	}
	t.Fatalf("there is no agent %s", name)
	return ""
}

// inherited is a key that factory, agent, automation and request can set.
type inherited struct {
	key     string                             // of the run's configuration
	file    func(layer string) string          // of a file of that layer
	request func(layer string) penstock.Config // of a request
	got     func(c *penstock.Config) any
	want    func(layer string) any
	// Whether a layer sets the key, and whether the factory can omit it.
	none, noneFrom string
}

func each[T any](f func(string) T) func(string) any {
	return func(layer string) any { return f(layer) }
}

func text(s string) func(string) string {
	return func(layer string) string { return fmt.Sprintf(s, layer) }
}

// inheritedKeys are all keys of agentDefaults, and credentialStrategy, which stands beside them.
func inheritedKeys(environments map[string]string) []inherited {
	strategy := func(layer string) string {
		return map[string]string{
			"factory": "CREATOR", "agent": "EXECUTOR", "automation": "CREATOR", "request": "CREATOR",
		}[layer]
	}
	return []inherited{
		{
			"model_id", text("model: m/%s"), func(l string) penstock.Config { return penstock.Config{ModelID: "m/" + l} },
			func(c *penstock.Config) any { return c.ModelID }, each(text("m/%s")), penstock.ModelOffline, "server",
		},
		{
			"harness", text("harness: {type: claude, model: h-%s, reasoningLevel: r-%[1]s}"),
			func(l string) penstock.Config {
				return penstock.Config{Harness: &penstock.Harness{Type: "claude", ModelID: "h-" + l, ReasoningLevel: "r-" + l}}
			},
			func(c *penstock.Config) any { return *c.Harness },
			func(l string) any {
				return penstock.Harness{Type: "claude", ModelID: "h-" + l, ReasoningLevel: "r-" + l}
			}, "builtin", "factory",
		},
		{
			"harness_auth_secrets", text("harness: {type: claude, model: m, auth: {source: managedSecret, secretName: S_%s}}"),
			func(l string) penstock.Config {
				return penstock.Config{HarnessAuthSecrets: []byte(`{"claude_auth_secret_name":"S_` + l + `"}`)}
			},
			func(c *penstock.Config) any { return string(c.HarnessAuthSecrets) },
			each(text(`{"claude_auth_secret_name":"S_%s"}`)), "", "",
		},
		{
			"runner_id", text("runner: on-%s"), func(l string) penstock.Config { return penstock.Config{RunnerID: "on-" + l} },
			func(c *penstock.Config) any { return c.RunnerID }, each(text("on-%s")), "", "",
		},
		{
			"environment_id", func(l string) string { return "environmentId: " + environments[l] },
			func(l string) penstock.Config { return penstock.Config{EnvironmentID: environments[l]} },
			func(c *penstock.Config) any { return c.EnvironmentID }, func(l string) any { return environments[l] }, "", "",
		},
		{
			"secrets", text("secrets: [S_%s]"),
			func(l string) penstock.Config { return penstock.Config{Secrets: []string{"S_" + l}} },
			func(c *penstock.Config) any { return strings.Join(c.Secrets, " ") }, each(text("S_%s")), "", "",
		},
		{
			"mcp_servers", text("mcpServers: {on-%s: {url: 'https://%[1]s.example'}}"),
			func(l string) penstock.Config {
				return penstock.Config{MCPServers: map[string]penstock.MCPServer{"on-" + l: {URL: "https://" + l + ".example"}}}
			},
			func(c *penstock.Config) any { return fmt.Sprint(c.MCPServers) },
			func(l string) any {
				return fmt.Sprint(map[string]penstock.MCPServer{"on-" + l: {URL: "https://" + l + ".example"}})
			}, "map[]", "",
		},
		{
			"repositories", text("repositories: [{url: 'https://%s.example/a/b', ref: main}]"),
			func(l string) penstock.Config {
				return penstock.Config{Repositories: []penstock.RunRepository{{URL: "https://" + l + ".example/a/b", Ref: "main"}}}
			},
			func(c *penstock.Config) any { return fmt.Sprint(c.Repositories) },
			func(l string) any {
				return fmt.Sprint([]penstock.RunRepository{{URL: "https://" + l + ".example/a/b", Ref: "main"}})
			}, "[]", "",
		},
		{
			"worker_host", text("workerHost: on-%s"),
			func(l string) penstock.Config {
				return penstock.Config{LayerKeys: penstock.LayerKeys{WorkerHost: "on-" + l}}
			},
			func(c *penstock.Config) any { return c.WorkerHost }, each(text("on-%s")), "", "",
		},
		{
			"credential_strategy", func(l string) string { return "credentialStrategy: " + strategy(l) },
			func(l string) penstock.Config {
				return penstock.Config{LayerKeys: penstock.LayerKeys{CredentialStrategy: strategy(l)}}
			},
			func(c *penstock.Config) any { return c.CredentialStrategy }, each(strategy), "", "",
		},
	}
}

var layersOfFiles = []string{"factory", "agent", "automation"}

// The first layer that sets a key wins completely: request or automation, agent, factory, server.
// The test covers every key with each combination of layers.
func TestEveryKeyIsInherited(t *testing.T) {
	worlds(t, func(o *run.Deps) { o.Harnesses = []string{"claude"} }, func(w *world) {
		environments := map[string]string{}
		for _, layer := range append(layersOfFiles, "request") {
			environments[layer] = w.CreateEnvironment(penstock.EnvironmentConfig{Name: layer}).UID
			w.CreateSecret("S_"+layer, "value of "+layer)
		}
		for _, k := range inheritedKeys(environments) {
			for _, factoryHas := range []bool{false, true} {
				k.inherit(w, factoryHas)
			}
		}
	})
}

// inherit creates a factory that sets the key in its agents and automations or does not, and checks
// a run of each.
func (k inherited) inherit(w *world, factoryHas bool) {
	w.T.Helper()
	files := map[string]string{}
	frontmatter := func(has bool, layer, more string) string {
		if has {
			more += k.file(layer) + "\n"
		}
		return "---\n" + more + "---\nWork.\n"
	}
	for _, name := range append(layersOfFiles, "request") {
		files["runners/on-"+name+".yaml"] = "platform: {linux: {dockerImage: 'debian'}}\n"
	}
	defaults, top := "  model: auto\n", ""
	switch {
	case factoryHas && k.key == "credential_strategy":
		top = k.file("factory") + "\n"
	case factoryHas && strings.HasPrefix(k.file("factory"), "model"), factoryHas &&
		strings.HasPrefix(k.file("factory"), "harness"):
		defaults = "  " + k.file("factory") + "\n"
	case factoryHas:
		defaults += "  " + k.file("factory") + "\n"
	}
	files["factory.yaml"] = fmt.Sprintf(
		"schemaVersion: v1alpha1\nname: %s %v\n%sagentDefaults:\n%s", k.key, factoryHas, top, defaults,
	)
	for _, agentHas := range []bool{false, true} {
		agent := fmt.Sprintf("agent-%v", agentHas)
		kind := map[bool]string{false: "agentType: FOREMAN\n"}[agentHas]
		files["agents/"+agent+"/agent.md"] = frontmatter(agentHas, "agent", kind)
		for _, automationHas := range []bool{false, true} {
			name := fmt.Sprintf("%s-automation-%v", agent, automationHas)
			more := "agent: " + agent + "\ntriggers: [{provider: schedule, event: cron_fired, schedule: {cron: '@every 1h'}}]\n"
			files["automations/"+name+"/automation.md"] = frontmatter(automationHas, "automation", more)
		}
	}
	f := w.DefineFactory(files)
	if err := w.Schedules.FireClocks(w.T.Context(), penstock.Now().Add(2*time.Hour)); err != nil {
		w.T.Fatal(err)
	}
	automations, err := w.Automations.List(w.T.Context(), w.Admin, f.UID)
	if err != nil {
		w.T.Fatal(err)
	}
	uids := map[string]string{}
	for _, a := range automations {
		uids[a.Name] = a.UID
	}
	for _, agentHas := range []bool{false, true} {
		agent := fmt.Sprintf("agent-%v", agentHas)
		for _, strongest := range []bool{false, true} {
			from := map[string]bool{"factory": factoryHas, "agent": agentHas, "automation": strongest}
			runs := w.runsOfAutomation(uids[fmt.Sprintf("%s-automation-%v", agent, strongest)])
			if len(runs) != 1 {
				w.T.Fatalf("%s, where it is %v: %d runs", f.Name, from, len(runs))
			}
			k.check(w, f.Name, runs[0], from)
			config := penstock.Config{}
			if strongest {
				config = k.request("request")
			}
			id := w.Create(penstock.RunRequest{Prompt: "go", AgentIdentityUID: agentUID(w.T, f, agent), Config: &config}).ID
			k.check(w, f.Name, w.Get(id), map[string]bool{"factory": factoryHas, "agent": agentHas, "request": strongest})
		}
	}
}

// check compares a run with the strongest layer that sets the key.
func (k inherited) check(w *world, name string, run penstock.Run, has map[string]bool) {
	w.T.Helper()
	want, from := any(k.none), k.noneFrom
	for _, layer := range []string{"factory", "agent", "automation", "request"} {
		if has[layer] {
			want, from = k.want(layer), layer
		}
	}
	if k.key == "harness" && want == any(k.none) {
		want = penstock.Harness{Type: k.none}
	}
	if diff := cmp.Diff(want, k.got(run.Config)); diff != "" || run.ConfigSources[k.key] != from {
		w.T.Errorf("%s, where it is %v: from %q, want %q (-want +got):\n%s", name, has, run.ConfigSources[k.key], from, diff)
	}
}

// Keys that belong together are replaced together, and an empty value is not an absent one.
func TestKeysThatBelongTogetherAreReplacedTogether(t *testing.T) {
	const top = "schemaVersion: v1alpha1\nname: acme\n"
	claude := "agentDefaults: {harness: {type: claude, model: opus, reasoningLevel: high, auth: {source: managedSecret, " +
		"secretName: CLAUDE}}}\n"
	servers := map[string]penstock.MCPServer{
		"here": {URL: "https://here.example"}, "everywhere": {URL: "https://everywhere.example"},
	}
	type sources = map[string]string
	for name, tt := range map[string]struct {
		factory, agent string
		request        penstock.Config
		want           penstock.Config
		from           sources
	}{
		"an empty list is none": {
			"agentDefaults: {model: m, secrets: [A], mcpServers: {here: {url: 'https://here.example'}}}\n",
			"secrets: []\nmcpServers: {}\n",
			penstock.Config{},
			penstock.Config{ModelID: "m", Harness: &penstock.Harness{Type: "builtin"}},
			sources{"model_id": "factory", "harness": "factory", "secrets": "agent", "mcp_servers": "agent"},
		},
		"an empty list of the request is none": {
			"agentDefaults: {model: m, secrets: [A]}\n", "secrets: [B]\n",
			penstock.Config{Secrets: []string{}},
			penstock.Config{ModelID: "m", Harness: &penstock.Harness{Type: "builtin"}},
			sources{"model_id": "factory", "harness": "factory", "secrets": "request"},
		},
		"what is for every run is there in any case": {
			"secrets: [A, B]\nmcpServers: {everywhere: {url: 'https://everywhere.example'}}\nagentDefaults: {model: m, " +
				"secrets: [C]}\n",
			"secrets: [B]\nmcpServers: {here: {url: 'https://here.example'}}\n",
			penstock.Config{},
			penstock.Config{
				ModelID: "m", Harness: &penstock.Harness{Type: "builtin"}, Secrets: []string{"B", "A"}, MCPServers: servers,
			},
			sources{
				"model_id": "factory", "harness": "factory", "secrets": "agent", "secrets/A": "factory", "mcp_servers": "agent",
				"mcp_servers/everywhere": "factory",
			},
		},
		"also where nothing is": {
			"secrets: [A]\nagentDefaults: {model: m}\n", "secrets: []\n",
			penstock.Config{},
			penstock.Config{ModelID: "m", Harness: &penstock.Harness{Type: "builtin"}, Secrets: []string{"A"}},
			sources{"model_id": "factory", "harness": "factory", "secrets": "agent", "secrets/A": "factory"},
		},
		"and where no layer says anything": {
			"secrets: [A]\nagentDefaults: {model: m}\n", "",
			penstock.Config{},
			penstock.Config{ModelID: "m", Harness: &penstock.Harness{Type: "builtin"}, Secrets: []string{"A"}},
			sources{"model_id": "factory", "harness": "factory", "secrets": "factory"},
		},
		"a model is the built-in harness, without the credentials of another": {
			claude, "model: m\n",
			penstock.Config{},
			penstock.Config{ModelID: "m", Harness: &penstock.Harness{Type: "builtin"}},
			sources{"model_id": "agent", "harness": "agent"},
		},
		"another harness comes without the credentials of the first": {
			claude, "harness: {type: codex, model: gpt}\n",
			penstock.Config{},
			penstock.Config{ModelID: "gpt", Harness: &penstock.Harness{Type: "codex", ModelID: "gpt"}},
			sources{"model_id": "agent", "harness": "agent"},
		},
		"the same harness without credentials has none": {
			claude, "harness: {type: claude, model: haiku}\n",
			penstock.Config{},
			penstock.Config{ModelID: "haiku", Harness: &penstock.Harness{Type: "claude", ModelID: "haiku"}},
			sources{"model_id": "agent", "harness": "agent"},
		},
		"a request's own model is the harness's": {
			claude, "",
			penstock.Config{ModelID: "haiku"},
			penstock.Config{
				ModelID: "haiku", Harness: &penstock.Harness{Type: "claude", ModelID: "haiku", ReasoningLevel: "high"},
				HarnessAuthSecrets: []byte(`{"claude_auth_secret_name":"CLAUDE"}`),
			},
			sources{"model_id": "request", "harness": "factory", "harness_auth_secrets": "factory"},
		},
		"a request's harness keeps the credentials of the same program": {
			claude, "",
			penstock.Config{Harness: &penstock.Harness{Type: "claude"}},
			penstock.Config{
				ModelID: penstock.ModelOffline, Harness: &penstock.Harness{Type: "claude"},
				HarnessAuthSecrets: []byte(`{"claude_auth_secret_name":"CLAUDE"}`),
			},
			sources{"model_id": "server", "harness": "request", "harness_auth_secrets": "factory"},
		},
		"and of no other": {
			claude, "",
			penstock.Config{Harness: &penstock.Harness{Type: "codex"}},
			penstock.Config{ModelID: penstock.ModelOffline, Harness: &penstock.Harness{Type: "codex"}},
			sources{"model_id": "server", "harness": "request"},
		},
		"auto is the server's model": {
			"agentDefaults: {harness: {type: builtin, model: auto}}\n", "",
			penstock.Config{},
			penstock.Config{ModelID: penstock.ModelOffline, Harness: &penstock.Harness{Type: "builtin"}},
			sources{"model_id": "server", "harness": "factory"},
		},
	} {
		tt.want.BasePrompt, tt.from["base_prompt"] = "Work.", "agent"
		t.Run(name, func(t *testing.T) {
			worlds(t, func(o *run.Deps) { o.Harnesses = []string{"claude", "codex"} }, func(w *world) {
				for _, secret := range []string{"A", "B", "C", "CLAUDE"} {
					w.CreateSecret(secret, "value of "+secret)
				}
				f := w.DefineFactory(
					map[string]string{
						"factory.yaml": top + tt.factory, "agents/lead/agent.md": "---\nagentType: FOREMAN\n" + tt.agent + "---\nWork.\n",
					},
				)
				request := tt.request
				run := w.Get(w.Create(penstock.RunRequest{Prompt: "go", AgentIdentityUID: f.ForemanUID, Config: &request}).ID)
				if diff := cmp.Diff(&tt.want, run.Config); diff != "" {
					w.T.Errorf("configuration (-want +got):\n%s", diff)
				}
				if diff := cmp.Diff(tt.from, run.ConfigSources); diff != "" {
					w.T.Errorf("sources (-want +got):\n%s", diff)
				}
			})
		})
	}
}
