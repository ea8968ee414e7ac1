package httpapi

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/problem"
)

// ServerOptions says how a Server serves. The zero value works.
type ServerOptions struct {
	Log       *slog.Logger  // nil: nothing is logged
	PublicURL string        // as in Options; for errors while there is no API yet
	TLS       *tls.Config   // with a certificate; nil: plain HTTP
	Grace     time.Duration // for requests that are under way when the server stops; default 10 s
}

// Server listens before the API exists, so that a load balancer sees a server
// that is migrating as unready rather than absent.
type Server struct {
	api    atomic.Pointer[API]
	front  atomic.Pointer[front]
	http   http.Server
	tls    bool // not http.TLSConfig, which http.Server sets itself when it begins to serve
	origin string
	grace  time.Duration
}

// Limits of connections. ReadTimeout covers a JSON body; uploads and downloads
// extend it as long as they make progress, streams set a deadline per batch.
const (
	headerTime  = 10 * time.Second
	requestTime = 2 * time.Minute
	idleTime    = 2 * time.Minute
	headerBytes = 32 << 10
)

// NewServer makes a server that answers 503 until [Server.Use] is called.
func NewServer(o ServerOptions) *Server {
	log := cmp.Or(o.Log, slog.New(slog.DiscardHandler))
	s := &Server{tls: o.TLS != nil, origin: strings.TrimRight(o.PublicURL, "/"), grace: cmp.Or(o.Grace, 10*time.Second)}
	s.http = http.Server{
		Handler:           http.HandlerFunc(s.serveHTTP),
		TLSConfig:         o.TLS,
		ReadHeaderTimeout: headerTime,
		ReadTimeout:       requestTime,
		WriteTimeout:      requestTime,
		IdleTimeout:       idleTime,
		MaxHeaderBytes:    headerBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug), // what clients do wrong before a request
	}
	return s
}

// Use makes api answer from now on.
func (s *Server) Use(api *API) { s.api.Store(api) }

// front is a handler that stands before the API.
type front struct {
	http.Handler

	takes func(*http.Request) bool
}

// UseBefore has h answer the requests that takes reports, as they were sent:
// before the API sees, logs, counts or traces them, once there is an API.
func (s *Server) UseBefore(h http.Handler, takes func(*http.Request) bool) {
	s.front.Store(&front{h, takes})
}

func (s *Server) serveHTTP(w http.ResponseWriter, r *http.Request) {
	if api := s.api.Load(); api != nil {
		if before := s.front.Load(); before != nil && before.takes(r) {
			before.ServeHTTP(w, r)
			return
		}
		api.ServeHTTP(w, r)
		return
	}
	s.starting(w, r)
}

// starting answers while the database is migrated.
func (s *Server) starting(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Request-ID", penstock.NewID())
	h.Set("Cache-Control", "no-store")
	if r.URL.Path == "/healthz" {
		h.Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"status":"ok"}`))
		return
	}
	details := problem.Of(s.origin, penstock.Errorf(penstock.CodeUnavailable, "the server is starting"))
	h.Set("Content-Type", problem.ContentType)
	h.Set("Retry-After", "2")
	h.Set("X-Should-Retry", "true")
	w.WriteHeader(details.Status)
	_, _ = w.Write(details.JSON())
}

// retryListener is a listener that waits where the machine has run out of something, which any
// of its programs may use up; net/http waits for descriptors only.
type retryListener struct{ net.Listener }

func (p retryListener) Accept() (net.Conn, error) {
	conn, err := p.Listener.Accept()
	for _, lack := range []error{syscall.ENOSPC, syscall.ENOMEM, syscall.ENOBUFS} {
		if errors.Is(err, lack) {
			return nil, lackError{err}
		}
	}
	return conn, err
}

// lackError makes net/http try again, later and later.
type lackError struct{ error }

func (lackError) Timeout() bool   { return false }
func (lackError) Temporary() bool { return true }

// Serve answers on all listeners until ctx ends, then stops gracefully: no new
// connections, clients that follow events are told to come back, requests under way
// get the grace. It returns when all are done. A listener that fails ends the others.
func (s *Server) Serve(ctx context.Context, listeners ...net.Listener) error {
	serving, failed := errgroup.WithContext(context.WithoutCancel(ctx))
	for _, listener := range listeners {
		listener = retryListener{listener}
		serving.Go(func() error {
			if s.tls {
				return s.http.ServeTLS(listener, "", "")
			}
			return s.http.Serve(listener)
		})
	}
	select {
	case <-failed.Done():
		return errors.Join(s.http.Close(), serving.Wait())
	case <-ctx.Done():
	}
	if api := s.api.Load(); api != nil {
		api.Stop()
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.grace)
	defer cancel()
	err := s.http.Shutdown(grace)
	if errors.Is(err, context.DeadlineExceeded) {
		err = s.http.Close()
	}
	if ended := serving.Wait(); !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}
