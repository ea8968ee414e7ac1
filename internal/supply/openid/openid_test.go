package openid_test

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/supply/openid"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// ada is what a provider says of a person.
func ada() map[string]any {
	return map[string]any{
		"sub": "248289761001", "name": "Ada Brandt", "email": "ada@example.com", "groups": []string{"dev"},
	}
}

// world is a provider, and a client of it.
type world struct {
	*testing.T
	idp    *testkit.IDP
	client *openid.Provider
}

func start(t *testing.T, change func(*openid.Settings)) *world {
	t.Helper()
	t.Parallel()
	idp := testkit.NewIDP(t, ada())
	return &world{t, idp, client(t, idp, change)}
}

func client(t *testing.T, idp *testkit.IDP, change func(*openid.Settings)) *openid.Provider {
	t.Helper()
	s := openid.Settings{
		Name: "Corp", Issuer: idp.URL, ClientID: idp.ClientID, ClientSecretFile: idp.SecretFile(t),
		Groups: map[string]penstock.Role{"dev": penstock.EditorRole},
	}
	if change != nil {
		change(&s)
	}
	p, err := openid.New(s, "https://penstock.example/sign-in/callback")
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func attempt() openid.Attempt {
	return openid.Attempt{State: rand.Text(), Nonce: rand.Text(), Verifier: rand.Text() + rand.Text()}
}

// signIn goes the whole way.
func (w *world) signIn() (openid.Identity, error) {
	w.Helper()
	a := attempt()
	address, err := w.client.AuthorizationURL(w.Context(), a)
	if err != nil {
		return openid.Identity{}, err
	}
	back := w.idp.Visit(w, address)
	return w.client.Redeem(w.Context(), a, openid.Answer{Code: back.Get("code"), Issuer: back.Get("iss")})
}

// refused checks that nobody is let in, and that the error says why.
func (w *world) refused(code penstock.Code, says string) {
	w.Helper()
	id, err := w.signIn()
	if penstock.CodeOf(err) != code || !strings.Contains(err.Error(), says) {
		w.Errorf("got %+v %v, want %s with %q", id, err, code, says)
	}
	if err != nil && strings.Contains(err.Error(), w.idp.ClientSecret) {
		w.Errorf("the error has the client's secret: %v", err)
	}
}

func TestAPersonIsReadFromTheIDToken(t *testing.T) {
	w := start(t, nil)
	got, err := w.signIn()
	if err != nil {
		t.Fatal(err)
	}
	want := openid.Identity{
		Issuer: w.idp.URL, Subject: "248289761001", Name: "Ada Brandt", Email: "ada@example.com", Groups: []string{"dev"},
		GroupsKnown: true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Each of these tokens is one that an attacker, or a provider with a fault, can send.
func TestIDTokensThatLetNobodyIn(t *testing.T) {
	now := time.Now().Unix()
	stranger := testkit.NewSigningKey(t, "k1") // the same name as the provider's
	tests := []struct {
		name   string
		change func(token map[string]any)
		says   string
	}{
		{"of another issuer", func(c map[string]any) { c["iss"] = "https://evil.example" }, "different provider"},
		{"of our issuer with a slash", func(c map[string]any) { c["iss"] = fmt.Sprint(c["iss"], "/") }, "different provider"},
		{"for another client", func(c map[string]any) { c["aud"] = "other" }, "audience"},
		{"for us and another, without azp", func(c map[string]any) { c["aud"] = []string{"penstock", "other"} }, "aud, azp"},
		{
			"for us and another, who asked for it",
			func(c map[string]any) { c["aud"], c["azp"] = []string{"penstock", "other"}, "other" }, "aud, azp",
		},
		{"for us, asked for by another", func(c map[string]any) { c["azp"] = "other" }, "aud, azp"},
		{"without aud", func(c map[string]any) { delete(c, "aud") }, "audience"},
		{"of another attempt", func(c map[string]any) { c["nonce"] = "other" }, "nonce"},
		{"without a nonce", func(c map[string]any) { delete(c, "nonce") }, "nonce"},
		{"expired", func(c map[string]any) { c["exp"] = now - 1 }, "expired"},
		{"without exp", func(c map[string]any) { delete(c, "exp") }, "expired"},
		{"without iat", func(c map[string]any) { delete(c, "iat") }, "iat"},
		{"issued in two minutes", func(c map[string]any) { c["iat"] = now + 120 }, "future"},
		{"valid in two minutes", func(c map[string]any) { c["nbf"] = now + 120 }, "nbf"},
		{"valid from a text on", func(c map[string]any) { c["nbf"] = "soon" }, ""},
		{"without sub", func(c map[string]any) { delete(c, "sub") }, "sub"},
		{"with a sub of two lines", func(c map[string]any) { c["sub"] = "a\nb" }, "sub"},
		{"with an endless sub", func(c map[string]any) { c["sub"] = strings.Repeat("a", 256) }, "sub"},
		{"with a number as sub", func(c map[string]any) { c["sub"] = 1 }, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := start(t, nil)
			w.idp.Change(func(_, token map[string]any) {
				if token != nil {
					tt.change(token)
				}
			})
			w.refused(penstock.CodeNotAuthorized, tt.says)
		})
	}
	forged := map[string]func(w *world, key jose.JSONWebKey, claims map[string]any) string{
		"signed by a stranger": func(w *world, _ jose.JSONWebKey, claims map[string]any) string {
			return testkit.Sign(w, stranger, jose.RS256, claims)
		},
		"signed with the client's secret": func(w *world, _ jose.JSONWebKey, claims map[string]any) string {
			return testkit.Sign(w, jose.JSONWebKey{Key: []byte(strings.Repeat(w.idp.ClientSecret, 2))}, jose.HS256, claims)
		},
		"signed with the public key as a secret": func(w *world, key jose.JSONWebKey, claims map[string]any) string {
			public, _ := key.Public().MarshalJSON()
			return testkit.Sign(w, jose.JSONWebKey{Key: public}, jose.HS256, claims)
		},
		"not signed": func(_ *world, _ jose.JSONWebKey, claims map[string]any) string {
			encode := base64.RawURLEncoding.EncodeToString
			payload, _ := json.Marshal(claims)
			return encode([]byte(`{"alg":"none"}`)) + "." + encode(payload) + "."
		},
		"with a key of its own": func(w *world, _ jose.JSONWebKey, claims map[string]any) string {
			signer, err := jose.NewSigner(
				jose.SigningKey{Algorithm: jose.RS256, Key: stranger.Key}, (&jose.SignerOptions{EmbedJWK: true}),
			)
			if err != nil {
				w.Fatal(err)
			}
			payload, _ := json.Marshal(claims)
			signed, err := signer.Sign(payload)
			if err != nil {
				w.Fatal(err)
			}
			text, _ := signed.CompactSerialize()
			return text
		},
		"not a token": func(*world, jose.JSONWebKey, map[string]any) string { return "a.b.c" },
	}
	for name, sign := range forged {
		t.Run(name, func(t *testing.T) {
			w := start(t, nil)
			// The provider's document allows all algorithms: it does not decide alone.
			w.idp.Change(func(d, _ map[string]any) {
				if d != nil {
					d["id_token_signing_alg_values_supported"] = []string{"none", "HS256", "RS256"}
				}
			})
			key := w.idp.Key()
			w.idp.Signs(func(claims map[string]any) string { return sign(w, key, claims) })
			w.refused(penstock.CodeNotAuthorized, "not valid here")
		})
	}
}

// Even a provider that publishes a key for it signs nothing with a secret: the client's secret is in many places.
func TestAnIDTokenIsNotSignedWithASecretKeyOfTheProvider(t *testing.T) {
	w := start(t, nil)
	key := jose.JSONWebKey{Key: []byte(strings.Repeat("secret", 8)), KeyID: "s", Algorithm: string(jose.HS256)}
	w.idp.Beside(key)
	w.idp.Change(func(d, _ map[string]any) {
		if d != nil {
			d["id_token_signing_alg_values_supported"] = []string{"HS256"}
		}
	})
	w.idp.Signs(func(claims map[string]any) string { return testkit.Sign(t, key, jose.HS256, claims) })
	w.refused(penstock.CodeNotAuthorized, "no asymmetric algorithm")
}

func TestIDTokensWithHabits(t *testing.T) {
	now := time.Now().Unix()
	for name, change := range map[string]func(c map[string]any){
		"for us and another, asked for by us": func(c map[string]any) {
			c["aud"], c["azp"] = []string{"penstock", "api"}, "penstock"
		},
		"a list of one audience":      func(c map[string]any) { c["aud"] = []string{"penstock"} },
		"azp is null":                 func(c map[string]any) { c["azp"] = nil },
		"a clock half a minute ahead": func(c map[string]any) { c["iat"], c["nbf"] = now+30, now+30 },
		"times with fractions": func(c map[string]any) {
			c["iat"], c["exp"] = float64(now)+0.5, float64(now)+99.5
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t, nil)
			w.idp.Change(func(_, token map[string]any) {
				if token != nil {
					change(token)
				}
			})
			if _, err := w.signIn(); err != nil {
				t.Error(err)
			}
		})
	}
}

// Providers write groups in many ways, and what they do not say is not "no groups".
func TestGroupsAsProvidersWriteThem(t *testing.T) {
	nested := map[string]any{"access": map[string]any{"roles": []string{"dev"}}}
	tests := []struct {
		name   string
		claim  string
		person map[string]any
		info   map[string]any
		want   []string
		says   string
	}{
		{name: "one as a text", person: map[string]any{"groups": "dev"}, want: []string{"dev"}},
		{name: "an empty list", person: map[string]any{"groups": []string{}}, want: []string{}},
		{name: "an empty text", person: map[string]any{"groups": ""}, want: []string{}},
		{
			name:   "twice, with spaces and lines",
			person: map[string]any{"groups": []string{" dev ", "dev", "a\nb", ""}}, want: []string{"dev"},
		},
		{
			name: "as keys", claim: "roles",
			person: map[string]any{"roles": map[string]any{"dev": map[string]any{"org": "x"}}},
			want:   []string{"dev"},
		},
		{name: "nested", claim: "realm.access.roles", person: map[string]any{"realm": nested}, want: []string{"dev"}},
		{
			name: "nested below a name with a dot", claim: "realm.access.roles",
			person: map[string]any{"realm.access": nested["access"]}, want: []string{"dev"},
		},
		{
			name: "a name that is an address", claim: "https://example.com/groups",
			person: map[string]any{"https://example.com/groups": []string{"dev"}}, want: []string{"dev"},
		},
		{name: "only in UserInfo", info: map[string]any{"groups": []string{"dev"}}, want: []string{"dev"}},
		{
			name: "null in the token", person: map[string]any{"groups": nil},
			info: map[string]any{"groups": []string{"dev"}}, want: []string{"dev"},
		},
		{
			name: "UserInfo of somebody else", info: map[string]any{"groups": []string{"dev"}, "sub": "other"},
			says: "no claim groups",
		},
		{name: "nowhere", says: "no claim groups"},
		{name: "null", person: map[string]any{"groups": nil}, says: "no claim groups"},
		{name: "a number", person: map[string]any{"groups": 5}, says: "form that is not known"},
		{name: "a list of numbers", person: map[string]any{"groups": []int{5}}, says: "form that is not known"},
		{name: "too many for a token", person: map[string]any{"hasgroups": true}, says: "too many"},
		{
			name: "too many, as a text, and UserInfo says none", person: map[string]any{"hasgroups": "true"},
			info: map[string]any{"groups": []string{}}, says: "too many",
		},
		{
			name: "elsewhere", says: "too many",
			person: map[string]any{
				"_claim_names":   map[string]any{"groups": "src1"},
				"_claim_sources": map[string]any{"src1": map[string]any{"endpoint": "https://graph.example"}},
			},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := start(t, func(s *openid.Settings) { s.GroupsClaim = tt.claim })
			person := ada()
			delete(person, "groups")
			maps.Copy(person, tt.person)
			w.idp.Person(person)
			if tt.info != nil {
				if tt.info["sub"] == nil {
					tt.info["sub"] = person["sub"]
				}
				w.idp.Info(tt.info)
			}
			if tt.says != "" {
				w.refused(penstock.CodeNotAuthorized, tt.says)
				return
			}
			got, err := w.signIn()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got.Groups); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestGroupsAreNotNeededWhereNothingAsksForThem(t *testing.T) {
	w := start(t, func(s *openid.Settings) { s.Groups = nil })
	w.idp.Person(map[string]any{"sub": "1"})
	if got, err := w.signIn(); err != nil || got.Groups != nil || got.GroupsKnown {
		t.Errorf("got %+v %v", got, err)
	}
}

func TestAnUnverifiedAddressIsNotShown(t *testing.T) {
	for name, verified := range map[string]any{"false": false, "as a text": "false"} {
		t.Run(name, func(t *testing.T) {
			w := start(t, nil)
			person := ada()
			person["email_verified"] = verified
			w.idp.Person(person)
			if got, err := w.signIn(); err != nil || got.Email != "" {
				t.Errorf("got %+v %v", got, err)
			}
		})
	}
}

// The answer of one provider must not go to another (RFC 9207).
func TestACodeOfAnotherProviderIsNotSent(t *testing.T) {
	for name, issuer := range map[string]string{"another": "https://evil.example", "absent": ""} {
		t.Run(name, func(t *testing.T) {
			w := start(t, nil)
			a := attempt()
			address, err := w.client.AuthorizationURL(t.Context(), a)
			if err != nil {
				t.Fatal(err)
			}
			code := w.idp.Visit(t, address).Get("code")
			_, err = w.client.Redeem(t.Context(), a, openid.Answer{Code: code, Issuer: issuer})
			if penstock.CodeOf(err) != penstock.CodeAuthenticationRequired || w.idp.Asked("/token") != 0 {
				t.Errorf("got %v after %d requests", err, w.idp.Asked("/token"))
			}
		})
	}
}

// A code counts once, so it is never tried twice to find out how to authenticate.
func TestTheCodeIsSentOnce(t *testing.T) {
	w := start(t, func(s *openid.Settings) { s.ClientID = "wrong" })
	w.idp.Change(func(d, _ map[string]any) {
		if d != nil {
			d["token_endpoint_auth_methods_supported"] = []string{"client_secret_basic"}
		}
	})
	a := attempt()
	if _, err := w.client.AuthorizationURL(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	_, err := w.client.Redeem(t.Context(), a, openid.Answer{Code: "x", Issuer: w.idp.URL})
	if penstock.CodeOf(err) != penstock.CodeUnavailable || !strings.Contains(err.Error(), "invalid_client") ||
		w.idp.Asked("/token") != 1 {
		t.Errorf("got %v after %d requests", err, w.idp.Asked("/token"))
	}
}

func TestTheVerifierBelongsToTheCode(t *testing.T) {
	w := start(t, nil)
	a := attempt()
	address, err := w.client.AuthorizationURL(t.Context(), a)
	if err != nil {
		t.Fatal(err)
	}
	back := w.idp.Visit(t, address)
	a.Verifier = attempt().Verifier
	_, err = w.client.Redeem(t.Context(), a, openid.Answer{Code: back.Get("code"), Issuer: back.Get("iss")})
	if penstock.CodeOf(err) != penstock.CodeAuthenticationRequired || !strings.Contains(err.Error(), "sign in again") {
		t.Errorf("got %v", err)
	}
}

func TestAProviderThatIsAway(t *testing.T) {
	for _, path := range []string{"/.well-known/openid-configuration", "/token", "/keys", "/userinfo"} {
		t.Run(strings.ReplaceAll(path, "/", " "), func(t *testing.T) {
			w := start(t, nil)
			var passed time.Duration
			w.client.SetNow(func() time.Time { return time.Now().Add(passed) })
			if path == "/userinfo" {
				w.idp.Person(map[string]any{"sub": "1"})
				w.idp.Info(map[string]any{"sub": "1", "groups": []string{"dev"}})
			}
			w.idp.Down(path, true)
			w.refused(penstock.CodeUnavailable, "the identity provider Corp does not answer")
			w.idp.Down(path, false)
			passed = 4 * time.Second // callers that wait for a provider that is away do not each ask
			if _, err := w.signIn(); err != nil {
				t.Errorf("when it is back: %v", err)
			}
		})
	}
}

func TestADiscoveryDocumentThatCannotBeUsed(t *testing.T) {
	for name, tt := range map[string]struct {
		change func(d map[string]any)
		says   string
	}{
		"another issuer": {func(d map[string]any) { d["issuer"] = "https://evil.example" }, "calls itself"},
		"a slash more":   {func(d map[string]any) { d["issuer"] = fmt.Sprint(d["issuer"], "/") }, "every slash"},
		"tokens in clear": {
			func(d map[string]any) { d["token_endpoint"] = "http://login.example/token" },
			"token_endpoint",
		},
		"a script": {
			func(d map[string]any) { d["authorization_endpoint"] = "javascript:alert(1)" },
			"authorization_endpoint",
		},
		"no keys":           {func(d map[string]any) { delete(d, "jwks_uri") }, "jwks_uri"},
		"a list of issuers": {func(d map[string]any) { d["issuer"] = []string{"a"} }, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			w := start(t, nil)
			w.idp.Change(func(d, _ map[string]any) {
				if d != nil {
					tt.change(d)
				}
			})
			w.refused(penstock.CodeUnavailable, tt.says)
		})
	}
}

// An issuer may end with a slash; the address of its document has only one.
func TestAnIssuerWithASlash(t *testing.T) {
	t.Parallel()
	var asked []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Path)
		issuer := "http://" + r.Host + "/o/"
		_ = json.NewEncoder(w).Encode(map[string]string{
			"issuer": issuer, "authorization_endpoint": issuer + "a?tenant=1",
			"token_endpoint": issuer + "t", "jwks_uri": issuer + "k",
		})
	}))
	defer server.Close()
	p, err := openid.New(
		openid.Settings{Name: "Corp", Issuer: server.URL + "/o/", ClientID: "c"}, "https://penstock.example/",
	)
	if err != nil {
		t.Fatal(err)
	}
	address, err := p.AuthorizationURL(t.Context(), attempt())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"/o/.well-known/openid-configuration"}, asked); diff != "" {
		t.Error(diff)
	}
	u, _ := url.Parse(address)
	if q := u.Query(); q.Get("tenant") != "1" || q.Get("scope") != "openid profile email" {
		t.Errorf("the address is %s", address)
	}
}

// A redirect could carry the code and the client's secret to another host.
func TestRedirectsOfAProviderAreNotFollowed(t *testing.T) {
	w := start(t, nil)
	var got bool
	thief := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { got = true }))
	defer thief.Close()
	redirecting := httptest.NewServer(http.RedirectHandler(thief.URL, http.StatusTemporaryRedirect))
	defer redirecting.Close()
	w.idp.Change(func(d, _ map[string]any) {
		if d != nil {
			d["token_endpoint"] = redirecting.URL
		}
	})
	w.refused(penstock.CodeUnavailable, "does not answer")
	if got {
		t.Error("the redirect was followed")
	}
}

// Keys change, and tokens with invented keys cost the provider no requests.
func TestKeysAreReadAgainButNotForEachToken(t *testing.T) {
	w := start(t, nil)
	now := time.Now()
	w.client.SetNow(func() time.Time { return now })
	if _, err := w.signIn(); err != nil {
		t.Fatal(err)
	}
	next := testkit.NewSigningKey(t, "k2")
	old := w.idp.Key()
	w.idp.Signs(func(claims map[string]any) string { return testkit.Sign(t, next, jose.RS256, claims) })
	for range 20 {
		w.refused(penstock.CodeNotAuthorized, "signature")
	}
	if n := w.idp.Asked("/keys"); n != 1 {
		t.Errorf("the keys were asked for %d times within 10 s, want once", n)
	}
	w.idp.Rotate(next)
	now = now.Add(11 * time.Second)
	if _, err := w.signIn(); err != nil {
		t.Errorf("with the new key: %v", err)
	}
	w.idp.Signs(func(claims map[string]any) string { return testkit.Sign(t, old, jose.RS256, claims) })
	w.refused(penstock.CodeNotAuthorized, "signature")
}

func TestAWithdrawnKeyCountsNoLongerThanAnHour(t *testing.T) {
	w := start(t, nil)
	if _, err := w.signIn(); err != nil {
		t.Fatal(err)
	}
	old := w.idp.Key()
	w.idp.Rotate(testkit.NewSigningKey(t, "k2"))
	w.idp.Signs(func(claims map[string]any) string {
		claims["exp"] = time.Now().Add(3 * time.Hour).Unix()
		return testkit.Sign(t, old, jose.RS256, claims)
	})
	w.client.SetNow(func() time.Time { return time.Now().Add(61 * time.Minute) })
	w.refused(penstock.CodeNotAuthorized, "signature")
}

func TestKeysOfOtherKindsStandBesideOurs(t *testing.T) {
	w := start(t, nil)
	for _, beside := range []any{
		map[string]any{"kty": "OKP", "crv": "X448", "x": "AAAA", "kid": "x"},
		map[string]any{"kty": "new"},
		"text",
		map[string]any{"kty": "oct", "k": "AAAA", "kid": "k1"},
	} {
		w.idp.Beside(beside)
	}
	if _, err := w.signIn(); err != nil {
		t.Error(err)
	}
}

// A new secret of the client needs no restart.
func TestTheClientsSecretIsReadWithEachSignIn(t *testing.T) {
	var file string
	w := start(t, func(s *openid.Settings) { file = s.ClientSecretFile })
	if err := os.WriteFile(file, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	w.refused(penstock.CodeUnavailable, "invalid_client")
	if err := os.WriteFile(file, []byte(w.idp.ClientSecret), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := w.signIn(); err != nil {
		t.Error(err)
	}
}

func TestSettingsOfAProvider(t *testing.T) {
	t.Parallel()
	good := openid.Settings{Name: "Corp", Issuer: "https://login.example.com/t/", ClientID: "c"}
	for name, tt := range map[string]struct {
		change func(*openid.Settings)
		says   string
	}{
		"good":            {func(*openid.Settings) {}, ""},
		"on this machine": {func(s *openid.Settings) { s.Issuer = "http://127.0.0.1:5556" }, ""},
		"no name":         {func(s *openid.Settings) { s.Name = "" }, "name"},
		"plain HTTP":      {func(s *openid.Settings) { s.Issuer = "http://login.example.com" }, "https://"},
		"no host":         {func(s *openid.Settings) { s.Issuer = "login.example.com" }, "issuer"},
		"a password":      {func(s *openid.Settings) { s.Issuer = "https://a:b@login.example.com" }, "issuer"},
		"no client":       {func(s *openid.Settings) { s.ClientID = "" }, "client_id"},
		"a role in words": {
			func(s *openid.Settings) { s.Groups = map[string]penstock.Role{"dev": "owner"} },
			"viewer, user, editor, admin",
		},
		"a broken pattern": {
			func(s *openid.Settings) { s.Groups = map[string]penstock.Role{"[": "user"} },
			"pattern",
		},
		"scopes in one": {func(s *openid.Settings) { s.Scopes = []string{"openid groups"} }, "scopes"},
		"a secret nowhere": {
			func(s *openid.Settings) { s.ClientSecretFile = "/nowhere/secret" },
			"client_secret_file",
		},
		"no certificate":    {func(s *openid.Settings) { s.CAFile = "/dev/null" }, "ca_file"},
		"nowhere authority": {func(s *openid.Settings) { s.CAFile = "/nowhere/ca" }, "ca_file"},
	} {
		s := good
		tt.change(&s)
		_, err := openid.New(s, "https://penstock.example/")
		if (err == nil) != (tt.says == "") || err != nil && !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: got %v, want %q", name, err, tt.says)
		}
	}
}

func TestRolesOfGroups(t *testing.T) {
	t.Parallel()
	s := openid.Settings{Groups: map[string]penstock.Role{
		"dev": penstock.EditorRole, "/team/*": penstock.UserRole, "ops-[a-z]": penstock.ViewerRole, "*": penstock.ViewerRole,
	}}
	for _, tt := range []struct {
		groups []string
		want   []penstock.Role
	}{
		{nil, nil},
		{[]string{"dev"}, []penstock.Role{penstock.ViewerRole, penstock.EditorRole}},
		{[]string{"/team/a"}, []penstock.Role{penstock.UserRole}},
		{[]string{"/team/a/b"}, nil}, // a star ends at a slash
		{[]string{"DEV"}, []penstock.Role{penstock.ViewerRole}},
		{[]string{"x", "/team/x"}, []penstock.Role{penstock.ViewerRole, penstock.UserRole}},
	} {
		if diff := cmp.Diff(tt.want, s.RolesOf(tt.groups)); diff != "" {
			t.Errorf("%v: %s", tt.groups, diff)
		}
	}
}
