package openid

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/oauth2"

	"github.com/penstock-dev/penstock"
)

// Provider is an identity provider. It is safe for concurrent use.
type Provider struct {
	Settings

	redirect string
	client   *http.Client
	now      func() time.Time

	mu     sync.Mutex
	found  *document
	err    error     // of the last attempt to find it
	asked  time.Time // when that was
	keys   []key
	listed time.Time // when the keys were last asked for
}

// document is what a provider says about itself: OpenID Connect Discovery 1.0, section 3.
type document struct {
	Issuer      string   `json:"issuer"`
	AuthURL     string   `json:"authorization_endpoint"`
	TokenURL    string   `json:"token_endpoint"`
	UserInfoURL string   `json:"userinfo_endpoint"`
	KeysURL     string   `json:"jwks_uri"`
	Algorithms  []string `json:"id_token_signing_alg_values_supported"`
	ClientAuth  []string `json:"token_endpoint_auth_methods_supported"`
	SendsIssuer bool     `json:"authorization_response_iss_parameter_supported"`
}

// Limits of a provider's answers.
const (
	answerTime  = 10 * time.Second
	answerBytes = 1 << 20
	// A document counts for an hour, and a failure for some seconds: callers that wait do not each wait for it.
	documentAge = time.Hour
	failureAge  = 3 * time.Second
)

// New makes a provider. redirect is the page to which it sends browsers back.
func New(s Settings, redirect string) (*Provider, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	transport := &http.Transport{Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true}
	if s.CAFile != "" {
		pem, err := os.ReadFile(s.CAFile)
		if err != nil {
			return nil, fmt.Errorf("ca_file: %w", err)
		}
		roots, err := x509.SystemCertPool()
		if err != nil {
			roots = x509.NewCertPool()
		}
		if !roots.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("ca_file: %s has no certificate in PEM", s.CAFile)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
	}
	if _, err := s.clientSecret(); err != nil {
		return nil, fmt.Errorf("client_secret_file: %w", err)
	}
	return &Provider{
		Settings: s, redirect: redirect, now: time.Now,
		client: &http.Client{
			Transport: bounded{transport}, Timeout: answerTime,
			// A redirect could carry a code and the secret of the client to another host.
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// bounded cuts long answers.
type bounded struct{ http.RoundTripper }

func (b bounded) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := b.RoundTripper.RoundTrip(r)
	if err == nil {
		response.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(response.Body, answerBytes), response.Body}
	}
	return response, err
}

// clientSecret reads the secret of the client, or "" for a public client.
func (s Settings) clientSecret() (string, error) {
	if s.ClientSecretFile == "" {
		return "", nil
	}
	content, err := os.ReadFile(s.ClientSecretFile)
	if err != nil {
		return "", err
	}
	secret := strings.TrimSpace(string(content))
	if secret == "" {
		return "", fmt.Errorf("%s is empty", s.ClientSecretFile)
	}
	return secret, nil
}

func notAuthorized(format string, args ...any) error {
	return penstock.Errorf(penstock.CodeNotAuthorized, format, args...)
}

// away is the error of a provider that does not answer, or not as its standard says. Others can sign in later.
func (s Settings) away(cause error, format string, args ...any) error {
	return &penstock.Error{
		Code: penstock.CodeUnavailable, Cause: cause,
		Detail: fmt.Sprintf("the identity provider %s %s", s.Name, fmt.Sprintf(format, args...)),
	}
}

// document returns what the provider says about itself.
func (p *Provider) document(ctx context.Context) (*document, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	age := p.now().Sub(p.asked)
	if p.found != nil && age < documentAge {
		return p.found, nil
	}
	if p.err != nil && age < failureAge {
		return nil, p.err
	}
	// Others wait for the answer, so it does not end with this caller's request.
	p.found, p.err = p.discover(context.WithoutCancel(ctx))
	p.asked = p.now()
	return p.found, p.err
}

func (p *Provider) discover(ctx context.Context) (*document, error) {
	var d document
	// A slash at the end of an issuer is part of it, but not of this address (section 4.1).
	if err := p.get(ctx, strings.TrimSuffix(p.Issuer, "/")+"/.well-known/openid-configuration", &d); err != nil {
		return nil, p.away(err, "does not answer: its discovery document cannot be read")
	}
	if d.Issuer != p.Issuer {
		return nil, p.away(
			nil, "calls itself %.200q, and auth.providers says issuer: %q; both must be equal, with every slash",
			d.Issuer, p.Issuer,
		)
	}
	for _, needed := range []struct{ name, url string }{
		{"authorization_endpoint", d.AuthURL}, {"token_endpoint", d.TokenURL}, {"jwks_uri", d.KeysURL},
	} {
		if err := endpoint(needed.url); err != nil {
			return nil, p.away(err, "has no usable %s in its discovery document", needed.name)
		}
	}
	if endpoint(d.UserInfoURL) != nil {
		d.UserInfoURL = ""
	}
	return &d, nil
}

// endpoint checks an address of a discovery document, which may have a query.
func endpoint(url string) error {
	address, _, _ := strings.Cut(url, "?")
	return checkURL(address)
}

// get reads JSON.
func (p *Provider) get(ctx context.Context, url string, into any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	r.Header.Set("Accept", "application/json")
	response, err := p.client.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s: %s", url, response.Status)
	}
	if err := json.NewDecoder(response.Body).Decode(into); err != nil {
		return fmt.Errorf("%s: %w", url, err)
	}
	return nil
}

// oauth is the client of the code flow.
func (p *Provider) oauth(d *document) (*oauth2.Config, error) {
	secret, err := p.clientSecret()
	if err != nil {
		return nil, p.away(err, "cannot be asked: the file of the client's secret cannot be read")
	}
	// A code can be tried once, so the way to authenticate is not found out by trying (section 3: basic, unless the
	// document says otherwise).
	style := oauth2.AuthStyleInHeader
	if secret == "" || d.ClientAuth != nil && !slices.Contains(d.ClientAuth, "client_secret_basic") {
		style = oauth2.AuthStyleInParams
	}
	scopes := p.Scopes
	if scopes == nil {
		scopes = []string{"profile", "email"}
	}
	if !slices.Contains(scopes, "openid") {
		scopes = append([]string{"openid"}, scopes...)
	}
	return &oauth2.Config{
		ClientID: p.ClientID, ClientSecret: secret, RedirectURL: p.redirect, Scopes: scopes,
		Endpoint: oauth2.Endpoint{AuthURL: d.AuthURL, TokenURL: d.TokenURL, AuthStyle: style},
	}, nil
}

// Attempt is one attempt to sign in. Its values are random; only the browser and its server know Verifier and Nonce
// until the code is redeemed.
type Attempt struct {
	State    string
	Nonce    string
	Verifier string // of PKCE: 43 to 128 characters
}

// AuthorizationURL returns where the browser goes.
func (p *Provider) AuthorizationURL(ctx context.Context, a Attempt) (string, error) {
	d, err := p.document(ctx)
	if err != nil {
		return "", err
	}
	c, err := p.oauth(d)
	if err != nil {
		return "", err
	}
	return c.AuthCodeURL(
		a.State, oauth2.S256ChallengeOption(a.Verifier), oauth2.SetAuthURLParam("nonce", a.Nonce),
	), nil
}
