package worker_test

import (
	"bytes"
	"compress/gzip"
	"encoding/pem"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/execution/harness"
	"github.com/penstock-dev/penstock/internal/execution/worker"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/wall/gateway"
	"github.com/penstock-dev/penstock/internal/wall/sandbox"
)

const (
	providerKey = "sk-canary-of-the-provider"
	hostKey     = "sk-canary-of-the-host"
)

// startSealed starts a worker whose runs are sealed, with a provider that sends ids in its
// responses. It returns a function that stops the worker.
func (w *world) startSealed(change func(*worker.Options)) (stop func()) {
	w.t.Helper()
	provider := httptest.NewServer(http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+providerKey {
			w.t.Errorf("the provider got the key %q", r.Header.Get("Authorization"))
		}
		out.Header().Set("Content-Type", "application/json")
		fmt.Fprint(out, `{"id":"resp_of_the_first","object":"response","status":"completed","output":[]}`)
	}))
	w.t.Cleanup(provider.Close)
	models, err := gateway.New(gateway.Options{Providers: []gateway.Provider{
		{Name: "local", API: gateway.OpenAI, BaseURL: provider.URL + "/v1", Key: providerKey},
	}})
	if err != nil {
		w.t.Fatal(err)
	}
	_, stop = w.start(func(o *worker.Options) {
		o.Sandbox, o.Gateway = newSandbox(w.t, sandbox.Bubblewrap), models
		if change != nil {
			change(o)
		}
	})
	return stop
}

// ask is a line that makes the agent call the provider.
func ask(previous string) string {
	return `demo: run curl -s -m 20 http://127.0.0.1:3128/model/local/v1/responses -H 'Content-Type: application/json' ` +
		`-d '{"model":"m","input":"hi","previous_response_id":` + previous + `}'`
}

// The ids that a run received from its provider move with its session to another worker. Another
// run must not use them.
func TestReceivedIDsComeWithTheSession(t *testing.T) {
	w := newWorld(t)
	const refers, response, refused = `"resp_of_the_first"`, "completed", "has not received"
	stop := w.startSealed(nil)
	id := w.create(penstock.RunRequest{}, ask(refers), ask("null"))
	w.becomes(id, penstock.StateSucceeded)
	if out := w.outputs(id, "run_command"); len(out) != 2 || !strings.Contains(out[0], refused) ||
		!strings.Contains(out[1], response) {
		t.Fatalf("the first execution got %q", out)
	}
	stop()
	w.startSealed(nil)
	w.followUp(id, ask(refers))
	w.becomes(id, penstock.StateSucceeded)
	if out := w.outputs(id, "run_command"); len(out) != 3 || !strings.Contains(out[2], response) {
		t.Errorf("the execution on another worker got %q", out[2:])
	}
	other := w.create(penstock.RunRequest{}, ask(refers))
	w.becomes(other, penstock.StateSucceeded)
	if out := strings.Join(w.outputs(other, "run_command"), ""); !strings.Contains(out, refused) {
		t.Errorf("another run got %q", out)
	}
}

// A turn that ends with a call that the gateway refused has failed, whatever the agent says. A call that the
// agent makes for itself, such as for a title, does not matter once it made one for the run: it is to another
// model than the run's, or has no tools.
func TestARefusalThatEndsATurnIsItsReason(t *testing.T) {
	const (
		good, bad       = `{"model":"m"}`, `{"model":"m","surprise":1}`
		small, badSmall = `{"model":"small"}`, `{"model":"small","surprise":1}`
		tools           = `{"model":"m","tools":[{"type":"function","function":{"name":"f"}}]}`
		badTools        = `{"model":"m","surprise":1,"tools":[{"type":"function","function":{"name":"f"}}]}`
	)
	w := newWorld(t)
	w.startSealed(func(o *worker.Options) {
		program := o.Harnesses["misbehaving"]
		program.API, program.Setup = "openai", func(harness.Setting) harness.Setup { return harness.Setup{} }
		o.Harnesses = maps.Clone(o.Harnesses)
		o.Harnesses["misbehaving"] = program
	})
	for _, test := range []struct {
		calls string
		want  penstock.State
	}{
		{bad, penstock.StateFailed},
		{bad + " " + good, penstock.StateSucceeded},
		{good + " " + bad, penstock.StateFailed},
		{good + " " + badSmall, penstock.StateSucceeded},
		{badSmall, penstock.StateFailed},
		{badSmall + " " + good, penstock.StateSucceeded},
		{bad + " " + badSmall, penstock.StateFailed},
		{bad + " " + small, penstock.StateFailed},
		{badSmall + " " + small, penstock.StateSucceeded},
		{`{"model":`, penstock.StateFailed},
		{tools + " " + bad, penstock.StateSucceeded},
		{bad + " " + tools, penstock.StateSucceeded},
		{badTools + " " + good, penstock.StateFailed},
		{badTools + " " + tools, penstock.StateSucceeded},
		{tools + " " + badTools, penstock.StateFailed},
		{tools + ` {"model":`, penstock.StateFailed},
	} {
		id := w.create(penstock.RunRequest{Config: &penstock.Config{
			Harness: &penstock.Harness{Type: "misbehaving", ModelID: "local/m"},
		}}, "calls "+test.calls)
		run := w.becomes(id, test.want)
		if test.want == penstock.StateSucceeded {
			continue
		}
		const says = "The model gateway refused a request of the agent to the provider local: "
		m := run.StatusMessage
		if m == nil || m.ErrorCode != penstock.CodeInvalidRequest || !strings.HasPrefix(m.Message, says) {
			t.Errorf("after %s, the run says %+v", test.calls, m)
		}
	}
	// Under a cap, also a call without a bound is refused.
	const unbounded = `{"model":"m","prediction":{"content":"x"}}`
	for calls, want := range map[string]penstock.State{
		unbounded: penstock.StateFailed, unbounded + " " + good: penstock.StateSucceeded,
	} {
		id := w.create(penstock.RunRequest{Config: &penstock.Config{
			Harness: &penstock.Harness{Type: "misbehaving", ModelID: "local/m"},
			Budget:  &penstock.Budget{MaxTotalTokens: 1e9},
		}}, "calls "+calls)
		run := w.becomes(id, want)
		m := run.StatusMessage
		if want == penstock.StateFailed && (m == nil || !strings.Contains(m.Message, "/prediction")) {
			t.Errorf("after %s, the run says %+v", calls, m)
		}
	}
}

// A saved session contains nothing of the run's sandbox.
func TestAttackSavedSessions(t *testing.T) {
	w := newWorld(t)
	used := make(chan string, 1)
	host := httptest.NewTLSServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		used <- r.Header.Get("Authorization")
	}))
	t.Cleanup(host.Close)
	address, err := url.Parse(host.URL)
	if err != nil {
		t.Fatal(err)
	}
	port, err := strconv.Atoi(address.Port())
	if err != nil {
		t.Fatal(err)
	}
	w.secret("HOST_KEY", hostKey)
	if _, err := w.Secrets.Set(
		t.Context(), w.admin, "HOST_KEY", access.SecretChange{Hosts: &[]string{"127.0.0.1"}},
	); err != nil {
		t.Fatal(err)
	}
	var saved bytes.Buffer
	w.plane.set(func(c *plane) { c.sessions = &saved })
	stop := w.startSealed(func(o *worker.Options) {
		o.Network.Open = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
		o.Network.CA = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: host.Certificate().Raw})
		program := o.Harnesses["builtin"]
		program.State = nil // all of HOME is saved
		o.Harnesses = maps.Clone(o.Harnesses)
		o.Harnesses["builtin"] = program
	})
	id := w.create(penstock.RunRequest{Config: w.environment(penstock.EnvironmentConfig{
		Network: &penstock.Network{Allow: []penstock.NetworkRule{{
			Host: "127.0.0.1", Ports: []int{port},
			Credential: &penstock.NetworkCredential{Secret: "HOST_KEY", As: penstock.CredentialBearer},
		}}},
	})}, ask("null"), "demo: run cd && curl -s -m 20 --noproxy '' "+host.URL,
		"demo: run cd && env > left && git config --global user.name me")
	w.becomes(id, penstock.StateSucceeded)
	stop()
	select {
	case got := <-used:
		if got != "Bearer "+hostKey {
			t.Fatalf("the host got the key %q", got)
		}
	default:
		t.Fatalf("the host got no request: %q", w.outputs(id, "run_command"))
	}
	content := unzip(t, &saved)
	for _, want := range []string{"SSL_CERT_FILE=", "resp_of_the_first", ".gitconfig"} {
		if !bytes.Contains(content, []byte(want)) {
			t.Fatalf("the session has no %s: %.1000q", want, content)
		}
	}
	attacks := testkit.NewAttacks(t, "A run")
	for _, a := range []struct{ name, stoppedBy, pattern string }{
		{
			"the certificates of its proxy in a saved session", "the certificates are outside of HOME",
			`BEGIN CERTIFICATE|Penstock execution CA`,
		},
		{"the provider's key in a saved session", "keys stay with the worker", providerKey},
		{"the credential of a host in a saved session", "keys stay with the worker", hostKey},
		{"the key of the run in a saved session", "keys stay with the worker", `psk_[A-Za-z0-9]`},
	} {
		attacks.Run(a.name, a.stoppedBy, func(t *testing.T) {
			if found := regexp.MustCompile(".{0,100}(" + a.pattern + ").{0,100}").Find(content); found != nil {
				t.Errorf("found %q", found)
			}
		})
	}
}

// unzip returns the plain content of concatenated archives.
func unzip(t *testing.T, r io.Reader) []byte {
	t.Helper()
	zipped, err := gzip.NewReader(r)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(zipped)
	if err != nil {
		t.Fatal(err)
	}
	return content
}
