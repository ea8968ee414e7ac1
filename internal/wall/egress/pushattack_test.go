package egress

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
)

// pushWorld is a proxy before which all hosts of the policy have gates.
func pushWorld(t *testing.T, s setup) (*world, *[]string) {
	t.Helper()
	var got []string
	s.options = func(o *Options) {
		o.Push = func(host string, _ int, path string) http.Handler {
			if host != "git.example.test" {
				return nil
			}
			return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				got = append(got, r.Method+" "+path)
				_, _ = io.WriteString(w, "gate")
			})
		}
	}
	return newWorld(t, s), &got
}

// A host that the policy refuses gets no push either, in any form of request.
func TestAttackAPushToARefusedHost(t *testing.T) {
	t.Parallel()
	w, got := pushWorld(t, setup{rules: []penstock.NetworkRule{{Host: "other.example"}}})
	_, text := w.raw(t, "GET https://git.example.test/acme/shop.git/info/refs?service=git-receive-pack HTTP/1.1\r\n"+
		"Host: x\r\nConnection: close\r\n\r\n")
	_, post := w.raw(t, "POST http://git.example.test:443/acme/shop.git/git-receive-pack HTTP/1.1\r\n"+
		"Host: x\r\nContent-Length: 4\r\nConnection: close\r\n\r\n0000")
	if len(*got) > 0 {
		t.Errorf("the gate of a refused host serves %q: %s %s", *got, text, post)
	}
}

// Without TLS, a request is none for the forge of the gate.
func TestAPushWithoutTLSIsNotForTheGate(t *testing.T) {
	t.Parallel()
	w, got := pushWorld(t, setup{rules: []penstock.NetworkRule{{Host: "git.example.test", Ports: []int{443}}}})
	_, _ = w.raw(t, "POST http://git.example.test:443/acme/shop.git/git-receive-pack HTTP/1.1\r\n"+
		"Host: x\r\nContent-Length: 4\r\nConnection: close\r\n\r\n0000")
	if len(*got) > 0 {
		t.Errorf("the gate serves %q", *got)
	}
}

// Files and searches that have the name of a service of git are no pushes.
func TestAttackReadingIsNoPush(t *testing.T) {
	t.Parallel()
	w, got := pushWorld(t, setup{
		rules: []penstock.NetworkRule{{Host: "git.example.test", Methods: []string{"GET"}}},
		serve: func(rw http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(rw, "file") },
	})
	for _, path := range []string{
		"/api/v1/repos/acme/shop/contents/Documentation/git-receive-pack.txt", "/search?q=receive-pack",
		"/acme/shop/raw/main/builtin/git-receive-pack.c",
	} {
		if status, text := w.do(t, "GET", w.url("git.example.test", path), ""); !strings.Contains(text, "file") {
			t.Errorf("GET %s: %d %s", path, status, text)
		}
	}
	t.Log(*got)
}

// Spellings of a push: none reaches the host.
func TestAttackSpellings(t *testing.T) {
	t.Parallel()
	w, got := pushWorld(t, setup{rules: []penstock.NetworkRule{
		{Host: "git.example.test", Methods: []string{"GET", "POST"}},
	}})
	for _, path := range []string{
		"/acme/shop.git/git-receive-pack", "/acme/shop.git/%67it-receive-pack", "/acme/shop.git/git%2dreceive%2Dpack",
		"/acme/shop.git//git-receive-pack", "/acme/shop.git/git-receive-pack/", "/acme/shop.git/./git-receive-pack",
		"/acme/shop.git/x/../git-receive-pack", "/acme/shop.git%2fgit-receive-pack", "/acme/shop.git/git-receive-pack;x",
		"/acme/shop.git/info/refs?x=1&service=git-receive-pack", "/acme/shop.git/info/refs?service=git%2dreceive-pack",
		"/acme/shop.git/info/refs?service=git-receive%2Dpack", "/acme/shop.git/info/refs?service=%67it%2Dreceive%2Dpack",
		"/acme/shop.git/info/refs?service=git-upload-pack&service=git%2Dreceive%2Dpack",
		"/acme/shop.git/info/refs?service=git-receive-pac%6B",
		"/acme/shop.git/Git-Receive-Pack", "/acme/shop.git/git-receive-pac%4b",
	} {
		for _, method := range []string{"GET", "POST"} {
			before := len(w.requests())
			status, _ := w.do(t, method, w.url("git.example.test", path), "")
			if len(w.requests()) > before {
				t.Errorf("%s %s reaches the host: %d", method, path, status)
			}
		}
	}
	_ = got
}
