// Package gate receives what a run pushes to a forge, and decides for each branch whether it goes there.
//
// A Gate is for one repository of one execution. Git in the sandbox speaks to it as it would to the
// forge. The token that can write stays here. What is pushed is hostile: so git receives it into a
// quarantine, where this package reads it.
package gate

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/supply/git"
	"github.com/penstock-dev/penstock/internal/supply/secret"
)

// Options are the parts of a Gate.
type Options struct {
	Repository string // owner/name, as sentences call it
	Connection string // its name
	Base       string // the branch to which changes are to be merged; "": the default branch
	Bot        penstock.ForgeBot
	Policy     penstock.PushPolicy
	// Open makes the quarantine.
	Open func(ctx context.Context) (*git.Quarantine, error)
	// Claim records what is about to be pushed, durably, and returns for each branch why another thread
	// has it, or "". The agent sees an *Error.
	Claim func(ctx context.Context, branches []penstock.PushedBranch) ([]string, error)
	// Known finds secrets of the run.
	Known *secret.Masker
	// Report is called for each branch that was pushed or refused.
	Report func(Result)
	Log    *slog.Logger
}

// Result is what became of a branch.
type Result struct {
	Repository, Branch string
	Before, After      string // commits; "": the branch did not exist
	Commits            int    // new ones
	Forced             bool
	Refusal            string // "": it was pushed
}

// Error is an error whose sentence the agent may see.
type Error struct{ Sentence string }

func (e *Error) Error() string { return e.Sentence }

// Times of a push.
const (
	freshTime = 10 * time.Second // after that, a push reads the branches of the forge anew
	pushTime  = 10 * time.Minute // for all that a push does after its objects have arrived
)

// Gate decides on the pushes of an execution to one repository.
type Gate struct {
	Options

	done context.Context // of the execution
	slot chan struct{}   // holds the quarantine
	at   *git.Quarantine
	read time.Time // when the branches were read

	mu     sync.Mutex
	active sync.WaitGroup
	closed bool
}

// New returns a gate that serves until done ends.
func New(done context.Context, o Options) *Gate {
	return &Gate{Options: o, done: done, slot: make(chan struct{}, 1)}
}

// Wait returns after the last push, once done has ended.
func (g *Gate) Wait() {
	g.mu.Lock()
	g.closed = true
	g.mu.Unlock()
	g.active.Wait()
}

// ServeHTTP serves the two requests of a push (gitprotocol-http(5)).
func (g *Gate) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		http.Error(w, "The run is over.", http.StatusServiceUnavailable)
		return
	}
	g.active.Add(1)
	g.mu.Unlock()
	defer g.active.Done()
	ctx, cancel := context.WithCancelCause(r.Context())
	defer cancel(nil)
	defer context.AfterFunc(g.done, func() { cancel(context.Cause(g.done)) })()
	w.Header().Set("Cache-Control", "no-cache")
	switch post := strings.HasSuffix(r.URL.Path, "/git-receive-pack"); {
	case r.Method == http.MethodGet && !post:
		g.advertise(ctx, w)
	case r.Method == http.MethodPost && post:
		g.receive(ctx, w, r)
	default:
		http.Error(w, "A push has two requests: GET …/info/refs and POST …/git-receive-pack.", http.StatusMethodNotAllowed)
	}
}

// enter waits for the quarantine, and makes or refreshes it. The caller calls leave if there is no error.
func (g *Gate) enter(ctx context.Context, fresh time.Duration) (leave func(), err error) {
	select {
	case g.slot <- struct{}{}:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() {
		if err != nil {
			<-g.slot
		}
	}()
	switch {
	case g.at == nil:
		g.at, err = g.Open(ctx)
	case time.Since(g.read) > fresh:
		err = g.at.Refresh(ctx)
	}
	if err != nil {
		g.Log.Info("a repository cannot be read for a push", "repository", g.Repository, "error", err)
		return nil, err
	}
	g.read = time.Now()
	return func() { <-g.slot }, nil
}

func (g *Gate) unreachable(err error) string {
	return fmt.Sprintf("Penstock: %s cannot be read through the connection %s: %s", g.Repository, g.Connection, err)
}

func (g *Gate) advertise(ctx context.Context, w http.ResponseWriter) {
	w.Header().Set("Content-Type", "application/x-git-receive-pack-advertisement")
	leave, err := g.enter(ctx, 0)
	if err != nil {
		_, _ = io.WriteString(w, git.Refused(g.unreachable(err))) // the agent may have gone
		return
	}
	defer leave()
	if err := g.at.Advertise(ctx, w); err != nil {
		g.Log.Info("the branches of a repository cannot be listed for a push", "repository", g.Repository, "error", err)
	}
}

func (g *Gate) receive(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	body, err := requestBody(r)
	if err != nil {
		http.Error(w, err.Error(), http.StatusUnsupportedMediaType)
		return
	}
	leave, err := g.enter(ctx, freshTime)
	if err != nil {
		http.Error(w, g.unreachable(err), http.StatusBadGateway)
		return
	}
	defer leave()
	w.Header().Set("Content-Type", "application/x-git-receive-pack-result")
	err = g.at.Receive(ctx, body, w, func(updates []git.Update, atomic bool) []string {
		// What has begun ends also if the agent goes.
		ctx, cancel := context.WithTimeout(g.done, pushTime)
		defer cancel()
		return g.decide(ctx, updates, atomic)
	})
	if err != nil {
		g.Log.Info("a push failed", "repository", g.Repository, "error", err)
	}
}

// requestBody returns the body of a push without its compression.
func requestBody(r *http.Request) (io.Reader, error) {
	if kind := r.Header.Get("Content-Type"); kind != "application/x-git-receive-pack-request" {
		return nil, errors.New("The body must be application/x-git-receive-pack-request.") //nolint:staticcheck // shown as it is
	}
	switch encoding := r.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
		return r.Body, nil
	case "gzip", "x-gzip":
		body, err := gzip.NewReader(r.Body)
		if err != nil {
			return nil, errors.New("The body is not in the format gzip.") //nolint:staticcheck // shown as it is
		}
		return body, nil
	default:
		return nil, errors.New("The body must be plain or in the format gzip.") //nolint:staticcheck // shown as it is
	}
}
