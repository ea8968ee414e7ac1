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

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/execution/harness"
	"github.com/penstock-dev/penstock/internal/execution/install"
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

// An agent that passed its check is usable at once after a restart, as long as nothing of it has
// changed. Damage that comes later is noticed without a restart.
func TestAPassedCheckSurvivesARestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	version := filepath.Join(dir, "claude", "1.0.0")
	file := filepath.Join(version, "node_modules", "cli.js")
	err := errors.Join(
		os.MkdirAll(filepath.Dir(file), 0o700),
		os.WriteFile(file, []byte("works"), 0o600),
		os.Symlink("1.0.0", filepath.Join(dir, "claude", "current")),
	)
	if err != nil {
		t.Fatal(err)
	}
	settings := "release 1"
	// start runs a worker for a while. It returns how often it checked the agent, and the reason at the end.
	start := func(while time.Duration, fails error, meanwhile func()) (checks int, reason string) {
		synctest.Test(t, func(t *testing.T) {
			a := &agents{
				store: install.Open(dir), log: slog.New(slog.DiscardHandler), known: map[string]knownAgent{},
				passed: passedChecks(filepath.Join(dir, passedFile)),
				fingerprint: func(p harness.Program) (string, error) {
					return fingerprint(settings, p.Installed)
				},
				check: func(context.Context, harness.Preset, harness.Program) error {
					checks++
					return fails
				},
			}
			ctx, stop := context.WithTimeout(t.Context(), while)
			defer stop()
			if meanwhile != nil {
				time.AfterFunc(while/2+time.Second, meanwhile) // between two looks
			}
			a.run(ctx)
			_, all := a.list()
			reason = all[0].Reason
		})
		return checks, reason
	}
	expect := func(step string, fails error, meanwhile func(), most int, reason string) {
		t.Helper()
		checks, got := start(time.Minute*20, fails, meanwhile)
		if checks != most || !strings.HasPrefix(got, reason) || reason == "" && got != "" {
			t.Errorf("%s: %d checks, want %d; the reason is %q", step, checks, most, got)
		}
	}
	broken := errors.New("broken")
	expect("first start", nil, nil, 1, "")
	expect("restart", broken, nil, 0, "")
	settings = "release 2"
	expect("another release", nil, nil, 1, "")
	expect("restart of that", broken, nil, 0, "")
	if err := os.WriteFile(file, []byte("breaks"), 0o600); err != nil {
		t.Fatal(err)
	}
	if checks, reason := start(5*time.Second, broken, nil); checks != 1 || !strings.HasPrefix(reason, "Its check failed") {
		t.Errorf("a changed file: %d checks, %q", checks, reason)
	}
	if checks, _ := start(5*time.Second, broken, nil); checks != 1 {
		t.Errorf("a restart after a failed check: %d checks", checks)
	}
	expect("repaired", nil, nil, 1, "")
	expect("a file changes while it runs", nil, func() {
		if err := os.WriteFile(file, []byte("changed once more"), 0o600); err != nil {
			t.Error(err)
		}
	}, 1, "")
	for _, damaged := range []string{"", "{", "null", "[]", `{"claude": 3}`} {
		if err := os.WriteFile(filepath.Join(dir, passedFile), []byte(damaged), 0o600); err != nil {
			t.Fatal(err)
		}
		expect("a damaged record "+damaged, nil, nil, 1, "")
	}
}

func TestWhatTheWorkerOfARunningServerHasFound(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		agents []penstock.AgentState
		want   string
	}{
		"works":         {[]penstock.AgentState{{Name: "codex", Version: "2"}}, "ok"},
		"being checked": {[]penstock.AgentState{{Name: "codex", Version: "2", Reason: beingChecked}}, "warn"},
		"fails":         {[]penstock.AgentState{{Name: "codex", Version: "2", Reason: "No."}}, "fail"},
		"another":       {[]penstock.AgentState{{Name: "codex", Version: "1"}}, "warn"},
		"not found":     {[]penstock.AgentState{{Name: "claude", Version: "2"}}, "warn"},
	} {
		if got := foundByWorker(store.Worker{Agents: test.agents}, "codex", "2"); got.Status != test.want {
			t.Errorf("%s: got %+v, want %s", name, got, test.want)
		}
	}
}
