package httpapi_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control"
	"github.com/penstock-dev/penstock/internal/control/httpapi"
)

// certificate makes a certificate for this machine.
func certificate(t *testing.T) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: true, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key, Leaf: leaf}, pool
}

func TestHTTPS(t *testing.T) {
	t.Parallel()
	cert, _ := certificate(t)
	w := start(t, func(s *settings) {
		s.server.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	})
	if a := w.must(http.StatusOK, "GET", "/api/v1/me", nil); a.field("team") == "" {
		t.Errorf("got %s", a.body)
	}
	events := w.listen(w.newRun("over TLS")).until("timeline")
	if len(events) == 0 {
		t.Error("no events")
	}
}

func TestAServerThatStartsIsAliveAndNotReady(t *testing.T) {
	t.Parallel()
	w := start(t, func(s *settings) { s.noAPI = true })
	w.must(http.StatusOK, "GET", "/healthz", nil)
	for _, path := range []string{"/readyz", "/api/v1/me"} {
		a := w.must(http.StatusServiceUnavailable, "GET", path, nil)
		if a.header.Get("Retry-After") == "" || a.header.Get("X-Should-Retry") != "true" ||
			!strings.Contains(a.body, "starting") {
			t.Errorf("%s: got %v %s", path, a.header, a.body)
		}
	}
	w.server.Use(w.api)
	w.must(http.StatusOK, "GET", "/readyz", nil)
	w.must(http.StatusOK, "GET", "/api/v1/me", nil)
	w.api.Stop()
	w.must(http.StatusServiceUnavailable, "GET", "/readyz", nil)
	w.must(http.StatusOK, "GET", "/api/v1/me", nil)
}

func TestReadinessChecksOfAServerThatStopsAreLoggedOnce(t *testing.T) {
	t.Parallel()
	w := start(t)
	w.server.Drain()
	for range 10 {
		w.must(http.StatusServiceUnavailable, "GET", "/readyz", nil)
	}
	if n := strings.Count(w.log.String(), `"level":"WARN"`); n != 1 {
		t.Errorf("%d warnings, want 1: %s", n, w.log.String())
	}
}

func TestAPanicIsAnInternalErrorAndLogged(t *testing.T) {
	t.Parallel()
	w := start(t, func(s *settings) { s.api.Rules = &control.Rules{} })
	a := w.must(http.StatusInternalServerError, "GET", "/api/v1/me", nil)
	if a.header.Get("X-Should-Retry") != "true" || strings.Contains(a.body, "nil pointer") ||
		!strings.Contains(a.body, a.header.Get("X-Request-ID")) {
		t.Errorf("got %s, want nothing but the request's id", a.body)
	}
	if log := w.log.String(); !strings.Contains(log, "nil pointer") ||
		!strings.Contains(log, a.header.Get("X-Request-ID")) {
		t.Errorf("the log lacks the cause: %s", log)
	}
}

func TestTracesAreContinuedAndNamedInErrors(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewSpanRecorder()
	w := start(t, func(s *settings) { s.api.Tracer = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)) })
	const traceID = "0af7651916cd43dd8448eb211c80319c"
	a := w.do("GET", "/api/v1/agent/runs/unknown", nil, "traceparent", "00-"+traceID+"-b7ad6b7169203331-01")
	if got := a.field("trace_id"); got != traceID {
		t.Errorf("got trace_id %q, want %q", got, traceID)
	}
	if log := w.log.String(); !strings.Contains(log, `"trace_id":"`+traceID) {
		t.Error("the log lacks the trace")
	}
	eventually(t, "the span", func() bool { return len(spans.Ended()) > 0 })
	span := spans.Ended()[0]
	if got, want := span.Name(), "GET /api/v1/agent/runs/{runId}"; got != want {
		t.Errorf("got span %q, want %q", got, want)
	}
	got := map[string]string{}
	for _, attr := range span.Attributes() {
		got[string(attr.Key)] = attr.Value.String()
	}
	for name, want := range map[string]string{
		"http.route": "/api/v1/agent/runs/{runId}", "url.path": "/api/v1/agent/runs/{runId}", "http.request.method": "GET",
		"http.response.status_code": "404", "client.address": "127.0.0.1",
		"penstock.request_id": a.header.Get("X-Request-ID"),
	} {
		if got[name] != want {
			t.Errorf("%s: got %q, want %q", name, got[name], want)
		}
	}
}

// A path may contain the token of a link or of a webhook, even if the address is wrong. So logs and
// responses name the route, not the path.
func TestPathsAreRecordedAsRoutes(t *testing.T) {
	t.Parallel()
	spans := tracetest.NewSpanRecorder()
	w := start(t, func(s *settings) { s.api.Tracer = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)) })
	const token = "secret-token"
	tests := []struct{ method, path, instance string }{
		{"GET", "/api/v1/downloads/" + token, "/api/v1/downloads/{token}"},
		{"GET", "/api/v1/downloads//" + token, ""},
		{"GET", "/api/v1/download/" + token, ""},
		{"POST", "/api/v1/downloads/" + token, ""},
		{"GET", "/" + token, ""},
		{"GET", "/runs/" + token, "/runs/{runId}"},
		{"GET", "/api/v1/agent/runs/" + token, "/api/v1/agent/runs/{runId}"},
		{"POST", "/api/v1/factory/x/webhooks/w/" + token + "/" + token, ""},
		{"GET", "/api/v1/agent/runs?cursor=" + token, "/api/v1/agent/runs"},
	}
	for _, tt := range tests {
		a := w.do(tt.method, tt.path, nil)
		if got := a.field("instance"); got != tt.instance {
			t.Errorf("%s %s: got instance %q, want %q", tt.method, tt.path, got, tt.instance)
		}
	}
	eventually(t, "the spans", func() bool { return len(spans.Ended()) == len(tests) })
	for _, span := range spans.Ended() {
		if strings.Contains(span.Name(), token) {
			t.Errorf("the name of span %s holds a token", span.Name())
		}
		for _, attr := range span.Attributes() {
			if strings.Contains(attr.Value.String(), token) {
				t.Errorf("span %s: %s holds a token", span.Name(), attr.Key)
			}
		}
	}
	if strings.Contains(w.log.String(), token) {
		t.Error("the log holds a token")
	}
}

func TestTheFrontPageLinksToTheDocs(t *testing.T) {
	t.Parallel()
	w := start(t)
	a := w.must(http.StatusOK, "GET", "/", nil, "Authorization", "")
	if !strings.Contains(a.body, "Penstock") || !strings.Contains(a.body, w.url+"/docs") {
		t.Errorf("got %q", a.body)
	}
	id := penstock.NewID()
	if page := w.must(
		http.StatusOK, "GET", "/runs/"+id, nil, "Authorization", "",
	); !strings.Contains(page.body, "penstock run watch "+id) {
		t.Errorf("a run's page says %q", page.body)
	}
	w.must(http.StatusNotFound, "GET", "/runs/%3Cscript%3E", nil, "Authorization", "")
	docs := w.must(http.StatusOK, "GET", "/docs", nil, "Authorization", "")
	if !strings.HasPrefix(docs.header.Get("Content-Type"), "text/html") ||
		!strings.Contains(docs.header.Get("Content-Security-Policy"), "style-src") {
		t.Errorf("docs: got %v", docs.header)
	}
}

// Every route says who calls it, and no route is listed twice.
func TestRoutesAreDescribed(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, r := range httpapi.Routes() {
		if r.Who == "" {
			t.Errorf("%s %s: nobody calls it", r.Method, r.Pattern)
		}
		if line := r.Method + " " + r.Pattern; seen[line] {
			t.Errorf("%s is there twice", line)
		} else {
			seen[line] = true
		}
	}
}

// lacking is a listener that sometimes fails because the machine lacks a resource.
type lacking struct {
	net.Listener

	lack []error // of the next connections
}

func (l *lacking) Accept() (net.Conn, error) {
	if len(l.lack) > 0 {
		err := l.lack[0]
		l.lack = l.lack[1:]
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", err)}
	}
	return l.Listener.Accept()
}

// Any program of the machine can exhaust what a connection needs. An agent can, with the inotify
// watches of its user.
func TestServerSurvivesExhaustedResources(t *testing.T) {
	t.Parallel()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := httpapi.NewServer(
		httpapi.ServerOptions{Log: slog.New(slog.DiscardHandler), PublicURL: "http://" + l.Addr().String()},
	)
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- s.Serve(ctx, &lacking{l, []error{syscall.ENOSPC, syscall.ENOMEM, syscall.ENOBUFS, syscall.EMFILE}})
	}()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+l.Addr().String()+"/healthz", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusOK {
		t.Errorf("got %d, want 200", response.StatusCode)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
}
