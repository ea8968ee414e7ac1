package main_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// balancer sends each request to one of its ready servers, in turns, and never twice, like the
// balancer of a cloud. It checks /readyz often.
type balancer struct {
	*httptest.Server

	mu      sync.Mutex
	targets []*target
	next    atomic.Uint64
}

type target struct {
	url    string
	proxy  *httputil.ReverseProxy
	ready  atomic.Bool
	inside sync.WaitGroup // requests, without streams
	stop   chan struct{}
	gone   chan struct{}
}

func newBalancer(t *testing.T) *balancer {
	t.Helper()
	b := &balancer{}
	b.Server = httptest.NewServer(b)
	t.Cleanup(func() {
		for _, each := range b.targets {
			b.halt(each)
		}
		b.CloseClientConnections()
		b.Close()
	})
	return b
}

func (b *balancer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	var ready []*target
	for _, each := range b.targets {
		if each.ready.Load() {
			ready = append(ready, each)
		}
	}
	if len(ready) == 0 {
		b.mu.Unlock()
		http.Error(w, "no server is ready", http.StatusBadGateway)
		return
	}
	to := ready[b.next.Add(1)%uint64(len(ready))]
	if !strings.HasSuffix(r.URL.Path, "/events") { // a stream lasts until its server stops
		to.inside.Add(1)
		defer to.inside.Done()
	}
	b.mu.Unlock()
	to.proxy.ServeHTTP(w, r)
}

// add begins to send requests to a server.
func (b *balancer) add(t *testing.T, s *testkit.Server) *target {
	t.Helper()
	u, err := url.Parse(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	to := &target{
		url: s.URL, proxy: httputil.NewSingleHostReverseProxy(u), stop: make(chan struct{}), gone: make(chan struct{}),
	}
	to.proxy.Transport = &http.Transport{MaxIdleConnsPerHost: 100}
	to.proxy.FlushInterval = -1
	to.proxy.ErrorHandler = func(w http.ResponseWriter, r *http.Request, err error) {
		http.Error(w, fmt.Sprintf("%s %s at %s: %v", r.Method, r.URL.Path, s.URL, err), http.StatusBadGateway)
	}
	to.check(t)
	if !to.ready.Load() {
		t.Fatalf("%s is not ready", s.URL)
	}
	go func() {
		defer close(to.gone)
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-to.stop:
				return
			case <-tick.C:
				to.check(t)
			}
		}
	}()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.targets = append(b.targets, to)
	return to
}

func (to *target) check(t *testing.T) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, to.url+"/readyz", http.NoBody)
	if err != nil {
		t.Error(err)
		return
	}
	res, err := http.DefaultClient.Do(req)
	if err == nil {
		_ = res.Body.Close()
	}
	to.ready.Store(err == nil && res.StatusCode == http.StatusOK)
}

// remove sends no more requests to a server, and waits for those that it has. It is for a release
// that closes its port as soon as it is asked to stop.
func (b *balancer) remove(to *target) {
	b.halt(to)
	b.mu.Lock()
	to.ready.Store(false)
	b.mu.Unlock()
	to.inside.Wait()
}

func (b *balancer) halt(to *target) {
	select {
	case <-to.stop:
	default:
		close(to.stop)
	}
	<-to.gone
}

// Servers of the previous release are replaced one by one while clients create runs, read them, list
// them, follow their events and send deliveries, and then servers of this release by others. The
// new ones migrate the database that the old ones use. No request fails.
func TestRollingUpgradeFailsNoRequest(t *testing.T) {
	t.Parallel()
	testkit.TakesLong(t)
	previous := testkit.PreviousBinary(t)
	args := []string{"--no-worker", "--limit-deliveries-per-minute", "0"}
	old := testkit.ServeOptions{Database: testkit.Postgres(t), Args: args, Binary: previous}
	first := serveHooks(t, old)
	second := first.Replica(old)
	b := newBalancer(t)
	oldTargets := []*target{b.add(t, first.Server), b.add(t, second)}

	load := startLoad(t, b, first.tokenHook("busy"), first.Key)
	t.Cleanup(load.end)
	t.Cleanup(func() { showErrors(t, first.Server, second) })
	load.progress()
	// What the old servers do beside the new schema counts, too.
	fresh := testkit.ServeOptions{Args: append([]string{"--shutdown-delay", "3s"}, args...)}
	third := first.Replica(fresh)
	t.Cleanup(func() { showErrors(t, third) })
	b.add(t, third)
	load.progress()
	b.remove(oldTargets[0])
	first.Stop()
	fourth := first.Replica(fresh)
	t.Cleanup(func() { showErrors(t, fourth) })
	b.add(t, fourth)
	b.remove(oldTargets[1])
	second.Stop()
	load.progress()
	// A server of this release only gets SIGTERM: the balancer sees that it is not ready.
	third.Stop()
	load.progress()
	fifth := first.Replica(fresh)
	b.add(t, fifth)
	fourth.Stop()
	load.progress()
	load.end()
	t.Logf("%d requests and %d streams, of which none may fail", load.requests.Load(), load.streams.Load())
}

// showErrors logs the errors of servers, if the test has failed.
func showErrors(t *testing.T, servers ...*testkit.Server) {
	t.Helper()
	for _, s := range servers {
		for line := range strings.Lines(s.Logs()) {
			if t.Failed() && !strings.Contains(line, "level=INFO") && !strings.Contains(line, "route=/readyz") {
				t.Logf("%s: %s", s.URL, line)
			}
		}
	}
}

// load is the work of clients until end. Each failed request is an error of the test.
type load struct {
	t        *testing.T
	base     string
	key      string
	hook     penstock.Webhook
	client   *http.Client
	requests atomic.Int64
	streams  atomic.Int64
	stop     chan struct{}
	once     sync.Once
	clients  sync.WaitGroup
}

func startLoad(t *testing.T, b *balancer, hook penstock.Webhook, key string) *load {
	t.Helper()
	l := &load{
		t: t, base: b.URL, key: key, hook: hook,
		client: &http.Client{Transport: &http.Transport{}}, stop: make(chan struct{}),
	}
	var followed penstock.Run
	l.ask(http.MethodPost, "/api/v1/agent/runs", `{"prompt": "wait"}`, &followed)
	for range 3 {
		l.clients.Go(func() { l.until(l.useRuns) })
	}
	l.clients.Go(func() { l.until(l.deliver) })
	l.clients.Go(func() { l.follow(followed.ID) })
	return l
}

// end stops the clients and waits for them.
func (l *load) end() {
	l.once.Do(func() { close(l.stop) })
	l.clients.Wait()
	l.client.CloseIdleConnections()
}

func (l *load) stopped() bool {
	select {
	case <-l.stop:
		return true
	default:
		return false
	}
}

func (l *load) until(do func()) {
	for !l.stopped() && !l.t.Failed() {
		do()
	}
}

// progress waits until the clients have made more requests.
func (l *load) progress() {
	l.t.Helper()
	want := l.requests.Load() + 20
	testkit.Eventually(l.t, time.Minute, func() error {
		if got := l.requests.Load(); got < want && !l.t.Failed() {
			return fmt.Errorf("the clients made %d requests, want %d", got, want)
		}
		return nil
	})
}

func (l *load) useRuns() {
	var run penstock.Run
	l.ask(http.MethodPost, "/api/v1/agent/runs", `{"prompt": "wait"}`, &run)
	if run.ID == "" {
		return
	}
	l.ask(http.MethodGet, "/api/v1/agent/runs/"+run.ID, "", nil)
	l.ask(http.MethodGet, "/api/v1/agent/runs?limit=5", "", nil)
}

func (l *load) deliver() {
	u, err := url.Parse(l.hook.IngressURL)
	if err != nil {
		l.t.Error(err)
		return
	}
	l.askWith(l.hook.Secret, http.MethodPost, u.Path, fmt.Sprintf("%q", penstock.NewID()), http.StatusAccepted, nil)
}

// follow keeps an event stream open, and reconnects with the last event. A stream ends only because
// its server stops, and in order.
func (l *load) follow(run string) {
	last := "0"
	for !l.stopped() && !l.t.Failed() {
		req := l.request(l.key, http.MethodGet, "/api/v1/agent/runs/"+run+"/events", "")
		req.Header.Set("Last-Event-ID", last)
		res, err := l.client.Do(req) //nolint:bodyclose // closed below, or when the load ends
		if err != nil {
			l.t.Errorf("follow: %v", err)
			return
		}
		l.streams.Add(1)
		ended := make(chan struct{})
		go func() {
			select {
			case <-l.stop:
				_ = res.Body.Close()
			case <-ended:
			}
		}()
		text, err := io.ReadAll(res.Body)
		close(ended)
		_ = res.Body.Close()
		if l.stopped() {
			return
		}
		if err != nil || res.StatusCode != http.StatusOK || !bytes.Contains(text, []byte("retry: ")) {
			l.t.Errorf("follow: got %d and %v, want a stream that ends with a hint to reconnect: %s", res.StatusCode, err, text)
		}
		for line := range strings.Lines(string(text)) {
			if id, found := strings.CutPrefix(strings.TrimSpace(line), "id: "); found {
				if id == last {
					l.t.Errorf("event %s came twice", id)
				}
				last = id
			}
		}
	}
}

func (l *load) ask(method, path, body string, into any) {
	l.askWith(l.key, method, path, body, http.StatusOK, into)
}

func (l *load) request(key, method, path, body string) *http.Request {
	req, err := http.NewRequestWithContext(l.t.Context(), method, l.base+path, strings.NewReader(body))
	if err != nil {
		panic(err) // the paths above are valid
	}
	req.Header.Set("Authorization", "Bearer "+key)
	return req
}

func (l *load) askWith(key, method, path, body string, status int, into any) {
	res, err := l.client.Do(l.request(key, method, path, body))
	if err != nil {
		l.t.Errorf("%s %s: %v", method, path, err)
		return
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != status {
		l.t.Errorf("%s %s: got %d and %v, want %d: %s", method, path, res.StatusCode, err, status, text)
		return
	}
	l.requests.Add(1)
	if into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			l.t.Errorf("%s %s: %v: %s", method, path, err, text)
		}
	}
}
