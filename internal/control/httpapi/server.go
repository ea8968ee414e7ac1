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
	"github.com/penstock-dev/penstock/internal/control/request"
)

// ServerOptions configures a Server. The zero value works.
type ServerOptions struct {
	Log       *slog.Logger  // nil: no log
	PublicURL string        // as in Options; for errors before the API is ready
	TLS       *tls.Config   // with a certificate; nil: plain HTTP
	Grace     time.Duration // for requests in progress when the server stops; default 10 s
}

// Server listens before the API is ready. So a load balancer sees that a server is unready during a
// migration, and not absent.
type Server struct {
	api    atomic.Pointer[API]
	front  atomic.Pointer[front]
	drains atomic.Bool
	http   http.Server
	tls    bool // not taken from http.TLSConfig, which http.Server changes when it starts
	origin string
	grace  time.Duration
}

// Limits of connections. ReadTimeout covers a JSON body. Uploads and downloads extend it while they
// make progress. Streams set a deadline for each batch.
const (
	headerTime  = 10 * time.Second
	requestTime = 2 * time.Minute
	idleTime    = 2 * time.Minute
	headerBytes = 32 << 10
)

// NewServer makes a server that responds with 503 until [Server.Use] is called.
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
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug), // errors of clients before a request
	}
	return s
}

// Use makes api serve requests from now on.
func (s *Server) Use(api *API) { s.api.Store(api) }

// front is a handler in front of the API.
type front struct {
	http.Handler

	takes func(*http.Request) bool
}

// UseBefore makes h serve the requests for which takes returns true. The API never sees, logs,
// counts or traces them. It takes effect once the API is ready.
func (s *Server) UseBefore(h http.Handler, takes func(*http.Request) bool) {
	s.front.Store(&front{h, takes})
}

// Drain makes the server unready, so that load balancers send their requests to other servers. It
// still serves each request, and then closes the connection, so that none is reused when the server
// stops.
func (s *Server) Drain() {
	s.drains.Store(true)
	if api := s.api.Load(); api != nil {
		api.drain()
	}
}

func (s *Server) serveHTTP(w http.ResponseWriter, r *http.Request) {
	if s.drains.Load() {
		w.Header().Set("Connection", "close") // HTTP/2: GOAWAY, after the streams
	}
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

// starting responds to requests during a migration of the database.
func (s *Server) starting(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("X-Request-ID", penstock.NewID())
	h.Set("Cache-Control", "no-store")
	if r.URL.Path == "/healthz" {
		h.Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"status":"ok"}`))
		return
	}
	details := request.ProblemOf(s.origin, penstock.Errorf(penstock.CodeUnavailable, "the server is starting"))
	h.Set("Content-Type", request.ProblemType)
	h.Set("Retry-After", "2")
	h.Set("X-Should-Retry", "true")
	w.WriteHeader(details.Status)
	_, _ = w.Write(details.JSON())
}

// retryListener waits and retries if the machine has run out of a resource. net/http does this only
// for file descriptors.
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

// lackError makes net/http retry with increasing delays.
type lackError struct{ error }

func (lackError) Timeout() bool   { return false }
func (lackError) Temporary() bool { return true }

// Serve serves on all listeners until ctx ends. Then it stops gracefully: it accepts no new
// connections, ends event streams so that clients reconnect, and gives requests in progress the
// grace period. It returns when all have ended. If a listener fails, the others end too.
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
