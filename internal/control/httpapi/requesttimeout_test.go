package httpapi_test

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/internal/testkit"
)

// A database that accepts requests but never responds (a frozen machine, a network that drops
// packets) does not block callers forever.
func TestDatabaseThatDoesNotRespond(t *testing.T) {
	t.Parallel()
	through, speak := testkit.Silenced(t, testkit.Postgres(t), "INSERT INTO runs")
	w := start(t, func(s *settings) {
		s.storeURL = through
		s.api.RequestTimeout = 5 * time.Second // enough for a busy machine that is not silent
	})
	create := func() response {
		return w.do("POST", "/api/v1/agent/runs", map[string]any{"prompt": "p"}, "Authorization", "Bearer "+w.admin)
	}
	for range 3 { // there are two that commit
		if a := create(); a.status != http.StatusServiceUnavailable || a.header.Get("Retry-After") != "5" ||
			a.header.Get("X-Should-Retry") != "true" {
			t.Errorf("got %d, Retry-After %q: %s", a.status, a.header.Get("Retry-After"), a.body)
		}
	}
	w.must(http.StatusOK, "GET", "/api/v1/agent/runs", nil)
	speak()
	testkit.Eventually(t, time.Minute, func() error {
		if a := create(); a.status != http.StatusOK {
			return errors.New(a.body)
		}
		return nil
	})
}
