package worker

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock/internal/wall/gate"
)

// A setup command of an environment pushes nothing, and the agent only to its own repositories.
func TestWhoServesAPush(t *testing.T) {
	t.Parallel()
	ready := false
	own := pushGate{
		Gate: gate.New(t.Context(), gate.Options{}), address: "git.example.com:443", path: "/acme/shop", name: "acme/shop",
	}
	p := pushGates{list: []pushGate{own}, ready: func() bool { return ready }}
	says := func(path string) string {
		h := p.handler("git.example.com", 443, path)
		if _, open := h.(pushGate); open {
			return "open"
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil))
		return w.Body.String()
	}
	if got := says("/acme/shop.git"); !strings.Contains(got, "the preparation of an environment pushes nothing") {
		t.Errorf("while the environment is prepared: %q", got)
	}
	ready = true
	for _, path := range []string{"/acme/shop.git", "/acme/shop", "/ACME/Shop.git"} {
		if got := says(path); got != "open" {
			t.Errorf("%s: %q", path, got)
		}
	}
	for _, path := range []string{"/acme/secret.git", "//acme/shop.git", "/acme/shop/", "/acme/shop.git.git", ""} {
		if got := says(path); !strings.Contains(got, "may push to acme/shop only") {
			t.Errorf("%s: %q", path, got)
		}
	}
	if p.handler("other.example.com", 443, own.path) != nil || p.handler("git.example.com", 80, own.path) != nil {
		t.Error("a gate serves another host")
	}
}
