package main_test

import (
	"bufio"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// hooked is a server with a factory, from the view of the owner of its webhooks.
type hooked struct {
	*testkit.Server

	t       *testing.T
	factory string
}

// unlimited raises the limits that many requests would hit.
var unlimited = []string{"--limit-requests-per-minute", "0", "--limit-deliveries-per-minute", "0"}

// noWorker is unlimited, and runs stay in the queue.
var noWorker = append(slices.Clip(unlimited), "--no-worker")

// serveHooks starts a server and creates a factory.
func serveHooks(t *testing.T, o testkit.ServeOptions) *hooked {
	t.Helper()
	h := &hooked{Server: testkit.Serve(t, o), t: t}
	h.factory = h.newFactory("acme")
	return h
}

// replica is a second server on the database of the first.
func (h *hooked) replica(o testkit.ServeOptions) *hooked {
	h.t.Helper()
	return &hooked{Server: h.Replica(o), t: h.t, factory: h.factory}
}

func (h *hooked) newFactory(name string) (uid string) {
	h.t.Helper()
	var f penstock.Factory
	h.ask(http.MethodPost, "/factory", map[string]any{"name": name}, http.StatusCreated, &f)
	return f.UID
}

// ask calls the API and decodes the response into into, unless that is nil.
func (h *hooked) ask(method, path string, body any, status int, into any) reply {
	h.t.Helper()
	text := ""
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			h.t.Fatal(err)
		}
		text = string(b)
	}
	got := send(h.t, h.Server, method, path, text)
	if got.status != status {
		h.t.Fatalf("%s %s: got %d, want %d: %s", method, path, got.status, status, got.body)
	}
	if into != nil {
		if err := json.Unmarshal(got.body, into); err != nil {
			h.t.Fatalf("%s %s: %v: %s", method, path, err, got.body)
		}
	}
	return got
}

func (h *hooked) path() string { return "/factory/" + h.factory }

func (h *hooked) hookPath(w penstock.Webhook) string { return h.path() + "/webhooks/" + w.UID }

// hook creates a webhook. The response has the secret.
func (h *hooked) hook(fields map[string]any) penstock.Webhook {
	h.t.Helper()
	var w penstock.Webhook
	h.ask(http.MethodPost, h.path()+"/webhooks", fields, http.StatusCreated, &w)
	return w
}

// tokenHook creates a webhook with a bearer token.
func (h *hooked) tokenHook(name string) penstock.Webhook {
	h.t.Helper()
	return h.hook(map[string]any{"name": name, "auth_mode": "token"})
}

// githubSecret signs the deliveries of githubHook.
const githubSecret = "It's a Secret to Everybody"

func (h *hooked) githubHook(name string) penstock.Webhook {
	h.t.Helper()
	return h.hook(
		map[string]any{"name": name, "auth_mode": "signature", "signature_scheme": "github", "secret": githubSecret},
	)
}

// change switches or edits a webhook.
func (h *hooked) change(w penstock.Webhook, fields map[string]any) {
	h.t.Helper()
	h.ask(http.MethodPatch, h.hookPath(w), fields, http.StatusOK, nil)
}

// automation starts a run for each delivery to w that the filter matches, or for every one if the
// filter is nil.
func (h *hooked) automation(w penstock.Webhook, name, prompt string, filter any) penstock.Automation {
	h.t.Helper()
	selects := map[string]any{"webhook_ids": []string{w.UID}}
	if filter != nil {
		selects["payload"] = filter
	}
	var a penstock.Automation
	h.ask(http.MethodPost, h.path()+"/automations", map[string]any{
		"name": name, "prompt": prompt,
		"triggers": []any{map[string]any{"provider": "webhook", "event": "received", "filter": selects}},
	}, http.StatusCreated, &a)
	return a
}

// log reads the whole log of a webhook, newest first. The query may select an outcome.
func (h *hooked) log(w penstock.Webhook, query string) []store.Delivery {
	h.t.Helper()
	var all []store.Delivery
	for cursor := ""; ; {
		var page factory.DeliveryPage
		h.ask(
			http.MethodGet, h.hookPath(w)+"/deliveries?limit=500&"+query+"&cursor="+url.QueryEscape(cursor), nil, http.StatusOK,
			&page,
		)
		all = append(all, page.Deliveries...)
		if cursor = page.PageInfo.NextCursor; cursor == "" {
			return all
		}
	}
}

// entry reads one entry of the log.
func (h *hooked) entry(w penstock.Webhook, id string) store.Delivery {
	h.t.Helper()
	var d store.Delivery
	h.ask(http.MethodGet, h.hookPath(w)+"/deliveries/"+id, nil, http.StatusOK, &d)
	return d
}

// outcomes counts the entries of the log by outcome.
func (h *hooked) outcomes(w penstock.Webhook) map[penstock.Outcome]int {
	h.t.Helper()
	n := map[penstock.Outcome]int{}
	for _, d := range h.log(w, "") {
		n[d.Outcome]++
	}
	return n
}

// runs reads the runs that a webhook has started.
func (h *hooked) runs(w penstock.Webhook) []penstock.Run {
	h.t.Helper()
	var all []penstock.Run
	for cursor := ""; ; {
		var page run.Page
		h.ask(
			http.MethodGet, "/agent/runs?limit=500&sort_by=created_at&webhook_uid="+w.UID+"&cursor="+url.QueryEscape(cursor),
			nil, http.StatusOK, &page,
		)
		all = append(all, page.Runs...)
		if cursor = page.PageInfo.NextCursor; cursor == "" {
			return all
		}
	}
}

// url returns the URL of w on this server, whichever server created it.
func (h *hooked) url(w penstock.Webhook) string {
	h.t.Helper()
	u, err := url.Parse(w.IngressURL)
	if err != nil {
		h.t.Fatal(err)
	}
	return h.URL + u.EscapedPath()
}

// sender posts deliveries.
type sender struct {
	t      *testing.T
	client *http.Client
}

// senderFrom sends from another loopback address, such as 127.0.0.7.
func senderFrom(t *testing.T, address string) *sender {
	t.Helper()
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(address)}}
	transport := &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 128, DisableCompression: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &sender{t, &http.Client{
		Transport: transport, Timeout: time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

func newSender(t *testing.T) *sender { t.Helper(); return senderFrom(t, "127.0.0.1") }

// try sends a request. The type of body decides how its length is announced.
func (s *sender) try(ctx context.Context, method, url string, header map[string]string, body io.Reader) (reply, error) {
	req, err := http.NewRequestWithContext(ctx, method, url, body)
	if err != nil {
		return reply{}, err
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	res, err := s.client.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer res.Body.Close()
	response, err := io.ReadAll(res.Body)
	return reply{res.StatusCode, res.Header, response}, err
}

// post sends a delivery. It may be called from any goroutine.
func (s *sender) post(url string, header map[string]string, body string) reply {
	s.t.Helper()
	got, err := s.try(s.t.Context(), http.MethodPost, url, header, strings.NewReader(body))
	if err != nil {
		s.t.Error(err)
	}
	return got
}

// accepted sends a delivery that must get a 202, and returns its id.
func (s *sender) accepted(url string, header map[string]string, body string) (id string) {
	s.t.Helper()
	got := s.post(url, header, body)
	if got.status != http.StatusAccepted {
		s.t.Errorf("got %d, want 202: %s", got.status, got.body)
	}
	return got.deliveryID()
}

// deliveryID returns "" if the response names no delivery.
func (r reply) deliveryID() string {
	var body struct {
		ID string `json:"delivery_id"`
	}
	_ = json.Unmarshal(r.body, &body)
	return body.ID
}

// wire sends bytes and reads one response.
func wire(t *testing.T, h *hooked, text string) reply {
	t.Helper()
	conn := dial(t, h)
	defer conn.Close()
	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
	return read(t, conn)
}

func dial(t *testing.T, h *hooked) net.Conn {
	t.Helper()
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(h.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.SetDeadline(time.Now().Add(testkit.Patience * time.Minute)); err != nil {
		t.Fatal(err)
	}
	return conn
}

func read(t *testing.T, conn io.Reader) reply {
	t.Helper()
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("no response: %v", err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{res.StatusCode, res.Header, body}
}

// bearer returns the credential of a webhook's token, with more headers.
func bearer(w penstock.Webhook, more ...string) map[string]string {
	header := map[string]string{"Authorization": "Bearer " + w.Secret}
	for i := 0; i < len(more); i += 2 {
		header[more[i]] = more[i+1]
	}
	return header
}

// signed returns the credential of a delivery to githubHook.
func signed(body string, more ...string) map[string]string {
	mac := hmac.New(sha256.New, []byte(githubSecret))
	mac.Write([]byte(body))
	header := map[string]string{"X-Hub-Signature-256": "sha256=" + hex.EncodeToString(mac.Sum(nil))}
	for i := 0; i < len(more); i += 2 {
		header[more[i]] = more[i+1]
	}
	return header
}

// retryAfter returns the number of seconds in Retry-After.
func (r reply) retryAfter() (seconds int, err error) {
	_, err = fmt.Sscanf(r.header.Get("Retry-After")+"\n", "%d\n", &seconds)
	return seconds, err
}
