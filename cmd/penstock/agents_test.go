package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/penstock-dev/penstock/internal/harness"
	"github.com/penstock-dev/penstock/internal/install"
)

// A failed check is repeated, less and less often, and at once after a change of the installation.
func TestFailedCheckOfAnAgentIsRepeated(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	version := filepath.Join(dir, "claude", "1.0.0")
	err := errors.Join(
		os.MkdirAll(filepath.Join(version, "node_modules"), 0o700),
		os.Symlink("1.0.0", filepath.Join(dir, "claude", "current")),
	)
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var mu sync.Mutex
		var checks []time.Duration // when, after the start
		fails := errors.New("it never called the model")
		a := &agents{
			store: install.Open(dir), log: slog.New(slog.DiscardHandler), known: map[string]knownAgent{},
			check: func(context.Context, harness.Preset, harness.Program) error {
				mu.Lock()
				defer mu.Unlock()
				checks = append(checks, time.Since(start))
				return fails
			},
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			a.run(ctx)
		}()
		state := func() string {
			usable, all := a.list()
			if len(all) != 1 || (all[0].Reason == "") != (len(usable) == 1) {
				t.Fatalf("got %+v, usable %v", all, usable)
			}
			return all[0].Reason
		}
		pass := func(d time.Duration) {
			mu.Unlock()
			time.Sleep(d)
			mu.Lock()
		}
		mu.Lock()
		defer mu.Unlock()
		pass(time.Hour)
		if len(checks) < 12 || len(checks) > 18 || checks[1] > 15*time.Second || checks[2]-checks[1] < checks[1] {
			t.Errorf("in an hour, it was checked at %v", checks)
		}
		if r := state(); !strings.HasPrefix(r, "Its check failed: it never called the model. The next check is at ") {
			t.Errorf("the reason is %q", r)
		}
		fails = nil
		before := len(checks)
		if err := os.Chtimes(version, time.Time{}, time.Now()); err != nil { // as after remove and install
			t.Fatal(err)
		}
		pass(2 * lookEvery)
		if len(checks) != before+1 || state() != "" {
			t.Errorf("after a change, it was checked %d times: %q", len(checks)-before, state())
		}
		pass(time.Hour)
		if len(checks) != before+1 {
			t.Errorf("it was checked %d times after it had passed", len(checks)-before-1)
		}
		stop()
		<-ended
	})
}
