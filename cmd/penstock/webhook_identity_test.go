package main_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// identified is a way to authenticate a delivery and to give it an id.
type identified struct {
	name   string
	fields map[string]any // of the webhook
	source penstock.IdentitySource
	// headers returns the headers of a delivery with the id. With wrong, only the credential is
	// invalid.
	headers func(w penstock.Webhook, body, id string, wrong bool) map[string]string
}

func hmacOf(key []byte, text string) []byte {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(text))
	return mac.Sum(nil)
}

// waysToIdentify returns all modes, with ids in headers and in the body, signed and unsigned.
func waysToIdentify() []identified {
	secretOf := func(w penstock.Webhook, wrong bool) string {
		if wrong {
			return "another secret"
		}
		return w.Secret
	}
	const text = "a text that senders sign with"
	return []identified{
		{"token", map[string]any{"auth_mode": "token"}, penstock.IdentityPenstock, func(
			w penstock.Webhook, _, id string, wrong bool,
		) map[string]string {
			return map[string]string{"Authorization": "Bearer " + secretOf(w, wrong), "X-Penstock-Delivery-Id": id}
		}},
		{"header", map[string]any{
			"auth_mode": "token", "delivery_id_header": "X-Order",
		}, penstock.IdentityHeader, func(w penstock.Webhook, _, id string, wrong bool) map[string]string {
			return map[string]string{"Authorization": "Bearer " + secretOf(w, wrong), "X-Order": id}
		}},
		{"url", map[string]any{"auth_mode": "url_token"}, penstock.IdentityPenstock, func(
			_ penstock.Webhook, _, id string, _ bool,
		) map[string]string {
			return map[string]string{"X-Warp-Delivery-Id": id}
		}},
		{"github", map[string]any{
			"auth_mode": "signature", "signature_scheme": "github", "secret": text, "replay_guard": true,
		}, penstock.IdentityProvider, func(w penstock.Webhook, body, id string, wrong bool) map[string]string {
			w.Secret = text
			return map[string]string{
				"X-Hub-Signature-256": "sha256=" + hex.EncodeToString(hmacOf([]byte(secretOf(w, wrong)), body)),
				"X-GitHub-Delivery":   id,
			}
		}},
		{"mux", map[string]any{
			"auth_mode": "signature", "signature_scheme": "mux", "secret": text,
		}, penstock.IdentityProvider, func(w penstock.Webhook, body, _ string, wrong bool) map[string]string {
			w.Secret = text
			at := fmt.Sprint(time.Now().Unix())
			return map[string]string{
				"Mux-Signature": "t=" + at + ",v1=" + hex.EncodeToString(hmacOf([]byte(secretOf(w, wrong)), at+"."+body)),
			}
		}},
		{"standard", map[string]any{
			"auth_mode": "signature", "signature_scheme": "standard_webhooks",
		}, penstock.IdentityProvider, func(w penstock.Webhook, body, id string, wrong bool) map[string]string {
			key, _ := base64.StdEncoding.DecodeString(strings.TrimPrefix(w.Secret, "whsec_"))
			if wrong {
				key = []byte("another secret")
			}
			at := fmt.Sprint(time.Now().Unix())
			return map[string]string{
				"webhook-id": id, "webhook-timestamp": at,
				"webhook-signature": "v1," + base64.StdEncoding.EncodeToString(hmacOf(key, id+"."+at+"."+body)),
			}
		}},
	}
}

// A rejected delivery does not claim its id. After 401, 413, 400 and both kinds of 429, the first
// valid delivery with the id is accepted.
func TestRefusedFirstThenValidWithTheSameID(t *testing.T) {
	t.Parallel()
	testkit.Engines(t, func(t *testing.T, database string) {
		h := serveHooks(t, testkit.ServeOptions{Database: database, Args: []string{
			"--no-worker", "--limit-deliveries-per-minute", "3",
			"--limit-auth-failures-per-address", "2",
		}})
		hooks := map[string]penstock.Webhook{}
		for i, way := range waysToIdentify() {
			way.fields["name"] = way.name
			w := h.hook(way.fields)
			h.automation(w, "on-"+way.name, "look", nil)
			hooks[way.name] = w
			h.refuseAll(way, w, 10*(i+1))
		}
		h.Stop()
		second := h.replica(testkit.ServeOptions{Args: noWorker})
		for _, way := range waysToIdentify() {
			w := hooks[way.name]
			url, body := second.url(w), `{"id": "evt_1", "n": 1}`
			s := newSender(t)
			first := s.accepted(url, way.headers(w, body, "evt_1", false), body)
			if d := second.wantEntry(w, first, penstock.OutcomeAccepted, way.source); len(d.Runs) != 1 {
				t.Errorf("%s: the valid delivery has started %d runs", way.name, len(d.Runs))
			}
			again := second.entry(w, s.accepted(url, way.headers(w, body, "evt_1", false), body))
			if again.Outcome != penstock.OutcomeDuplicate || again.DuplicateOf != first {
				t.Errorf("%s: the same again is %s of %q", way.name, again.Label, again.DuplicateOf)
			}
			if n := len(second.runs(w)); n != 1 {
				t.Errorf("%s: got %d runs, want the one", way.name, n)
			}
		}
	})
}

// refuseAll sends the id in every way that the server rejects. Each address may fail twice.
func (h *hooked) refuseAll(way identified, w penstock.Webhook, address int) {
	h.t.Helper()
	const body = `{"id": "evt_1", "n": 1}`
	forged := h.url(w)
	if way.name == "url" {
		forged = h.URL + "/webhooks/w/" + w.UID + "/another-token"
	}
	post := func(what string, from int, url, body string, wrong bool, want int, more ...string) {
		h.t.Helper()
		header := way.headers(w, body, "evt_1", wrong)
		for i := 0; i < len(more); i += 2 {
			header[more[i]] = more[i+1]
		}
		if got := senderFrom(h.t, fmt.Sprintf("127.0.0.%d", from)).post(url, header, body); got.status != want {
			h.t.Errorf("%s, %s: got %d, want %d: %s", way.name, what, got.status, want, got.body)
		}
	}
	for range 2 {
		post("a wrong credential", address, forged, body, true, http.StatusUnauthorized)
	}
	post("the third failure of an address", address, forged, body, true, http.StatusTooManyRequests)
	post("a valid delivery from there", address, h.url(w), body, false, http.StatusTooManyRequests)

	// A body that is too large counts as a failure if its sender is unknown, and otherwise against
	// the rate.
	large := `{"id": "evt_1", "n": 1, "text": "` + strings.Repeat("x", maxBody) + `"}`
	post("too large", address+1, h.url(w), large, false, http.StatusRequestEntityTooLarge)
	post("no JSON", address+2, h.url(w), `{"id": "evt_1", "n": 1`, false, http.StatusBadRequest)
	post("encoded", address+2, h.url(w), body, false, http.StatusBadRequest, "Content-Encoding", "gzip")
	if w.AuthMode == penstock.AuthSignature {
		post("no JSON once more", address+2, h.url(w), `{"id": "evt_1"}}`, false, http.StatusBadRequest)
	}
	post("over the rate", address+3, h.url(w), body, false, http.StatusTooManyRequests)
	for _, d := range h.log(w, "") {
		if d.Outcome == penstock.OutcomeAccepted || d.Outcome == penstock.OutcomeDuplicate {
			h.t.Errorf("%s: a refused delivery is logged as %s", way.name, d.Label)
		}
	}
}
