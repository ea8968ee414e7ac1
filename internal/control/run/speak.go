package run

import (
	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// speaks is the rule that says whether a caller may put text before the agent of a conversation. The
// agent has the session of all its runs, so the text could make it reveal what any of them knew: the
// secrets that a request named, and the content of another person's run. Whatever brings text to a
// conversation enters it by this rule: see [store.ConversationsTx.Enter].
func speaks(p penstock.Principal) func(store.Bound) error {
	return func(b store.Bound) error {
		if b.Secrets && !p.May(penstock.ScopeSecretsUse) {
			return penstock.Errorf(penstock.CodeNotAuthorized, "the request for a run of this conversation named managed "+
				"secrets, which its agent may still know; to continue it needs the scope %s, which the key does not have",
				penstock.ScopeSecretsUse)
		}
		for _, creator := range b.Personal {
			if creator != p.Actor.UID && !p.May(penstock.ScopeAdmin) {
				return penstock.Errorf(penstock.CodeNotAuthorized, "this conversation includes a personal run of another "+
					"person, which its agent still knows; only that person and admins can continue it")
			}
		}
		return nil
	}
}
