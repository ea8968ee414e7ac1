package image_test

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/wall/egress"
	"github.com/penstock-dev/penstock/internal/wall/image"
)

// outboundTo reaches registries on this machine, and trusts their certificates.
func outboundTo(t *testing.T, registries ...*testkit.Registry) *egress.Outbound {
	t.Helper()
	o := egress.OutboundOptions{Networks: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, Resolve: here}
	for _, r := range registries {
		o.CA = append(o.CA, r.CA...)
	}
	out, err := egress.NewOutbound(o)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// storeFor returns a store for the images of registries on this machine.
func storeFor(t *testing.T, registries ...*testkit.Registry) *image.Store {
	t.Helper()
	return image.Open(t.TempDir(), image.Options{Outbound: outboundTo(t, registries...)})
}

// here resolves every name to this machine. The certificates of the tests are for *.example.com.
func here(context.Context, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
}

// named returns the URL of a realm with a host name, at the port of a server.
func named(host, address string) string {
	return "https://" + host + ":" + address[strings.LastIndex(address, ":")+1:] + "/token"
}

const (
	user     = "bot"
	password = "only-for-the-registry"
)

func loginFor(hosts ...string) image.Login {
	return image.Login{Username: user, Password: password, Secret: "REGISTRY", Hosts: hosts}
}

// TestAttackLogin is a registry that wants the login elsewhere, or an image whose author wants it there.
// Only what the secret lists may get it.
func TestAttackLogin(t *testing.T) {
	t.Parallel()
	var stolen atomic.Int64
	thief := func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm() // a malformed body has no password
		if _, _, ok := r.BasicAuth(); ok || r.Form.Get("password") != "" {
			stolen.Add(1)
		}
		w.WriteHeader(http.StatusUnauthorized)
	}
	overTLS := httptest.NewTLSServer(http.HandlerFunc(thief))
	t.Cleanup(overTLS.Close)
	plain := httptest.NewServer(http.HandlerFunc(thief))
	t.Cleanup(plain.Close)
	attacks := testkit.NewAttacks(t, "The egress proxy")
	const stopped = "a login goes only to hosts and ports that its secret lists, over TLS"
	for _, a := range []struct {
		name  string
		realm func(r *testkit.Registry) string
		list  func(r *testkit.Registry) []string
		want  string
	}{
		{"a login to a realm on another port", func(*testkit.Registry) string {
			return named("realm.example.com", overTLS.Listener.Addr().String())
		}, nil, "does not list"},
		{"a login to a realm at the usual port", func(*testkit.Registry) string {
			return "https://realm.example.com/token"
		}, nil, "does not list"},
		{"a login to a realm without TLS", func(*testkit.Registry) string { return plain.URL + "/token" }, nil, "https"},
		{"a login to a realm with the registry as its user", func(r *testkit.Registry) string {
			realm := named("realm.example.com", overTLS.Listener.Addr().String())
			return strings.Replace(realm, "//", "//"+strings.Replace(r.Host, ":", "%3A", 1)+"@", 1)
		}, nil, "does not list"},
		{"a login that the realm redirects", func(*testkit.Registry) string {
			redirect := httptest.NewUnstartedServer(http.RedirectHandler(
				named("sub.realm.example.com", overTLS.Listener.Addr().String()), http.StatusTemporaryRedirect,
			))
			redirect.StartTLS()
			t.Cleanup(redirect.Close)
			return named("realm.example.com", redirect.Listener.Addr().String())
		}, func(r *testkit.Registry) []string {
			return []string{r.Host, strings.TrimPrefix(r.Realm[:strings.LastIndex(r.Realm, "/")], "https://")}
		}, ""},
		{"a login to a port of a listed host that is not listed", nil, func(*testkit.Registry) []string {
			return []string{"127.0.0.1"}
		}, "does not list"},
		{"a login of a secret that lists no hosts", nil, func(*testkit.Registry) []string { return nil }, "does not list"},
		{"a login to a listed host with another end", nil, func(r *testkit.Registry) []string {
			return []string{r.Host + "0", "0" + r.Host}
		}, "does not list"},
	} {
		attacks.Run(a.name, stopped, func(t *testing.T) {
			for _, tokens := range []bool{true, false} {
				if !tokens && a.realm != nil {
					continue
				}
				r := testkit.NewTLSRegistry(t)
				r.Push(t, "team/app:1", nil, []testkit.ImageFile{file("a", "a")})
				r.Username, r.Password, r.Tokens = user, password, tokens
				list := []string{r.Host}
				if a.realm != nil {
					r.Realm = a.realm(r)
				}
				if a.list != nil {
					list = a.list(r)
				}
				before := r.Got.Load()
				_, err := storeFor(t, r).Acquire(t.Context(), r.Host+"/team/app:1", loginFor(list...))
				refused, ok := errors.AsType[*image.PullError](err)
				if !ok || refused.Retryable && a.want != "" || !strings.Contains(refused.Reason, a.want) ||
					strings.Contains(refused.Reason, password) {
					t.Errorf("got %v", err)
				}
				if a.list != nil && a.realm == nil && r.Got.Load() != before {
					t.Error("the registry got the login, although the secret does not list it")
				}
			}
		})
	}
	attacks.Run("a login to a registry without TLS", stopped, func(t *testing.T) {
		r := testkit.NewRegistry(t)
		r.Push(t, "team/app:1", nil, []testkit.ImageFile{file("a", "a")})
		r.Username, r.Password = user, password
		before := r.Got.Load()
		_, err := storeFor(t).Acquire(t.Context(), r.Host+"/team/app:1", loginFor(r.Host))
		if err == nil || !strings.Contains(err.Error(), "only over TLS") || r.Got.Load() != before {
			t.Errorf("got %v", err)
		}
	})
	if n := stolen.Load(); n != 0 {
		t.Errorf("the thief got the login %d times", n)
	}
}

// A secret may list the host of the realm, as registries of GitLab need it.
func TestLoginFollowsAListedRealm(t *testing.T) {
	t.Parallel()
	r, realm := testkit.NewTLSRegistry(t), testkit.NewTLSRegistry(t)
	digest := r.Push(t, "team/app:1", nil, []testkit.ImageFile{file("a", "a")})
	for _, each := range []*testkit.Registry{r, realm} {
		each.Username, each.Password, each.Tokens = user, password, true
	}
	r.Realm = named("realm.example.com", realm.Host)
	list := []string{r.Host, strings.TrimSuffix(strings.TrimPrefix(r.Realm, "https://"), "/token")}
	i, err := storeFor(t, r, realm).Acquire(t.Context(), r.Host+"/team/app:1", loginFor(list...))
	if err != nil {
		t.Fatal(err)
	}
	defer i.Release()
	if i.Digest != digest || realm.Got.Load() == 0 {
		t.Errorf("got %s, and the realm %d logins", i.Digest, realm.Got.Load())
	}
}

// TestAttackPull pulls from private services. The error must not tell an open port from a closed one.
func TestAttackPull(t *testing.T) {
	t.Parallel()
	out, err := egress.NewOutbound(egress.OutboundOptions{})
	if err != nil {
		t.Fatal(err)
	}
	mirrored := testkit.NewRegistry(t)
	mirrored.Push(t, "team/app:1", nil, []testkit.ImageFile{file("a", "a")})
	open := testkit.NewRegistry(t)
	open.Push(t, "team/app:1", nil, []testkit.ImageFile{file("a", "a")})
	before := open.Blobs.Load()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := l.Addr().String()
	l.Close()
	_, port, err := net.SplitHostPort(open.Host)
	if err != nil {
		t.Fatal(err)
	}
	reason := func(t *testing.T, name string) string {
		t.Helper()
		_, err := image.Open(t.TempDir(), image.Options{Outbound: out}).Acquire(t.Context(), name, image.Login{})
		refused, ok := errors.AsType[*image.PullError](err)
		if !ok || refused.Retryable {
			t.Fatalf("%s: got %v", name, err)
		}
		return refused.Reason
	}
	attacks := testkit.NewAttacks(t, "The egress proxy")
	for _, a := range []struct{ name, host string }{
		{"an image of a registry on this machine", open.Host},
		{"an image of a closed port on this machine", closed},
		{"an image of localhost", "localhost:" + port},
		{"an image of IPv6 loopback", "[::1]:" + port},
		{"an image of the metadata service", "169.254.169.254"},
		{"an image of a private network", "10.255.255.1:5000"},
	} {
		attacks.Run(a.name, "the worker's own connections have the same address checks, and one error", func(t *testing.T) {
			host, _, err := net.SplitHostPort(a.host)
			if err != nil {
				host = a.host
			}
			if got, want := reason(t, a.host+"/team/app:1"), (&egress.BlockedError{Host: host}).Error(); got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
	attacks.Run("a realm on this machine", "the worker's own connections have the same address checks, and one error",
		func(t *testing.T) {
			public := testkit.NewRegistry(t)
			public.Push(t, "team/app:1", nil, []testkit.ImageFile{file("a", "a")})
			public.Username, public.Password, public.Tokens = user, password, true
			public.Realm = named("realm.example.com", open.Host)
			out, err := egress.NewOutbound(egress.OutboundOptions{Trusted: []string{public.Host}, Resolve: here})
			if err != nil {
				t.Fatal(err)
			}
			_, err = image.Open(t.TempDir(), image.Options{Outbound: out}).Acquire(
				t.Context(), public.Host+"/team/app:1", image.Login{})
			if err == nil || !strings.Contains(err.Error(), (&egress.BlockedError{Host: "realm.example.com"}).Error()) {
				t.Errorf("got %v", err)
			}
		})
	if open.Blobs.Load() != before {
		t.Error("the registry was asked")
	}

	// What the operator names as a mirror needs no open network.
	out, err = egress.NewOutbound(egress.OutboundOptions{Trusted: []string{mirrored.Host}})
	if err != nil {
		t.Fatal(err)
	}
	i, err := image.Open(t.TempDir(), image.Options{
		Outbound: out, Mirrors: map[string]string{"registry.example": mirrored.Host},
	}).Acquire(t.Context(), "registry.example/team/app:1", image.Login{})
	if err != nil {
		t.Fatal(err)
	}
	i.Release()
}
