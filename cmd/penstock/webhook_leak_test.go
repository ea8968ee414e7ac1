package main_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// collector receives a server's telemetry.
type collector struct {
	*httptest.Server
	mu    sync.Mutex
	taken bytes.Buffer
}

func newCollector(t *testing.T) *collector {
	t.Helper()
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		if _, err := io.Copy(&c.taken, r.Body); err != nil {
			t.Error(err)
		}
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *collector) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.taken.String()
}

// forms returns the encodings in which a secret could be written.
func forms(secret string) map[string]string {
	return map[string]string{
		"the secret":    secret,
		"in base64":     base64.StdEncoding.EncodeToString([]byte(secret))[:len(secret)],
		"in hex":        hex.EncodeToString([]byte(secret)),
		"but one digit": secret[:len(secret)-1],
		"the other way": swapCase(secret),
	}
}

// Tokens, signing secrets and valid signatures of webhooks appear in no log, metric, trace,
// response or file, whatever is sent and whatever happens to the webhook.
func TestSecretsOfWebhooksAreNowhere(t *testing.T) {
	t.Parallel()
	traces := newCollector(t)
	h := serveHooks(t, testkit.ServeOptions{
		Args: append(unlimited, "--log-level", "debug", "--limit-auth-failures-per-address", "5"),
		Env:  []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + traces.URL},
	})
	var responses bytes.Buffer // except for the responses that show the secret once
	keep := func(r reply) reply {
		fmt.Fprintf(&responses, "%v %s\n", r.header, r.body)
		return r
	}
	inURL := h.hook(map[string]any{"name": "in-url", "auth_mode": "url_token"})
	token, github := h.tokenHook("token"), h.githubHook("github")
	h.automation(inURL, "look", "demo: run ls -l", nil)
	if want := "/webhooks/w/" + inURL.UID + "/" + inURL.Secret; !strings.HasSuffix(inURL.IngressURL, want) {
		t.Fatalf("got the URL %s, want …%s", inURL.IngressURL, want)
	}
	sendEverything(t, h, inURL, token, github, keep)

	accepted := h.log(inURL, "outcome=accepted")[0]
	run := accepted.Runs[0]
	testkit.Eventually(t, timeout, func() error { return inState(t, client(h.Server), run, "SUCCEEDED") })
	for _, path := range []string{
		h.path() + "/webhooks", h.hookPath(inURL), h.hookPath(inURL) + "/deliveries",
		h.hookPath(inURL) + "/deliveries/" + accepted.ID, h.path() + "/automations", "/secrets",
		"/agent/runs/" + run, "/agent/runs/" + run + "/timeline", "/agent/runs/" + run + "/conversation",
		"/agent/runs/" + run + "/events", "/agent/runs", "/me", "/limits",
	} {
		keep(h.ask(http.MethodGet, path, nil, http.StatusOK, nil))
	}
	if got := h.ask(
		http.MethodGet, h.hookPath(inURL), nil, http.StatusOK, nil,
	); !strings.Contains(string(got.body), "/webhooks/w/"+inURL.UID+"/{token}") {
		t.Errorf("got %s, want the URL with {token}", got.body)
	}
	keep(h.ask(http.MethodPatch, h.hookPath(inURL), map[string]any{"enabled": false}, http.StatusOK, nil))
	keep(newSender(t).post(h.url(inURL), nil, "{}"))
	metrics, err := newSender(t).try(
		t.Context(), http.MethodGet, h.URL+"/metrics", map[string]string{"Authorization": "Bearer " + h.Key}, http.NoBody,
	)
	if err != nil || !strings.Contains(string(metrics.body), "penstock_") {
		t.Fatalf("no metrics: %v", err)
	}
	h.Stop() // sends the last traces, closes the database

	sinks := map[string]string{
		"the log": h.Logs(), "a metric": string(metrics.body), "a trace": traces.String(), "a response": responses.String(),
	}
	for sink, what := range map[string]string{"the log": "{token}", "a trace": "{token}", "a response": "{token}"} {
		if !strings.Contains(sinks[sink], what) {
			t.Errorf("%s has nothing of the deliveries", sink)
		}
	}
	maps.Copy(sinks, filesOf(t, h.Data))
	mac := hmac.New(sha256.New, []byte(githubSecret))
	mac.Write([]byte(forged))
	secrets := map[string]string{
		"the URL's token": inURL.Secret, "the bearer token": token.Secret, "the signature's secret": githubSecret,
	}
	for sink, content := range sinks {
		for of, secret := range secrets {
			for form, text := range forms(secret) {
				if at := strings.Index(content, text); at >= 0 {
					t.Errorf("%s has %s (%s): …%q…", sink, of, form, content[max(0, at-200):min(len(content), at+60)])
				}
			}
		}
		for _, signature := range []string{
			hex.EncodeToString(mac.Sum(nil)), base64.StdEncoding.EncodeToString(mac.Sum(nil)),
		} {
			if strings.Contains(content, signature) {
				t.Errorf("%s has the signature that would have been right", sink)
			}
		}
	}
}

// forged is a body that is sent with a wrong signature.
const forged = `{"forged": true}`

// sendEverything sends deliveries with every outcome.
func sendEverything(t *testing.T, h *hooked, inURL, token, github penstock.Webhook, keep func(reply) reply) {
	t.Helper()
	s, url := newSender(t), h.url(inURL)
	dir, secret := strings.TrimSuffix(url, inURL.Secret), inURL.Secret
	keep(s.post(url, nil, `{"n": 1}`))
	keep(s.post(url, nil, `{"n": 1}`))
	keep(
		s.post(
			url+"?again="+penstock.NewID(),
			map[string]string{"Referer": "x", "Traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
			`{"n": 2}`,
		),
	)
	keep(s.post(url, nil, "{"))
	keep(s.post(url, nil, text(maxBody+1)))
	keep(s.post(h.url(token), bearer(token), `{"n": 1}`))
	keep(s.post(h.url(token), map[string]string{"Authorization": "Bearer  " + token.Secret + "!"}, "{}"))
	keep(s.post(h.url(token), map[string]string{"Authorization": token.Secret}, "{}"))
	keep(s.post(h.url(github), signed(`{"n": 1}`), `{"n": 1}`))
	keep(s.post(h.url(github), signed("x"), forged))
	keep(s.post(h.url(github), map[string]string{"X-Hub-Signature-256": githubSecret}, forged))
	other := senderFrom(t, "127.0.0.2")
	for range 7 { // until it is shut out
		keep(other.post(dir+swapCase(secret), nil, "{}"))
	}
	third := senderFrom(t, "127.0.0.3")
	for _, method := range []string{"GET", "PUT", "OPTIONS"} {
		got, err := third.try(t.Context(), method, url, nil, http.NoBody)
		if err != nil {
			t.Error(err)
		}
		keep(got)
	}
	for _, path := range []string{
		"/webhooks/w/" + inURL.UID + "/" + secret + "/", "/webhooks/w/" + inURL.UID + "//" + secret,
		"//webhooks/w/" + inURL.UID + "/" + secret, "/WEBHOOKS/w/" + inURL.UID + "/" + secret,
		"/webhooks/w/" + inURL.UID + "%2F" + secret, "/webhooks/w/" + penstock.NewUID() + "/" + secret,
		"/webhooks/w/" + token.UID + "/" + secret, "/x/../webhooks/w/" + inURL.UID + "/" + secret,
		"/webhooks/w/" + inURL.UID + "/" + secret + "?x=" + strings.Repeat("y", 100),
		"/webhooks%2Fw%2F" + inURL.UID + "%2F" + secret, `/webhooks\w\` + inURL.UID + `\` + secret,
		"/api/v1/webhooks/w/" + inURL.UID + "/" + secret,
		"/api/v1/factory/" + h.factory + "/webhooks/w/" + inURL.UID + "/" + secret,
		"/api/v1/factory/" + h.factory + "/webhooks/w/deliveries/" + secret,
		"/webhooks/w/" + inURL.UID + "/" + secret[:len(secret)-1],
	} {
		keep(wire(t, h, "POST "+path+" HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"))
	}
	// Requests that are not HTTP, and one whose sender disconnects.
	for _, rest := range []string{
		"\r\nHost: x\r\nContent-Length: x\r\n\r\n",
		"\r\nHost: x\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", "\r\nHost: x\r\nBad Header\r\n\r\n",
	} {
		conn := dial(t, h)
		fmt.Fprint(conn, "POST /webhooks/w/"+inURL.UID+"/"+secret+" HTTP/1.1"+rest)
		response := make([]byte, 4<<10)
		n, _ := conn.Read(response) // it may be closed
		keep(reply{body: response[:n]})
		_ = conn.Close()
	}
	gone := dial(t, h)
	fmt.Fprint(gone, "POST /webhooks/w/"+inURL.UID+"/"+secret+" HTTP/1.1\r\nHost: x\r\nContent-Length: 99\r\n\r\n{")
	_ = gone.Close()
}

// filesOf reads every file of the data folder except for the encryption keys.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || d.Name() == "keyset.json" {
			return err
		}
		content, err := os.ReadFile(path)
		files[d.Name()] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files["penstock.db"]) == 0 {
		t.Fatalf("no database among %d files", len(files))
	}
	return files
}

// Below a factory, a webhook can have the name "w": the path belongs to the API.
func TestTheAPIHandlesAWebhookNamedW(t *testing.T) {
	t.Parallel()
	h := serveHooks(t, testkit.ServeOptions{Args: noWorker})
	for path, route := range map[string]string{
		"/webhooks/w":               "/webhooks/{wuid}",
		"/webhooks/w/deliveries":    "/webhooks/{wuid}/deliveries",
		"/webhooks/w/deliveries/w1": "/webhooks/{wuid}/deliveries/{did}",
	} {
		got := h.ask(http.MethodGet, h.path()+path, nil, http.StatusNotFound, nil)
		if want := `"instance":"/api/v1/factory/{uid}` + route + `"`; !strings.Contains(string(got.body), want) {
			t.Errorf("%s: got %s, want %s in it", path, got.body, want)
		}
	}
}

// A webhook of another factory or team does not exist.
func TestWebhooksOfOtherTeamsDoNotExist(t *testing.T) {
	t.Parallel()
	h := serveHooks(t, testkit.ServeOptions{Args: noWorker})
	w := h.tokenHook("mine")
	id := newSender(t).accepted(h.url(w), bearer(w), `{"secret": "of mine"}`)
	mine, theirs := h.factory, h.newFactory("theirs")
	refused := func(factory string) {
		t.Helper()
		base := "/factory/" + factory + "/webhooks/" + w.UID
		for _, call := range []struct{ method, path, body string }{
			{"GET", base, ""},
			{"PATCH", base, `{"enabled": false}`},
			{"POST", base + "/rotate-secret", "{}"},
			{"GET", base + "/deliveries", ""},
			{"GET", base + "/deliveries/" + id, ""},
			{"GET", base + "/deliveries/" + id + "/payload", ""},
			{"POST", base + "/deliveries/" + id + "/replay", ""},
			{"POST", "/factory/" + factory + "/test-filter", `{"filter": {}, "webhook_uid": "` + w.UID + `"}`},
			{
				"POST", "/factory/" + factory + "/test-filter",
				`{"filter": {}, "webhook_uid": "` + w.UID + `", "delivery_id": "` + id + `"}`,
			},
			{"DELETE", base, ""},
		} {
			if got := send(t, h.Server, call.method, call.path, call.body); got.status != http.StatusNotFound ||
				strings.Contains(string(got.body), "of mine") {
				t.Errorf("%s %s: got %d, want 404: %s", call.method, call.path, got.status, got.body)
			}
		}
	}
	refused(theirs)
	// An automation of another factory that names the webhook does not fire.
	other := &hooked{Server: h.Server, t: t, factory: theirs}
	other.automation(w, "thief", "take it", nil)
	if d := h.entry(w, newSender(t).accepted(h.url(w), bearer(w), `{"n": 2}`)); len(d.Matches) != 0 || len(d.Runs) != 0 {
		t.Errorf("got %+v, want no match of another factory's automation", d.Matches)
	}
	// A log entry of one webhook does not belong to another one.
	second := h.tokenHook("second")
	if got := send(t, h.Server, "GET", h.hookPath(second)+"/deliveries/"+id, ""); got.status != http.StatusNotFound {
		t.Errorf("got %d for a delivery of another webhook", got.status)
	}

	database := "sqlite://" + filepath.Join(h.Data, "penstock.db")
	testkit.Exec(t, database, "UPDATE factories SET team = 'another' WHERE uid = '"+mine+"'")
	testkit.Exec(t, database, "UPDATE webhooks SET team = 'another' WHERE factory_uid = '"+mine+"'")
	refused(mine)
}
