package run

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/internal/supply/git"
)

// An unresponsive remote delays neither the request that needs it nor the shutdown of the server.
func TestSlowRepositoryIsReadInTheBackground(t *testing.T) {
	t.Parallel()
	asked, release := make(chan struct{}, 10), make(chan struct{})
	remote := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer remote.Close()
	defer close(release)
	cache, err := git.Open(t.Context(), git.Options{Dir: t.TempDir(), AllowLocal: true})
	if err != nil {
		t.Fatal(err)
	}
	k := newSkillReader(cache, slog.New(slog.DiscardHandler))
	source, since := git.Source{URL: remote.URL + "/acme/app"}, time.Now()

	for range 2 { // the second request joins the read of the first
		soon, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		if got := k.wait(soon, source, since); !errors.Is(got.err, errStillRead) {
			t.Errorf("got %v, want that it is still being read", got.err)
		}
		cancel()
	}
	<-asked
	start := time.Now()
	k.close()
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("the end took %s", took)
	}
	if len(asked) > 0 {
		t.Error("the remote was asked twice at once")
	}
	if got := k.wait(t.Context(), git.Source{URL: remote.URL + "/acme/lib"}, since); !errors.Is(got.err, errStopping) {
		t.Errorf("after the end: got %v", got.err)
	}
}
