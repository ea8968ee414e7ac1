package penstock

import "slices"

// Scope is a right of an API key.
type Scope string

// The scopes. ScopeAdmin includes all others, ScopeFactoriesManage includes
// ScopeFactoriesRead. ScopeSecretsUse lets a request for a run, or a schedule,
// name managed secrets, which an agent can read then; ScopeSecretsManage does
// not include it.
const (
	ScopeRunsRead        Scope = "runs:read"
	ScopeRunsWrite       Scope = "runs:write"
	ScopeFactoriesRead   Scope = "factories:read"
	ScopeFactoriesManage Scope = "factories:manage"
	ScopeSecretsUse      Scope = "secrets:use"
	ScopeSecretsManage   Scope = "secrets:manage"
	ScopeKeysManage      Scope = "keys:manage"
	ScopeMetricsRead     Scope = "metrics:read" // GET /metrics
	ScopeAdmin           Scope = "admin"
	// ScopeWorker lets a key serve as a worker; ScopeOwnRun is what an
	// execution's own key has. Neither can be given to another key by a caller
	// that is no admin.
	ScopeWorker Scope = "worker"
	ScopeOwnRun Scope = "own_run"
)

// Scopes lists the scopes that a key may be created with.
func Scopes() []Scope {
	return []Scope{
		ScopeRunsRead, ScopeRunsWrite, ScopeFactoriesRead, ScopeFactoriesManage,
		ScopeSecretsUse, ScopeSecretsManage, ScopeKeysManage, ScopeMetricsRead, ScopeWorker, ScopeAdmin,
	}
}

// Principal is who makes a request, and what they may do.
type Principal struct {
	Team   string
	KeyUID string
	Actor  Actor
	Scopes []Scope
	RunID  string // of an execution's own key
	// ExpiresAt is when the key ends by itself, 0: never. What it makes ends with it.
	ExpiresAt Time
	// AgentUID is the agent that an agent's key acts as.
	AgentUID string
}

// May reports whether p has scope.
func (p Principal) May(scope Scope) bool {
	return slices.Contains(p.Scopes, scope) || slices.Contains(p.Scopes, ScopeAdmin) ||
		scope == ScopeFactoriesRead && slices.Contains(p.Scopes, ScopeFactoriesManage)
}

// Key is an API key without its secret.
type Key struct {
	UID        string  `json:"uid"`
	Name       string  `json:"name"`
	Scopes     []Scope `json:"scopes"`
	Prefix     string  `json:"prefix"` // first characters of the key, to tell keys apart
	Owner      Actor   `json:"owner"`
	AgentUID   string  `json:"agent_uid,omitempty"`
	CreatedAt  Time    `json:"created_at"`
	ExpiresAt  Time    `json:"expires_at,omitzero"`
	LastUsedAt Time    `json:"last_used_at,omitzero"`
	Key        string  `json:"key,omitempty"` // in the answer that creates it, never again
}

// KeyRequest asks for a key.
type KeyRequest struct {
	Name             string  `json:"name"`
	Scopes           []Scope `json:"scopes"`
	ExpiresInSeconds int64   `json:"expires_in_seconds,omitzero"` // 0: with the key that makes it, or never
	AgentUID         string  `json:"agent_uid,omitempty"`         // acts as this agent
}

// Me returns the caller.
type Me struct {
	Team   string  `json:"team"`
	Actor  Actor   `json:"actor"`
	KeyUID string  `json:"key_uid,omitempty"`
	Scopes []Scope `json:"scopes"`
	RunID  string  `json:"run_id,omitempty"`
}
