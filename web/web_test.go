package web

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/fstest"
)

func built() http.Handler {
	return handlerOf(fstest.MapFS{
		"dist.html":               {Data: []byte("no dashboard")},
		"dist/index.html":         {Data: []byte(`<meta name="csp-nonce" nonce="PENSTOCK_CSP_NONCE">`)},
		"dist/.built":             {Data: []byte("of the build")},
		"dist/assets/a-1.js":      {Data: []byte("let a")},
		"dist/assets/a-1.js.br":   {Data: []byte("BR")},
		"dist/assets/a-1.js.gz":   {Data: []byte("GZ")},
		"dist/assets/small-2.css": {Data: []byte("a{}")},
	})
}

func ask(t *testing.T, h http.Handler, method, path string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, nil)
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestFilesAreSentInTheSmallestAcceptedEncoding(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, path, accept string
		coding, body       string
	}{
		{"brotli before gzip", "/assets/a-1.js", "gzip, deflate, br, zstd", "br", "BR"},
		{"gzip where brotli is not taken", "/assets/a-1.js", "gzip", "gzip", "GZ"},
		{"gzip where brotli is refused", "/assets/a-1.js", "br;q=0, gzip;q=0.5", "gzip", "GZ"},
		{"as it is where nothing is taken", "/assets/a-1.js", "", "", "let a"},
		{"as it is where it has no other form", "/assets/small-2.css", "br, gzip", "", "a{}"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := ask(t, built(), "GET", tt.path, "Accept-Encoding", tt.accept)
			if got.Code != 200 || got.Header().Get("Content-Encoding") != tt.coding || got.Body.String() != tt.body {
				t.Errorf(
					"got %d %q %q, want 200 %q %q", got.Code, got.Header().Get("Content-Encoding"), got.Body, tt.coding, tt.body,
				)
			}
			if cache := got.Header().Get("Cache-Control"); cache != "public, max-age=31536000, immutable" {
				t.Errorf("got Cache-Control %q", cache)
			}
		})
	}
}

func TestAFileIsNotSentTwice(t *testing.T) {
	t.Parallel()
	h := built()
	tag := ask(t, h, "GET", "/assets/a-1.js").Header().Get("ETag")
	if got := ask(t, h, "GET", "/assets/a-1.js", "If-None-Match", tag); got.Code != http.StatusNotModified ||
		got.Body.Len() > 0 {
		t.Errorf("got %d with %d bytes, want 304 without", got.Code, got.Body.Len())
	}
}

func TestFilesThatAreNotTheDashboards(t *testing.T) {
	t.Parallel()
	for _, path := range []string{
		"/assets/", "/assets/b.js", "/assets/a-1.js.br", "/assets/../index.html", "/assets/../.built",
		"/assets/%2e%2e/index.html", "/assets//a-1.js",
	} {
		got := ask(t, built(), "GET", path)
		if got.Code != http.StatusNotFound || got.Header().Get("Cache-Control") != "no-store" {
			t.Errorf(
				"%s: got %d, Cache-Control %q; want a 404 that is not kept", path, got.Code, got.Header().Get("Cache-Control"),
			)
		}
	}
}

func TestThePageHasTheNonceOfItsPolicy(t *testing.T) {
	t.Parallel()
	h := built()
	first, second := ask(t, h, "GET", "/runs"), ask(t, h, "GET", "/runs")
	_, rest, _ := strings.Cut(first.Header().Get("Content-Security-Policy"), "'nonce-")
	nonce, _, _ := strings.Cut(rest, "'")
	if len(nonce) != 22 || !strings.Contains(first.Body.String(), `nonce="`+nonce+`"`) {
		t.Errorf("got nonce %q in the policy, page %s", nonce, first.Body)
	}
	if first.Body.String() == second.Body.String() {
		t.Error("two pages have the same nonce")
	}
}

func TestWithoutADashboardAPageExplainsHowToGetIt(t *testing.T) {
	t.Parallel()
	h := handlerOf(fstest.MapFS{"dist.html": {Data: []byte("no dashboard")}})
	if got := ask(t, h, "GET", "/runs/x"); got.Code != http.StatusOK || got.Body.String() != "no dashboard" {
		t.Errorf("got %d %s", got.Code, got.Body)
	}
	if got := ask(t, h, "GET", "/assets/a-1.js"); got.Code != http.StatusNotFound {
		t.Errorf("a file: got %d, want 404", got.Code)
	}
	if page, err := files.ReadFile("dist.html"); err != nil || !strings.Contains(string(page), "make build") {
		t.Errorf("the page of this build: got %s, %v", page, err)
	}
}

func TestHeadHasNoBody(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/", "/assets/a-1.js"} {
		if got := ask(t, built(), "HEAD", path); got.Code != 200 || got.Body.Len() > 0 ||
			got.Header().Get("Content-Length") == "" {
			t.Errorf(
				"%s: got %d with %d bytes, Content-Length %q", path, got.Code, got.Body.Len(), got.Header().Get("Content-Length"),
			)
		}
	}
}
