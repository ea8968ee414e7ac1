package worker

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/penstock-dev/penstock/internal/supply/secret"
)

func newWorkspaces(t *testing.T, keep time.Duration) *workspaces {
	t.Helper()
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "runs"), 0o700); err != nil {
		t.Fatal(err)
	}
	return &workspaces{dir: dir, keep: keep, log: slog.New(slog.DiscardHandler), inUse: map[string]chan struct{}{}}
}

func TestUnusedOldWorkspacesAreRemoved(t *testing.T) {
	t.Parallel()
	w := newWorkspaces(t, time.Hour)
	long := time.Now().Add(-2 * time.Hour)
	for _, run := range []string{"old", "used", "new"} {
		s, err := w.open(t.Context(), run)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.setUp("x"); err != nil {
			t.Fatal(err)
		}
		if run != "used" {
			s.close()
		}
		if run != "new" {
			if err := os.Chtimes(s.dir, long, long); err != nil {
				t.Fatal(err)
			}
		}
	}
	w.sweepOnce()
	for run, want := range map[string]bool{"old": false, "used": true, "new": true} {
		if _, err := os.Stat(filepath.Join(w.dir, "runs", run)); (err == nil) != want {
			t.Errorf("%s is there: %v, want %v", run, err == nil, want)
		}
	}
	if s, err := w.open(t.Context(), "old"); err != nil || s.reused() {
		t.Errorf("a run whose workspace was swept gets %+v, %v; want a new one", s, err)
	}
}

// The trial of a doctor beside a worker that keeps nothing is not removed while it runs.
func TestATrialAtWorkIsNotSwept(t *testing.T) {
	t.Parallel()
	w := newWorkspaces(t, 0)
	old := time.Now().Add(-2 * time.Hour)
	for _, name := range []string{".trial-new", ".trial-old"} {
		if err := os.Mkdir(filepath.Join(w.dir, "runs", name), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chtimes(filepath.Join(w.dir, "runs", ".trial-old"), old, old); err != nil {
		t.Fatal(err)
	}
	w.sweepOnce()
	entries, err := os.ReadDir(filepath.Join(w.dir, "runs"))
	if err != nil || len(entries) != 1 || entries[0].Name() != ".trial-new" {
		t.Errorf("got %v, %v, want the new trial alone", entries, err)
	}
}

func TestHalfMadeWorkspaceIsMadeAnew(t *testing.T) {
	t.Parallel()
	w := newWorkspaces(t, time.Hour)
	dir := filepath.Join(w.dir, "runs", "a")
	for name, content := range map[string]string{"work/half": "", "ready.json": `{"setup":`} {
		if err := errors.Join(
			os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700),
			os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600),
		); err != nil {
			t.Fatal(err)
		}
	}
	s, err := w.open(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if _, err := s.root.Stat("half"); err == nil || s.reused() {
		t.Error("what a killed worker left half made is used")
	}
}

// A process of another run that holds a descriptor of a workspace can replace its directories with
// links while they are removed.
func TestRemovingARunLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	w := newWorkspaces(t, time.Hour)
	victim := filepath.Join(w.dir, "runs", "b", "work", "precious")
	link := filepath.Join(w.dir, "runs", "a", "work")
	err := errors.Join(os.MkdirAll(victim, 0o700), os.MkdirAll(filepath.Dir(link), 0o700), os.Symlink("../b/work", link))
	if err != nil {
		t.Fatal(err)
	}
	// This is what removeTree does after it has read a directory.
	if err := w.removeIn("a", "work/precious"); err == nil {
		t.Error("it goes through a link into another run")
	}
	if err := w.removeTree("a"); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(victim); err != nil {
		t.Error(err)
	}
}

// An execution waits until an earlier sandbox of the same run is removed.
func TestWorkspaceHasOneUser(t *testing.T) {
	t.Parallel()
	w := newWorkspaces(t, time.Hour)
	synctest.Test(t, func(t *testing.T) {
		first, err := w.open(t.Context(), "a")
		if err != nil {
			t.Fatal(err)
		}
		impatient, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if _, err := w.open(impatient, "a"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a second user: %v", err)
		}
		time.AfterFunc(5*time.Second, first.close)
		begin := time.Now()
		second, err := w.open(t.Context(), "a")
		if err != nil || time.Since(begin) != 5*time.Second {
			t.Errorf("the next user after %v: %v", time.Since(begin), err)
		}
		second.close()
	})
}

func TestLogOfAnExecutionHoldsNoSecret(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := slog.New(
		maskedLog{slog.NewTextHandler(&out, nil), secret.NewMasker("hunter22")},
	).With("with", "hunter22").WithGroup("g")
	log.Info("constant", "text", "a hunter22", "error", errors.New("is hunter22"), "number", 7)
	if got := out.String(); strings.Contains(got, "hunter22") || strings.Count(got, "***") != 3 ||
		!strings.Contains(got, "g.number=7") {
		t.Errorf("logged %s", got)
	}
}

// Removing an agent's files must not use up the server's file descriptors: os.RemoveAll needs one
// for each level.
func TestDeepTreeIsRemovedWithFewFiles(t *testing.T) {
	if os.Getenv("WORKER_TEST_FEW_FILES") == "" {
		t.Parallel()
		again := exec.CommandContext(
			t.Context(), "/bin/sh", "-c", `ulimit -n 200 && exec "$0" "$@"`, os.Args[0], "-test.run=^"+t.Name()+"$",
		)
		again.Env = append(os.Environ(), "WORKER_TEST_FEW_FILES=1")
		if out, err := again.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s", err, out)
		}
		return
	}
	w := newWorkspaces(t, -1)
	s, err := w.open(t.Context(), "run")
	if err != nil {
		t.Fatal(err)
	}
	top, err := s.root.OpenRoot(".")
	for range 2000 {
		if err == nil {
			err = errors.Join(top.Mkdir("d", 0o700), top.WriteFile("f", nil, 0o400))
		}
		if err != nil {
			t.Fatal(err)
		}
		var below *os.Root
		below, err = top.OpenRoot("d")
		top.Close()
		top = below
	}
	top.Close()
	if err := put(s.root, "d", 0o600, strings.NewReader("a file of the run")); err != nil {
		t.Error(err)
	}
	s.close()
	if left, err := os.ReadDir(filepath.Join(w.dir, "runs")); err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}
