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
