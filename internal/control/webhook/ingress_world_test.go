package webhook_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/httpapi"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/control/webhook"
	"github.com/penstock-dev/penstock/internal/supply/blob"
	"github.com/penstock-dev/penstock/internal/supply/secret"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
)

// site is a running server as in production: a store, the rules, and the ingress before the API.
type site struct {
	*control.Rules

	t        testing.TB
	db       *store.Store
	url      string // of the database
	dir      string
	addr     string
	public   string
	admin    penstock.Principal
	factory  string
	log      *testkit.Log
	spans    *tracetest.InMemoryExporter
	registry *prometheus.Registry
	client   *http.Client
	ingress  *webhook.Ingress
}

// change alters how a site is made.
type change func(*webhook.IngressOptions)

// sites runs a test on a new site of each engine.
func sites(t *testing.T, test func(s *site), changes ...change) {
	t.Helper()
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, url string) {
		s := open(t, url, t.TempDir(), changes...)
		f, err := s.Factories.Create(t.Context(), s.admin, factory.FactoryRequest{Name: new("acme")})
		if err != nil {
			t.Fatal(err)
		}
		s.factory = f.UID
		test(s)
	})
}

// open starts a site on a database. A second one on the same folder is another replica.
func open(t testing.TB, url, dir string, changes ...change) *site {
	t.Helper()
	db, err := store.Open(t.Context(), store.Options{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	s := &site{
		t: t, url: url, dir: dir, log: &testkit.Log{},
		spans: tracetest.NewInMemoryExporter(), registry: prometheus.NewRegistry(),
		db: db,
	}
	log := slog.New(slog.NewJSONHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.addr = listener.Addr().String()
	s.public = "https://hooks.example.com"
	blobs, err := blob.Open(filepath.Join(dir, "blobs"))
	if err != nil {
		t.Fatal(err)
	}
	keyset, err := secret.OpenKeyset(t.Context(), secret.KeysetFile{Path: filepath.Join(dir, "keyset.json")})
	if err != nil {
		t.Fatal(err)
	}
	tracer := sdktrace.NewTracerProvider(sdktrace.WithSyncer(s.spans))
	proxies := []netip.Prefix{netip.MustParsePrefix("127.0.0.1/32")}
	o := webhook.IngressOptions{
		Log: log, PublicURL: s.public, Limits: testworld.DefaultWebhookLimits(), Registerer: s.registry, Tracer: tracer,
		Client: func(r *http.Request) netip.Addr { return httpapi.ClientAddr(r, proxies) },
	}
	for _, c := range changes {
		c(&o)
	}
	s.Rules = control.New(run.Deps{
		Store: s.db, Blobs: blobs, Keyset: keyset, Log: log, PublicURL: s.public, Webhooks: o.Limits,
		Models: penstock.Models(), Defaults: penstock.Config{
			ModelID: penstock.ModelOffline, Harness: &penstock.Harness{Type: penstock.HarnessBuiltin},
		},
	})
	o.Receiver = s.Receiver
	if _, _, err := s.Keys.Bootstrap(t.Context(), "psk_admin_0123456789012345678901234567890"); err != nil {
		t.Fatal(err)
	}
	if s.admin, err = s.Keys.Authenticate(t.Context(), "psk_admin_0123456789012345678901234567890"); err != nil {
		t.Fatal(err)
	}
	server := httpapi.NewServer(httpapi.ServerOptions{Log: log, PublicURL: s.public})
	s.ingress = webhook.NewIngress(o)
	server.UseBefore(s.ingress, webhook.IsWebhookPath)
	server.Use(
		httpapi.New(
			httpapi.Options{Rules: s.Rules, Log: log, PublicURL: s.public, Registerer: s.registry, Tracer: tracer},
		),
	)
	s.serve(server, listener)
	return s
}

// serve runs the server and the background work until the test ends.
func (s *site) serve(server *httpapi.Server, listener net.Listener) {
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := server.Serve(ctx, listener); err != nil {
			s.t.Errorf("serve: %v", err)
		}
	})
	running.Go(func() { _ = s.Run(ctx) })
	transport := &http.Transport{MaxIdleConnsPerHost: 100}
	s.client = &http.Client{
		Timeout: time.Minute, Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	s.t.Cleanup(func() {
		transport.CloseIdleConnections()
		stop()
		running.Wait()
	})
}

// hook creates a webhook. The response has the secret.
func (s *site) hook(mode penstock.AuthMode, change func(*factory.WebhookRequest)) penstock.Webhook {
	s.t.Helper()
	name := "hook-" + strings.ToLower(penstock.NewUID()[:8])
	req := factory.WebhookRequest{Name: &name, AuthMode: &mode}
	if change != nil {
		change(&req)
	}
	w, err := s.Resources.CreateWebhook(s.t.Context(), s.admin, s.factory, req)
	if err != nil {
		s.t.Fatal(err)
	}
	return w
}

// signed creates a webhook with a scheme, and the secret s3cret-of-sixteen if the scheme takes any
// text.
func (s *site) signed(
	scheme penstock.SignatureScheme, secret string, change func(*factory.WebhookRequest),
) penstock.Webhook {
	s.t.Helper()
	return s.hook(penstock.AuthSignature, func(r *factory.WebhookRequest) {
		r.SignatureScheme = &scheme
		if secret != "" {
			r.Secret = &secret
		}
		if change != nil {
			change(r)
		}
	})
}

// github signs a body as GitHub does.
func github(secret string, body []byte) map[string]string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write(body)
	return map[string]string{"X-Hub-Signature-256": "sha256=" + hex.EncodeToString(mac.Sum(nil))}
}

func bearer(w penstock.Webhook) map[string]string {
	return map[string]string{"Authorization": "Bearer " + w.Secret}
}

// automation starts a run for the deliveries of a webhook that the filter matches, or for all if it
// is "".
func (s *site) automation(
	w penstock.Webhook, filter string, change func(*factory.AutomationRequest),
) penstock.Automation {
	s.t.Helper()
	of := map[string]any{"webhook_ids": []string{w.UID}}
	if filter != "" {
		of["payload"] = json.RawMessage(filter)
	}
	text, err := json.Marshal(of)
	if err != nil {
		s.t.Fatal(err)
	}
	req := factory.AutomationRequest{
		Name: new("auto-" + strings.ToLower(penstock.NewUID()[:8])), Prompt: new("Look at the event."),
		Triggers: &[]penstock.Trigger{{Provider: penstock.ProviderWebhook, Event: penstock.EventReceived, Filter: text}},
	}
	if change != nil {
		change(&req)
	}
	a, err := s.Resources.CreateAutomation(s.t.Context(), s.admin, s.factory, req)
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

// response is the response to a sender.
type response struct {
	status int
	header http.Header
	body   string
}

// id is the delivery's.
func (a response) id() string {
	var body struct {
		ID string `json:"delivery_id"`
	}
	_ = json.Unmarshal([]byte(a.body), &body) // absent: ""
	return body.ID
}

// post sends a delivery to the path of the webhook.
func (s *site) post(path string, header map[string]string, body []byte) response {
	s.t.Helper()
	return s.send(http.MethodPost, path, header, bytes.NewReader(body))
}

func (s *site) send(method, path string, header map[string]string, body io.Reader) response {
	s.t.Helper()
	req, err := http.NewRequestWithContext(s.t.Context(), method, "http://"+s.addr+path, body)
	if err != nil {
		s.t.Fatal(err)
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	res, err := s.client.Do(req)
	if err != nil {
		s.t.Error(err)
		return response{}
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Error(err)
	}
	return response{res.StatusCode, res.Header, string(text)}
}

// raw sends bytes, and reads one response.
func (s *site) raw(text string) response {
	s.t.Helper()
	conn := s.dial()
	defer conn.Close()
	if _, err := io.WriteString(conn, text); err != nil {
		s.t.Fatal(err)
	}
	return s.read(conn)
}

func (s *site) dial() net.Conn {
	s.t.Helper()
	conn, err := new(net.Dialer).DialContext(s.t.Context(), "tcp", s.addr)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := conn.SetDeadline(time.Now().Add(testkit.Patience * time.Minute)); err != nil {
		s.t.Fatal(err)
	}
	return conn
}

func (s *site) read(conn io.Reader) response {
	s.t.Helper()
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		s.t.Fatalf("no response: %v", err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		s.t.Error(err)
	}
	return response{res.StatusCode, res.Header, string(text)}
}

// request is a POST of {} as bytes.
func request(path, headers string) string {
	return "POST " + path + " HTTP/1.1\r\nHost: evil.example.net\r\n" + headers + "Content-Length: 2\r\n\r\n{}"
}

func path(w penstock.Webhook) string { return webhook.Prefix + w.UID }

// logged reads an entry of the log.
func (s *site) logged(w penstock.Webhook, id string) store.Delivery {
	s.t.Helper()
	d, err := s.Deliveries.Read(s.t.Context(), s.admin, s.factory, w.UID, id)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

// entries reads the log of a webhook, the oldest first.
func (s *site) entries(w penstock.Webhook) []store.Delivery {
	s.t.Helper()
	page, err := s.Deliveries.List(s.t.Context(), s.admin, s.factory, w.UID, penstock.DeliveryQuery{Limit: 500})
	if err != nil {
		s.t.Fatal(err)
	}
	list := page.Deliveries
	for i := range len(list) / 2 {
		list[i], list[len(list)-1-i] = list[len(list)-1-i], list[i]
	}
	return list
}

func (s *site) runs() []penstock.Run {
	s.t.Helper()
	list, err := s.Runs.List(s.t.Context(), s.admin, penstock.RunQuery{Limit: 500})
	if err != nil {
		s.t.Fatal(err)
	}
	return list.Runs
}

func (s *site) claim() penstock.Assignment {
	s.t.Helper()
	a, err := s.Executions.Control().Claim(s.t.Context(), penstock.ClaimRequest{
		WorkerID: "w1", Host: "here", Local: true, Harnesses: []string{penstock.HarnessBuiltin}, Capacity: 100,
		Wait: 10 * time.Second,
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

// want compares the status.
func (a response) want(t testing.TB, what string, status int) {
	t.Helper()
	if a.status != status {
		t.Errorf("%s: got %d %s, want %d", what, a.status, a.body, status)
	}
}
