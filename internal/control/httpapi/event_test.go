package httpapi_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// sse is one event of a stream. A comment has only text.
type sse struct {
	id, event, data string
	comment, retry  string
}

// stream reads server-sent events.
type stream struct {
	t    *testing.T
	resp *http.Response
	in   *bufio.Reader
}

func (w *world) listen(runID string, headers ...string) *stream {
	w.t.Helper()
	resp, err := w.client.Do(w.request("GET", "/api/v1/agent/runs/"+runID+"/events", nil, headers...))
	if err != nil {
		w.t.Fatal(err)
	}
	w.t.Cleanup(func() { _ = resp.Body.Close() })
	return &stream{w.t, resp, bufio.NewReader(resp.Body)}
}

// next reads one event or comment. It returns io.EOF at the end of the stream.
func (s *stream) next() (sse, error) {
	var e sse
	for {
		line, err := s.in.ReadString('\n')
		if err != nil {
			return e, err
		}
		name, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case line == "\n":
			return e, nil
		case name == "":
			e.comment = value
		case name == "id":
			e.id = value
		case name == "event":
			e.event = value
		case name == "data":
			e.data = value
		case name == "retry":
			e.retry = value
		}
	}
}

// until collects events up to one of the given type.
func (s *stream) until(event string) []sse {
	s.t.Helper()
	var got []sse
	for {
		e, err := s.next()
		if err != nil {
			s.t.Fatalf("waiting for %s: %v (after %v)", event, err, got)
		}
		if e.event == "" {
			continue
		}
		got = append(got, e)
		if e.event == event {
			return got
		}
	}
}

func TestLiveEvents(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, url string) {
		w := start(t, func(s *settings) { s.storeURL = url })
		id := w.newRun("watch me")
		live := w.listen(id)
		if ct := live.resp.Header.Get("Content-Type"); live.resp.StatusCode != http.StatusOK || ct != "text/event-stream" ||
			live.resp.Header.Get("Cache-Control") != "no-store" {
			t.Fatalf("got %d %s", live.resp.StatusCode, ct)
		}
		g := w.work(w.svc.Executions.Control())
		g.append(g.say("one\ntwo\r\nthree"))
		g.append(
			penstock.Draft{
				Type: penstock.EventAction, At: penstock.Now(),
				Data: []byte("{\"type\": \"action\",\r\n \"id\": \"a1\", \"category\": \"command\", \"name\": \"run_command\"}"),
			},
		)
		g.succeed()

		events := live.until("done")
		if _, err := live.next(); !errors.Is(err, io.EOF) {
			t.Errorf("after done: got %v, want the end", err)
		}
		last := checkOrder(t, events)
		done := events[len(events)-1]
		if done.id != "" || !strings.Contains(done.data, `"SUCCEEDED"`) {
			t.Errorf("got done %+v, want no id and the state", done)
		}

		t.Run("a replay is the same", func(t *testing.T) {
			again := w.listen(id).until("done")
			if len(again) != len(events) {
				t.Errorf("got %d events, want %d", len(again), len(events))
			}
		})
		t.Run("a reconnect goes on without a gap", func(t *testing.T) {
			middle := events[len(events)/2]
			rest := w.listen(id, "Last-Event-ID", middle.id).until("done")
			if want := events[len(events)/2+1:]; len(rest) != len(want) || rest[0] != want[0] {
				t.Errorf("got %v, want %v", rest, want)
			}
			a := w.must(200, "GET", "/api/v1/agent/runs/"+id+"/events?after="+middle.id, nil)
			if !strings.Contains(a.body, "id: "+rest[0].id+"\n") || strings.Contains(a.body, "id: "+middle.id+"\n") {
				t.Errorf("by ?after: got %s", a.body)
			}
		})
		t.Run("a reconnect at the end is 204", func(*testing.T) {
			w.must(http.StatusNoContent, "GET", "/api/v1/agent/runs/"+id+"/events", nil, "Last-Event-ID", strconv.Itoa(last))
		})
		t.Run("ids that there cannot be", func(t *testing.T) {
			for _, bad := range []string{"x", "-1", "1.5", "99999999999999999999"} {
				if a := w.do("GET", "/api/v1/agent/runs/"+id+"/events", nil, "Last-Event-ID", bad); a.status != 400 ||
					!strings.Contains(a.body, "Last-Event-ID") {
					t.Errorf("Last-Event-ID %s: got %d %s", bad, a.status, a.body)
				}
				if a := w.do("GET", "/api/v1/agent/runs/"+id+"/events?after="+bad, nil); a.status != 400 ||
					!strings.Contains(a.body, "after") {
					t.Errorf("after=%s: got %d %s", bad, a.status, a.body)
				}
			}
		})
		t.Run("HEAD does not stay", func(*testing.T) {
			w.must(200, "HEAD", "/api/v1/agent/runs/"+id+"/events", nil)
		})
	})
}

// checkOrder requires increasing numbers as ids, and single-line JSON as data. It returns the last
// id.
func checkOrder(t *testing.T, events []sse) int {
	t.Helper()
	last := 0
	for _, e := range events {
		if !json.Valid([]byte(e.data)) {
			t.Errorf("event %s: data %q is not JSON", e.id, e.data)
		}
		if e.event == "done" {
			continue
		}
		n, err := strconv.Atoi(e.id)
		if err != nil || n <= last {
			t.Errorf("got id %q after %d", e.id, last)
		}
		last = n
	}
	return last
}

func TestAQuietStreamIsKeptOpen(t *testing.T) {
	t.Parallel()
	w := start(t, func(s *settings) { s.api.KeepAlive = 20 * time.Millisecond })
	s := w.listen(w.newRun("quiet"))
	for comments := 0; comments < 3; {
		e, err := s.next()
		if err != nil {
			t.Fatal(err)
		}
		if e.comment == "keep-alive" {
			comments++
		}
	}
}

func TestListenersAreNotifiedWhenTheServerStops(t *testing.T) {
	t.Parallel()
	w := start(t)
	s := w.listen(w.newRun("still going"))
	s.until("timeline")
	go w.stop()
	for {
		e, err := s.next()
		if err != nil {
			t.Fatalf("got %v before a retry line", err)
		}
		if e.retry == "" {
			continue
		}
		if ms, err := strconv.Atoi(e.retry); err != nil || ms < 500 || ms > 3000 {
			t.Errorf("got retry %q", e.retry)
		}
		break
	}
	if e, err := s.next(); !errors.Is(err, io.EOF) {
		t.Errorf("got %+v, %v; want the end", e, err)
	}
}

func TestARevokedKeyStopsListening(t *testing.T) {
	t.Parallel()
	w := start(t, func(s *settings) { s.api.KeepAlive = 20 * time.Millisecond })
	uid, key := w.newKey(penstock.ScopeRunsRead)
	s := w.listen(w.newRun("x"), "Authorization", "Bearer "+key)
	s.until("timeline")
	w.must(http.StatusNoContent, "DELETE", "/api/v1/keys/"+uid, nil)
	for {
		if _, err := s.next(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestADisabledUserStopsListening(t *testing.T) {
	t.Parallel()
	w := start(t, func(s *settings) { s.api.KeepAlive = 20 * time.Millisecond })
	for name, end := range map[string]func(user, grant string){
		"disabled":     func(user, _ string) { w.must(http.StatusOK, "PATCH", "/api/v1/users/"+user, `{"disabled": true}`) },
		"without role": func(_, grant string) { w.must(http.StatusNoContent, "DELETE", "/api/v1/grants/"+grant, nil) },
		"deleted":      func(user, _ string) { w.must(http.StatusNoContent, "DELETE", "/api/v1/users/"+user, nil) },
	} {
		user := w.must(http.StatusCreated, "POST", "/api/v1/users", map[string]any{"display_name": name}).field("uid")
		grant := w.must(http.StatusCreated, "POST", "/api/v1/grants", map[string]any{
			"subject_type": "user", "subject": user, "role": "viewer",
		}).field("uid")
		key := w.must(http.StatusCreated, "POST", "/api/v1/keys", map[string]any{
			"name": name, "role": "viewer", "owner_uid": user,
		}).field("key")
		s := w.listen(w.newRun("x"), "Authorization", "Bearer "+key)
		s.until("timeline")
		end(user, grant)
		var err error
		for err == nil {
			_, err = s.next()
		}
		if !errors.Is(err, io.EOF) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAListenerThatDoesNotReadIsCutOff(t *testing.T) {
	t.Parallel()
	w := start(t)
	metrics := prometheus.NewRegistry()
	strict := start(t, func(s *settings) {
		s.api.Rules, s.api.StreamWrite, s.api.Registerer = w.svc, 250*time.Millisecond, metrics
	})
	strict.client.Transport = &http.Transport{DialContext: smallBuffers}
	id := w.newRun("loud")
	s := strict.listen(id) // nobody reads s
	g := w.work(w.svc.Executions.Control())
	const messages = 16
	for range messages { // more than the server's socket takes
		g.append(g.say(strings.Repeat("noise ", 100_000)))
	}
	g.succeed()
	eventually(
		t, "the listener to be cut off",
		func() bool { return counter(t, metrics, "penstock_stream_clients_dropped_total") == 1 },
	)
	_ = s.resp.Body.Close()
	if got := len(w.listen(id).until("done")); got < messages {
		t.Errorf("a listener that reads: got %d events", got)
	}
}

func smallBuffers(ctx context.Context, network, addr string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, network, addr)
	if err == nil {
		if tcp, ok := conn.(*net.TCPConn); ok {
			err = tcp.SetReadBuffer(4 << 10)
		}
	}
	return conn, err
}

// counter returns the value of a metric without labels.
func counter(t *testing.T, metrics prometheus.Gatherer, name string) float64 {
	t.Helper()
	families, err := metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.GetMetric()[0].GetCounter().GetValue()
		}
	}
	t.Fatalf("there is no metric %s", name)
	return 0
}
