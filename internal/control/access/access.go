// Package access decides who may do what. It owns the keys and sessions of callers, the secrets
// of a team, and the responses that are stored for repeated requests.
package access

import (
	"context"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/share"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/supply/openid"
	"github.com/penstock-dev/penstock/internal/supply/secret"
)

// Options are the dependencies and settings of the access rules.
type Options struct {
	Store      *store.Store
	Keyset     *secret.Keyset
	Sessions   SessionLimits
	Providers  []*openid.Provider // where persons sign in; their names and issuers differ
	MaxSecrets int                // of a team; 0: no limit
	// OnSecretChange is called with the next value of a managed secret, in the
	// transaction that stores it.
	OnSecretChange func(ctx context.Context, tx *store.Tx, p penstock.Principal, name, value string) error
	// OnDisable is called with the UID of a member that is disabled or deleted, in the transaction that stores it.
	OnDisable func(ctx context.Context, tx *store.Tx, team, uid string) error
}

// Responses stores the responses to requests with an Idempotency-Key.
type Responses struct {
	store  *store.Store
	keyset *secret.Keyset
}

// Keys manages API keys.
type Keys struct {
	store     *store.Store
	responses *Responses
	keys      share.SharedRead[store.KeyRow] // by their hashes
	usedKeys  share.Used[string]
}

// Sessions manages browser sessions. An API key starts a session, or a sign-in at an identity provider.
type Sessions struct {
	store         *store.Store
	providers     []*openid.Provider
	keys          *Keys
	sessionLimits SessionLimits
	sessions      share.SharedRead[store.SessionRow] // by their hashes
	usedSessions  share.Used[string]
}

// Secrets manages the managed secrets of a team.
type Secrets struct {
	store      *store.Store
	keyset     *secret.Keyset
	responses  *Responses
	maxSecrets int
	changed    func(ctx context.Context, tx *store.Tx, p penstock.Principal, name, value string) error
	granted    share.Used[store.SecretKey]
}

// Rules are the rules of this package.
type Rules struct {
	Responses *Responses
	Keys      *Keys
	Members   *Members
	Sessions  *Sessions
	Secrets   *Secrets
}

// New makes the rules of access.
func New(o Options) Rules {
	responses := &Responses{store: o.Store, keyset: o.Keyset}
	keys := &Keys{store: o.Store, responses: responses}
	if len(o.Providers) > 0 {
		o.Store.SetGroupRoles(groupRoles(o.Providers))
	}
	return Rules{
		Responses: responses,
		Keys:      keys,
		Members:   &Members{store: o.Store, responses: responses, providers: o.Providers, disabled: o.OnDisable},
		Sessions: &Sessions{
			store: o.Store, providers: o.Providers, keys: keys, sessionLimits: o.Sessions.orDefault(),
		},
		Secrets: &Secrets{
			store: o.Store, keyset: o.Keyset, responses: responses, maxSecrets: o.MaxSecrets, changed: o.OnSecretChange,
		},
	}
}
