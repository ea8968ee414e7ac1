package openid

import (
	"cmp"
	"context"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-jose/go-jose/v4"
	"golang.org/x/oauth2"

	"github.com/penstock-dev/penstock"
)

// Identity is a person as an identity provider knows them. Issuer and Subject identify the person; all else is only
// for other people to read.
type Identity struct {
	Issuer, Subject string
	Name            string // in one line of at most 100 bytes; "": unknown
	Email           string // "": unknown, or the provider says that it is not verified
	Groups          []string
	GroupsKnown     bool // false: the provider does not say them, and the settings do not ask for them
}

// Answer is what the provider sent the browser back with.
type Answer struct {
	Code   string
	Issuer string // the parameter iss (RFC 9207), or ""
}

// Redeem exchanges the code for an ID token and checks it: it is for this client and this attempt, signed with an
// asymmetric key of the provider, and valid now. Errors: the caller must sign in again
// ([penstock.CodeAuthenticationRequired]), the provider's answer allows nobody in ([penstock.CodeNotAuthorized]), or
// it cannot be asked ([penstock.CodeUnavailable]).
func (p *Provider) Redeem(ctx context.Context, a Attempt, answer Answer) (Identity, error) {
	d, err := p.document(ctx)
	if err != nil {
		return Identity{}, err
	}
	// Before the code goes anywhere: another provider may have sent the browser here.
	if answer.Issuer != "" && answer.Issuer != d.Issuer || answer.Issuer == "" && d.SendsIssuer {
		return Identity{}, again("the answer is not from the identity provider %s", p.Name)
	}
	token, err := p.exchange(ctx, d, a, answer.Code)
	if err != nil {
		return Identity{}, err
	}
	raw, _ := token.Extra("id_token").(string)
	if raw == "" {
		return Identity{}, p.refused("sent no ID token; the client must be allowed the scope openid")
	}
	subject, said, err := p.verify(ctx, d, raw, a.Nonce)
	if err != nil {
		return Identity{}, err
	}
	more, err := p.userInfo(ctx, d, token, subject, said)
	if err != nil {
		return Identity{}, err
	}
	id := Identity{Issuer: d.Issuer, Subject: subject}
	if id.Groups, id.GroupsKnown, err = p.groups(said, more); err != nil {
		return Identity{}, err
	}
	first := func(name string) string { return cmp.Or(said.text(name), more.text(name)) }
	id.Name = line(cmp.Or(first("name"), first("preferred_username")), maxName)
	for _, c := range []claims{said, more} {
		if verified := strings.Trim(string(c["email_verified"]), `"`); verified != "false" && id.Email == "" {
			id.Email = c.text("email")
		}
	}
	return id, nil
}

func again(format string, args ...any) error {
	return penstock.Errorf(penstock.CodeAuthenticationRequired, format+"; sign in again", args...)
}

// exchange redeems the code, once.
func (p *Provider) exchange(ctx context.Context, d *document, a Attempt, code string) (*oauth2.Token, error) {
	c, err := p.oauth(d)
	if err != nil {
		return nil, err
	}
	token, err := c.Exchange(oidc.ClientContext(ctx, p.client), code, oauth2.VerifierOption(a.Verifier))
	var refused *oauth2.RetrieveError
	switch {
	case err == nil:
		return token, nil
	case errors.As(err, &refused) && refused.ErrorCode == "invalid_grant":
		return nil, again("the identity provider %s does not accept the code, or not any more", p.Name)
	case errors.As(err, &refused) && refused.ErrorCode != "":
		return nil, p.away(nil, "refused this server: %s", line(refused.ErrorCode+" "+refused.ErrorDescription, maxMessage))
	case errors.As(err, &refused):
		return nil, p.away(nil, "does not answer: its token endpoint said %s", refused.Response.Status)
	}
	// The error may hold the request or the answer.
	return nil, p.away(nil, "does not answer: its token endpoint sent no token")
}

// The longest name of a person, and the longest message of a provider, that people see, in bytes.
const (
	maxName    = 100
	maxMessage = 200
)

// line is a text of a provider as people see it: in one line, and cut.
func line(text string, most int) string {
	text = strings.Join(strings.Fields(penstock.VisibleText(text, nil)), " ")
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}

// asymmetric are the algorithms that need the provider's own key. With the others, anybody who knows the secret of the
// client could sign.
var asymmetric = []string{
	oidc.RS256, oidc.RS384, oidc.RS512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.EdDSA,
}

// verify checks an ID token: OpenID Connect Core 1.0, section 3.1.3.7, and more strictly.
func (p *Provider) verify(ctx context.Context, d *document, raw, nonce string) (string, claims, error) {
	algorithms := []string{oidc.RS256}
	if d.Algorithms != nil {
		given := slices.Clone(d.Algorithms)
		algorithms = slices.DeleteFunc(given, func(a string) bool { return !slices.Contains(asymmetric, a) })
	}
	if len(algorithms) == 0 {
		return "", nil, p.refused("signs ID tokens with no asymmetric algorithm")
	}
	set := &keySet{p: p, d: d, algorithms: algorithms}
	token, err := oidc.NewVerifier(d.Issuer, set, &oidc.Config{
		ClientID: p.ClientID, SupportedSigningAlgs: algorithms, Now: p.now,
	}).Verify(ctx, raw)
	if set.err != nil {
		return "", nil, set.err
	}
	if err != nil {
		return "", nil, p.refused("sent an ID token that is not valid here: %s", line(err.Error(), maxMessage))
	}
	var said claims
	if err := token.Claims(&said); err != nil {
		return "", nil, p.refused("sent an ID token that is not an object")
	}
	if why := p.fault(token, said, nonce); why != "" {
		return "", nil, p.refused("sent an ID token that is not valid here: %s", why)
	}
	return token.Subject, said, nil
}

// ahead is how far the clock of a provider may be ahead of ours.
const ahead = time.Minute

// maxSubject is the longest sub (OpenID Connect Core 1.0, section 2), in bytes.
const maxSubject = 255

// fault says what the library lets pass and we do not.
func (p *Provider) fault(token *oidc.IDToken, said claims, nonce string) string {
	azp, hasAZP := said["azp"]
	ours := said.text("azp") == p.ClientID
	latest := p.now().Add(ahead)
	switch {
	case subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(nonce)) != 1:
		return "it belongs to another attempt (nonce)"
	case len(token.Audience) != 1 && !ours, hasAZP && string(azp) != "null" && !ours:
		return "it is for another application (aud, azp)"
	case token.Subject == "" || len(token.Subject) > maxSubject || hasControl(token.Subject):
		return "it has no usable sub"
	case token.IssuedAt.IsZero() || token.IssuedAt.Unix() == 0:
		return "it does not say when it was issued (iat)"
	case token.IssuedAt.After(latest):
		return "it is from the future (iat); compare the clocks"
	case !token.Expiry.After(p.now()):
		return "it has expired (exp); compare the clocks"
	}
	var notBefore json.Number
	if value, ok := said["nbf"]; ok && string(value) != "null" {
		if json.Unmarshal(value, &notBefore) != nil {
			return "its nbf is not a number"
		}
		if seconds, err := notBefore.Float64(); err != nil || seconds > float64(latest.Unix()) {
			return "it is not valid yet (nbf); compare the clocks"
		}
	}
	return ""
}

// userInfo asks for what the ID token does not say. An answer about somebody else does not count.
func (p *Provider) userInfo(
	ctx context.Context, d *document, token *oauth2.Token, subject string, said claims,
) (claims, error) {
	_, hasGroups := said.find(p.groupsClaim())
	named := said.text("name") != "" && said.text("email") != ""
	if d.UserInfoURL == "" || named && hasGroups {
		return nil, nil //nolint:nilnil // a map without entries
	}
	provider := (&oidc.ProviderConfig{IssuerURL: d.Issuer, UserInfoURL: d.UserInfoURL}).NewProvider(ctx)
	info, err := provider.UserInfo(oidc.ClientContext(ctx, p.client), oauth2.StaticTokenSource(token))
	if err != nil {
		if p.needsGroups() && !hasGroups {
			return nil, p.away(err, "does not answer: its UserInfo endpoint says nothing about the groups")
		}
		return nil, nil //nolint:nilnil // a name is not needed
	}
	var more claims
	if info.Subject == subject {
		_ = info.Claims(&more) // what cannot be read says nothing
	}
	return more, nil
}

// key is a public key of a provider.
type key = jose.JSONWebKey

// keySet verifies signatures with the provider's keys.
type keySet struct {
	p          *Provider
	d          *document
	algorithms []string
	err        error // the keys cannot be read
}

// VerifySignature implements [oidc.KeySet].
func (s *keySet) VerifySignature(ctx context.Context, jwt string) ([]byte, error) {
	var allowed []jose.SignatureAlgorithm
	for _, a := range s.algorithms {
		allowed = append(allowed, jose.SignatureAlgorithm(a))
	}
	signed, err := jose.ParseSigned(jwt, allowed)
	if err != nil {
		return nil, err
	}
	if len(signed.Signatures) != 1 {
		return nil, errors.New("it has not exactly one signature")
	}
	id := signed.Signatures[0].Header.KeyID
	for _, refresh := range []bool{false, true} {
		keys, err := s.p.readKeys(ctx, s.d, refresh)
		if err != nil {
			s.err = err
			return nil, err
		}
		for _, k := range keys {
			if id != "" && k.KeyID != id {
				continue
			}
			if payload, err := signed.Verify(k); err == nil {
				return payload, nil
			}
		}
	}
	return nil, fmt.Errorf("no key of the provider has made its signature")
}

// keysAge is how long keys are not asked for again.
const keysAge = 10 * time.Second

// readKeys returns the provider's keys, which it asks for every hour: a key that the provider has withdrawn counts no
// longer than that. With refresh, it asks sooner, but not within [keysAge] of the last time: a token with a key that
// nobody knows costs no more than that.
func (p *Provider) readKeys(ctx context.Context, d *document, refresh bool) ([]key, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	age := p.now().Sub(p.listed)
	fresh := p.keys != nil && age < documentAge
	if fresh && (!refresh || age < keysAge) {
		return p.keys, nil
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	err := p.get(context.WithoutCancel(ctx), d.KeysURL, &set)
	if err == nil || fresh {
		p.listed = p.now()
	}
	if err != nil {
		if fresh {
			return p.keys, nil
		}
		return nil, p.away(err, "does not answer: its keys cannot be read")
	}
	keys := []key{}
	for _, raw := range set.Keys {
		var k key
		// Keys of kinds that are not known, and those to encrypt with, stand beside the others.
		if k.UnmarshalJSON(raw) == nil && k.Use != "enc" && k.IsPublic() {
			keys = append(keys, k)
		}
	}
	p.keys = keys
	return keys, nil
}
