package penstock

import "encoding/json"

// AgentType is an agent's role in a factory.
type AgentType string

// Identity is an agent. Its runs have its name and configuration: the contract's AgentResponse.
type Identity struct {
	UID       string `json:"uid"`
	Name      string `json:"name" config:"-"`
	Available bool   `json:"available"`
	CreatedAt Time   `json:"created_at"`
	UpdatedAt Time   `json:"updated_at"`

	Secrets          []NamedSecret        `json:"secrets"` // nil: as in weaker layers; empty: no secrets
	Skills           []string             `json:"skills"`
	Memory           Memory               `json:"memory"`
	DefaultRunnerUID string               `json:"default_runner_uid" config:"runner_id"`
	Description      string               `json:"description,omitempty"`
	Prompt           string               `json:"prompt,omitempty" config:"base_prompt"`
	EnvironmentID    string               `json:"environment_id,omitempty"`
	BaseModel        string               `json:"base_model,omitempty" config:"model_id"`
	Harness          *Harness             `json:"harness,omitempty"`
	BaseHarness      string               `json:"base_harness,omitempty"` // the type of Harness; not stored
	MCPServers       map[string]MCPServer `json:"mcp_servers,omitzero"`
	Repositories     []RunRepository      `json:"repositories,omitzero"` // nil: as in weaker layers; empty: none

	HarnessAuthSecrets json.RawMessage `json:"harness_auth_secrets,omitempty"`
	OnBehalfOfEnabled  bool            `json:"on_behalf_of_enabled,omitzero"`
	Type               AgentType       `json:"agent_type,omitempty"`
	FactoryUID         string          `json:"factory_uid,omitempty"`
	Network            *Network        `json:"network,omitempty" config:"-"` // a layer of the run's network
	Models             *ModelPolicy    `json:"models,omitempty" config:"-"`
	LayerKeys
}

// NamedSecret names a managed secret.
type NamedSecret struct {
	Name string `json:"name"`
}

// Memory is an agent's memory settings.
type Memory struct {
	AutoMemory     AutoMemory    `json:"auto_memory"`
	AttachedStores []MemoryStore `json:"attached_stores"`
}

// AutoMemory enables or disables the automatic memory.
type AutoMemory struct {
	Enabled bool `json:"enabled"`
}

// SecretNames lists the secrets that the agent names, for its runs and for their network.
func (i Identity) SecretNames() []string {
	return append(i.Config().SecretNames(), i.Network.SecretNames()...)
}

// Config is the layer of configuration that the agent contributes to its runs.
func (i Identity) Config() *Config {
	var c Config
	CarryKeys(&c, i)
	if i.Secrets != nil {
		c.Secrets = []string{}
	}
	for _, s := range i.Secrets {
		c.Secrets = append(c.Secrets, s.Name)
	}
	if i.FactoryUID == "" {
		return &c
	}
	return c.withHarness()
}
