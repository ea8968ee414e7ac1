package penstock

import (
	"cmp"
	"fmt"
	"slices"
)

// Scope is a permission of an API key.
type Scope string

// The scopes. ScopeAdmin includes all others, ScopeFactoriesManage includes ScopeFactoriesRead.
// ScopeSecretsUse allows a run request or a schedule to name managed secrets, which its agent can
// then read. ScopeSecretsManage does not include it.
const (
	ScopeRunsRead        Scope = "runs:read"
	ScopeRunsWrite       Scope = "runs:write"
	ScopeFactoriesRead   Scope = "factories:read"
	ScopeFactoriesManage Scope = "factories:manage"
	ScopeSecretsUse      Scope = "secrets:use"
	ScopeSecretsManage   Scope = "secrets:manage"
	ScopeKeysManage      Scope = "keys:manage"
	ScopeEventsManage    Scope = "events:manage" // event endpoints
	ScopeForgesManage    Scope = "forges:manage" // connections to forges
	ScopeAccessManage    Scope = "access:manage" // users, service accounts and grants
	ScopeMetricsRead     Scope = "metrics:read"  // GET /metrics
	ScopeAdmin           Scope = "admin"
	// A worker needs ScopeWorker. The key of an execution has ScopeOwnRun. Only an admin can give
	// them to another key.
	ScopeWorker Scope = "worker"
	ScopeOwnRun Scope = "own_run"
)

// Scopes lists the scopes that a new key can have.
func Scopes() []Scope {
	return []Scope{
		ScopeRunsRead, ScopeRunsWrite, ScopeFactoriesRead, ScopeFactoriesManage,
		ScopeSecretsUse, ScopeSecretsManage, ScopeKeysManage, ScopeEventsManage,
		ScopeForgesManage, ScopeAccessManage, ScopeMetricsRead, ScopeWorker, ScopeAdmin,
	}
}

// Principal is the caller of a request with its permissions.
type Principal struct {
	Team   string
	KeyUID string
	// Makers are the keys that made the caller's key, the nearest first.
	Makers []string
	Actor  Actor
	Scopes []Scope
	// Roles are what the member who owns the key has been granted, and Withheld the scopes of the key that they do not
	// include. Both are nil for the key of an agent.
	Roles    []Role
	Withheld []Scope
	RunID    string // of an execution's own key
	// Execution is the number of this execution.
	Execution int
	// ExpiresAt is when the key expires; 0: never. Keys and sessions that it creates expire with
	// it.
	ExpiresAt Time
	// AgentUID is set for an agent's key: the caller acts as this agent.
	AgentUID string
}

// IsAgent reports whether the key is an agent's, or of an execution.
func (p Principal) IsAgent() bool { return p.AgentUID != "" || p.RunID != "" }

// May reports whether p has scope.
func (p Principal) May(scope Scope) bool {
	return slices.Contains(p.Scopes, scope) || slices.Contains(p.Scopes, ScopeAdmin) ||
		scope == ScopeFactoriesRead && slices.Contains(p.Scopes, ScopeFactoriesManage)
}

// Lacks says why p has not the scope, after the words "the key".
func (p Principal) Lacks(scope Scope) string {
	had := Principal{Scopes: p.Withheld}
	if !had.May(scope) {
		return fmt.Sprintf("lacks the scope %s", scope)
	}
	roles := "no role"
	if len(p.Roles) > 0 {
		roles = "only the role " + string(p.Roles[len(p.Roles)-1])
	}
	owner := cmp.Or(p.Actor.DisplayName, p.Actor.UID)
	return fmt.Sprintf("has the scope %s, but its owner has not: %s has %s", scope, owner, roles)
}

// PaidBy lists the keys that pay for what p causes: its own, and those that made it.
func (p Principal) PaidBy() []string {
	if p.KeyUID == "" {
		return p.Makers
	}
	return MorePayers([]string{p.KeyUID}, p.Makers...)
}

// MorePayers returns a list of keys with more of them, each once. It does not change the list.
func MorePayers(keys []string, more ...string) []string {
	keys = slices.Clip(keys)
	for _, key := range more {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
	}
	return keys
}

// Key is an API key without its secret.
type Key struct {
	UID        string  `json:"uid"`
	Name       string  `json:"name"`
	Scopes     []Scope `json:"scopes"`
	Prefix     string  `json:"prefix"` // the first characters of the key, which identify it to people
	Owner      Actor   `json:"owner"`
	AgentUID   string  `json:"agent_uid,omitempty"`
	CreatedAt  Time    `json:"created_at"`
	ExpiresAt  Time    `json:"expires_at,omitzero"`
	LastUsedAt Time    `json:"last_used_at,omitzero"`
	// SignIn is true for the key of a person's sessions that began at an identity provider. Nobody has its secret.
	SignIn bool   `json:"sign_in,omitzero"`
	Key    string `json:"key,omitempty"` // only in the response that creates it
}
