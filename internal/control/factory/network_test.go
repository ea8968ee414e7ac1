package factory_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

func allow(hosts ...string) *penstock.Network {
	var n penstock.Network
	for _, host := range hosts {
		n.Allow = append(n.Allow, penstock.NetworkRule{Host: host})
	}
	return &n
}

func withCredential(host, secret string) *penstock.Network {
	n := allow(host)
	n.Allow[0].Credential = &penstock.NetworkCredential{Secret: secret, As: penstock.CredentialBearer}
	return n
}

// sources lists the layers of a policy with the hosts that each names.
func sources(p *penstock.NetworkPolicy) []string {
	var list []string
	for _, layer := range p.Layers {
		text := layer.Source + ":"
		for _, rule := range layer.Network.Allow {
			text += " " + rule.Host + rule.Preset
		}
		list = append(list, text)
	}
	return list
}

func (w *world) setHosts(name string, hosts ...string) penstock.ManagedSecret {
	w.T.Helper()
	set, err := w.Secrets.Set(w.T.Context(), w.Admin, name, access.SecretChange{Hosts: &hosts})
	if err != nil {
		w.T.Fatal(err)
	}
	return set
}

func serverNetwork(o *run.Deps) {
	o.Network = run.ServerNetwork{
		Layer:   penstock.Network{Allow: []penstock.NetworkRule{{Preset: "packages"}}},
		Ceiling: allow("*.test"), Models: penstock.ModelPolicy{Allow: []string{"demo/*"}},
	}
}

// A run gets the layers of its agent, factory and runner as of its creation, and the layers of the
// server and its environment as of its claim.
func TestARunHasTheLayersOfItsParts(t *testing.T) {
	worlds(t, serverNetwork, func(w *world) {
		files := map[string]string{
			"factory.yaml": "schemaVersion: v1alpha1\nname: acme\nnetwork: {allow: [{host: factory.test}], providerTools: " +
				"[web_search]}\nmodels: {allow: [demo/*]}\nagentDefaults: {model: demo/offline, runner: small}\n",
			"agents/lead/agent.md": "---\nagentType: FOREMAN\nnetwork: {allow: [{host: agent.test, ports: [8443], methods: " +
				"[GET]}]}\n---\nLead.\n",
			"runners/small.yaml": "platform: {linux: {dockerImage: debian}}\nnetwork: {allow: [{host: runner.test}]}\n",
		}
		f := w.DefineFactory(files)
		environment := w.CreateEnvironment(penstock.EnvironmentConfig{Name: "App", Network: allow("environment.test")})
		request := allow("agent.test")
		id := w.Create(penstock.RunRequest{
			Prompt: "go", AgentIdentityUID: agentUID(w.T, f, "lead"),
			Config: &penstock.Config{EnvironmentID: environment.UID, Network: request},
		}).ID
		fixed := []string{"runner: runner.test", "factory: factory.test", "agent: agent.test"}
		if got := w.Get(id); got.Sealed != nil || cmp.Diff(fixed, sources(got.Network)) != "" {
			w.T.Errorf("the run shows %v, sealed %v; want %v", sources(got.Network), got.Sealed, fixed)
		}

		environment.Config.Network = allow("later.test")
		if _, err := w.Catalog.ReplaceEnvironment(
			w.T.Context(), w.Admin, environment.UID, environment.Config,
		); err != nil {
			w.T.Fatal(err)
		}
		files["factory.yaml"] = strings.Replace(files["factory.yaml"], "factory.test", "too-late.test", 1)
		files["runners/small.yaml"] = strings.Replace(files["runners/small.yaml"], "runner.test", "too-late.test", 1)
		if _, err := w.Factories.Apply(w.T.Context(), w.Admin, f.UID, factory.ApplyRequest{Files: files}); err != nil {
			w.T.Fatal(err)
		}
		network, err := w.Runs.Network(w.T.Context(), w.Admin, id)
		if err != nil {
			w.T.Fatal(err)
		}
		want := append([]string{"server: packages", "environment: later.test"}, fixed...)
		if diff := cmp.Diff(want, sources(&network.Policy)); diff != "" {
			w.T.Errorf("the network of the run, -want +got:\n%s", diff)
		}
		row, err := w.Database().Runs.Find(w.T.Context(), w.Admin.Team, id)
		if err != nil {
			w.T.Fatal(err)
		}
		policy, err := w.Catalog.Policy(w.T.Context(), row)
		if err != nil || cmp.Diff(want, sources(&policy)) != "" || cmp.Diff(request, policy.Request) != "" ||
			cmp.Diff(allow("*.test"), policy.Ceiling) != "" || len(policy.Models) != 2 {
			w.T.Errorf("got %+v, %v", policy, err)
		}
	})
}

// A worker gets the policy with the secrets that it needs, separate from the sandbox's.
func TestNetworkSecretsTravelApart(t *testing.T) {
	worlds(t, nil, func(w *world) {
		for _, name := range []string{"FORGE_TOKEN", "PLAIN", "MCP_TOKEN", "ANTHROPIC_API_KEY"} {
			w.CreateSecret(name, "the-value-of-"+name)
		}
		w.setHosts("FORGE_TOKEN", "forge.test", "other.test")
		environment := w.CreateEnvironment(penstock.EnvironmentConfig{
			Name: "App", Network: withCredential("forge.test", "FORGE_TOKEN"),
		})
		headers := map[string]string{"Authorization": "Bearer ${{ secrets.MCP_TOKEN }}"}
		id := w.Create(penstock.RunRequest{Prompt: "go", Config: &penstock.Config{
			EnvironmentID: environment.UID, Secrets: []string{"PLAIN"},
			MCPServers:         map[string]penstock.MCPServer{"tickets": {URL: "https://MCP.test/sse", Headers: headers}},
			HarnessAuthSecrets: []byte(`{"claude_auth_secret_name":"ANTHROPIC_API_KEY"}`),
		}}).ID
		a := w.Claim()
		if a.Run.ID != id || a.Network == nil {
			w.T.Fatalf("got %+v", a)
		}
		want := map[string]string{"FORGE_TOKEN": "the-value-of-FORGE_TOKEN", "MCP_TOKEN": "the-value-of-MCP_TOKEN"}
		if diff := cmp.Diff(want, a.NetworkSecrets); diff != "" {
			w.T.Errorf("network secrets, -want +got:\n%s", diff)
		}
		if _, inside := a.Secrets["FORGE_TOKEN"]; inside || a.Secrets["PLAIN"] == "" ||
			slices.Contains(a.Run.Config.SecretVariables(), "FORGE_TOKEN") {
			w.T.Errorf("the credential of a host enters the sandbox: %v", a.Secrets)
		}
		if diff := cmp.Diff([]string{"environment: forge.test", "mcp_servers: mcp.test"}, sources(a.Network)); diff != "" {
			w.T.Errorf("layers, -want +got:\n%s", diff)
		}
		if diff := cmp.Diff(
			[]penstock.MCPHeaders{{Name: "tickets", URL: "https://MCP.test/sse", Headers: headers}}, a.Network.MCP,
		); diff != "" {
			w.T.Errorf("headers, -want +got:\n%s", diff)
		}
		listed := map[string][]string{"FORGE_TOKEN": {"forge.test", "other.test"}}
		if diff := cmp.Diff(listed, a.Network.SecretHosts); diff != "" {
			w.T.Errorf("hosts, -want +got:\n%s", diff)
		}
		key := penstock.HarnessSecret{Name: "ANTHROPIC_API_KEY", Value: "the-value-of-ANTHROPIC_API_KEY"}
		if diff := cmp.Diff(map[string]penstock.HarnessSecret{"claude": key}, a.HarnessSecrets); diff != "" {
			w.T.Errorf("harness secrets, -want +got:\n%s", diff)
		}
	})
}

// A secret goes only to the hosts that it lists, for every caller.
func TestASecretGoesOnlyToItsHosts(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		w.CreateSecret("TOKEN", "the-value-of-TOKEN")
		if set := w.setHosts("TOKEN", "forge.test"); set.Version != 1 || cmp.Diff([]string{"forge.test"}, set.Hosts) != "" {
			w.T.Errorf("hosts alone are changed: got %+v", set)
		}
		if set := w.SetSecret("TOKEN", "another-value"); set.Version != 2 || len(set.Hosts) != 1 {
			w.T.Errorf("a value alone is changed: got %+v", set)
		}
		for _, hosts := range [][]string{
			{"*.forge.test"}, {"Forge.test"}, {"https://forge.test"}, {"a.test", "a.test"}, {""},
		} {
			_, err := w.Secrets.Set(ctx, w.Admin, "TOKEN", access.SecretChange{Hosts: &hosts})
			testworld.WantCode(w.T, err, penstock.CodeInvalidRequest, "/hosts/")
		}
		manager := w.As("manager", penstock.ScopeFactoriesManage, penstock.ScopeRunsWrite)
		_, err := w.Secrets.Set(ctx, manager, "TOKEN", access.SecretChange{Hosts: &[]string{"thief.test"}})
		testworld.WantCode(w.T, err, penstock.CodeNotAuthorized, "secrets:manage")

		thief := withCredential("thief.test", "TOKEN")
		const pointer = "/network/allow/0/credential/secret"
		for name, p := range map[string]penstock.Principal{"admin": w.Admin, "manager": manager} {
			_, err := w.Catalog.CreateEnvironment(ctx, p, penstock.EnvironmentConfig{Name: name, Network: thief})
			testworld.WantCode(w.T, err, penstock.CodeInvalidRequest, pointer)
			_, err = w.Resources.CreateIdentity(ctx, p, factory.IdentityRequest{Name: &name, Network: thief})
			testworld.WantCode(w.T, err, penstock.CodeInvalidRequest, pointer)
			_, unknown := w.Resources.CreateIdentity(
				ctx, p, factory.IdentityRequest{Name: &name, Network: withCredential("thief.test", "NONE")},
			)
			testworld.WantCode(w.T, unknown, penstock.CodeInvalidRequest, pointer)
		}
		_, err = w.Runs.Create(
			ctx, w.Admin, penstock.RunRequest{Prompt: "go", Config: &penstock.Config{Network: thief}}, run.SourceAPI,
		)
		testworld.WantCode(w.T, err, penstock.CodeInvalidRequest, "/config/network/allow/0/credential")
		_, err = w.Factories.Create(ctx, w.Admin, factory.FactoryRequest{Files: map[string]string{
			"factory.yaml": "schemaVersion: v1alpha1\nname: acme\nagentDefaults: {model: demo/offline}\nnetwork:\n  allow:\n" +
				"    - host: thief.test\n      credential: {secret: TOKEN, as: bearer}\n",
			"agents/lead/agent.md": "---\nagentType: FOREMAN\n---\nLead.\n",
		}})
		testworld.WantCode(w.T, err, penstock.CodeInvalidDefinition, "factory.yaml:7:28")

		// A waiting run loses what its secret no longer allows.
		environment := w.CreateEnvironment(
			penstock.EnvironmentConfig{Name: "App", Network: withCredential("forge.test", "TOKEN")},
		)
		if err := w.Secrets.Delete(ctx, w.Admin, "TOKEN"); penstock.CodeOf(err) != penstock.CodeConflict ||
			!strings.Contains(err.Error(), `the environment "App"`) {
			w.T.Errorf("deleting a secret that a network names: got %v", err)
		}
		config := &penstock.Config{EnvironmentID: environment.UID}
		id := w.Create(penstock.RunRequest{Prompt: "go", Config: config}).ID
		w.setHosts("TOKEN", "elsewhere.test")
		if _, err := w.Runs.Create(
			ctx, w.Admin, penstock.RunRequest{Prompt: "go", Config: config}, run.SourceAPI,
		); penstock.CodeOf(err) != penstock.CodeInvalidRequest {
			w.T.Errorf("a run whose credential cannot be sent: got %v", err)
		}
		if _, err := w.Executions.Control().Claim(ctx, penstock.ClaimRequest{
			WorkerID: "w", Harnesses: []string{penstock.HarnessBuiltin}, Capacity: 1,
		}); err == nil {
			w.T.Error("the run was given to a worker")
		}
		got := w.MustBe(id, penstock.StateFailed)
		if got.StatusMessage.ErrorCode != penstock.CodeEnvironmentSetupFailed ||
			!strings.Contains(got.StatusMessage.Message, "forge.test") {
			w.T.Errorf("got %+v", got.StatusMessage)
		}
	})
}

func TestARequestOnlyNarrows(t *testing.T) {
	worlds(t, serverNetwork, func(w *world) {
		ctx := w.T.Context()
		refused := func(p penstock.Principal, req penstock.RunRequest, mentions string) {
			w.T.Helper()
			req.Prompt = "go"
			_, err := w.Runs.Create(ctx, p, req, run.SourceAPI)
			testworld.WantCode(w.T, err, penstock.CodeInvalidRequest, mentions)
		}
		for name, config := range map[string]*penstock.Config{
			"/config/network/allow/0/host": {Network: allow("no host")},
			"/config/network/allow/0/preset": {Network: &penstock.Network{
				Allow: []penstock.NetworkRule{{Preset: "package"}},
			}},
			"/config/env/https_proxy": {Env: map[string]string{"https_proxy": "http://thief.test"}},
			"/config/env/NODE_EXTRA_CA_CERTS": {Env: map[string]string{
				"NODE_EXTRA_CA_CERTS": "/workspace/ca.pem",
			}},
			"/config/model_id": {ModelID: "gpt-5"},
		} {
			refused(w.Admin, penstock.RunRequest{Config: config}, name)
		}
		parent := w.Create(penstock.RunRequest{Prompt: "go", Config: &penstock.Config{Network: allow("a.test", "b.test")}}).ID
		child := w.Create(penstock.RunRequest{Prompt: "go", ParentID: parent})
		if got := w.Get(child.ID); cmp.Diff(allow("a.test", "b.test"), got.Config.Network) != "" ||
			got.ConfigSources["network"] != "parent" {
			w.T.Errorf("a child has %+v, from %q", got.Config.Network, got.ConfigSources["network"])
		}
		refused(w.Admin, penstock.RunRequest{
			ParentID: parent, Config: &penstock.Config{Network: allow("a.test", "c.test")},
		}, "/config/network")
		w.Create(penstock.RunRequest{Prompt: "go", ParentID: parent, Config: &penstock.Config{Network: allow("b.test")}})

		// An agent cannot reach a host by calling it an MCP server.
		agent := w.CreateAgent(factory.IdentityRequest{Name: new("fixer"), Network: allow("*.mcp.test")})
		itself := w.As("fixer", penstock.ScopeRunsWrite)
		itself.AgentUID = agent.UID
		servers := func(url string) *penstock.Config {
			return &penstock.Config{MCPServers: map[string]penstock.MCPServer{"x": {URL: url}}}
		}
		refused(itself, penstock.RunRequest{Config: servers("https://thief.test/")}, "/config/mcp_servers/x/url")
		refused(itself, penstock.RunRequest{Config: servers("https://a.mcp.test:8443/")}, "/config/mcp_servers/x/url")
		if _, err := w.Runs.Create(
			ctx, itself, penstock.RunRequest{Prompt: "go", Config: servers("https://a.mcp.test/")}, run.SourceAPI,
		); err != nil {
			w.T.Error(err)
		}
	})
}

// The API edits networks like files do.
func TestNetworksOfAFactoryAreEdited(t *testing.T) {
	withTeam(t, func(h *hooks) {
		ctx := h.T.Context()
		if _, err := h.Factories.Update(ctx, h.Admin, h.factory, factory.FactoryRequest{
			Network: allow("factory.test"), Models: &penstock.ModelPolicy{Allow: []string{"demo/*"}},
		}); err != nil {
			h.T.Fatal(err)
		}
		const comment = "# ours\nschemaVersion: v1alpha1\nname: acme\n"
		if got := h.files().Files["factory.yaml"]; !strings.HasPrefix(got, comment) ||
			!strings.HasSuffix(got, "network:\n  allow:\n    - host: factory.test\nmodels:\n  allow:\n    - \"demo/*\"\n") {
			h.T.Errorf("got %s", got)
		}
		f, err := h.Factories.Read(ctx, h.Admin, h.factory)
		if err != nil || cmp.Diff(allow("factory.test"), f.Network) != "" || f.Models == nil {
			h.T.Errorf("got %+v, %v", f, err)
		}
		fixer := f.Agents[0].UID
		network := &penstock.Network{ProviderTools: []string{"web_search"}, MaxUploadBytes: 5 << 30}
		agent, err := h.Resources.UpdateIdentity(ctx, h.Admin, fixer, factory.IdentityRequest{Network: network})
		if err != nil || cmp.Diff(network, agent.Network) != "" {
			h.T.Errorf("got %+v, %v", agent.Network, err)
		}
		if got := h.files().Files["agents/fixer/agent.md"]; !strings.Contains(got, "maxUploadBytes: 5368709120") {
			h.T.Errorf("got %s", got)
		}
		if _, err = h.Resources.UpdateIdentity(
			ctx, h.Admin, fixer, factory.IdentityRequest{Network: &penstock.Network{}},
		); err != nil {
			h.T.Fatal(err)
		}
		_, err = h.Factories.Update(ctx, h.Admin, h.factory, factory.FactoryRequest{Cleared: []string{"network", "models"}})
		if err != nil {
			h.T.Fatal(err)
		}
		for path, content := range h.files().Files {
			if strings.Contains(content, "network") || strings.Contains(content, "models:") {
				h.T.Errorf("%s still has it:\n%s", path, content)
			}
		}
		_, err = h.Factories.Update(ctx, h.Admin, h.factory, factory.FactoryRequest{Network: allow("No.test")})
		testworld.WantCode(h.T, err, penstock.CodeInvalidRequest, "/network/allow/0/host")
	})
}

// Traffic reports need the lease's token, and count once.
func TestWorkersReportTraffic(t *testing.T) {
	worlds(t, nil, func(w *world) {
		ctx := w.T.Context()
		id := w.Create(penstock.RunRequest{Prompt: "go"}).ID
		a := w.Work()
		report := func(n int64, sealed *bool, hosts ...penstock.HostTraffic) penstock.Draft {
			d := penstock.NewDraft(penstock.EventNetwork, penstock.Now(), penstock.NetworkReport{Sealed: sealed, Hosts: hosts})
			d.N = n
			return d
		}
		host := penstock.HostTraffic{
			Host: "a.test", Port: 443, Mode: penstock.TrafficTunnel, Requests: 1, BytesIn: 10, BytesOut: 5,
		}
		refused := penstock.HostTraffic{
			Host: "b.test", Port: 443, Mode: penstock.TrafficRefused, Refused: 1, Reason: "no rule",
		}
		more := host
		more.Requests, more.BytesIn = 3, 30
		events := func() int {
			all, err := w.Database().Events.List(ctx, id, 0, 100)
			if err != nil {
				w.T.Fatal(err)
			}
			return len(all)
		}
		control, before := w.Executions.Control(), events()
		for range 2 { // its response may be lost
			if err := control.Append(ctx, a.Lease, []penstock.Draft{
				report(1000, new(true), host, refused), report(1001, nil, more),
			}); err != nil {
				w.T.Fatal(err)
			}
		}
		if err := control.Append(ctx, a.Lease, []penstock.Draft{report(0, nil, host)}); err != nil { // an older one
			w.T.Fatal(err)
		}
		if n := events(); n != before {
			w.T.Errorf("the log has %d events, and had %d", n, before)
		}
		want := run.RunNetwork{
			Sealed: new(true), Policy: penstock.NetworkPolicy{Layers: []penstock.NetworkLayer{}},
			Hosts: []penstock.HostTraffic{more, refused},
		}
		if got, err := w.Runs.Network(ctx, w.Admin, id); err != nil || cmp.Diff(want, got) != "" {
			w.T.Errorf("%v, -want +got:\n%s", err, cmp.Diff(want, got))
		}
		bad := host
		bad.Mode = "other"
		if err := control.Append(ctx, a.Lease, []penstock.Draft{report(0, nil, bad)}); penstock.CodeOf(err) !=
			penstock.CodeInvalidRequest {
			w.T.Errorf("a mode that does not exist: got %v", err)
		}
		w.Finish(a.Lease, penstock.Result{State: penstock.StateSucceeded})
		if err := control.Append(ctx, a.Lease, []penstock.Draft{report(0, new(false), more)}); err == nil {
			w.T.Error("a report after the end of the lease was kept")
		}

		// The next execution adds to the totals of the first one.
		w.FollowUp(id, "again")
		a = w.Work()
		if err := control.Append(ctx, a.Lease, []penstock.Draft{report(1, new(false), host)}); err != nil {
			w.T.Fatal(err)
		}
		got, err := w.Runs.Network(ctx, w.Admin, id)
		if err != nil || *got.Sealed || got.Hosts[0].Requests != 4 || got.Hosts[0].BytesIn != 40 {
			w.T.Errorf("got %+v, %v", got, err)
		}
		if run := w.Get(id); run.Sealed == nil || *run.Sealed {
			w.T.Error("a run with one execution that was not sealed is shown as sealed")
		}
	})
}
