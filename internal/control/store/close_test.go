package store_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// Nobody waits for a store that is closed: a write that comes too late fails at once, and one that
// succeeds is stored.
func TestLateWritesFailAtOnce(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, url string) {
		s, err := store.Open(t.Context(), store.Options{URL: url})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		var writers sync.WaitGroup
		var mu sync.Mutex
		var stored []string
		write := func() error {
			run := newRun(nil)
			_, err := s.Runs.Create(ctx, run)
			if err == nil {
				mu.Lock()
				stored = append(stored, run.ID)
				mu.Unlock()
			}
			if errors.Is(err, context.DeadlineExceeded) {
				t.Error("a write waits for a closed store")
			}
			return err
		}
		for range 50 {
			writers.Go(func() {
				for open := true; open; {
					open = write() == nil
				}
			})
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		for range 50 {
			writers.Go(func() {
				if write() == nil {
					t.Error("a write succeeds after the store was closed")
				}
			})
		}
		writers.Wait()
		again := testkit.OpenStore(t, url)
		for _, id := range stored {
			if _, err := again.Runs.Find(t.Context(), store.DefaultTeam, id); err != nil {
				t.Errorf("a write that succeeded: %v", err)
			}
		}
	})
}
