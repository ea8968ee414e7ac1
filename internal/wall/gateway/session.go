package gateway

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/supply/price"
)

// SessionOptions say what one execution may do. The zero value may use every model of
// every provider, no tool of a provider and no source by URL.
type SessionOptions struct {
	// Models are the policies of server, factory and agent: each must allow a model. They compare the
	// ids of Provider.ModelID.
	Models []penstock.ModelPolicy
	// ProviderTools are the tools of providers that the network policy names.
	ProviderTools []string
	// AllowSource decides whether a provider may fetch from a host on behalf of the run. It
	// returns why not, and "" if it may. Nil allows none.
	AllowSource func(host string, port int) (reason string)
	// Keys replace the key of a provider, by its name.
	Keys map[string]string
	// Spend counts each call that generates before it is sent; nil counts none.
	Spend Spend
	// Prices are what models cost; nil knows no price.
	Prices *price.Table
	// Refused is called for each request that was not forwarded; nil ignores them.
	Refused func(Refusal)
	// Responded is called when the response to a call begins, before the agent gets any part of it. If
	// the provider fails to complete the response, it is called again, with Call.Failed. nil ignores
	// both.
	Responded func(Call)
	// Settled is called once for each request that was forwarded, after its last byte or
	// its end; nil ignores them. It delays the end of the call.
	Settled func(Call)
}

// Session serves the calls of one execution. It is an http.Handler for /model/…, and
// must not be behind an http.ServeMux, which changes paths.
type Session struct {
	g    *Gateway
	opts SessionOptions
	ids  idSet

	done  context.Context //nolint:containedctx // it ends with the session, not with one call
	end   context.CancelCauseFunc
	mu    sync.Mutex
	over  bool
	calls sync.WaitGroup
	turns atomic.Int64 // that the worker has ended
	spending
}

var errSessionOver = errors.New("the execution has ended")

// Session starts serving an execution. The caller closes it.
func (g *Gateway) Session(opts SessionOptions) *Session {
	s := &Session{g: g, opts: opts}
	s.done, s.end = context.WithCancelCause(context.Background())
	return s
}

// End refuses new calls, and ends those in flight. It returns when no response is read any more.
func (s *Session) End() {
	s.mu.Lock()
	s.over = true
	s.mu.Unlock()
	s.end(errSessionOver)
	s.calls.Wait()
}

// Close is End, and waits until each call is settled.
func (s *Session) Close() {
	s.End()
	s.settling.Wait()
}

// Received returns the ids that the run has received from its providers, sorted, for Restore.
func (s *Session) Received() []string { return s.ids.list() }

// Restore adds ids that an earlier Session of the run received, so that a restored conversation can
// continue.
func (s *Session) Restore(ids []string) {
	for _, id := range ids {
		s.ids.add(id)
	}
}

// begin reports whether the session still takes calls. The caller calls s.calls.Done.
func (s *Session) begin() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.over {
		s.calls.Add(1)
	}
	return !s.over
}

// ServeHTTP forwards one call or refuses it.
func (s *Session) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !s.begin() {
		http.Error(w, errSessionOver.Error(), http.StatusForbidden)
		return
	}
	defer s.calls.Done()
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	control := http.NewResponseController(w)
	stop := context.AfterFunc(s.done, func() {
		cancel()
		now := time.Now() // a client that neither reads nor sends must not hold up Close
		_ = control.SetReadDeadline(now)
		_ = control.SetWriteDeadline(now)
	})
	defer stop()

	u, found, refusal := s.g.findRoute(r)
	if refusal != nil {
		s.refuse(w, r, u, refusal)
		return
	}
	c, refusal := s.prepare(w, r, u, found)
	if refusal == nil {
		refusal = s.count(ctx, r, c)
	}
	if refusal != nil {
		refusal.Operation = found.operation
		s.refuse(w, r, u, refusal)
		return
	}
	s.forward(w, r.WithContext(context.WithValue(ctx, callKey{}, c)), c)
}

// prepare reads and checks a request.
func (s *Session) prepare(w http.ResponseWriter, r *http.Request, u *upstream, found route) (*activeCall, *Refusal) {
	query, refusal := checkQuery(u.API, r.URL.RawQuery)
	if refusal != nil {
		return nil, refusal
	}
	c := &activeCall{s: s, u: u, route: found, turn: s.turns.Load()}
	c.target = u.address(found.path, query, c.runKey())
	c.Call = Call{
		Provider: u.Name, API: u.API, Operation: found.operation, Host: u.base.Hostname(), Port: u.port(),
		Started: time.Now(),
	}
	if reason := c.keyMissing(); reason != "" {
		return nil, refuse("", reason)
	}
	if r.Method == http.MethodGet {
		if r.ContentLength != 0 {
			return nil, invalid("", "A GET request must have no body.")
		}
		if found.operation == RetrieveResponse {
			return c, s.checkRetrieve(found.id)
		}
		return c, nil
	}
	if refusal := checkHeader(r); refusal != nil {
		return nil, refusal
	}
	body, refusal := s.readBody(w, r)
	if refusal != nil {
		return nil, refusal
	}
	c.checked, refusal = s.check(u, found, body, r.Header)
	c.Model, c.Stream, c.Tools = c.checked.model, c.checked.stream, c.checked.tools
	c.body = body
	return c, refusal
}

func (s *Session) readBody(w http.ResponseWriter, r *http.Request) ([]byte, *Refusal) {
	most := s.g.maxBody
	tooLarge := &Refusal{
		Reason: "The request is larger than the model gateway forwards (" + megabytes(most) + ").",
		Status: http.StatusRequestEntityTooLarge,
	}
	if r.ContentLength > most {
		return nil, tooLarge
	}
	var body bytes.Buffer
	if r.ContentLength > 0 {
		body.Grow(int(r.ContentLength) + bytes.MinRead)
	}
	_, err := io.Copy(&body, http.MaxBytesReader(w, r.Body, most))
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		return nil, tooLarge
	}
	if err != nil {
		return nil, invalid("", "The body of the request did not arrive in full.")
	}
	return body.Bytes(), nil
}

// refuse responds in the provider's format, or in OpenAI's if the path names no provider.
func (s *Session) refuse(w http.ResponseWriter, r *http.Request, u *upstream, refusal *Refusal) {
	api := OpenAI
	if u != nil {
		api, refusal.Provider = u.API, u.Name
	}
	s.g.log.LogAttrs(r.Context(), slog.LevelInfo, "model request refused", slog.String("provider", refusal.Provider),
		slog.String("reason", refusal.Reason))
	if s.opts.Refused != nil {
		s.opts.Refused(*refusal)
	}
	field := strings.ReplaceAll(strings.TrimPrefix(refusal.Field, "/"), "/", ".")
	writeError(w, api, refusal.Status, refusal.Reason, field)
}

func (s *Session) limitsModels() bool {
	return slices.ContainsFunc(s.opts.Models, func(p penstock.ModelPolicy) bool { return !p.IsZero() })
}

// allowsModel reports whether each policy allows a model.
func (s *Session) allowsModel(id string) bool {
	return !slices.ContainsFunc(s.opts.Models, func(p penstock.ModelPolicy) bool { return !p.Allows(id) })
}

// idSet holds the ids that a run has received.
type idSet struct {
	mu  sync.Mutex
	set map[string]struct{}
}

// Limits of one idSet: a provider's ids are far shorter, and a run that receives more
// cannot refer to the later ones.
const (
	maxIDs      = 100_000
	maxIDLength = 512
)

func (s *idSet) add(id string) {
	if id == "" || len(id) > maxIDLength {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.set == nil {
		s.set = map[string]struct{}{}
	}
	if len(s.set) < maxIDs {
		s.set[id] = struct{}{}
	}
}

func (s *idSet) has(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, ok := s.set[id]
	return ok
}

func (s *idSet) list() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	ids := make([]string, 0, len(s.set))
	for id := range s.set {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}
