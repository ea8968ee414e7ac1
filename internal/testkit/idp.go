package testkit

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// IDP is an identity provider that does what a test says, honest or not. By default it signs in a person correctly.
type IDP struct {
	*httptest.Server

	ClientID, ClientSecret string

	mu     sync.Mutex
	person map[string]any                 // claims of the ID token
	info   map[string]any                 // of UserInfo; nil: none
	change func(document, token document) // may be nil
	sign   func(claims document) string
	down   map[string]bool // paths that answer 500
	codes  map[string]url.Values
	asked  map[string]int
	more   []any // keys beside its own
	key    jose.JSONWebKey
}

type document = map[string]any

// NewIDP starts a provider that knows a person with these claims.
func NewIDP(t testing.TB, person map[string]any) *IDP {
	t.Helper()
	p := &IDP{
		ClientID: "penstock", ClientSecret: "s3cret of the client", person: person, down: map[string]bool{},
		codes: map[string]url.Values{}, asked: map[string]int{}, key: NewSigningKey(t, "k1"),
	}
	p.sign = func(claims document) string { return Sign(t, p.key, jose.RS256, claims) }
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

// NewSigningKey makes an RSA key.
func NewSigningKey(t testing.TB, id string) jose.JSONWebKey {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	return jose.JSONWebKey{Key: key, KeyID: id, Use: "sig", Algorithm: string(jose.RS256)}
}

// Sign makes a signed token.
func Sign(t testing.TB, key jose.JSONWebKey, algorithm jose.SignatureAlgorithm, claims map[string]any) string {
	t.Helper()
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, nil)
	if err != nil {
		t.Fatal(err)
	}
	payload, err := json.Marshal(claims)
	if err != nil {
		t.Fatal(err)
	}
	signed, err := signer.Sign(payload)
	if err != nil {
		t.Fatal(err)
	}
	text, err := signed.CompactSerialize()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// SecretFile writes a file with the client's secret.
func (p *IDP) SecretFile(t testing.TB) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(path, []byte(p.ClientSecret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Person sets the claims of the person.
func (p *IDP) Person(claims map[string]any) { p.locked(func() { p.person = claims }) }

// Info sets the claims of UserInfo.
func (p *IDP) Info(claims map[string]any) { p.locked(func() { p.info = claims }) }

// Change sets what a test changes: of the discovery document, with token nil, or of an ID token, with document nil.
func (p *IDP) Change(change func(document, token map[string]any)) {
	p.locked(func() { p.change = change })
}

// Signs sets how ID tokens are signed.
func (p *IDP) Signs(sign func(claims map[string]any) string) { p.locked(func() { p.sign = sign }) }

// Down makes a path fail, or work again.
func (p *IDP) Down(path string, down bool) { p.locked(func() { p.down[path] = down }) }

// Rotate gives the provider another key.
func (p *IDP) Rotate(key jose.JSONWebKey) { p.locked(func() { p.key = key }) }

// Key is its key.
func (p *IDP) Key() (key jose.JSONWebKey) {
	p.locked(func() { key = p.key })
	return key
}

// Beside adds a key to the published ones.
func (p *IDP) Beside(key any) { p.locked(func() { p.more = append(p.more, key) }) }

// Asked returns how often a path was asked for.
func (p *IDP) Asked(path string) (n int) {
	p.locked(func() { n = p.asked[path] })
	return n
}

func (p *IDP) locked(do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	do()
}

// Visit does what a browser and its person do at the authorization endpoint: it returns the parameters with which the
// provider sends the browser back.
func (p *IDP) Visit(t testing.TB, address string) url.Values {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	for name, want := range map[string]string{
		"response_type": "code", "code_challenge_method": "S256", "client_id": p.ClientID,
	} {
		if q.Get(name) != want {
			t.Fatalf("the authorization request has %s=%q, want %q", name, q.Get(name), want)
		}
	}
	code := rand.Text()
	p.locked(func() { p.codes[code] = q })
	return url.Values{"state": {q.Get("state")}, "code": {code}, "iss": {p.URL}}
}

// ServeHTTP serves all endpoints of the provider.
func (p *IDP) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked[r.URL.Path]++
	if p.down[r.URL.Path] {
		http.Error(w, "out of order", http.StatusInternalServerError)
		return
	}
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		d := document{
			"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token",
			"jwks_uri": p.URL + "/keys", "id_token_signing_alg_values_supported": []string{"RS256"},
			"authorization_response_iss_parameter_supported": true,
		}
		if p.info != nil {
			d["userinfo_endpoint"] = p.URL + "/userinfo"
		}
		if p.change != nil {
			p.change(d, nil)
		}
		answer(w, d)
	case "/keys":
		answer(w, document{"keys": append([]any{p.key.Public()}, p.more...)})
	case "/userinfo":
		answer(w, p.info)
	case "/token":
		p.token(w, r)
	default:
		http.NotFound(w, r)
	}
}

func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value) // the test sees what is missing
}

func (p *IDP) token(w http.ResponseWriter, r *http.Request) {
	id, secret, _ := r.BasicAuth()
	id, _ = url.QueryUnescape(id)
	secret, _ = url.QueryUnescape(secret)
	asked, known := p.codes[r.FormValue("code")]
	delete(p.codes, r.FormValue("code"))
	challenge := sha256.Sum256([]byte(r.FormValue("code_verifier")))
	fault := ""
	switch {
	case id != p.ClientID || secret != p.ClientSecret:
		fault = "invalid_client"
	case !known || asked.Get("redirect_uri") != r.FormValue("redirect_uri"),
		asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(challenge[:]):
		fault = "invalid_grant"
	}
	if fault != "" {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprintf(w, `{"error": %q, "error_description": "no"}`, fault)
		return
	}
	now := time.Now().Unix()
	claims := document{
		"iss": p.URL, "aud": p.ClientID, "nonce": asked.Get("nonce"), "iat": now, "exp": now + 300,
	}
	maps.Copy(claims, p.person)
	if p.change != nil {
		p.change(nil, claims)
	}
	answer(w, document{"access_token": "at", "token_type": "Bearer", "id_token": p.sign(claims)})
}
