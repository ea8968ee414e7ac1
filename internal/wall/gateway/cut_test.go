package gateway_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock/internal/wall/gateway"
)

// endless streams chunks until the gateway closes the connection. It reports how many chunks it
// could write after the agent has disconnected.
type endless struct {
	gone chan struct{}
	// more has one element for each chunk that was written after gone was closed. It is closed at
	// the end of the request.
	more chan struct{}
}

func newEndless() *endless {
	return &endless{gone: make(chan struct{}), more: make(chan struct{}, 100)}
}

func (e *endless) serve(w http.ResponseWriter, r *http.Request) {
	defer close(e.more)
	w.Header().Set("Content-Type", "text/event-stream")
	head, _, _ := strings.Cut(anthropicEvents, "event: content_block_start")
	_, _ = io.WriteString(w, head)
	_ = http.NewResponseController(w).Flush()
	<-e.gone
	for n := range cap(e.more) {
		select {
		case <-r.Context().Done():
			return
		default:
		}
		if _, err := fmt.Fprintf(w, "event: ping\ndata: {\"type\":\"ping\",\"n\":%d}\n\n", n); err != nil {
			return
		}
		if http.NewResponseController(w).Flush() != nil {
			return
		}
		e.more <- struct{}{}
		if n > 0 { // one more chunk may be in flight; then the connection must end
			<-r.Context().Done()
			return
		}
	}
}

// open starts a stream and reads its first event.
func open(t *testing.T, r *rig) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.relay+messages,
		strings.NewReader(`{"model":"claude-x","stream":true}`))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(res.Body, make([]byte, len("event: message_start"))); err != nil {
		t.Fatal(err)
	}
	return res
}

// When the agent disconnects, the gateway closes the connection to the provider at once and settles
// the call with the known usage.
func TestDisconnectClosesTheConnectionToTheProvider(t *testing.T) {
	t.Parallel()
	e := newEndless()
	r := newRig(t, e.serve, gateway.SessionOptions{})
	res := open(t, r)
	_ = res.Body.Close()
	close(e.gone)
	n := 0
	for range e.more { // ends only if the provider is cut off
		n++
	}
	if n > 2 {
		t.Errorf("%d more chunks were sent", n)
	}
	checkCut(t, r.settled())
}

// Closing a session does the same, and waits for the settlement.
func TestClosingASessionCutsItsCalls(t *testing.T) {
	t.Parallel()
	e := newEndless()
	r := newRig(t, e.serve, gateway.SessionOptions{})
	res := open(t, r)
	defer res.Body.Close()
	r.session.Close()
	r.mu.Lock()
	calls := r.calls
	r.mu.Unlock()
	checkCut(t, calls)
	close(e.gone)
	n := 0
	for range e.more {
		n++
	}
	if n > 2 {
		t.Errorf("%d more chunks were sent", n)
	}
	if _, err := io.ReadAll(res.Body); err == nil {
		t.Error("the agent takes the cut for the end of the stream")
	}
	if res, _ := r.send(t, http.MethodGet, "/model/openai/v1/models", ""); res.StatusCode != http.StatusForbidden {
		t.Errorf("after Close, a request returned %d", res.StatusCode)
	}
}

func checkCut(t *testing.T, calls []gateway.Call) {
	t.Helper()
	if len(calls) != 1 {
		t.Fatalf("%d calls are settled", len(calls))
	}
	call := calls[0]
	if call.Complete || call.Usage == nil || call.Usage.Input != 10 || call.Usage.CacheRead != 3 ||
		call.ResponseBytes == 0 ||
		!call.Sent {
		t.Errorf("settled as %+v with usage %+v", call, call.Usage)
	}
}

// If a provider breaks off in the middle, the agent's connection breaks, too.
func TestAnInterruptedResponseIsInterruptedForTheAgent(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, anthropicEvents[:len(anthropicEvents)/2])
		_ = http.NewResponseController(w).Flush()
		panic(http.ErrAbortHandler)
	}, gateway.SessionOptions{})
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.relay+messages,
		strings.NewReader(`{"model":"m"}`))
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	got, err := io.ReadAll(res.Body)
	if err == nil || string(got) != anthropicEvents[:len(anthropicEvents)/2] {
		t.Errorf("the agent got %d bytes, %v", len(got), err)
	}
	if calls := r.settled(); calls[0].Complete || calls[0].Usage == nil {
		t.Errorf("settled as %+v", calls[0])
	}
}

// Apart from the option that requests usage, a body arrives unchanged.
func TestBodiesPassUnchanged(t *testing.T) {
	t.Parallel()
	r := newRig(t, replies(`{}`), gateway.SessionOptions{})
	for _, c := range []struct{ path, sent, want string }{
		{chat, "{ \"model\" : \"m\",\n\"top_p\":1.50e3, \"user\":\"\\u00e9\\/\" }\n", ""},
		{messages, `{"model":"m","stream":true}`, ""},
		{response, `{"model":"m","stream":true}`, ""},
		{chat, `{"model":"m","stream":false}`, ""},
		{chat, `{ "model":"m", "stream":true}`, `{"stream_options":{"include_usage":true}, "model":"m", "stream":true}`},
		{
			chat, `{"model":"m","stream":true,"stream_options":{}}`,
			`{"model":"m","stream":true,"stream_options":{"include_usage":true}}`,
		},
		{
			chat, `{"model":"m","stream":true,"stream_options":null,"n":1}`,
			`{"model":"m","stream":true,"stream_options":{"include_usage":true},"n":1}`,
		},
		{
			chat, `{"model":"m","stream":true,"stream_options":{"include_usage":false,"include_obfuscation":false}}`,
			`{"model":"m","stream":true,"stream_options":{"include_usage":true,"include_obfuscation":false}}`,
		},
		{
			chat, `{"model":"m","stream":true,"stream_options":{ "include_obfuscation":false}}`,
			`{"model":"m","stream":true,"stream_options":{"include_usage":true, "include_obfuscation":false}}`,
		},
		{chat, `{"model":"m","stream":true,"stream_options":{"include_usage": true}}`, ""},
	} {
		if c.want == "" {
			c.want = c.sent
		}
		if res, body := r.send(t, http.MethodPost, c.path, c.sent); res.StatusCode != http.StatusOK {
			t.Errorf("%s returned %d %s", c.sent, res.StatusCode, body)
			continue
		}
		all := r.got()
		if got := all[len(all)-1].Body; got != c.want {
			t.Errorf("sent %s\n got %s\nwant %s", c.sent, got, c.want)
		}
	}
}
