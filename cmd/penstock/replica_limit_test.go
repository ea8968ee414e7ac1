package main_test

import (
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/penstock-dev/penstock/internal/testkit"
)

// Three servers together admit as many requests of a key as one would, whichever server gets them.
// Another key has a limit of its own.
func TestReplicasShareTheLimitOfAKey(t *testing.T) {
	t.Parallel()
	const limit = 60
	args := []string{"--no-worker", "--limit-requests-per-minute", "60"}
	first := testkit.Serve(t, testkit.ServeOptions{Database: testkit.Postgres(t), Args: args})
	servers := []*testkit.Server{
		first, first.Replica(testkit.ServeOptions{Args: args}), first.Replica(testkit.ServeOptions{Args: args}),
	}
	var admitted, limited atomic.Int64
	var senders sync.WaitGroup
	for i := range 9 {
		senders.Go(func() {
			for range limit / 3 {
				switch got := send(t, servers[i%len(servers)], http.MethodGet, "/me", ""); got.status {
				case http.StatusOK:
					admitted.Add(1)
				case http.StatusTooManyRequests:
					limited.Add(1)
					if got.header.Get("Retry-After") == "" {
						t.Error("a limited request gets no Retry-After")
					}
				default:
					t.Errorf("got %d: %s", got.status, got.body)
				}
			}
		})
	}
	senders.Wait()
	if admitted.Load() != limit || limited.Load() != 2*limit {
		t.Errorf("got %d requests admitted and %d limited, want %d and %d", admitted.Load(), limited.Load(), limit, 2*limit)
	}
	if got := send(t, servers[2], http.MethodGet, "/healthz", ""); got.status == http.StatusTooManyRequests {
		t.Error("a request without a key is limited")
	}
}
