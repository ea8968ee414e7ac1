package definition

import (
	"encoding/json"
	"reflect"
	"slices"

	"github.com/penstock-dev/penstock"
)

// Agent is agents/NAME/agent.md.
type Agent struct {
	Name               string             `json:"-"`
	Description        string             `json:"description,omitzero" rule:"about" about:"What the agent does."`
	Type               penstock.AgentType `json:"agentType,omitzero" rule:"agentType" about:"The agent's part; a factory has exactly one foreman." default:"\"CUSTOM\""`
	CredentialStrategy string             `json:"credentialStrategy,omitzero" unset:"null" rule:"strategy" about:"Whose credentials its runs work with."`
	Network            *Network           `json:"network,omitzero" about:"What its runs may reach, in addition to the other layers."`
	Models             *Models            `json:"models,omitzero" about:"The models that its runs may use; the factory must allow them, too."`
	Settings
	Later
	Named

	Prompt string `json:"-" body:"prompt"`
}

// agents reads all agents.
func (p *parser) agents(factory *Factory) []Agent {
	var first place
	agents := each(p, KindAgent, func(at place, d *document) Agent {
		a := Agent{Name: at.name}
		before := p.count
		if d.readMarkdown(p.files[at.path], false); p.count > before && d.root == nil {
			p.doubtful[KindAgent] = true // the unread file may be the foreman
			return a
		}
		d.decode(&a)
		d.prompt()
		p.settings(d, a.Settings, []Settings{factory.AgentDefaults})
		p.network(d, a.Network)
		p.models(d, a.Models)
		if len(a.Prompt) <= maxPrompt { // otherwise it is reported already
			d.size(a.Identity().Config())
		}
		switch {
		case a.Type == foreman && first.path != "":
			d.badf(d.find("agentType"), DuplicateKey, "a factory has one foreman, which is already %s", quote(first.name))
		case a.Type == foreman:
			first = at
		}
		return a
	})
	d := p.open("factory.yaml")
	switch {
	case len(agents) == 0:
		d.badLinef(
			1, 1, MissingRequired, "the factory has no agents: it needs at least agents/<name>/agent.md with agentType: FOREMAN",
		)
	case first.path == "" && !p.doubtful[KindAgent]:
		d.badLinef(1, 1, MissingRequired, "the factory has no foreman: one agent needs agentType: FOREMAN")
	}
	return agents
}

// Identity returns a in the vocabulary of the server. The default type is CUSTOM.
func (a Agent) Identity() penstock.Identity {
	o := a.Overrides()
	i := penstock.Identity{Name: a.Name, Description: a.Description, Prompt: a.Prompt, Type: a.Type}
	penstock.CarryKeys(&i, o)
	i.CredentialStrategy, i.Network, i.Models = a.CredentialStrategy, a.Network.Network(), a.Models.Policy()
	if i.Type == "" {
		i.Type = custom
	}
	if a.Secrets != nil {
		i.Secrets = []penstock.NamedSecret{}
	}
	for _, name := range a.Secrets {
		i.Secrets = append(i.Secrets, penstock.NamedSecret{Name: name})
	}
	return i
}

// ApplyTo returns i with the values of the document. Values that no file can hold stay unchanged. An
// equal value in another spelling also stays: a harness with its model and credentials, and MCP
// servers.
func (a Agent) ApplyTo(i penstock.Identity) penstock.Identity {
	next := a.Identity()
	next.UID, next.FactoryUID, next.CreatedAt, next.UpdatedAt = i.UID, i.FactoryUID, i.CreatedAt, i.UpdatedAt
	next.Skills, next.Memory, next.OnBehalfOfEnabled = i.Skills, i.Memory, i.OnBehalfOfEnabled
	was, is := AgentOf(i).Settings, AgentOf(next).Settings
	if was.Model == is.Model && reflect.DeepEqual(was.Harness, is.Harness) {
		next.BaseModel, next.Harness, next.HarnessAuthSecrets = i.BaseModel, i.Harness, i.HarnessAuthSecrets
	}
	if reflect.DeepEqual(was.MCPServers, is.MCPServers) {
		next.MCPServers = i.MCPServers
	}
	return next
}

const custom = penstock.AgentType("CUSTOM")

// AgentOf returns the document of a new agent, without its memory and referenced skills, which no
// file can hold.
func AgentOf(i penstock.Identity) Agent {
	a := Agent{
		Name: i.Name, Description: i.Description, Prompt: trimBody(i.Prompt), CredentialStrategy: i.CredentialStrategy,
		Network: NetworkOf(i.Network), Models: ModelsOf(i.Models),
	}
	var o penstock.Overrides
	penstock.CarryKeys(&o, i)
	a.Settings = settingsOf(o)
	if i.Type != custom {
		a.Type = i.Type
	}
	if a.Harness != nil {
		a.Model, a.Harness = harnessModel(i.Harness, i.BaseModel, i.HarnessAuthSecrets)
	}
	if i.Secrets != nil {
		a.Secrets = []string{}
	}
	for _, secret := range i.Secrets {
		a.Secrets = append(a.Secrets, secret.Name)
	}
	return a
}

// harnessModel returns harness and model for a file, where they exclude each other. The model goes
// into the harness, and the model of the built-in harness is alone.
func harnessModel(h *penstock.Harness, model string, secrets json.RawMessage) (string, *Harness) {
	harness := harnessOf(h, secrets)
	if model != "" {
		harness.Model = model
	}
	if harness.Type == penstock.HarnessBuiltin && harness.Model != "" && harness.ReasoningLevel == "" {
		return harness.Model, nil
	}
	return "", harness
}

// findAgent returns the agent with a name.
func findAgent(agents []Agent, name string) (Agent, bool) {
	i := slices.IndexFunc(agents, func(a Agent) bool { return a.Name == name || name == "" && a.Type == foreman })
	if i < 0 {
		return Agent{}, false
	}
	return agents[i], true
}
