package image

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote/transport"

	"github.com/penstock-dev/penstock"
)

// Login is a user of a registry. Its zero value is nobody: then the credentials of this machine
// apply, from Docker (config.json) and its helpers.
type Login struct {
	Username, Password string
	// Secret is the managed secret that has both, for errors.
	Secret string
	// Hosts may get the login, over TLS, and no other host may: HOST for port 443, or HOST:PORT.
	Hosts []string
}

// ParseLogin reads USER:PASSWORD, as in an Authorization header of HTTP.
func ParseLogin(text string) (Login, error) {
	user, password, ok := strings.Cut(strings.TrimSpace(text), ":")
	if !ok || user == "" || password == "" {
		return Login{}, errors.New("the credentials of a registry have the form USER:PASSWORD")
	}
	return Login{Username: user, Password: password}, nil
}

// IsZero reports whether l is nobody.
func (l Login) IsZero() bool { return l.Username == "" && l.Password == "" }

// Doubt says what may be wrong with the credentials that were sent to a registry.
func (l Login) Doubt() string {
	if l.Secret == "" {
		return "its credentials are missing or wrong"
	}
	return "the credentials in the secret " + l.Secret + " are wrong"
}

// loginError is the error of a request that would have given a login to a host that must not get it.
type loginError struct{ reason string }

func (e *loginError) Error() string { return e.reason }

// hostsOfDockerHub are the hosts of the one registry whose name in references is no host.
var hostsOfDockerHub = []string{"index.docker.io", "registry-1.docker.io", "auth.docker.io"}

// check returns a *loginError if l must not be sent to the host of u.
func (l Login) check(u *url.URL) error {
	host := penstock.CanonicalHost(u.Hostname())
	listed := host
	if port := u.Port(); port != "" && port != "443" {
		listed = net.JoinHostPort(host, port)
	}
	switch {
	case u.Scheme != "https":
		return &loginError{fmt.Sprintf("the credentials in the secret %s are sent only over TLS, which %s does not use",
			l.Secret, u.Host)}
	case slices.Contains(l.Hosts, listed):
		return nil
	case slices.Contains(hostsOfDockerHub, listed) && slices.Contains(l.Hosts, penstock.DockerHub):
		return nil
	}
	return &loginError{fmt.Sprintf("the registry asks to send the credentials in the secret %s to %s, which the secret "+
		"does not list: if that is right, add %s to the hosts of the secret", l.Secret, listed, listed)}
}

// guarded sends the requests of a pull with a login. The library sends a login where the registry
// tells it to, so the guard is here, where each request and each redirect passes.
type guarded struct {
	login Login
	next  http.RoundTripper
}

func (g guarded) RoundTrip(r *http.Request) (*http.Response, error) {
	scheme, _, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	// The token that a login gives is worth as much as the login for a while. A pull sends a POST
	// only to log in with a form (OAuth 2.0).
	if r.URL.Scheme != "https" || strings.EqualFold(scheme, "basic") || r.Method == http.MethodPost {
		if err := g.login.check(r.URL); err != nil {
			return nil, err
		}
	}
	return g.next.RoundTrip(r)
}

// CheckLogin returns a *PullError if a program that pulls ref with l would send l to a host that must
// not get it. It asks the registry where it wants logins.
func CheckLogin(ctx context.Context, ref name.Reference, l Login, next http.RoundTripper) error {
	challenge, err := transport.Ping(ctx, ref.Context().Registry, guarded{l, next})
	if err != nil {
		p := pull{image: ref.String(), login: l, registry: ref.Context().RegistryStr()}
		return p.explain(err)
	}
	to := &url.URL{Scheme: "https", Host: ref.Context().RegistryStr()}
	if challenge.Insecure {
		to.Scheme = "http"
	}
	if strings.EqualFold(challenge.Scheme, "bearer") {
		if to, err = url.Parse(challenge.Parameters["realm"]); err != nil {
			return &PullError{ref.String(), "its registry asks for logins at an invalid URL", false}
		}
	}
	if err := l.check(to); err != nil {
		return &PullError{ref.String(), err.Error(), false}
	}
	return nil
}
