package httpapi_test

import (
	"bytes"
	"context"
	"crypto/tls"
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

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/httpapi"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/control/webhook"
	"github.com/penstock-dev/penstock/internal/supply/blob"
	"github.com/penstock-dev/penstock/internal/supply/git"
	"github.com/penstock-dev/penstock/internal/supply/openid"
	"github.com/penstock-dev/penstock/internal/supply/secret"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/testkit/testworld"
	"github.com/penstock-dev/penstock/internal/wall/egress"
)

// world is a running server: real store, real rules, real listener.
type world struct {
	t      *testing.T
	svc    *control.Rules
	api    *httpapi.API
	server *httpapi.Server
	url    string
	admin  string // a key with every scope
	client *http.Client
	log    *testkit.Log
	stop   func() // the server, gracefully; waits for it
}

const adminKey = "psk_admin_0123456789012345678901234567890"

type settings struct {
	storeURL string
	api      httpapi.Options
	server   httpapi.ServerOptions
	sessions access.SessionLimits
	bucket   string // URL of an object store to which downloads redirect; empty: files are in a folder
	forge    *testkit.Forge
	idp      *testkit.IDP // nil: persons sign in with keys
	noAPI    bool         // the server responds as if it were still starting
}

// start runs a server with the given changes to its settings.
func start(t *testing.T, changes ...func(*settings)) *world {
	t.Helper()
	dir := t.TempDir()
	w := &world{t: t, admin: adminKey, log: &testkit.Log{}}
	log := slog.New(slog.NewJSONHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w.url = "http://" + listener.Addr().String()
	s := settings{storeURL: "sqlite://" + filepath.Join(dir, "penstock.db")}
	s.api = httpapi.Options{PublicURL: w.url, TempDir: dir, Log: log, Registerer: prometheus.NewRegistry()}
	for _, change := range changes {
		change(&s)
	}
	if s.server.TLS != nil {
		w.url = "https://" + listener.Addr().String()
		s.api.PublicURL = w.url
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	if s.api.Rules == nil {
		s.api.Rules = w.open(ctx, s, dir, log)
		running.Go(func() { _ = s.api.Rules.Run(ctx) })
	}
	w.svc = s.api.Rules
	s.api.Webhooks = webhook.NewIngress(webhook.IngressOptions{
		Receiver: w.svc.Receiver, PublicURL: s.api.PublicURL, Limits: testworld.DefaultWebhookLimits(),
		Client: func(*http.Request) netip.Addr { return netip.MustParseAddr("198.51.100.7") },
	})
	w.api = httpapi.New(s.api)
	s.server.PublicURL = s.api.PublicURL
	w.server = httpapi.NewServer(s.server)
	if !s.noAPI {
		w.server.Use(w.api)
	}
	serving, stop := context.WithCancel(ctx)
	served := make(chan error, 1)
	go func() { served <- w.server.Serve(serving, listener) }()
	w.stop = sync.OnceFunc(func() {
		stop()
		if err := <-served; err != nil {
			t.Errorf("serve: %v", err)
		}
	})
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}
	w.client = &http.Client{
		Timeout: 4 * time.Minute, Transport: transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		w.stop()
		cancel()
		running.Wait()
	})
	return w
}

func (w *world) open(ctx context.Context, s settings, dir string, log *slog.Logger) *control.Rules {
	w.t.Helper()
	db, err := store.Open(ctx, store.Options{URL: s.storeURL, Log: log})
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = db.Close() })
	keyset, err := secret.OpenKeyset(ctx, secret.KeysetFile{Path: filepath.Join(dir, "keyset.json")})
	if err != nil {
		w.t.Fatal(err)
	}
	blobs, err := blob.Open(filepath.Join(dir, "blobs"))
	if err != nil {
		w.t.Fatal(err)
	}
	if s.bucket != "" {
		blobs = blob.OpenS3(blob.S3Options{
			Config: (&testkit.S3{}).Config(), Bucket: testkit.S3Bucket, Endpoint: s.bucket, PathStyle: true,
		})
	}
	mirrors, err := git.Open(ctx, git.Options{Dir: filepath.Join(dir, "mirrors"), AllowLocal: true})
	if err != nil {
		w.t.Fatal(err)
	}
	var forges *egress.Outbound
	if s.forge != nil {
		forges = testworld.To(w.t, s.forge)
	}
	var signIn []*openid.Provider
	if s.idp != nil {
		p, err := openid.New(openid.Settings{
			Name: "Corp", Issuer: s.idp.URL, ClientID: s.idp.ClientID, ClientSecretFile: s.idp.SecretFile(w.t),
			Groups: map[string]penstock.Role{"dev": penstock.EditorRole},
		}, w.url+"/sign-in/callback")
		if err != nil {
			w.t.Fatal(err)
		}
		signIn = append(signIn, p)
	}
	svc := control.New(run.Deps{
		SignIn: signIn,
		Store:  db, Blobs: blobs, Keyset: keyset, Log: log, PublicURL: w.url, Sessions: s.sessions, Definitions: mirrors,
		Forges:           forges,
		PresignDownloads: s.bucket != "",
		Unpriced: func(model string) string { // as a model of an operator's own provider
			return map[bool]string{true: "the model has no price"}[model == "own/unpriced"]
		},
	})
	if _, _, err := svc.Keys.Bootstrap(ctx, adminKey); err != nil {
		w.t.Fatal(err)
	}
	return svc
}

// response is the response to a request.
type response struct {
	status int
	header http.Header
	body   string
}

// into decodes the body.
func (a response) into(t *testing.T, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(a.body), v); err != nil {
		t.Fatalf("body %q: %v", a.body, err)
	}
}

// field returns a member of the body's object, as JSON text without quotes.
func (a response) field(name string) string {
	var object map[string]json.RawMessage
	_ = json.Unmarshal([]byte(a.body), &object)
	return strings.Trim(string(object[name]), `"`)
}

// request builds a request with the admin's key. headers are pairs, and an empty value removes a
// header.
func (w *world) request(method, path string, body any, headers ...string) *http.Request {
	w.t.Helper()
	var reader io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		reader = strings.NewReader(b)
	case []byte:
		reader = bytes.NewReader(b)
	case io.Reader:
		reader = b
	default:
		raw, err := json.Marshal(b)
		if err != nil {
			w.t.Fatal(err)
		}
		reader = bytes.NewReader(raw)
	}
	if !strings.HasPrefix(path, "http") {
		path = w.url + path
	}
	r, err := http.NewRequestWithContext(w.t.Context(), method, path, reader)
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+w.admin)
	if reader != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i+1] == "" {
			r.Header.Del(headers[i])
		} else {
			r.Header.Set(headers[i], headers[i+1])
		}
	}
	return r
}

// do sends a request and reads the whole response.
func (w *world) do(method, path string, body any, headers ...string) response {
	w.t.Helper()
	return w.send(w.request(method, path, body, headers...))
}

func (w *world) send(r *http.Request) response {
	w.t.Helper()
	resp, err := w.client.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	content, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatalf("read the response: %v", err)
	}
	return response{resp.StatusCode, resp.Header, string(content)}
}

// must is do, and requires the given status.
func (w *world) must(status int, method, path string, body any, headers ...string) response {
	w.t.Helper()
	a := w.do(method, path, body, headers...)
	if a.status != status {
		w.t.Fatalf("%s %s: got %d %s, want %d", method, path, a.status, a.body, status)
	}
	return a
}

// newKey creates a key with the given scopes.
func (w *world) newKey(scopes ...penstock.Scope) (uid, key string) {
	w.t.Helper()
	a := w.must(http.StatusCreated, "POST", "/api/v1/keys", access.KeyRequest{Name: "test", Scopes: scopes})
	return a.field("uid"), a.field("key")
}

// newRun creates a run and returns its id.
func (w *world) newRun(prompt string) string {
	w.t.Helper()
	return w.must(http.StatusOK, "POST", "/api/v1/agent/runs", map[string]any{"prompt": prompt}).field("run_id")
}

// agent is a worker that holds one execution.
type agent struct {
	t       *testing.T
	control penstock.Control
	a       penstock.Assignment
	n       int64
}

// work claims the run that has waited longest, and starts it.
func (w *world) work(control penstock.Control) *agent {
	w.t.Helper()
	a, err := control.Claim(w.t.Context(), penstock.ClaimRequest{
		WorkerID: penstock.NewID(), Host: "test", Version: "test",
		Harnesses: []string{penstock.HarnessBuiltin, penstock.HarnessCommand},
		Models:    []string{"demo/"}, Sandbox: "process", Capacity: 1, Wait: 10 * time.Second,
	})
	if err != nil {
		w.t.Fatalf("claim: %v", err)
	}
	g := &agent{t: w.t, control: control, a: a}
	g.append(g.state(penstock.StatePending), g.state(penstock.StateInProgress))
	return g
}

func (g *agent) state(s penstock.State) penstock.Draft {
	return penstock.NewDraft(
		penstock.EventState, penstock.Now(), penstock.StateData{State: s, ExecutionID: g.a.Lease.ExecutionID},
	)
}

func (g *agent) say(text string) penstock.Draft {
	return penstock.NewDraft(penstock.EventMessage, penstock.Now(), penstock.Message{
		ID: penstock.NewID(), Role: penstock.RoleAssistant, Content: []penstock.Block{penstock.Text(text)},
	})
}

func (g *agent) append(drafts ...penstock.Draft) {
	g.t.Helper()
	for i := range drafts {
		g.n++
		drafts[i].N = g.n
	}
	if err := g.control.Append(g.t.Context(), g.a.Lease, drafts); err != nil {
		g.t.Fatalf("append: %v", err)
	}
}

func (g *agent) succeed() {
	g.t.Helper()
	if _, err := g.control.Finish(g.t.Context(), g.a.Lease, penstock.Result{State: penstock.StateSucceeded}); err != nil {
		g.t.Fatalf("finish: %v", err)
	}
}

// eventually polls until check is true.
func eventually(t *testing.T, what string, check func() bool) {
	t.Helper()
	deadline := time.After(testkit.Patience * time.Minute)
	for !check() {
		select {
		case <-deadline:
			t.Fatalf("waited in vain for %s", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}
