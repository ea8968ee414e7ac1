// Package testkit contains helpers for tests: a fresh database on each engine ([Engines],
// [Stores]), a server with the real binary ([Serve]), a model server that follows a script
// ([NewModel]), a KMS ([NewKMS]), checks against the contract ([Contract]), and a way to wait
// ([Eventually]).
//
// Tests can run in parallel: each has its own resources, which end with the test.
package testkit

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// Patience is how many times longer than on an idle machine a test waits before it fails.
const Patience = 6

// Eventually waits until check returns nil, which takes at most within on an idle machine. After
// [Patience] times that, it fails the test with check's last error. Call it from the test's own goroutine.
func Eventually(tb testing.TB, within time.Duration, check func() error) {
	tb.Helper()
	if err := poll(Patience*within, check); err != nil {
		tb.Fatal(err)
	}
}

// Log is a log that can be read while it is written. Its zero value is empty.
type Log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *Log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *Log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// TakesLong skips a test that takes a large part of the machine, unless all tests run, as in `make
// check`. `make test` passes -short.
func TakesLong(tb testing.TB) {
	tb.Helper()
	if testing.Short() {
		tb.Skip("this test takes long: make check runs it")
	}
}

// TakesLongOnPostgres is [TakesLong] for a test of both engines whose part on SQLite `make test` runs.
func TakesLongOnPostgres(tb testing.TB, url string) {
	tb.Helper()
	if strings.HasPrefix(url, "postgres:") {
		TakesLong(tb)
	}
}

// poll calls check often at first, less often the longer it takes, but at least four times a second,
// and once more at the end.
func poll(within time.Duration, check func() error) error {
	began := time.Now()
	deadline := began.Add(within)
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
		pause = min(2*pause, max(50*time.Millisecond, time.Since(began)/40), 250*time.Millisecond)
	}
}
