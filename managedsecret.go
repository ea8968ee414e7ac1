package penstock

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// ManagedSecret describes a secret that the server keeps for a team's runs and webhooks. It is the
// schema Secret of the API, and never contains the value of the secret.
type ManagedSecret struct {
	Name       string `json:"name"`
	Version    int64  `json:"version"` // counts the values it has had; 0: it has no value yet
	Pending    bool   `json:"pending"` // declared, but without a value
	CreatedAt  Time   `json:"created_at"`
	UpdatedAt  Time   `json:"updated_at"`
	LastUsedAt Time   `json:"last_used_at,omitzero"` // by a run; stored some seconds late
	CreatedBy  *Actor `json:"created_by,omitempty"`
	UpdatedBy  *Actor `json:"updated_by,omitempty"`
	// WebhookUID is the webhook that the server created the secret for. Runs never get such a
	// secret. A caller who may manage webhooks may replace such a secret through its webhook.
	WebhookUID string `json:"webhook_uid,omitempty"`
	// Hosts are the hosts to which the proxy of a sealed run may send the value.
	Hosts  []string     `json:"hosts,omitempty"`
	UsedBy []SecretUser `json:"used_by"`
}

// SecretUser is a resource that uses a managed secret. A secret with users cannot be deleted.
type SecretUser struct {
	Type        SecretUserType `json:"type"`
	UID         string         `json:"uid,omitempty"` // absent, like Name, for another person's personal schedule
	Name        string         `json:"name,omitempty"`
	FactoryUID  string         `json:"factory_uid,omitempty"`
	FactoryName string         `json:"factory_name,omitempty"`
}

// String describes the resource for a sentence.
func (u SecretUser) String() string {
	switch {
	case u.Name == "":
		return "a personal " + string(u.Type)
	case u.FactoryName != "":
		return fmt.Sprintf("the %s %q of the factory %q", u.Type, u.Name, u.FactoryName)
	}
	return fmt.Sprintf("the %s %q", u.Type, u.Name)
}

// SecretUserType is a kind of user of managed secrets.
type SecretUserType string

// SecretNames are the names of managed secrets. In a request a name may also be
// the name of an object, as in an agent's secrets.
type SecretNames []string

// SecretUse is a place in a configuration that names a secret.
type SecretUse struct {
	Pointer string // JSON pointer below the configuration
	Name    string
}

// SecretUses lists the places where c names secrets, in a stable order: secrets,
// harness_auth_secrets, and env and headers of MCP servers. It skips malformed values;
// [Config.Check] reports them.
func (c *Config) SecretUses() []SecretUse {
	var uses []SecretUse
	for i, name := range c.Secrets {
		uses = append(uses, SecretUse{fmt.Sprintf("/secrets/%d", i), name})
	}
	auth, _ := c.AuthSecrets()
	for _, key := range slices.Sorted(maps.Keys(auth)) {
		uses = append(uses, SecretUse{"/harness_auth_secrets/" + EscapePointer(key), auth[key]})
	}
	for _, server := range slices.Sorted(maps.Keys(c.MCPServers)) {
		m := c.MCPServers[server]
		for _, part := range []struct {
			field  string
			values map[string]string
		}{{"/env/", m.Env}, {"/headers/", m.Headers}} {
			for _, key := range slices.Sorted(maps.Keys(part.values)) {
				names, _ := SecretRefs(part.values[key])
				for _, name := range names {
					uses = append(uses, SecretUse{"/mcp_servers/" + EscapePointer(server) + part.field + EscapePointer(key), name})
				}
			}
		}
	}
	return uses
}

// SecretNames lists the secrets that c names, each once, sorted.
func (c *Config) SecretNames() []string {
	var names []string
	for _, use := range c.SecretUses() {
		names = append(names, use.Name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// SecretVariables lists the secrets that become environment variables of the agent: the ones in
// secrets and harness_auth_secrets. A secret that only an MCP server names goes to that server
// alone.
func (c *Config) SecretVariables() []string {
	auth, _ := c.AuthSecrets()
	names := slices.Sorted(maps.Values(auth))
	names = append(names, c.Secrets...)
	slices.Sort(names)
	return slices.Compact(names)
}

// AuthSecrets reads harness_auth_secrets: the name of a secret by key. ok is false if the value is
// not such an object.
func (c *Config) AuthSecrets() (names map[string]string, ok bool) {
	raw := strings.TrimSpace(string(c.HarnessAuthSecrets))
	if raw == "" || raw == "null" {
		return nil, true
	}
	if err := json.Unmarshal([]byte(raw), &names); err != nil {
		return nil, false
	}
	return names, true
}

// HarnessSecrets returns the names of the secrets in harness_auth_secrets, by harness, such as
// claude.
func (c *Config) HarnessSecrets() map[string]string {
	auth, _ := c.AuthSecrets()
	names := map[string]string{}
	for key, name := range auth {
		if program, is := strings.CutSuffix(key, HarnessAuthSuffix); is {
			names[(&Harness{Type: program}).Kind()] = name
		}
	}
	return names
}

// checkSecrets reports invalid names of secrets.
func (c *Config) checkSecrets(bad func(pointer, format string, args ...any)) {
	for i, name := range c.Secrets {
		if !ValidSecretName(name) {
			bad(fmt.Sprintf("/secrets/%d", i), "is not a valid name of a secret: use letters, digits and _")
		}
	}
	if _, ok := c.AuthSecrets(); !ok {
		bad("/harness_auth_secrets", "must be an object with a secret's name for each key")
	}
}
