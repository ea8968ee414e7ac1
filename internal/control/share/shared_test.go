package share

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestSharedReads counts the reads of a slow store. No caller gets the result of a read that began
// before its call.
func TestSharedReads(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s SharedRead[int]
		version := 0 // the stored value is the number of reads, which never overlap
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
		var s SharedRead[int]
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

// A caller that joined a panicking read gets an error instead of an empty result.
func TestSharedReadThatPanics(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var s SharedRead[int]
		broken := func(context.Context) (int, error) { panic("broken") }
		slow := func(context.Context) (int, error) { time.Sleep(time.Second); return 1, nil }
		go func() { _, _ = s.Ask(t.Context(), "key", slow) }()
		synctest.Wait() // so that later callers share the next read
		var asked sync.WaitGroup
		for range 5 {
			asked.Go(func() {
				defer func() { _ = recover() }() // of the reading caller
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
