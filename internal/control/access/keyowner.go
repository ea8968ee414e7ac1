package access

import (
	"cmp"
	"context"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/request"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// KeyChange changes a key.
type KeyChange struct {
	OwnerUID string `json:"owner_uid"` // the user or service account that it belongs to from now on
}

// setOwner decides who owns a new key, and stores its name.
func setOwner(ctx context.Context, tx *store.Tx, p penstock.Principal, owner string, k *penstock.Key) error {
	switch {
	case owner == "":
		if err := setAgent(ctx, tx, p, k); err != nil {
			return err
		}
		return tx.Keys().AddPrincipal(ctx, p.Team, k.Owner)
	case k.AgentUID != "":
		return penstock.Invalid("/owner_uid", "cannot be together with agent_uid: the key of an agent belongs to the agent")
	}
	m, err := ownerOf(ctx, tx, p, owner)
	if err != nil {
		return err
	}
	if _, withheld := m.Type.Narrow(k.Scopes, m.Roles); len(withheld) > 0 {
		return penstock.Invalid(
			"/scopes", "the owner %s lacks %s; grant a role first, or give the key fewer scopes",
			cmp.Or(m.DisplayName, m.UID), request.Enumerated(withheld),
		)
	}
	k.Owner = m.Actor()
	return nil
}

// ownerOf reads the member who is to own a key, until the transaction ends. The caller acts for others with it, so it
// may be nobody who may do more than the caller.
func ownerOf(ctx context.Context, tx *store.Tx, p penstock.Principal, uid string) (m store.MemberRow, err error) {
	if err := mayManage(p); err != nil {
		return m, err
	}
	for _, of := range []penstock.MemberType{penstock.MemberUser, penstock.MemberServiceAccount} {
		if m, err = tx.Members().Lock(ctx, p.Team, of, uid); penstock.CodeOf(err) != penstock.CodeNotFound {
			break
		}
	}
	switch {
	case penstock.CodeOf(err) == penstock.CodeNotFound:
		return m, penstock.Invalid("/owner_uid", "the team has no user or service account %.80q", uid)
	case err != nil:
		return m, err
	case m.DisabledAt != 0:
		return m, penstock.Invalid("/owner_uid", "%s is disabled", cmp.Or(m.DisplayName, m.UID))
	}
	return m, outranked(p, m.Roles...)
}

// Assign gives a key to another member, from the next request on: what it does is the new owner's, and it may do at
// most what the new owner may.
func (s *Keys) Assign(ctx context.Context, p penstock.Principal, uid string, req KeyChange) (penstock.Key, error) {
	if err := Require(p, penstock.ScopeKeysManage); err != nil {
		return penstock.Key{}, err
	}
	if req.OwnerUID == "" {
		return penstock.Key{}, penstock.Invalid("/owner_uid", "is required: the uid of a user or service account")
	}
	return Act(ctx, s.responses, p, func(tx *store.Tx) (key penstock.Key, err error) {
		err = keepAdmin(ctx, tx, p.Team, func() error {
			key, err = assign(ctx, tx, p, uid, req.OwnerUID)
			return err
		})
		return key, err
	})
}

func assign(ctx context.Context, tx *store.Tx, p penstock.Principal, uid, owner string) (penstock.Key, error) {
	m, err := ownerOf(ctx, tx, p, owner)
	if err != nil {
		return penstock.Key{}, err
	}
	k, err := tx.Keys().Find(ctx, p.Team, uid)
	if err != nil {
		return penstock.Key{}, err
	}
	if k.AgentUID != "" {
		return penstock.Key{}, penstock.Errorf(penstock.CodeConflict, "the key belongs to an agent, and stays with it")
	}
	if k.SignIn {
		return penstock.Key{}, penstock.Errorf(
			penstock.CodeConflict, "the key is of the sign-ins of %s, and stays with this user", k.Owner.DisplayName,
		)
	}
	if err := outranked(p, k.Roles...); err != nil {
		return penstock.Key{}, err
	}
	for _, scope := range k.Scopes {
		if !p.May(scope) {
			return penstock.Key{}, penstock.Errorf(
				penstock.CodeNotAuthorized, "the key has the scope %s, which the caller lacks", scope,
			)
		}
	}
	k.Owner = m.Actor()
	return k.Key, tx.Keys().Own(ctx, p.Team, uid, owner)
}

// setAgent makes an agent the owner of a key. It locks the agent until the key is stored, so
// that a deletion of the agent also deletes the key.
func setAgent(ctx context.Context, tx *store.Tx, p penstock.Principal, k *penstock.Key) error {
	if k.AgentUID == "" {
		return nil
	}
	agent, err := tx.Identities().Lock(ctx, p.Team, k.AgentUID)
	if penstock.CodeOf(err) == penstock.CodeNotFound {
		return penstock.Invalid("/agent_uid", "there is no agent %q", k.AgentUID)
	}
	if err == nil && agent.OnBehalfOfEnabled && !p.May(penstock.ScopeAdmin) {
		return penstock.Errorf(
			penstock.CodeNotAuthorized, "only an admin can create a key for an agent that acts on behalf of users",
		)
	}
	k.Owner = AgentActor(agent)
	return err
}
