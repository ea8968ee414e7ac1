package penstock

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// MaxSecretBytes is the most that the value of a managed secret may hold: an
// environment variable of Linux holds 128 KB together with its name.
const MaxSecretBytes = 64 << 10

// ManagedSecret is a value that the server keeps for a team's runs and
// webhooks: the contract's Secret. No answer holds the value.
type ManagedSecret struct {
	Name       string `json:"name"`
	Version    int64  `json:"version"` // counts the values it was given; 0: none yet
	Pending    bool   `json:"pending"` // declared, without a value
	CreatedAt  Time   `json:"created_at"`
	UpdatedAt  Time   `json:"updated_at"`
	LastUsedAt Time   `json:"last_used_at,omitzero"` // by a run, seconds late
	CreatedBy  *Actor `json:"created_by,omitempty"`
	UpdatedBy  *Actor `json:"updated_by,omitempty"`
	// WebhookUID is the webhook that the server made the secret for. Runs never
	// get it, and who manages webhooks may replace it there.
	WebhookUID string `json:"webhook_uid,omitempty"`
	// Hosts are those to which the proxy of a sealed run may send the value.
	Hosts  []string     `json:"hosts,omitempty"`
	UsedBy []SecretUser `json:"used_by"`
}

// SecretUser is what names a managed secret and keeps it from being deleted.
type SecretUser struct {
	Type        SecretUserType `json:"type"`
	UID         string         `json:"uid,omitempty"` // absent, like Name, for somebody else's personal schedule
	Name        string         `json:"name,omitempty"`
	FactoryUID  string         `json:"factory_uid,omitempty"`
	FactoryName string         `json:"factory_name,omitempty"`
}

// String names the user in a sentence.
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

// What can name a managed secret.
const (
	SecretOfAgent      SecretUserType = "agent"
	SecretOfSchedule   SecretUserType = "schedule"
	SecretOfAutomation SecretUserType = "automation"
	SecretOfWebhook    SecretUserType = "webhook"
	// Its network has a rule with the secret as credential.
	SecretOfEnvironment SecretUserType = "environment"
	SecretOfFactory     SecretUserType = "factory" // for all its agents, the image of a runner, or its repository
)

// SecretRequest creates a managed secret; without a value it is pending.
type SecretRequest struct {
	Name  string   `json:"name"`
	Value *string  `json:"value,omitempty"`
	Hosts []string `json:"hosts,omitempty"`
}

// SecretChange changes a managed secret; an absent field stays.
type SecretChange struct {
	Value *string   `json:"value,omitempty"`
	Hosts *[]string `json:"hosts,omitempty"` // replaces the hosts; empty: none
}

// SecretNames are the names of managed secrets. In a request a name may also be
// the name of an object, as in an agent's secrets.
type SecretNames []string

// SecretUse is one place of a configuration that names a secret.
type SecretUse struct {
	Pointer string // JSON pointer below the configuration
	Name    string
}

// SecretUses lists where c names secrets, in a stable order: secrets,
// harness_auth_secrets, and env and headers of MCP servers. What is malformed
// is left out; [Config.Check] reports it.
func (c *Config) SecretUses() []SecretUse {
	var uses []SecretUse
	for i, name := range c.Secrets {
		uses = append(uses, SecretUse{fmt.Sprintf("/secrets/%d", i), name})
	}
	auth, _ := c.authSecrets()
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

// SecretVariables lists the secrets that become environment variables of the
// agent: those of secrets and harness_auth_secrets. What only an MCP server
// names goes to that server alone.
func (c *Config) SecretVariables() []string {
	auth, _ := c.authSecrets()
	names := slices.Sorted(maps.Values(auth))
	names = append(names, c.Secrets...)
	slices.Sort(names)
	return slices.Compact(names)
}

// authSecrets reads harness_auth_secrets: secrets by what they are for. ok is
// false for what is no such object.
func (c *Config) authSecrets() (names map[string]string, ok bool) {
	raw := strings.TrimSpace(string(c.HarnessAuthSecrets))
	if raw == "" || raw == "null" {
		return nil, true
	}
	if err := json.Unmarshal([]byte(raw), &names); err != nil {
		return nil, false
	}
	return names, true
}

// HarnessSecrets are the names of the secrets of harness_auth_secrets by the harness that
// each is for, such as claude.
func (c *Config) HarnessSecrets() map[string]string {
	auth, _ := c.authSecrets()
	names := map[string]string{}
	for key, name := range auth {
		if program, is := strings.CutSuffix(key, HarnessAuthSuffix); is {
			names[(&Harness{Type: program}).Kind()] = name
		}
	}
	return names
}

// checkSecrets reports names that no secret can have.
func (c *Config) checkSecrets(bad func(pointer, format string, args ...any)) {
	for i, name := range c.Secrets {
		if !ValidSecretName(name) {
			bad(fmt.Sprintf("/secrets/%d", i), "is not a valid name of a secret: use letters, digits and _")
		}
	}
	if _, ok := c.authSecrets(); !ok {
		bad("/harness_auth_secrets", "must be an object with a secret's name for each key")
	}
}
