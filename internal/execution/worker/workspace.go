package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
)

// workspaces holds the directories of runs, one for each run. A directory is kept for some time, so
// that the next execution of the run finds its files. We choose the names; the content belongs to
// agents.
//
//	runs/<run id>/work          the workspace
//	runs/<run id>/home          HOME of the agent
//	runs/<run id>/checkout      a repository on its way into the workspace
//	runs/<run id>/base/<name>   what the changes of a repository are compared with
//	runs/<run id>/scratch       for such a comparison
//	runs/<run id>/ready.json    the workspace is set up, and for what
//	runs/<run id>/image-<digest> what the run changes in its image
//	runs/<run id>/outlet        the socket and the certificates of an execution
//	runs/<run id>/blanked.json  where values of secrets were removed at the end of an execution
//	runs/<run id>/received.json ids that the run received from its model providers
type workspaces struct {
	dir  string
	keep time.Duration
	log  *slog.Logger

	mu    sync.Mutex
	inUse map[string]chan struct{} // by run; closed when the workspace is free again
}

// RunsDir is the folder of the workspaces in the folder of a worker.
const RunsDir = "runs"

// sweepEvery is the interval for removing old workspaces.
const sweepEvery = 10 * time.Minute

// workspace is a workspace in use.
type workspace struct {
	all        *workspaces
	run        string
	dir        string
	work, home string
	root       *os.Root // the directory work
	homeRoot   *os.Root
	setup      string // the setup that it has; "" for a new workspace
}

// ready is the content of ready.json.
type ready struct {
	Setup string `json:"setup"`
}

// open creates the workspace of a run, or finds the workspace of its last execution. It waits for
// an earlier execution of the run on this worker that has lost its lease and has not ended yet.
func (w *workspaces) open(ctx context.Context, run string) (*workspace, error) {
	if err := w.take(ctx, run); err != nil {
		return nil, err
	}
	s := &workspace{all: w, run: run, dir: filepath.Join(w.dir, RunsDir, run)}
	s.work, s.home = filepath.Join(s.dir, "work"), filepath.Join(s.dir, "home")
	if err := s.prepare(); err != nil {
		s.close()
		return nil, fmt.Errorf("create the workspace of run %s: %w", run, err)
	}
	return s, nil
}

func (w *workspaces) take(ctx context.Context, run string) error {
	for {
		w.mu.Lock()
		taken := w.inUse[run]
		if taken == nil {
			w.inUse[run] = make(chan struct{})
		}
		w.mu.Unlock()
		if taken == nil {
			return nil
		}
		select {
		case <-taken:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (s *workspace) prepare() error {
	var last ready
	data, err := os.ReadFile(s.marker())
	if err == nil {
		err = json.Unmarshal(data, &last)
	}
	if s.setup = last.Setup; err != nil || s.setup == "" { // incomplete
		if err := s.all.removeTree(s.run); err != nil {
			return err
		}
	}
	for _, dir := range []string{s.work, s.home} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return err
		}
	}
	if s.root, err = os.OpenRoot(s.work); err == nil {
		s.homeRoot, err = os.OpenRoot(s.home)
	}
	return err
}

// base returns the folder for what the changes of a repository are compared with.
func (s *workspace) base(repository string) string { return filepath.Join(s.dir, "base", repository) }

func (s *workspace) marker() string { return filepath.Join(s.dir, "ready.json") }

// reused reports whether the workspace comes from an earlier execution.
func (s *workspace) reused() bool { return s.setup != "" }

// kept reports whether the workspace stays for the next execution.
func (s *workspace) kept() bool { return s.reused() && s.all.keep > 0 }

// setUp records that the workspace is complete.
func (s *workspace) setUp(setup string) error {
	data, err := json.Marshal(ready{setup})
	if err != nil {
		return err
	}
	s.setup = setup
	return os.WriteFile(s.marker(), data, 0o600)
}

// close ends the use of the workspace. It removes a workspace that is incomplete or must not be
// kept.
func (s *workspace) close() {
	for _, root := range []*os.Root{s.root, s.homeRoot} {
		if root != nil {
			_ = root.Close()
		}
	}
	if !s.kept() {
		s.all.remove(s.run)
	} else {
		now := time.Now()
		_ = os.Chtimes(s.dir, now, now) // the time from which it is kept
	}
	s.all.mu.Lock()
	defer s.all.mu.Unlock()
	close(s.all.inUse[s.run])
	delete(s.all.inUse, s.run)
}

func (w *workspaces) remove(run string) {
	if err := w.removeTree(run); err != nil {
		w.log.Warn("cannot remove a workspace", "run_id", run, "error", err)
	}
}

// removeTree removes all files of a run.
func (w *workspaces) removeTree(run string) error {
	dir := filepath.Join(w.dir, RunsDir, run)
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		err = errors.Join(err, w.removeIn(run, e.Name()))
	}
	return errors.Join(err, os.Remove(dir))
}

// removeIn removes one file or directory of a run, if it exists. It can never remove files of other
// runs, even if the directory changes meanwhile.
func (w *workspaces) removeIn(run, name string) error {
	root, err := os.OpenRoot(filepath.Join(w.dir, RunsDir, run))
	if err != nil {
		return err
	}
	defer root.Close()
	return removeTree(root, name)
}

// sweep removes old workspaces until ctx ends.
func (w *workspaces) sweep(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		w.sweepOnce()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

func (w *workspaces) sweepOnce() {
	entries, err := os.ReadDir(filepath.Join(w.dir, RunsDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.log.Warn("cannot list workspaces", "error", err)
	}
	for _, e := range entries {
		info, err := e.Info()
		keep := w.keep
		if strings.HasPrefix(e.Name(), ".") { // a trial, which may be at work
			keep = max(keep, time.Hour)
		}
		if err != nil || time.Since(info.ModTime()) < keep || !w.tryTake(e.Name()) {
			continue
		}
		w.remove(e.Name())
		w.mu.Lock()
		close(w.inUse[e.Name()])
		delete(w.inUse, e.Name())
		w.mu.Unlock()
	}
}

func (w *workspaces) tryTake(run string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.inUse[run] != nil {
		return false
	}
	w.inUse[run] = make(chan struct{})
	return true
}

// put writes a file into a tree of an agent. Links in the path cannot lead out of the tree. If name
// exists, even as a link, it is replaced.
func put(root *os.Root, name string, mode fs.FileMode, content io.Reader) error {
	if !filepath.IsLocal(name) {
		return fmt.Errorf("%q is outside the workspace", name)
	}
	if err := root.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	if err := removeTree(root, name); err != nil {
		return err
	}
	file, err := root.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(file, content)
	return errors.Join(err, file.Close())
}
