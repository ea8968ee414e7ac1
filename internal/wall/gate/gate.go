// Package gate receives what a run pushes to a forge, and decides for each branch whether it goes there.
//
// A Gate is for one repository of one execution. Git in the sandbox speaks to it as it would to the
// forge. The token that can write stays here. What is pushed is hostile: so git receives it into a
// quarantine, where this package reads it.
package gate

import (
	"cmp"
	"compress/gzip"
	"context"
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
	// Stall ends a push of which nothing arrives. Default: one minute.
	Stall time.Duration
	// Fresh is how old the branches of the forge may be that a push is compared with. The first request of a
	// push always reads them anew. Default: ten seconds.
	Fresh time.Duration
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
	pushTime = 10 * time.Minute // for all that a push does after its objects have arrived
	askTime  = 10 * time.Second // to ask the forge what has become of a push
	readTime = 5 * time.Minute  // to read the branches of the forge
	waitTime = 2 * time.Minute  // for another push of the run
)

// maxBody bounds a push without its compression.
const maxBody = 1 << 30

// Gate decides on the pushes of an execution to one repository.
type Gate struct {
	Options

	done context.Context //nolint:containedctx // of the execution
	slot chan struct{}   // holds the quarantine
	at   *git.Quarantine
	read time.Time // when the branches were read

	mu     sync.Mutex
	active sync.WaitGroup
	closed bool
}

// New returns a gate that serves until done ends.
func New(done context.Context, o Options) *Gate {
	o.Stall, o.Fresh = cmp.Or(o.Stall, time.Minute), cmp.Or(o.Fresh, 10*time.Second)
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
	case <-time.After(waitTime):
		return nil, &Error{"another push to the repository has not ended. Push again"}
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	defer func() {
		if err != nil {
			<-g.slot
		}
	}()
	if g.at != nil && time.Since(g.read) <= fresh {
		return func() { <-g.slot }, nil
	}
	// An agent that goes must not end git while it writes.
	ctx, cancel := context.WithTimeout(g.done, readTime)
	defer cancel()
	if g.at == nil {
		g.at, err = g.Open(ctx)
	}
	if err == nil {
		err = g.at.Refresh(ctx)
	}
	if err != nil {
		g.Log.Info("a repository cannot be read for a push", "repository", g.Repository, "error", err)
		g.drop()
		return nil, err
	}
	g.read = time.Now()
	return func() { <-g.slot }, nil
}

// drop removes the quarantine with what was refused. The caller holds the slot.
func (g *Gate) drop() {
	if g.at == nil {
		return
	}
	if err := g.at.Remove(); err != nil {
		g.Log.Warn("a quarantine cannot be removed", "repository", g.Repository, "error", err)
	}
	g.at = nil
}

func (g *Gate) unreachable(err error) string {
	return fmt.Sprintf("Penstock: %s cannot be read through the connection %s: %s", g.Repository, g.Connection, err)
}

const advertisement = "application/x-git-receive-pack-advertisement"

// refuse responds to the first request of a push with a sentence, which git shows.
func refuse(w http.ResponseWriter, sentence string) {
	w.Header().Set("Content-Type", advertisement)
	_, _ = io.WriteString(w, git.Refused(sentence)) // the agent may have gone
}

// Refusing returns a handler that refuses each push with a sentence.
func Refusing(sentence string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			refuse(w, sentence)
		} else {
			http.Error(w, sentence, http.StatusForbidden)
		}
	})
}

func (g *Gate) advertise(ctx context.Context, w http.ResponseWriter) {
	leave, err := g.enter(ctx, 0)
	if err != nil {
		refuse(w, g.unreachable(err))
		return
	}
	defer leave()
	w.Header().Set("Content-Type", advertisement)
	if err := g.at.Advertise(ctx, w); err != nil {
		g.Log.Info("the branches of a repository cannot be listed for a push", "repository", g.Repository, "error", err)
	}
}

func (g *Gate) receive(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	body, err := requestBody(r)
	if err != nil {
		http.Error(w, "The body must be application/x-git-receive-pack-request, plain or in the format gzip.",
			http.StatusUnsupportedMediaType)
		return
	}
	leave, err := g.enter(ctx, g.Fresh)
	if err != nil {
		http.Error(w, g.unreachable(err), http.StatusBadGateway)
		return
	}
	defer leave()
	w.Header().Set("Content-Type", "application/x-git-receive-pack-result")
	clean := false
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	arriving := &arriving{Reader: io.LimitReader(body, maxBody), within: g.Stall}
	arriving.stalled = time.AfterFunc(g.Stall, func() {
		cancel(&Error{"nothing has arrived for too long"})
		_ = http.NewResponseController(w).SetReadDeadline(time.Now()) // ends a read that waits
	})
	defer arriving.stalled.Stop()
	err = g.at.Receive(ctx, arriving, w, func(updates []git.Update, atomic bool) []string {
		// What has begun ends also if the agent goes.
		ctx, cancel := context.WithTimeout(g.done, pushTime)
		defer cancel()
		reasons := g.decide(ctx, updates, atomic)
		clean = strings.Join(reasons, "") == ""
		return reasons
	})
	if err != nil {
		g.Log.Info("a push failed", "repository", g.Repository, "error", err)
	}
	g.read = time.Time{}
	if err != nil || !clean {
		g.drop()
	}
}

// arriving is the body of a push that must not stop.
type arriving struct {
	io.Reader

	within  time.Duration
	stalled *time.Timer
}

func (a *arriving) Read(p []byte) (int, error) {
	n, err := a.Reader.Read(p)
	if err == nil {
		a.stalled.Reset(a.within)
	} else {
		a.stalled.Stop()
	}
	return n, err
}

// requestBody returns the body of a push without its compression.
func requestBody(r *http.Request) (io.Reader, error) {
	if kind := r.Header.Get("Content-Type"); kind != "application/x-git-receive-pack-request" {
		return nil, fmt.Errorf("the body is %.100q", kind)
	}
	switch encoding := r.Header.Get("Content-Encoding"); encoding {
	case "", "identity":
		return r.Body, nil
	case "gzip", "x-gzip":
		return gzip.NewReader(r.Body)
	default:
		return nil, fmt.Errorf("the encoding is %.100q", encoding)
	}
}
