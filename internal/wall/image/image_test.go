package image_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/internal/wall/egress"
	"github.com/penstock-dev/penstock/internal/wall/image"
)

// scripted is a daemon that has the images whose names contain has, and that must not pull.
func scripted(t *testing.T, has string) *image.Daemon {
	t.Helper()
	dir, err := os.MkdirTemp("", "daemon-") //nolint:usetesting // paths in t.TempDir are too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	server := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.HandlerFunc(
		func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Api-Version", "1.45")
			w.Header().Set("Content-Type", "application/json")
			switch {
			case strings.HasSuffix(r.URL.Path, "/_ping"):
			case strings.HasSuffix(r.URL.Path, "/json") && strings.Contains(r.URL.Path, has):
				digest := strings.Repeat("1", 64)
				_, _ = fmt.Fprintf(w, `{"Id":"sha256:%[1]s","RepoDigests":["registry.test/%[2]s@sha256:%[1]s"]}`, digest, has)
			case strings.HasSuffix(r.URL.Path, "/json"):
				http.Error(w, `{"message":"no such image"}`, http.StatusNotFound)
			default:
				t.Errorf("the daemon got %s %s", r.Method, r.URL)
				http.Error(w, `{"message":"no"}`, http.StatusInternalServerError)
			}
		},
	)}
	t.Cleanup(func() { _ = server.Close() })
	go func() { _ = server.Serve(listener) }()
	d, err := image.NewDaemon("unix://" + socket)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// An image whose registry has no address that is allowed is the one that the daemon has. Nothing is
// pulled.
func TestAnImageOfABlockedRegistry(t *testing.T) {
	t.Parallel()
	d := scripted(t, "team/known")
	for name, resolve := range map[string]func(context.Context, string) ([]netip.Addr, error){
		"no such name": func(context.Context, string) ([]netip.Addr, error) {
			return nil, &net.DNSError{IsNotFound: true}
		},
		"a private address": func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.IPv6Loopback()}, nil
		},
	} {
		out, err := egress.NewOutbound(egress.OutboundOptions{Resolve: resolve})
		if err != nil {
			t.Fatal(err)
		}
		d.Outbound = out
		got, err := d.Acquire(t.Context(), "registry.test/team/known:1", image.Login{})
		if err != nil || got.Pulled || !strings.HasPrefix(got.Digest, "sha256:1111") {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
		_, err = d.Acquire(t.Context(), "registry.test/team/other:1", image.Login{})
		if refused, ok := errors.AsType[*image.PullError](err); !ok || refused.Retryable {
			t.Errorf("%s: an image that the daemon lacks: got %v", name, err)
		}
	}
}
