package httpapi_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/httpapi"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// controls are the two implementations of a control plane. Both must behave the same.
var controls = map[string]func(*testing.T, *world) penstock.Control{
	"in process": func(_ *testing.T, w *world) penstock.Control { return w.svc.Executions.Control() },
	"over HTTP":  remote,
}

func remote(t *testing.T, w *world) penstock.Control {
	t.Helper()
	_, key := w.newKey(penstock.ScopeWorker)
	c, err := httpapi.NewClient(httpapi.ClientOptions{Server: w.url, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestControl(t *testing.T) {
	t.Parallel()
	onControls(t, map[string]func(*testing.T, *world, penstock.Control){
		"a run from claim to result":             controlWholeRun,
		"no work":                                controlNoWork,
		"work that comes while a worker waits":   controlWaits,
		"a follow-up":                            controlFollowup,
		"a cancelled run":                        controlCancelled,
		"a lease that nobody has":                controlForeignLease,
		"files that go out and come back":        controlFiles,
		"a saved session":                        controlSession,
		"calls to a model":                       controlCalls,
		"moves that a worker must not make":      controlIllegalMove,
		"events that only the server writes":     controlForgedEvents,
		"an artifact without content, and a bad": controlArtifacts,
	})
}

// onControls runs each test with both implementations, on both engines.
func onControls(t *testing.T, tests map[string]func(*testing.T, *world, penstock.Control)) {
	t.Helper()
	for way, connect := range controls {
		for name, test := range tests {
			t.Run(way+"/"+name, func(t *testing.T) {
				t.Parallel()
				testkit.Engines(t, func(t *testing.T, url string) {
					w := start(t, func(s *settings) { s.storeURL = url })
					test(t, w, connect(t, w))
				})
			})
		}
	}
}

func controlWholeRun(t *testing.T, w *world, c penstock.Control) {
	id := w.must(http.StatusOK, "POST", "/api/v1/agent/runs", map[string]any{
		"prompt": "do it",
		"config": map[string]any{
			"model_id": "demo/offline", "max_duration_minutes": 30, "env": map[string]string{"A": "1"},
		},
		"metadata": map[string]string{"k": "v"},
	}).field("run_id")
	g := w.work(c)
	if g.a.Run.ID != id || g.a.Lease.RunID != id || g.a.Lease.Token == "" || g.a.APIKey == "" || len(g.a.Prompts) != 1 ||
		g.a.Prompts[0].Text != "do it" {
		t.Fatalf("got %+v", g.a)
	}
	if g.a.TimeLimit != 30*time.Minute {
		t.Errorf("got a time limit of %s", g.a.TimeLimit)
	}
	if got := g.a.Run.Config; got == nil || got.ModelID != "demo/offline" || got.Env["A"] != "1" ||
		g.a.Run.Metadata["k"] != "v" {
		t.Errorf("got run %+v with config %+v", g.a.Run, got)
	}
	g.append(g.say("done it"))
	if _, err := c.Heartbeat(t.Context(), g.a.Lease, 0); err != nil {
		t.Errorf("heartbeat: %v", err)
	}
	cost := 0.25
	prompts, err := c.Finish(t.Context(), g.a.Lease, penstock.Result{
		State: penstock.StateSucceeded, Turn: 1, Usage: &penstock.TurnUsage{ModelID: "demo/offline", CostUSD: &cost},
	})
	if err != nil || len(prompts) != 0 {
		t.Fatalf("finish: got %v, %v", prompts, err)
	}
	if got := w.must(http.StatusOK, "GET", "/api/v1/agent/runs/"+id, nil).field("state"); got != "SUCCEEDED" {
		t.Errorf("got state %s", got)
	}
	if _, err := c.Heartbeat(t.Context(), g.a.Lease, 0); !errors.Is(err, penstock.ErrLeaseLost) {
		t.Errorf("after the end: got %v, want ErrLeaseLost", err)
	}
}

func claim(wait time.Duration) penstock.ClaimRequest {
	return penstock.ClaimRequest{
		WorkerID: penstock.NewID(), Host: "test", Harnesses: []string{penstock.HarnessBuiltin}, Models: []string{"demo/"},
		Sandbox: "process", Capacity: 1, Wait: wait,
	}
}

func controlNoWork(t *testing.T, _ *world, c penstock.Control) {
	if _, err := c.Claim(t.Context(), claim(10*time.Millisecond)); !errors.Is(err, penstock.ErrNoWork) {
		t.Errorf("got %v, want ErrNoWork", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.Claim(ctx, claim(time.Minute)); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("given up: got %v, want DeadlineExceeded", err)
	}
}

func controlWaits(t *testing.T, w *world, c penstock.Control) {
	claimed := make(chan string, 1)
	go func() {
		a, err := c.Claim(t.Context(), claim(time.Minute))
		if err != nil {
			t.Errorf("claim: %v", err)
		}
		claimed <- a.Run.ID
	}()
	id := w.newRun("at last")
	if got := <-claimed; got != id {
		t.Errorf("got run %s, want %s", got, id)
	}
}

func controlFollowup(t *testing.T, w *world, c penstock.Control) {
	id := w.newRun("first")
	g := w.work(c)
	signaled := make(chan penstock.Signal, 1)
	go func() {
		s, err := c.Heartbeat(t.Context(), g.a.Lease, time.Minute)
		if err != nil {
			t.Errorf("heartbeat: %v", err)
		}
		signaled <- s
	}()
	w.must(http.StatusOK, "POST", "/api/v1/agent/runs/"+id+"/followups", `{"message": "and second"}`)
	if s := <-signaled; s.Followups != 1 {
		t.Errorf("got signal %+v, want one follow-up", s)
	}
	r := penstock.Result{State: penstock.StateSucceeded, Turn: 1}
	prompts, err := c.Finish(t.Context(), g.a.Lease, r)
	if err != nil || len(prompts) != 1 || prompts[0].Text != "and second" || !prompts[0].Followup {
		t.Fatalf("got %+v, %v; want the follow-up", prompts, err)
	}
	again, err := c.Finish(t.Context(), g.a.Lease, r) // the response was lost on the way
	if err != nil || len(again) != 1 || again[0].ID != prompts[0].ID {
		t.Errorf("the same again: got %+v, %v; want the same prompt", again, err)
	}
}

func controlCancelled(t *testing.T, w *world, c penstock.Control) {
	id := w.newRun("stop me")
	g := w.work(c)
	lost := make(chan error, 1)
	go func() {
		_, err := c.Heartbeat(t.Context(), g.a.Lease, time.Minute)
		lost <- err
	}()
	w.must(http.StatusOK, "POST", "/api/v1/agent/runs/"+id+"/cancel", nil)
	if err := <-lost; !errors.Is(err, penstock.ErrLeaseLost) {
		t.Errorf("heartbeat: got %v, want ErrLeaseLost", err)
	}
	if err := c.Append(
		t.Context(), g.a.Lease, []penstock.Draft{g.say("too late")},
	); !errors.Is(err, penstock.ErrLeaseLost) {
		t.Errorf("append: got %v, want ErrLeaseLost", err)
	}
	if _, err := c.Finish(
		t.Context(), g.a.Lease, penstock.Result{State: penstock.StateSucceeded},
	); !errors.Is(err, penstock.ErrLeaseLost) {
		t.Errorf("finish: got %v, want ErrLeaseLost", err)
	}
}

func controlForeignLease(t *testing.T, w *world, c penstock.Control) {
	w.newRun("x")
	g := w.work(c)
	l := g.a.Lease
	l.Token = "guess"
	if err := c.Append(t.Context(), l, []penstock.Draft{g.say("not mine")}); !errors.Is(err, penstock.ErrLeaseLost) {
		t.Errorf("append: got %v, want ErrLeaseLost", err)
	}
	if _, err := c.Open(t.Context(), l, penstock.File{ID: "session"}); !errors.Is(err, penstock.ErrLeaseLost) {
		t.Errorf("open: got %v, want ErrLeaseLost", err)
	}
	up := penstock.Upload{
		ID: penstock.NewID(), Type: penstock.ArtifactFile,
		Artifact: &penstock.ArtifactData{Filename: "a", MimeType: "text/plain"},
	}
	if _, err := c.Save(t.Context(), l, up, strings.NewReader("x")); !errors.Is(err, penstock.ErrLeaseLost) {
		t.Errorf("save: got %v, want ErrLeaseLost", err)
	}
}

func controlFiles(t *testing.T, w *world, c penstock.Control) {
	content := bytes.Repeat([]byte("0123456789abcdef"), 200_000)
	id := w.must(http.StatusOK, "POST", "/api/v1/agent/runs", penstock.RunRequest{
		Prompt:      "x",
		Attachments: []penstock.Attachment{{FileName: "big.bin", MimeType: "application/octet-stream", Data: content}},
	}).field("run_id")
	g := w.work(c)
	if len(g.a.Files) != 1 || g.a.Files[0].Size != int64(len(content)) {
		t.Fatalf("got files %+v", g.a.Files)
	}
	r, err := c.Open(t.Context(), g.a.Lease, g.a.Files[0])
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(r)
	_ = r.Close()
	if err != nil || !bytes.Equal(got, content) {
		t.Fatalf("got %d bytes and %v, want %d", len(got), err, len(content))
	}
	if _, err := c.Open(
		t.Context(), g.a.Lease, penstock.File{ID: "nothing"},
	); penstock.CodeOf(err) != penstock.CodeNotFound {
		t.Errorf("a file that there is not: got %v", err)
	}
	up := penstock.Upload{
		ID: penstock.NewID(), Type: penstock.ArtifactFile, Size: int64(len(content)),
		Artifact: &penstock.ArtifactData{
			Filename: "copy.bin", Filepath: "out/copy.bin", MimeType: "application/octet-stream",
		},
	}
	for range 2 { // a repeat stores nothing twice
		if uid, err := c.Save(t.Context(), g.a.Lease, up, bytes.NewReader(content)); err != nil || uid != up.ID {
			t.Fatalf("save: got %q, %v", uid, err)
		}
	}
	var run penstock.Run
	w.must(http.StatusOK, "GET", "/api/v1/agent/runs/"+id, nil).into(t, &run)
	if len(run.Artifacts) != 1 {
		t.Errorf("got artifacts %v, want one", run.Artifacts)
	}
	link := w.must(http.StatusFound, "GET", "/api/v1/agent/artifacts/"+up.ID+"/download", nil).header.Get("Location")
	if a := w.must(http.StatusOK, "GET", link, nil); a.body != string(content) {
		t.Errorf("got %d bytes back", len(a.body))
	}
}

func controlSession(t *testing.T, w *world, c penstock.Control) {
	id := w.newRun("remember")
	g := w.work(c)
	up := penstock.Upload{
		ID: penstock.NewID(), Session: &penstock.SavedSession{SessionID: "s-1", Harness: penstock.HarnessBuiltin},
	}
	if _, err := c.Save(t.Context(), g.a.Lease, up, strings.NewReader("home")); err != nil {
		t.Fatal(err)
	}
	g.succeed()
	w.must(http.StatusOK, "POST", "/api/v1/agent/runs/"+id+"/followups", `{"message": "go on"}`)
	next := w.work(c)
	if next.a.Session == nil || next.a.Session.SessionID != "s-1" || next.a.Lease.ExecutionID != 2 ||
		len(next.a.History) == 0 {
		t.Fatalf("got %+v", next.a)
	}
	r, err := c.Open(t.Context(), next.a.Lease, next.a.Session.File)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if got, err := io.ReadAll(r); err != nil || string(got) != "home" {
		t.Errorf("got %q, %v", got, err)
	}
}

func controlIllegalMove(t *testing.T, w *world, c penstock.Control) {
	w.newRun("x")
	g := w.work(c)
	err := c.Append(t.Context(), g.a.Lease, []penstock.Draft{g.state(penstock.StateSucceeded)})
	e, ok := errors.AsType[*penstock.Error](err)
	if !ok || e.Code != penstock.CodeInvalidRequest {
		t.Fatalf("got %v, want an invalid_request", err)
	}
	if diff := cmp.Diff(
		[]penstock.FieldError{{Pointer: "/data/state", Detail: e.Fields[0].Detail}}, e.Fields,
	); diff != "" {
		t.Errorf("fields (-want +got):\n%s", diff)
	}
}

// A worker cannot report events that only the server may create.
func controlForgedEvents(t *testing.T, w *world, c penstock.Control) {
	id := w.newRun("x")
	g := w.work(c)
	for name, d := range map[string]penstock.Draft{
		"the end of the stream":      {Type: penstock.EventDone, Data: []byte(`{"state":"SUCCEEDED"}`)},
		"an event within another":    {Type: "message\ndata: {}\n\nevent: done", Data: []byte(`{}`)},
		"no type":                    {Data: []byte(`{}`)},
		"a moment that is no object": {Type: penstock.EventTimeline, Data: []byte(`"x"`)},
		"a message that is a list":   {Type: penstock.EventMessage, Data: []byte(`[1]`)},
		"a key without end":          {Type: penstock.EventMessage, Data: []byte(`{}`), Key: strings.Repeat("k", 1000)},
	} {
		d.At = penstock.Now()
		if err := c.Append(
			t.Context(), g.a.Lease, []penstock.Draft{g.say("fine"), d},
		); penstock.CodeOf(err) != penstock.CodeInvalidRequest {
			t.Errorf("%s: got %v", name, err)
		}
	}
	g.succeed()
	stream := w.must(http.StatusOK, "GET", "/api/v1/agent/runs/"+id+"/events", nil).body
	if strings.Count(stream, "event: done") != 1 || strings.Contains(stream, "fine") {
		t.Errorf("got %s", stream)
	}
	w.must(http.StatusOK, "GET", "/api/v1/agent/runs/"+id+"/timeline", nil)
}

func controlArtifacts(t *testing.T, w *world, c penstock.Control) {
	id := w.newRun("x")
	g := w.work(c)
	up := penstock.Upload{
		ID: penstock.NewID(), Type: penstock.ArtifactPullRequest,
		Artifact: &penstock.ArtifactData{Branch: "fix", URL: "https://example.com/pull/1"},
	}
	if _, err := c.Save(t.Context(), g.a.Lease, up, nil); err != nil {
		t.Errorf("a pull request: %v", err)
	}
	if got := w.must(
		http.StatusOK, "GET", "/api/v1/agent/run-by-external-reference?url=https://example.com/pull/1", nil,
	).field("run_id"); got != id {
		t.Errorf("by its reference: got %s", got)
	}
	up.ID, up.Artifact = penstock.NewID(), &penstock.ArtifactData{Branch: "fix", URL: "nowhere"}
	if _, err := c.Save(t.Context(), g.a.Lease, up, nil); penstock.CodeOf(err) != penstock.CodeInvalidRequest {
		t.Errorf("a bad one: got %v", err)
	}
}

func TestTheClientRetriesDuringAFault(t *testing.T) {
	t.Parallel()
	w := start(t)
	_, key := w.newKey(penstock.ScopeWorker)
	target, _ := url.Parse(w.url)
	proxy := httputil.NewSingleHostReverseProxy(target)
	proxy.ErrorLog = nil
	var calls atomic.Int32
	flaky := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		switch calls.Add(1) % 4 {
		case 1: // the connection breaks
			panic(http.ErrAbortHandler)
		case 2: // a proxy without a server behind it
			http.Error(rw, "bad gateway", http.StatusBadGateway)
		case 3: // the request arrives, but its response does not
			proxy.ServeHTTP(httptest.NewRecorder(), r)
			panic(http.ErrAbortHandler)
		default:
			proxy.ServeHTTP(rw, r)
		}
	}))
	defer flaky.Close()
	c, err := httpapi.NewClient(httpapi.ClientOptions{Server: flaky.URL, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	id := w.newRun("steadfast")
	g := w.work(w.svc.Executions.Control())
	g.control = c
	g.append(g.say("said once"))
	up := penstock.Upload{
		ID: penstock.NewID(), Type: penstock.ArtifactFile,
		Artifact: &penstock.ArtifactData{Filename: "a.txt", MimeType: "text/plain"},
	}
	if _, err := c.Save(t.Context(), g.a.Lease, up, strings.NewReader("content")); err != nil {
		t.Fatalf("save: %v", err)
	}
	// The end of a run ends its lease, so a repeated Finish may find the lease lost.
	if _, err := c.Finish(t.Context(), g.a.Lease, penstock.Result{State: penstock.StateSucceeded, Turn: 1}); err != nil &&
		!errors.Is(err, penstock.ErrLeaseLost) {
		t.Fatalf("finish: %v", err)
	}
	a := w.must(http.StatusOK, "GET", "/api/v1/agent/runs/"+id+"/conversation", nil)
	if n := strings.Count(a.body, "said once"); n != 1 {
		t.Errorf("said %d times: %s", n, a.body)
	}
	var run penstock.Run
	w.must(http.StatusOK, "GET", "/api/v1/agent/runs/"+id, nil).into(t, &run)
	if run.State != penstock.StateSucceeded || len(run.Artifacts) != 1 {
		t.Errorf("got state %s, artifacts %v", run.State, run.Artifacts)
	}
}

func TestTheClientKeepsItsKeyToItself(t *testing.T) {
	t.Parallel()
	for server, ok := range map[string]bool{
		"https://penstock.example": true, "http://127.0.0.1:8080": true, "http://localhost": true, "http://[::1]:1": true,
		"http://penstock.example": false, "http://192.0.2.1": false, "http://127.0.0.1.example.com": false, "ftp://x": false,
		"": false, "penstock.example": false,
	} {
		if _, err := httpapi.NewClient(httpapi.ClientOptions{Server: server, Key: "k"}); (err == nil) != ok {
			t.Errorf("%q: got %v", server, err)
		}
	}
	var followed atomic.Bool
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { followed.Store(true) }))
	defer elsewhere.Close()
	trap := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer trap.Close()
	c, err := httpapi.NewClient(httpapi.ClientOptions{Server: trap.URL, Key: "k"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Claim(t.Context(), claim(0)); err == nil || followed.Load() {
		t.Errorf("a redirect: got %v, followed %v; want it refused", err, followed.Load())
	}
}

// startTLS starts a server with HTTPS. It returns the key of a worker and the trust root of the
// server.
func startTLS(t *testing.T) (w *world, workerKey string, pool *x509.CertPool) {
	t.Helper()
	cert, pool := certificate(t)
	w = start(t, func(s *settings) {
		s.server.TLS = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12}
	})
	_, workerKey = w.newKey(penstock.ScopeWorker)
	return w, workerKey, pool
}

func TestTheClientChecksTheCertificate(t *testing.T) {
	t.Parallel()
	w, key, pool := startTLS(t)
	trusting, err := httpapi.NewClient(
		httpapi.ClientOptions{Server: w.url, Key: key, TLS: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}},
	)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := trusting.Claim(t.Context(), claim(time.Millisecond)); !errors.Is(err, penstock.ErrNoWork) {
		t.Errorf("a certificate that is trusted: got %v", err)
	}
	wary, err := httpapi.NewClient(httpapi.ClientOptions{Server: w.url, Key: key})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := wary.Claim(ctx, claim(time.Millisecond)); err == nil || errors.Is(err, penstock.ErrNoWork) {
		t.Errorf("a certificate that is not: got %v", err)
	}
}

// All calls of a worker share one HTTP/2 connection. If a network silently drops its packets, for
// example after losing its state, later calls use a new connection.
func TestTheClientReplacesASilentConnection(t *testing.T) {
	t.Parallel()
	w, key, pool := startTLS(t)
	through, silence := swallowing(t, strings.TrimPrefix(w.url, "https://"))
	c, err := httpapi.NewClient(httpapi.ClientOptions{
		Server: "https://" + through, Key: key, TLS: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
	})
	if err != nil {
		t.Fatal(err)
	}
	ask := func(within time.Duration) error {
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		if _, err := c.Claim(ctx, claim(time.Millisecond)); !errors.Is(err, penstock.ErrNoWork) {
			return fmt.Errorf("got %w, want %w", err, penstock.ErrNoWork)
		}
		return nil
	}
	if err := ask(time.Minute); err != nil {
		t.Fatal(err)
	}
	silence()
	testkit.Eventually(t, time.Minute, func() error { return ask(5 * time.Second) })
}

// swallowing is a proxy to an address. From silence on, nothing passes on the connections that
// exist by then.
func swallowing(t *testing.T, address string) (through string, silence func()) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	var now atomic.Pointer[atomic.Bool] // whether new connections are silent
	now.Store(new(atomic.Bool))
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := new(net.Dialer).DialContext(t.Context(), "tcp", address)
			if err != nil {
				_ = client.Close()
				return
			}
			silent := now.Load()
			carry := func(to, from net.Conn) {
				buf := make([]byte, 64<<10)
				for {
					n, err := from.Read(buf)
					if err != nil {
						_ = to.Close()
						return
					}
					if !silent.Load() {
						_, _ = to.Write(buf[:n]) // where that fails, the other way ends
					}
				}
			}
			go carry(server, client)
			go carry(client, server)
		}
	}()
	return listener.Addr().String(), func() { now.Swap(new(atomic.Bool)).Store(true) }
}

func TestWaitingWorkersAreReleasedWhenTheServerStops(t *testing.T) {
	t.Parallel()
	w := start(t)
	_, key := w.newKey(penstock.ScopeWorker)
	finished := make(chan response, 1)
	go func() {
		finished <- w.do(
			"POST", "/api/v1/worker/claim", `{"worker_id": "w", "harnesses": ["builtin"], "capacity": 1, "wait": 50000000000}`,
			"Authorization", "Bearer "+key,
		)
	}()
	eventually(t, "the worker to be seen", func() bool {
		return strings.Contains(w.do("GET", "/api/v1/agent/connected-self-hosted-workers", nil).body, "connection_count")
	})
	w.api.Stop()
	if a := <-finished; a.status != 503 { // after its wait, it is 204
		t.Errorf("got %d %s, want 503", a.status, a.body)
	}
}

func controlCalls(t *testing.T, w *world, c penstock.Control) {
	id := w.must(http.StatusOK, "POST", "/api/v1/agent/runs", map[string]any{
		"prompt": "do it", "config": map[string]any{"model_id": "demo/offline", "budget": map[string]any{"max_cost_usd": 3}},
	}).field("run_id")
	g := w.work(c)
	call := penstock.Reservation{
		ID: penstock.NewID(), Provider: "anthropic", Model: "m", InputTokens: 10, InputCost: 1e9, OutputPrice: 1e9,
		Output: 1000, LeastOutput: 1000, Completions: 1,
	}
	second := call
	second.ID = penstock.NewID()
	for range 2 {
		got, err := c.Reserve(t.Context(), g.a.Lease, call)
		if want := (penstock.Reserved{Capped: true, Output: 1000}); err != nil || got != want {
			t.Fatalf("reserve: got %+v and %v, want %+v", got, err, want)
		}
	}
	if got, err := c.Reserve(t.Context(), g.a.Lease, second); err != nil || !got.Wait {
		t.Errorf("reserve beside a call in flight: got %+v and %v", got, err)
	}
	done := penstock.Settlement{
		ID: call.ID, Tokens: penstock.TokenUsage{Input: 10, Output: 500},
		Cost: &penstock.CallCost{Input: 1e9, Output: 5e8, Tools: 1},
	}
	for range 2 {
		if err := c.Settle(t.Context(), g.a.Lease, done); err != nil {
			t.Fatalf("settle: %v", err)
		}
	}
	got, err := c.Reserve(t.Context(), g.a.Lease, second)
	if err != nil || got.Refusal == nil || !got.Refusal.Pause || got.Refusal.Budget.NeededUSD != 2 {
		t.Errorf("reserve without room: got %+v and %v", got, err)
	}
	bad := call
	bad.Completions = 0
	if _, err := c.Reserve(t.Context(), g.a.Lease, bad); penstock.CodeOf(err) != penstock.CodeInvalidRequest {
		t.Errorf("a call without a completion: %v", err)
	}
	done.ID = penstock.NewID()
	if err := c.Settle(t.Context(), g.a.Lease, done); !errors.Is(err, penstock.ErrLeaseLost) {
		t.Errorf("settle a call that was never reserved: %v", err)
	}
	if _, err := c.Finish(t.Context(), g.a.Lease, penstock.Result{
		State: penstock.StateSucceeded, Turn: 1, Usage: &penstock.TurnUsage{Tokens: penstock.TokenUsage{Input: 99}},
	}); err != nil {
		t.Fatal(err)
	}
	run := w.must(http.StatusOK, "GET", "/api/v1/agent/runs/"+id, nil)
	var usage penstock.Usage
	if err := json.Unmarshal([]byte(run.field("request_usage")), &usage); err != nil {
		t.Fatal(err)
	}
	// The ledger already has what the agent has reported.
	if usage.TotalTokens != 510 || *usage.InferenceCostUSD != 1.500000001 {
		t.Errorf("the run used %d tokens for %v USD, want 510 for 1.500000001", usage.TotalTokens, *usage.InferenceCostUSD)
	}
}
