package access

import (
	"context"
	"fmt"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// Require returns an error if the caller does not have the scope.
func Require(p penstock.Principal, scope penstock.Scope) error {
	if p.May(scope) {
		return nil
	}
	return penstock.Errorf(penstock.CodeNotAuthorized, "this needs the scope %s; the key %s", scope, p.Lacks(scope))
}

// RefuseAgent returns an error if the caller has the key of an agent. An agent could have it in its
// own run.
func RefuseAgent(p penstock.Principal, action string) error {
	if !p.IsAgent() {
		return nil
	}
	return penstock.Errorf(penstock.CodeNotAuthorized, "the key of an agent cannot %s", action)
}

// UseFactories returns an error if a list names a factory that the team does not have. at points to the list.
func UseFactories(ctx context.Context, tx *store.Tx, team, at string, uids []string) error {
	for i, uid := range uids {
		found, err := tx.Factories().Has(ctx, team, uid)
		if err != nil {
			return err
		}
		if !found {
			return penstock.Invalid(fmt.Sprintf("%s/%d", at, i), "there is no factory with the uid %.80q", uid)
		}
	}
	return nil
}
