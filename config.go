package penstock

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Config is the configuration of a run: the contract's AmbientAgentConfig. A zero field takes
// the value of the next layer.
type Config struct {
	Name               string               `json:"name,omitempty"`
	ModelID            string               `json:"model_id,omitempty"`
	BasePrompt         string               `json:"base_prompt,omitempty"`
	EnvironmentID      string               `json:"environment_id,omitempty"`
	RunnerID           string               `json:"runner_id,omitempty"`
	SkillSpec          string               `json:"skill_spec,omitempty"`
	Skills             []string             `json:"skills,omitempty"`
	MCPServers         map[string]MCPServer `json:"mcp_servers,omitempty"`
	Harness            *Harness             `json:"harness,omitempty"`
	HarnessAuthSecrets json.RawMessage      `json:"harness_auth_secrets,omitempty"`
	// IdleTimeoutMinutes is for interactive runs. 0 ends the run with its turn.
	IdleTimeoutMinutes *int                `json:"idle_timeout_minutes,omitempty"`
	SessionSharing     *sessionSharing     `json:"session_sharing,omitempty"`
	MemoryStores       []MemoryStore       `json:"memory_stores,omitempty"`
	InferenceProviders *inferenceProviders `json:"inference_providers,omitempty"`
	ComputerUseEnabled *bool               `json:"computer_use_enabled,omitempty"`
	ComputerUseModelID string              `json:"computer_use_model_id,omitempty"`

	MaxDurationMinutes *int              `json:"max_duration_minutes,omitempty"` // of one execution's work
	Budget             *Budget           `json:"budget,omitempty"`
	Env                map[string]string `json:"env,omitempty"`
	Secrets            SecretNames       `json:"secrets,omitempty"`
	Network            *Network          `json:"network,omitempty"`     // narrows what the layers allow
	Prebuild           *bool             `json:"prebuild,omitempty"`    // false: prepare everything anew
	Repositories       []RunRepository   `json:"repositories,omitzero"` // beside the environment's; empty: none
	LayerKeys
}

// LayerKeys are the keys that runs, agents and automations share. A new one needs a line here
// and in factory.LayerKeysRequest.
type LayerKeys struct {
	WorkerHost         string `json:"worker_host,omitempty"`
	CredentialStrategy string `json:"credential_strategy,omitempty"` // CREATOR or EXECUTOR
	// Forge is inherited value by value. A run request can only narrow it.
	Forge *ForgeSettings `json:"forge,omitempty"`
}

// Harness names the agent program.
type Harness struct {
	Type           string `json:"type,omitempty"`
	ModelID        string `json:"model_id,omitempty"`
	ReasoningLevel string `json:"reasoning_level,omitempty"`
}

// The harnesses that this release can execute, and the default.
const (
	HarnessBuiltin = "builtin"
	HarnessCommand = "command"
)

// ModelOffline is a model of the built-in agent that needs no key and no network. It is the
// default while no provider is configured.
const ModelOffline = "demo/offline"

// Model returns the model that the configuration names for its harness, or "".
func (c *Config) Model() string {
	if c.Harness != nil && c.Harness.ModelID != "" {
		return c.Harness.ModelID
	}
	return c.ModelID
}

// Kind is the harness's canonical name: `oz` and the absent harness are builtin.
func (h *Harness) Kind() string {
	if h == nil || h.Type == "" || h.Type == "oz" {
		return HarnessBuiltin
	}
	return h.Type
}

// Budget bounds what a run may consume; zero disables the bound.
type Budget struct {
	MaxTotalTokens int64   `json:"max_total_tokens,omitzero"`
	MaxCostUSD     float64 `json:"max_cost_usd,omitzero"`
}

// sessionSharing defines the rights of a person with the link.
type sessionSharing struct {
	PublicAccess string `json:"public_access,omitempty"` // VIEWER or EDITOR
}

// MCPServer is one MCP server of an agent: exactly one of ID, Command and URL.
// Values of Env and Headers may name a secret as ${{ secrets.NAME }}.
type MCPServer struct {
	ID      string            `json:"id,omitempty"`
	WarpID  string            `json:"warp_id,omitempty"` // alias of ID in requests
	Command string            `json:"command,omitempty"`
	Args    []string          `json:"args,omitempty"`
	Env     map[string]string `json:"env,omitempty"`
	URL     string            `json:"url,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	// Required ends the run if the server does not work. Otherwise the run continues without it.
	Required bool `json:"required,omitzero"`
}

// maxConfigName bounds the name by which runs are found, in bytes.
const maxConfigName = 500

// Check returns the errors that c alone shows, with JSON pointers below at. If c is too large,
// it returns only that error. It also makes aliases canonical.
func (c *Config) Check(at string, harnesses []string) []FieldError {
	if errs := c.CheckSize(at); errs != nil {
		return errs // the errors of its content could be as large as c
	}
	var errs []FieldError
	bad := func(pointer, format string, args ...any) {
		errs = append(errs, FieldError{at + pointer, fmt.Sprintf(format, args...)})
	}
	c.checkLimits(bad)
	c.checkSkills(bad)
	if m := c.IdleTimeoutMinutes; m != nil && (*m < 0 || *m > 60) {
		bad("/idle_timeout_minutes", "must be from 0 to 60")
	}
	if m := c.MaxDurationMinutes; m != nil && (*m < 1 || *m > 7*24*60) {
		bad("/max_duration_minutes", "must be from 1 to 10080")
	}
	if s := c.CredentialStrategy; s != "" && s != "CREATOR" && s != "EXECUTOR" {
		bad("/credential_strategy", "must be CREATOR or EXECUTOR")
	}
	if s := c.SessionSharing; s != nil && s.PublicAccess != "" && s.PublicAccess != "VIEWER" &&
		s.PublicAccess != "EDITOR" {
		bad("/session_sharing/public_access", "must be VIEWER or EDITOR")
	}
	if kind := c.Harness.Kind(); !slices.Contains(harnesses, kind) {
		bad("/harness/type", "%q is not a harness of this server; use one of %s", kind, strings.Join(harnesses, ", "))
	}
	if b := c.Budget; b != nil && b.MaxTotalTokens < 0 {
		bad("/budget/max_total_tokens", "must not be negative")
	}
	if b := c.Budget; b != nil && !(b.MaxCostUSD >= 0 && b.MaxCostUSD <= MaxBudgetUSD) {
		bad("/budget/max_cost_usd", "must not be negative, and at most a billion")
	}
	if b := c.Budget; b != nil && b.MaxCostUSD > 0 && NanosOf(b.MaxCostUSD) == 0 { // else it would be no cap
		bad("/budget/max_cost_usd", "must be at least a nano-dollar")
	}
	for name := range c.Env {
		if !validEnvName(name) {
			bad(
				"/env/"+EscapePointer(name),
				"%q is not a valid environment variable name; use letters, digits and _, and do not begin with a digit",
				name,
			)
		}
	}
	if c.Network != nil {
		errs = append(errs, c.Network.CheckRequest(at+"/network")...)
	}
	errs = append(errs, c.Forge.Check(at+"/forge")...)
	c.checkSecrets(bad)
	checkStores(bad, "/memory_stores", c.MemoryStores)
	for name, server := range c.MCPServers {
		errs = append(errs, server.check(at+"/mcp_servers/"+EscapePointer(name))...)
		c.MCPServers[name] = server.canonical()
	}
	slices.SortFunc(errs, func(a, b FieldError) int { return strings.Compare(a.Pointer, b.Pointer) })
	return errs
}

// checkSkills returns the invalid references.
func (c *Config) checkSkills(bad func(pointer, format string, args ...any)) {
	if c.SkillSpec != "" && len(c.Skills) > 0 {
		bad("/skills", "cannot be given together with skill_spec")
	}
	for i, s := range append([]string{c.SkillSpec}, c.Skills...) {
		pointer := "/skill_spec"
		if i > 0 {
			pointer = fmt.Sprintf("/skills/%d", i-1)
		}
		if s == "" && i == 0 {
			continue
		}
		if _, err := ParseSkillSpec(s); err != nil {
			bad(pointer, "%s", err)
		}
	}
}

func (m MCPServer) canonical() MCPServer {
	m.ID = cmp.Or(m.ID, m.WarpID)
	m.WarpID = ""
	return m
}

// checkKind returns an error unless exactly one key says what the server is.
func (m MCPServer) checkKind(at string) []FieldError {
	var given []string
	for _, kind := range []struct{ key, value string }{
		{"id", m.ID}, {"warp_id", m.WarpID}, {"command", m.Command}, {"url", m.URL},
	} {
		if kind.value != "" && !(kind.key == "warp_id" && m.WarpID == m.ID) {
			given = append(given, kind.key)
		}
	}
	switch len(given) {
	case 0:
		return []FieldError{{at, "must have exactly one of id, command and url"}}
	case 1:
		return nil
	default:
		return []FieldError{{
			at + "/" + given[1],
			"cannot be given together with " + given[0] + ": a server has exactly one of id, command and url",
		}}
	}
}

// check returns the errors of a server, each at the key that the caller used.
func (m MCPServer) check(at string) []FieldError {
	errs := m.checkKind(at)
	if m.Command == "" && len(m.Args) > 0 {
		errs = append(errs, FieldError{at + "/args", "is allowed only with command"})
	}
	if m.Command == "" && len(m.Env) > 0 {
		errs = append(errs, FieldError{at + "/env", "is allowed only with command"})
	}
	if m.URL == "" && len(m.Headers) > 0 {
		errs = append(errs, FieldError{at + "/headers", "is allowed only with url"})
	}
	if m.URL != "" && !strings.HasPrefix(m.URL, "https://") && !strings.HasPrefix(m.URL, "http://") {
		errs = append(errs, FieldError{at + "/url", "must be an http or https URL"})
	}
	for field, values := range map[string]map[string]string{"/env/": m.Env, "/headers/": m.Headers} {
		for k, v := range values {
			pointer := at + field + EscapePointer(k)
			secrets, err := SecretRefs(v)
			if err != nil {
				errs = append(errs, FieldError{pointer, err.Error()})
			}
			if len(secrets) == 0 || field == "/env/" {
				continue
			}
			if reason := CheckCredentialHeader(k); reason != "" {
				errs = append(errs, FieldError{pointer, reason})
			}
		}
	}
	return errs
}

func validEnvName(s string) bool {
	for i, r := range s {
		if !(r == '_' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || i > 0 && r >= '0' && r <= '9') {
			return false
		}
	}
	return s != ""
}

// ValidSecretName reports whether s can name a managed secret: it becomes an
// environment variable of the agent.
func ValidSecretName(s string) bool { return len(s) <= 128 && validEnvName(s) }

// SecretRefs lists the secrets that a value refers to as ${{ secrets.NAME }}.
func SecretRefs(value string) ([]string, error) {
	var names []string
	for {
		_, rest, found := strings.Cut(value, "${{")
		if !found {
			return names, nil
		}
		expr, after, closed := strings.Cut(rest, "}}")
		name, isSecret := strings.CutPrefix(strings.TrimSpace(expr), "secrets.")
		if !closed || !isSecret || !ValidSecretName(name) {
			return nil, fmt.Errorf("may only refer to secrets, as ${{ secrets.NAME }}")
		}
		names = append(names, name)
		value = after
	}
}
