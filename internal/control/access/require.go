package access

import (
	"github.com/penstock-dev/penstock"
)

// Require returns an error if the caller does not have the scope.
func Require(p penstock.Principal, scope penstock.Scope) error {
	if p.May(scope) {
		return nil
	}
	return penstock.Errorf(penstock.CodeNotAuthorized, "this needs the scope %s, which the key does not have", scope)
}

// RefuseAgent returns an error if the caller has the key of an agent. An agent could have it in its
// own run.
func RefuseAgent(p penstock.Principal, action string) error {
	if p.AgentUID == "" && p.RunID == "" {
		return nil
	}
	return penstock.Errorf(penstock.CodeNotAuthorized, "the key of an agent cannot %s", action)
}
