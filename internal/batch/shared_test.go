package batch

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestSharedReads counts the reads of a slow store: nobody is answered by one
// that began before he asked.
func TestSharedReads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s Shared[int]
		version := 0 // what is stored: how often it was read, and never twice at a time
		var one sync.Mutex
		slow := func(context.Context) (int, error) {
			if !one.TryLock() {
				t.Error("two reads of a key at the same time")
			}
			defer one.Unlock()
			version++
			now := version
			time.Sleep(time.Second)
			return now, nil
		}
		var asked sync.WaitGroup
		ask := func(want int) {
			asked.Go(func() {
				if got, err := s.Ask(t.Context(), "key", slow); got != want || err != nil {
					t.Errorf("asked for read %d, got %d, %v", want, got, err)
				}
			})
		}
		ask(1)
		synctest.Wait() // the first read is under way
		for range 20 {
			ask(2)
		}
		time.Sleep(1500 * time.Millisecond) // the second one is
		ask(3)
		ask(3)
		asked.Wait()
		ask(4)
		asked.Wait()
		if len(s.keys) != 0 {
			t.Errorf("%d keys are remembered although nobody asks", len(s.keys))
		}
	})
}

func TestSharedReadOutlivesItsCaller(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s Shared[int]
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		got, err := s.Ask(ctx, "key", func(ctx context.Context) (int, error) { return 1, ctx.Err() })
		if got != 1 || err != nil {
			t.Errorf("a caller that goes away spoils the read of the others: %d, %v", got, err)
		}
		_, err = s.Ask(t.Context(), "key", func(ctx context.Context) (int, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a read that hangs: %v", err)
		}
	})
}

// Whoever joined a read that panics is not answered as if it had found nothing.
func TestSharedReadThatPanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s Shared[int]
		broken := func(context.Context) (int, error) { panic("broken") }
		slow := func(context.Context) (int, error) { time.Sleep(time.Second); return 1, nil }
		go func() { _, _ = s.Ask(t.Context(), "key", slow) }()
		synctest.Wait() // so that those who come share the next one
		var asked sync.WaitGroup
		for range 5 {
			asked.Go(func() {
				defer func() { _ = recover() }() // of the one that reads
				if got, err := s.Ask(t.Context(), "key", broken); err == nil {
					t.Errorf("got %d, want an error", got)
				}
			})
		}
		asked.Wait()
		if len(s.keys) != 0 {
			t.Errorf("%d keys are remembered although nobody asks", len(s.keys))
		}
	})
}
