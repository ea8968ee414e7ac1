package access

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/request"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/supply/openid"
)

// SignInProvider is an identity provider where persons can sign in.
type SignInProvider struct {
	Name string `json:"name"`
}

// SignInRequest begins to sign in.
type SignInRequest struct {
	Provider string `json:"provider"`
	ReturnTo string `json:"return_to,omitempty"` // a path of the dashboard; "": /
}

// SignInStart says where the browser goes.
type SignInStart struct {
	AuthorizationURL string        `json:"authorization_url"`
	ExpiresAt        penstock.Time `json:"expires_at"` // after which the provider's answer is refused
}

// signInLife is how long a person has at the provider.
const signInLife = 10 * time.Minute

// longestCode is the longest code of a provider, in bytes. Some have more than 2,000.
const longestCode = 8 << 10

// groupRoles returns the roles that the settings of providers give to groups.
func groupRoles(providers []*openid.Provider) func(issuer string, groups []string) []penstock.Role {
	return func(issuer string, groups []string) (roles []penstock.Role) {
		for _, p := range providers {
			if p.Issuer == issuer {
				roles = append(roles, p.RolesOf(groups)...)
			}
		}
		return roles
	}
}

// configuredGrants lists what the settings of providers give to groups.
func configuredGrants(providers []*openid.Provider) (grants []penstock.Grant) {
	for _, p := range providers {
		for _, group := range slices.Sorted(maps.Keys(p.Groups)) {
			grants = append(grants, penstock.Grant{
				UID: "configured:" + p.Name + ":" + group, SubjectType: penstock.GrantToGroup, Subject: group,
				Role: p.Groups[group], Provider: p.Name,
			})
		}
	}
	return grants
}

// Providers lists the identity providers, in the order of the configuration.
func (s *Sessions) Providers() []SignInProvider {
	list := make([]SignInProvider, len(s.providers))
	for i, p := range s.providers {
		list[i] = SignInProvider{p.Name}
	}
	return list
}

func (s *Sessions) provider(name string) *openid.Provider {
	for _, p := range s.providers {
		if p.Name == name {
			return p
		}
	}
	return nil
}

// browserToken matches the cookie of a browser that signs in.
var browserToken = penstock.LazyRegexp(`^[A-Za-z0-9_-]{43}$`)

// ownPath matches paths of the dashboard: no address of another host.
var ownPath = penstock.LazyRegexp(`^/([^/\\[:cntrl:]][^\\[:cntrl:]]*)?$`)

// attemptOf returns the attempt of a browser and a state. What the provider must not be able to guess needs no row: it
// follows from the browser's cookie, which only the browser has.
func attemptOf(browser, state string) openid.Attempt {
	derive := func(purpose string) string {
		sum := sha256.Sum256([]byte(purpose + "\n" + browser + "\n" + state))
		return base64.RawURLEncoding.EncodeToString(sum[:])
	}
	return openid.Attempt{State: state, Nonce: derive("nonce"), Verifier: derive("verifier")}
}

// browserOf returns the first value that the cookie of a browser can have, or "". On loopback, a page on another port
// can set further cookies of its name.
func browserOf(cookies []string) string {
	for _, value := range cookies {
		if browserToken().MatchString(value) {
			return value
		}
	}
	return ""
}

// Begin begins to sign in at a provider. cookies are the values of the browser's cookie for this, and cookie the one to
// set; so several tabs can sign in at the same time.
func (s *Sessions) Begin(
	ctx context.Context, cookies []string, req SignInRequest,
) (start SignInStart, cookie string, err error) {
	p := s.provider(req.Provider)
	if p == nil {
		return start, "", penstock.Invalid("/provider", "is not the name of an identity provider of this server")
	}
	returnTo := cmp.Or(req.ReturnTo, "/")
	if len(returnTo) > request.MaxURL || !ownPath().MatchString(returnTo) {
		return start, "", penstock.Invalid("/return_to", "must be a path of the dashboard, such as /runs")
	}
	browser := cmp.Or(browserOf(cookies), newToken())
	attempt := attemptOf(browser, newToken())
	start.ExpiresAt = penstock.Now().Add(signInLife)
	if start.AuthorizationURL, err = p.AuthorizationURL(ctx, attempt); err != nil {
		return start, "", err
	}
	row := store.SignInRow{
		State: HashKey(attempt.State), Browser: HashKey(browser), Provider: p.Name, ReturnTo: returnTo,
		Expires: start.ExpiresAt,
	}
	return start, browser, s.store.Write(ctx, func(tx *store.Tx) error { return tx.Sessions().Begin(ctx, row) })
}

// Complete starts a session for the person whom the provider names in its answer. The attempt counts once, and only
// from the browser that began it. A person whom the team does not know becomes a user, if their groups have a role.
func (s *Sessions) Complete(
	ctx context.Context, cookies []string, req SessionRequest, ended ...SessionProof,
) (cookie string, session Session, err error) {
	unknown := penstock.Errorf(
		penstock.CodeAuthenticationRequired,
		"this sign-in has expired, has been used, or began in another browser; sign in again",
	)
	browser := browserOf(cookies)
	if browser == "" || len(req.State) > longestToken || len(req.Code) > longestCode {
		return "", Session{}, unknown
	}
	var row store.SignInRow
	var known bool
	err = s.store.Write(ctx, func(tx *store.Tx) (err error) {
		row, known, err = tx.Sessions().Take(ctx, HashKey(req.State), HashKey(browser))
		return err
	})
	if err != nil {
		return "", Session{}, err
	}
	p := s.provider(row.Provider)
	if !known || p == nil {
		return "", Session{}, unknown
	}
	id, err := p.Redeem(ctx, attemptOf(browser, req.State), openid.Answer{Code: req.Code, Issuer: req.Issuer})
	if err != nil {
		return "", Session{}, err
	}
	if cookie, session, err = s.admit(ctx, p, id, ended); penstock.CodeOf(err) == penstock.CodeConflict {
		cookie, session, err = s.admit(ctx, p, id, ended) // another of the person's first sign-ins was faster
	}
	session.ReturnTo = row.ReturnTo
	return cookie, session, err
}

// admit starts a session for a person, with the groups of now. Who has no role any more is refused, and what the
// provider said counts for their other sessions and keys; of a stranger nothing is kept.
func (s *Sessions) admit(
	ctx context.Context, p *openid.Provider, id openid.Identity, ended []SessionProof,
) (cookie string, session Session, err error) {
	var secret string
	var row store.SessionRow
	var refused error
	err = s.store.Write(ctx, func(tx *store.Tx) error {
		m, stranger, err := s.known(ctx, tx, p, id)
		switch {
		case err != nil:
			return err
		case len(m.Roles) == 0 && stranger:
			return noRole(p, id)
		case len(m.Roles) == 0:
			refused = noRole(p, id)
			return nil
		}
		k, err := signInKey(ctx, tx, m)
		if err != nil {
			return err
		}
		cookie, secret, row = newSession(k)
		return replace(ctx, tx, row, ended)
	})
	if err = cmp.Or(err, refused); err != nil {
		return "", Session{}, err
	}
	session = s.sessionOf(s.keys.principalOf(row.Key), row)
	session.Secret = secret
	return cookie, session, nil
}

// known returns the member who is the person, with what the provider says now, or a new one for a stranger.
func (s *Sessions) known(
	ctx context.Context, tx *store.Tx, p *openid.Provider, id openid.Identity,
) (m store.MemberRow, stranger bool, err error) {
	m, err = tx.Members().LockPerson(ctx, store.DefaultTeam, id.Issuer, id.Subject)
	if penstock.CodeOf(err) == penstock.CodeNotFound {
		stranger = true
		m = store.MemberRow{Team: store.DefaultTeam, Member: penstock.Member{
			UID: penstock.NewUID(), Type: penstock.MemberUser, Issuer: id.Issuer, Subject: id.Subject,
			DisplayName: id.Subject, CreatedAt: penstock.Now(),
		}}
		err = tx.Members().Add(ctx, m)
	}
	switch {
	case err != nil:
		return m, stranger, err
	case m.DisabledAt != 0:
		return m, stranger, penstock.Errorf(
			penstock.CodeNotAuthorized, "%s is disabled; ask an admin of the team", m.DisplayName,
		)
	case !id.GroupsKnown && len(m.Groups) > 0:
		return m, stranger, penstock.Errorf(
			penstock.CodeNotAuthorized, "the identity provider %s does not say the groups of %s any more; set groups_claim "+
				"of auth.providers", p.Name, m.DisplayName,
		)
	}
	m.DisplayName = cmp.Or(id.Name, m.DisplayName)
	if checkMember(penstock.Member{Type: m.Type, DisplayName: m.UID, Email: id.Email}, "") == nil {
		m.Email = cmp.Or(id.Email, m.Email)
	}
	m.SignedInAt = penstock.Now()
	if err := tx.Members().Set(ctx, m); err != nil {
		return m, stranger, err
	}
	if !slices.Equal(m.Groups, id.Groups) {
		if err := tx.Members().SetGroups(ctx, m.UID, id.Groups); err != nil {
			return m, stranger, err
		}
	}
	m, err = tx.Members().Lock(ctx, m.Team, m.Type, m.UID)
	return m, stranger, err
}

// noRole is the error for a person who may do nothing.
func noRole(p *openid.Provider, id openid.Identity) error {
	received := "no groups"
	if len(id.Groups) > 0 {
		shown := id.Groups[:min(len(id.Groups), 20)]
		received = "the groups " + strings.Join(shown, ", ")
		if more := len(id.Groups) - len(shown); more > 0 {
			received += fmt.Sprintf(" and %d more", more)
		}
	}
	return penstock.Errorf(
		penstock.CodeNotAuthorized, "nobody has given you a role here; the identity provider %s sent %s; an admin can give "+
			"a role to one of them in auth.providers, or to you", p.Name, received,
	)
}

// signInKey returns the key of a member's sessions, so that budgets and revocation count for all of them. It may do
// what the roles of its owner allow.
func signInKey(ctx context.Context, tx *store.Tx, m store.MemberRow) (store.KeyRow, error) {
	k, err := tx.Keys().SignIn(ctx, m.Team, m.UID)
	if penstock.CodeOf(err) != penstock.CodeNotFound {
		return k, err
	}
	k = store.KeyRow{
		Key: penstock.Key{
			UID: penstock.NewUID(), Name: "sign-in", Scopes: []penstock.Scope{penstock.ScopeAdmin}, Owner: m.Actor(),
			CreatedAt: penstock.Now(), SignIn: true,
		},
		Team: m.Team, Hash: HashKey(newToken()),
	}
	if err := tx.Keys().Add(ctx, k); err != nil {
		return k, err
	}
	return tx.Keys().SignIn(ctx, m.Team, m.UID)
}
