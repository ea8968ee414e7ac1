// Package testkit is what tests share: a fresh database on each engine
// ([Engines], [Stores]), the real binary serving ([Serve]), a model server that
// follows a script ([NewModel]), a KMS ([NewKMS]), the contract that answers are
// held to ([Contract]), and the one way to wait ([Eventually]).
//
// A test may run beside any other: everything here is its own, and is gone
// when it ends.
package testkit

import (
	"fmt"
	"testing"
	"time"
)

// Eventually waits until check returns nil. After within it fails the test with
// check's last error. It must be called from the test's own goroutine.
func Eventually(tb testing.TB, within time.Duration, check func() error) {
	tb.Helper()
	if err := poll(within, check); err != nil {
		tb.Fatal(err)
	}
}

// poll asks soon and often at first, then twenty times a second, and once more
// when the time is over.
func poll(within time.Duration, check func() error) error {
	deadline := time.Now().Add(within)
	pause := time.Millisecond
	for {
		err := check()
		if err == nil {
			return nil
		}
		left := time.Until(deadline)
		if left <= 0 {
			return fmt.Errorf("still not after %s: %w", within, err)
		}
		<-time.After(min(pause, left))
		pause = min(2*pause, 50*time.Millisecond)
	}
}
