package definition

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/penstock-dev/penstock"
)

// Settings are the keys that agentDefaults, an agent and an automation share. A key replaces the
// key of the layer above, including whole lists and mappings. So an empty list of secrets means no
// secrets, and an absent list means the secrets of the layer above.
type Settings struct {
	Model         string               `json:"model,omitzero" config:"model_id" unset:"null" rule:"name" about:"The model of the built-in agent; short for a harness of the type builtin. Not together with harness."`
	Harness       *Harness             `json:"harness,omitzero" unset:"null" about:"The program that works as the agent. Not together with model."`
	Runner        string               `json:"runner,omitzero" config:"runner_id" unset:"null" rule:"name" about:"What runs execute on: the name of a file in runners."`
	EnvironmentID string               `json:"environmentId,omitzero" config:"environment_id" unset:"null" rule:"name" about:"The environment that runs work in."`
	Secrets       []string             `json:"secrets,omitzero" rule:"secret" about:"Managed secrets, in place of those of the layer above."`
	MCPServers    map[string]MCPServer `json:"mcpServers,omitzero" about:"MCP servers, in place of those of the layer above."`
	WorkerHost    string               `json:"workerHost,omitzero" config:"worker_host" unset:"null or empty" rule:"name" about:"The self-hosted worker that executes runs."`
	Forge         *Forge               `json:"forge,omitzero" about:"What runs may do on the forges of their repositories. Each value is inherited by itself."`
	Repositories  []RunRepository      `json:"repositories,omitzero" about:"Repositories that runs work on beside the environment's, in place of the ones of the layer above; [] for none."`
}

// below returns s with the values of the layer above where it has none.
func (s Settings) below(above Settings) Settings {
	if s.Harness == nil && s.Model == "" {
		s.Harness = above.Harness
	}
	s.EnvironmentID, s.Runner = cmp.Or(s.EnvironmentID, above.EnvironmentID), cmp.Or(s.Runner, above.Runner)
	s.WorkerHost = cmp.Or(s.WorkerHost, above.WorkerHost)
	if s.Secrets == nil {
		s.Secrets = above.Secrets
	}
	if s.MCPServers == nil {
		s.MCPServers = above.MCPServers
	}
	if s.Repositories == nil {
		s.Repositories = above.Repositories
	}
	s.Forge = ForgeOf(s.Forge.Settings().Over(above.Forge.Settings()))
	return s
}

// Harness is an agent program.
type Harness struct {
	Type           string `json:"type" rule:"harness" about:"The program: one that ships, or that the server's configuration names."`
	Model          string `json:"model" rule:"name" about:"The model that it works with."`
	ReasoningLevel string `json:"reasoningLevel,omitzero" unset:"null" rule:"name" about:"How much it thinks; not of the built-in one."`
	Auth           *Auth  `json:"auth,omitzero" unset:"null" about:"Where its credentials come from; not of the built-in one."`
}

// Auth is the source of a harness's credentials.
type Auth struct {
	Source     string `json:"source" rule:"authSource" about:"A managed secret, or the environment of a self-hosted worker."`
	SecretName string `json:"secretName,omitzero" rule:"secret" about:"The secret, with managedSecret and only then."`
}

// The sources of a harness's credentials.
const (
	AuthManagedSecret     = "managedSecret"
	AuthWorkerEnvironment = "workerEnvironment"
)

// MCPServer is one MCP server: exactly one of ID, Command and URL. Values of Env
// and Headers may name a secret as ${{ secrets.NAME }}.
type MCPServer struct {
	ID      string            `json:"id,omitzero" alias:"warpId" about:"A server that the team manages."`
	Command string            `json:"command,omitzero" about:"A program that is started in the sandbox."`
	Args    []string          `json:"args,omitzero" about:"The program's arguments."`
	Env     map[string]string `json:"env,omitzero" about:"The program's environment."`
	URL     string            `json:"url,omitzero" about:"A server that is reached over HTTP."`
	Headers map[string]string `json:"headers,omitzero" about:"Headers of each request to it."`

	Required bool `json:"required,omitzero" about:"Ends the run if the server does not work."`
}

// settings checks the shared keys below a path. above are the layers that they
// inherit from, the nearest first.
func (p *parser) settings(d *document, s Settings, above []Settings, path ...any) {
	at := func(steps ...any) []any { return append(slices.Clone(path), steps...) }
	if model, harness := d.key(at("model")...), d.key(at("harness")...); model != nil && harness != nil {
		second := model
		if harness.Line > model.Line || harness.Line == model.Line && harness.Column > model.Column {
			second = harness
		}
		d.badf(second, InvalidValue, "model and harness exclude each other: use one of them")
	}
	p.model(d, s.Model, at("model"))
	p.harness(d, s, above, at("harness"))
	p.refers(d, KindRunner, s.Runner, at("runner")...)
	if id := s.EnvironmentID; id != "" && p.known.Environments != nil && !slices.Contains(p.known.Environments, id) {
		d.nearf(
			d.find(at("environmentId")...), InvalidReference, nearest(id, p.known.Environments),
			"the team has no environment %s", quote(id),
		)
	}
	p.secrets(d, s.Secrets, at("secrets")...)
	p.mcpServers(d, s.MCPServers, at("mcpServers")...)
	p.forge(d, s.Forge, at("forge")...)
	p.repositories(d, s.Repositories, at("repositories")...)
}

// size rejects a configuration that is too large for a run.
func (d *document) size(c *penstock.Config) {
	if n := c.Size(); n > penstock.MaxConfigBytes {
		d.badLinef(
			1, 1, InvalidDocument,
			"the configuration has %d bytes of JSON, including the agent's prompt; at most %d are allowed", n,
			penstock.MaxConfigBytes,
		)
	}
}

// model warns about an unknown model of the built-in agent.
func (p *parser) model(d *document, name string, path []any) {
	if name == "" || p.known.Model == nil {
		return
	}
	if problem, near := p.known.Model(name); problem != "" {
		d.warnf(d.find(path...), InvalidReference, near, "%s", problem)
	}
}

func (p *parser) harness(d *document, s Settings, above []Settings, path []any) {
	h := s.Harness
	if h == nil || h.Type == "" {
		return
	}
	at := func(step string) *yaml.Node { return d.find(append(slices.Clone(path), step)...) }
	switch names := rules["harness"].spellings(); {
	case p.known.Harnesses != nil && !slices.Contains(p.known.Harnesses, h.Type):
		d.nearf(
			at("type"), InvalidReference, nearest(h.Type, p.known.Harnesses), "the server has no harness %s; it has %s",
			quote(h.Type), list(p.known.Harnesses),
		)
	case p.known.Harnesses == nil && !slices.Contains(names, h.Type) && patterns()["harness"].MatchString(h.Type) &&
		nearest(h.Type, names) != "":
		d.warnf(
			at("type"), InvalidReference, nearest(h.Type, names),
			"the harness %s works only where the server's configuration names it", quote(h.Type),
		)
	}
	if h.Type == penstock.HarnessBuiltin {
		p.model(d, h.Model, append(slices.Clone(path), "model"))
		for _, key := range []string{"auth", "reasoningLevel"} {
			if node := at(key); node != nil {
				d.badf(node, InvalidValue, "the built-in harness does not support %s", key)
			}
		}
		return
	}
	if h.Auth == nil || at("auth") == nil || at("auth").Kind != yaml.MappingNode {
		return
	}
	secret := child(at("auth"), "secretName")
	switch h.Auth.Source {
	case AuthManagedSecret:
		if secret == nil {
			d.badf(at("auth"), MissingRequired, "the source managedSecret needs a secretName")
			return
		}
		p.secret(d, append(slices.Clone(path), "auth", "secretName")...)
	case AuthWorkerEnvironment:
		if secret != nil {
			d.badf(secret, InvalidValue, "the source workerEnvironment does not allow a secretName")
		}
		if host := inheritedHost(append([]Settings{s}, above...)); host == "" || host == hostedWorker {
			d.badf(
				child(at("auth"), "source"), InvalidValue,
				"workerEnvironment needs a self-hosted workerHost, set here or inherited",
			)
		}
	}
}

// hostedWorker is the name of hosted compute in existing definitions.
const hostedWorker = "warp"

func inheritedHost(layers []Settings) string {
	for _, s := range layers {
		if s.WorkerHost != "" {
			return s.WorkerHost
		}
	}
	return ""
}

// mcpServers checks servers with the rules of the API.
func (p *parser) mcpServers(d *document, servers map[string]MCPServer, path ...any) {
	at := d.find(path...)
	if at == nil || at.Kind != yaml.MappingNode {
		return
	}
	config := penstock.Config{MCPServers: map[string]penstock.MCPServer{}}
	for name, server := range servers {
		if node := child(at, name); node == nil || node.Kind != yaml.MappingNode {
			continue
		}
		if strings.TrimSpace(name) == "" {
			d.badf(child(at, name), InvalidMCP, "an MCP server needs a name, which the agent sees")
		}
		config.MCPServers[name] = server.Server()
		if id := server.ID; id != "" && p.known.MCPServers != nil && !slices.Contains(p.known.MCPServers, id) {
			d.warnf(
				child(at, name), InvalidMCP, nearest(id, p.known.MCPServers),
				"the team has no managed MCP server %s: runs start without it", quote(id),
			)
		}
	}
	for _, problem := range config.Check("", []string{penstock.HarnessBuiltin}) {
		pointer := strings.TrimPrefix(problem.Pointer, "/mcp_servers")
		if pointer == "" {
			d.badf(at, InvalidMCP, "mcpServers: %s", problem.Detail)
			continue
		}
		name, field, _ := strings.Cut(pointer[1:], "/")
		d.badf(
			pointed(at, pointer), InvalidMCP, "MCP server %s: %s%s", quote(unescapePointer.Replace(name)), spaced(field),
			problem.Detail,
		)
	}
	if p.known.RunSecret == nil {
		return
	}
	for _, use := range config.SecretUses() {
		if problem, near := p.known.RunSecret(use.Name); problem != "" {
			d.nearf(pointed(at, strings.TrimPrefix(use.Pointer, "/mcp_servers")), InvalidReference, near, "%s", problem)
		}
	}
}

// Server returns m in the vocabulary of the server.
func (m MCPServer) Server() penstock.MCPServer {
	return penstock.MCPServer{
		ID: m.ID, Command: m.Command, Args: m.Args, Env: m.Env, URL: m.URL, Headers: m.Headers, Required: m.Required,
	}
}

func serverOf(m penstock.MCPServer) MCPServer {
	id := m.ID
	if id == "" {
		id = m.WarpID
	}
	return MCPServer{
		ID: id, Command: m.Command, Args: m.Args, Env: m.Env, URL: m.URL, Headers: m.Headers, Required: m.Required,
	}
}

func servers[A, B any](all map[string]A, convert func(A) B) map[string]B {
	if all == nil {
		return nil
	}
	converted := make(map[string]B, len(all))
	for _, name := range slices.Collect(maps.Keys(all)) {
		converted[name] = convert(all[name])
	}
	return converted
}

// Harness returns h in the vocabulary of the server, without its credentials: see
// [Harness.AuthSecrets].
func (h *Harness) Harness() *penstock.Harness {
	if h == nil {
		return nil
	}
	return &penstock.Harness{Type: h.Type, ModelID: h.Model, ReasoningLevel: h.ReasoningLevel}
}

// AuthSecrets returns the value of harness_auth_secrets for h's credentials, or nil without a
// secret.
func (h *Harness) AuthSecrets() json.RawMessage {
	if h == nil || h.Auth == nil || h.Auth.SecretName == "" {
		return nil
	}
	text, _ := json.Marshal(
		map[string]string{h.Type + penstock.HarnessAuthSuffix: h.Auth.SecretName},
	) // never fails for strings
	return text
}

func harnessOf(h *penstock.Harness, secrets json.RawMessage) *Harness {
	if h == nil {
		return nil
	}
	harness := Harness{Type: h.Kind(), Model: h.ModelID, ReasoningLevel: h.ReasoningLevel}
	var names map[string]string
	if json.Unmarshal(secrets, &names) == nil && names[harness.Type+penstock.HarnessAuthSuffix] != "" {
		harness.Auth = &Auth{AuthManagedSecret, names[harness.Type+penstock.HarnessAuthSuffix]}
	}
	return &harness
}

// Overrides returns s in the vocabulary of the server.
func (s Settings) Overrides() penstock.Overrides {
	o := penstock.Overrides{
		Harness: s.Harness.Harness(), HarnessAuthSecrets: s.Harness.AuthSecrets(),
		MCPServers: servers(s.MCPServers, MCPServer.Server),
	}
	penstock.CarryKeys(&o, s)
	o.Forge, o.Repositories = s.Forge.Settings(), runRepositories(s.Repositories)
	return o
}

// settingsOf returns overrides as they are in a file.
func settingsOf(o penstock.Overrides) Settings {
	s := Settings{
		Harness:    harnessOf(o.Harness, o.HarnessAuthSecrets),
		MCPServers: servers(o.MCPServers, serverOf),
	}
	penstock.CarryKeys(&s, o)
	s.Forge, s.Repositories = ForgeOf(o.Forge), repositoriesOf(o.Repositories)
	return s
}

// Harnesses lists the harnesses that every server knows. A run waits until a worker has its
// harness.
func Harnesses() []string {
	return []string{penstock.HarnessBuiltin, "claude", "codex", "gemini", "opencode", "qwen", penstock.HarnessCommand}
}

// OnHollows lists every value.
func OnHollows() []penstock.OnHollow {
	return []penstock.OnHollow{penstock.HollowAlert, penstock.HollowFail, penstock.HollowNone}
}

// MostFailures is the largest PauseAfterFailures.
const MostFailures = 100

// MostFollowups is the largest MaxFollowups.
const MostFollowups = 1000
