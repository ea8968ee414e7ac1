package main_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/announce"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// postbox is a receiver of messages, which accepts all.
type postbox struct {
	*httptest.Server

	mu  sync.Mutex
	got []posted
}

// posted is a request that a postbox got.
type posted struct {
	header http.Header
	body   []byte
}

func newPostbox(t *testing.T) *postbox { t.Helper(); return newPostboxAt(t, "127.0.0.1:0") }

// newPostboxAt starts a postbox at an address.
func newPostboxAt(t *testing.T, address string) *postbox {
	t.Helper()
	p := &postbox{}
	p.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil { // the server was stopped
			return
		}
		p.mu.Lock()
		p.got = append(p.got, posted{r.Header, body})
		p.mu.Unlock()
		w.WriteHeader(http.StatusNoContent)
	}))
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	_ = p.Listener.Close()
	p.Listener = listener
	p.Start()
	t.Cleanup(p.Close)
	return p
}

// waitFor waits for so many requests about a message, and returns them.
func (p *postbox) waitFor(t *testing.T, message string, n int) (got []posted) {
	t.Helper()
	testkit.Eventually(t, timeout, func() error {
		p.mu.Lock()
		defer p.mu.Unlock()
		got = slices.DeleteFunc(
			slices.Clone(p.got), func(r posted) bool { return r.header.Get("Webhook-Id") != message },
		)
		if len(got) < n {
			return fmt.Errorf("got %d requests about message %s, want %d", len(got), message, n)
		}
		return nil
	})
	return got
}

// verified checks a message with the public library of Standard Webhooks.
func (r posted) verified(t *testing.T, secret string) error {
	t.Helper()
	library, err := standardwebhooks.NewWebhook(secret)
	if err != nil {
		t.Fatal(err)
	}
	return library.Verify(r.body, r.header)
}

// serveEvents starts a server that sends messages to this machine.
func serveEvents(t *testing.T, database string) *testkit.Server {
	t.Helper()
	args := []string{"--event-private-network", "127.0.0.0/8"}
	return testkit.Serve(t, testkit.ServeOptions{Database: database, Args: args})
}

// createEndpoint creates an endpoint that gets everything, and returns it with its secret.
func createEndpoint(t *testing.T, env []string, url string) (e penstock.EventEndpoint, secret string) {
	t.Helper()
	e = callFor[penstock.EventEndpoint](t, env, "endpoint", "create", url)
	if len(e.Secrets) != 1 || !strings.HasPrefix(e.Secrets[0].Secret, "whsec_") {
		t.Fatalf("the secrets are %+v", e.Secrets)
	}
	return e, e.Secrets[0].Secret
}

// wantNothingSecret fails if a command shows a secret, or more of the URL than its origin.
func wantNothingSecret(t *testing.T, c called) called {
	t.Helper()
	for _, text := range []string{"whsec_", "/inb0x", "t0ken"} {
		if strings.Contains(c.out+c.err, text) {
			t.Errorf("got %q and %q with %q in it", c.out, c.err, text)
		}
	}
	return c
}

func TestEventEndpoints(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{Args: noWorker})
	env := client(s)
	shop := callFor[penstock.Factory](t, env, "factory", "create", "payments")
	const url, origin = "https://hooks.example.com:8443/inb0x?key=t0ken", "https://hooks.example.com:8443"
	made := call(
		t, env, "endpoint", "create", url, "--event", "run.failed", "--event", "run.blocked", "--factory", shop.UID,
		"--description", "for the pager",
	)
	made.want(t, 0, url, "whsec_", "run.failed run.blocked", shop.UID, "for the pager", "enabled")
	var list struct {
		Endpoints []penstock.EventEndpoint `json:"endpoints"`
	}
	fromJSON(t, wantNothingSecret(t, call(t, env, "endpoint", "list", "-o", "json")).out, &list)
	if len(list.Endpoints) != 1 || list.Endpoints[0].URL != origin {
		t.Fatalf("got %+v", list.Endpoints)
	}
	uid := list.Endpoints[0].UID
	show := func(args ...string) called {
		t.Helper()
		return wantNothingSecret(t, call(t, env, append([]string{"endpoint"}, args...)...))
	}
	show("list").want(t, 0, "ENDPOINT", "DELIVERED", uid, origin, "run.failed run.blocked", "enabled")
	show("get", uid).want(t, 0, origin, "for the pager", "secret", "created")
	var one penstock.EventEndpoint
	fromJSON(t, show("get", uid, "-o", "json").out, &one)
	if len(one.Secrets) != 1 || one.Secrets[0].CreatedAt == 0 || one.FactoryUIDs[0] != shop.UID {
		t.Errorf("got %+v", one)
	}
	show("set", uid, "--event", "run.errored", "--description", "for all").want(t, 0, origin, "run.errored", "for all")
	fromJSON(t, show("set", uid, "--url", "https://other.example.com/inb0x?key=t0ken", "-o", "json").out, &one)
	if one.URL != "https://other.example.com" || one.Events[0] != store.EventRunErrored {
		t.Errorf("got %+v", one)
	}
	show("set", uid).want(t, 64, "nothing to change")
	show("disable", uid).want(t, 0, "disabled")
	show("ping", uid).want(t, 65, "is disabled; enable it first")
	show("replay", uid, "--since", "2026-01-31T12:00:00Z").want(t, 65, "is disabled; enable it first")
	show("enable", uid, "-o", "json").want(t, 0, `"enabled": true`)
	slack := callFor[penstock.EventEndpoint](
		t, env, "endpoint", "create", "https://hooks.example.com/inb0x", "--format", "slack",
	)
	if slack.Format != announce.FormatSlack || slack.Secrets == nil || len(slack.Secrets) != 0 {
		t.Errorf("got %+v", slack)
	}
	show("get", slack.UID).want(t, 0, "format", "slack")
	show("create", "https://hooks.example.com/inb0x", "--format", "teams").want(t, 65, "--format: must be one of", "slack")
	show("rotate", slack.UID).want(t, 65, "has no secret")
	show("create", "https://10.1.2.3/inb0x").want(t, 65, "not public", "--event-private-network")
	show("create", "https://hooks.example.com/inb0x", "--event", "run.exploded").want(t, 65, "--event: must be one of")
	show("rotate", uid, "--overlap", "1ms").want(t, 64, "--overlap must be a whole number of seconds")
	show("rotate", uid, "--overlap", "169h").want(t, 65, "--overlap: must be from 0 to 168h")
	show("attempts", uid, "--limit=-1").want(t, 64, "--limit")
	show("replay", uid).want(t, 64)
	show("replay", uid, "--message", "msg_none").want(t, 65, "no message")
	show("replay", uid, "--since", "soon").want(t, 65, "--since")
	show("delete", uid, slack.UID).want(t, 0)
	show("get", uid).want(t, 65, "no event endpoint")
	show("list", "-o", "json").want(t, 0, `"endpoints": []`)
}

func TestEventTypes(t *testing.T) {
	t.Parallel()
	s := testkit.Serve(t, testkit.ServeOptions{Args: noWorker})
	env := client(s)
	table := call(t, env, "endpoint", "types")
	var list struct {
		Types []announce.EventType `json:"event_types"`
	}
	fromJSON(t, call(t, env, "endpoint", "types", "-o", "json").out, &list)
	var got []penstock.EndpointEvent
	for _, each := range list.Types {
		got = append(got, each.Type)
		table.want(t, 0, string(each.Type), each.Description)
		if each.Example.Type != each.Type || !strings.HasPrefix(each.Example.Data.URL, s.URL) {
			t.Errorf("the example of %s is %+v", each.Type, each.Example)
		}
	}
	if want := append(announce.Events(), announce.EventEndpointPing); !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestMessagesOfTheCommandLine(t *testing.T) {
	t.Parallel()
	s := serveEvents(t, "")
	env, box := client(s), newPostbox(t)
	e, old := createEndpoint(t, env, box.URL+"/inb0x?key=t0ken")
	show := func(args ...string) called {
		t.Helper()
		return wantNothingSecret(t, call(t, env, append([]string{"endpoint"}, args...)...))
	}
	ping := func() (id string) {
		t.Helper()
		var sent announce.Sent
		fromJSON(t, show("ping", e.UID, "-o", "json").out, &sent)
		return sent.MessageID
	}
	text := show("ping", e.UID)
	text.want(t, 0, "message  msg_", "penstock endpoint attempts "+e.UID+" --message msg_")
	first := ping()
	if err := box.waitFor(t, first, 1)[0].verified(t, old); err != nil {
		t.Errorf("the library refuses the first message: %v", err)
	}
	after := callFor[penstock.EventEndpoint](t, env, "endpoint", "rotate", e.UID, "--overlap", "1h")
	if len(after.Secrets) != 2 || after.Secrets[1].Secret != "" || after.Secrets[1].ExpiresAt == 0 {
		t.Fatalf("the secrets are %+v", after.Secrets)
	}
	fresh := after.Secrets[0].Secret
	during := box.waitFor(t, ping(), 1)[0]
	for _, secret := range []string{old, fresh} {
		if err := during.verified(t, secret); err != nil {
			t.Errorf("the library refuses a message during the rotation: %v", err)
		}
	}
	show("get", e.UID).want(t, 0, ", until 2")
	call(t, env, "endpoint", "rotate", e.UID, "--overlap", "0s").want(t, 0, "whsec_")
	later := box.waitFor(t, ping(), 1)[0]
	for _, secret := range []string{old, fresh} {
		if later.verified(t, secret) == nil {
			t.Error("the library accepts a message with a secret that was replaced")
		}
	}
	testkit.Eventually(t, timeout, func() error {
		if got := show("attempts", e.UID, "--message", first); !strings.Contains(got.out, "204") {
			return fmt.Errorf("the attempts are %q", got.out)
		}
		return nil
	})
	show("attempts", e.UID, "--limit", "0").want(t, 0, "MESSAGE", "endpoint.ping", first, "204")
	show("replay", e.UID, "--message", first).want(t, 0, "messages  1")
	again := box.waitFor(t, first, 2)
	if string(again[0].body) != string(again[1].body) {
		t.Errorf("the replay has the body %s, want %s", again[1].body, again[0].body)
	}
	show("replay", e.UID, "--since", "2026-01-31T12:00:00Z", "-o", "json").want(t, 0, `"messages": 4`)
	box.waitFor(t, first, 3)
	if strings.Contains(s.Logs(), "t0ken") || strings.Contains(s.Logs(), "whsec_") {
		t.Errorf("the log has a secret: %s", s.Logs())
	}
}
