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
	"sync"
	"time"
)

// workspaces are the directories in which runs work, one for each run, kept for
// a while after an execution so that the next one of the same run finds its
// files. Names are ours; what lies in them belongs to agents.
//
//	runs/<run id>/work          the workspace
//	runs/<run id>/home          HOME of the agent
//	runs/<run id>/checkout      a repository on its way into the workspace
//	runs/<run id>/ready.json    the workspace is set up, and for what
//	runs/<run id>/outlet        the socket and the certificates of an execution
//	runs/<run id>/received.json ids that the run received from its model providers
type workspaces struct {
	dir  string
	keep time.Duration
	log  *slog.Logger

	mu    sync.Mutex
	inUse map[string]chan struct{} // by run, closed when it is free again
}

// sweepEvery is how often workspaces that are old enough are removed.
const sweepEvery = 10 * time.Minute

// workspace is one of them, in use.
type workspace struct {
	all        *workspaces
	run        string
	dir        string
	work, home string
	root       *os.Root // of work
	homeRoot   *os.Root
	setup      string // what it was set up for; "" for a new one
}

// ready is the content of ready.json.
type ready struct {
	Setup string `json:"setup"`
}

// open makes the workspace of a run, or finds that of its last execution. It
// waits for an execution of the same run on this worker that has lost its lease
// and is being cleared away.
func (w *workspaces) open(ctx context.Context, run string) (*workspace, error) {
	if err := w.take(ctx, run); err != nil {
		return nil, err
	}
	s := &workspace{all: w, run: run, dir: filepath.Join(w.dir, "runs", run)}
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
	if s.setup = last.Setup; err != nil || s.setup == "" { // half made
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

func (s *workspace) marker() string { return filepath.Join(s.dir, "ready.json") }

// reused tells whether the workspace is that of an earlier execution.
func (s *workspace) reused() bool { return s.setup != "" }

// setUp notes that the workspace is complete.
func (s *workspace) setUp(setup string) error {
	data, err := json.Marshal(ready{setup})
	if err != nil {
		return err
	}
	s.setup = setup
	return os.WriteFile(s.marker(), data, 0o600)
}

// close ends the use. One that is not complete, or not to be kept, is removed.
func (s *workspace) close() {
	for _, root := range []*os.Root{s.root, s.homeRoot} {
		if root != nil {
			_ = root.Close()
		}
	}
	if !s.reused() || s.all.keep <= 0 {
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

// removeTree removes all that there is of a run.
func (w *workspaces) removeTree(run string) error {
	dir := filepath.Join(w.dir, "runs", run)
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

// removeIn removes one file or directory of a run, if it is there. Whatever happens to it
// meanwhile, nothing of other runs is removed with it.
func (w *workspaces) removeIn(run, name string) error {
	root, err := os.OpenRoot(filepath.Join(w.dir, "runs", run))
	if err != nil {
		return err
	}
	defer root.Close()
	return removeTree(root, name)
}

// sweep removes workspaces that nobody has used for long, until ctx ends.
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
	entries, err := os.ReadDir(filepath.Join(w.dir, "runs"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		w.log.Warn("cannot list workspaces", "error", err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || time.Since(info.ModTime()) < w.keep || !w.tryTake(e.Name()) {
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

// put writes a file into a tree that an agent may have filled: links on the way
// lead nowhere out of it, and a file of the name is replaced, not followed.
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
