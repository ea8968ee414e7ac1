package main_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// Requests that the senders' own SDKs sign, sent over the network.
func TestSendersOwnSDKs(t *testing.T) {
	t.Parallel()
	senders := testkit.NewSenders(t)
	h := serveHooks(t, testkit.ServeOptions{Args: noWorker})
	tests := []struct {
		scheme, secret string // the server generates the secret if it is ""
		timed          bool   // the time is signed
	}{
		{scheme: "standard_webhooks", timed: true},
		{scheme: "svix", timed: true},
		{scheme: "stripe", secret: "whsec_0123456789abcdefABCDEF0123456789", timed: true},
		{scheme: "github", secret: githubSecret},
	}
	for _, test := range tests {
		t.Run(test.scheme, func(t *testing.T) {
			fields := map[string]any{
				"name": strings.ReplaceAll(test.scheme, "_", "-"), "auth_mode": "signature", "signature_scheme": test.scheme,
			}
			if test.secret != "" {
				fields["secret"] = test.secret
			}
			w := h.hook(fields)
			secret := w.Secret
			if test.secret != "" {
				secret = test.secret
			} else if !strings.HasPrefix(secret, "whsec_") {
				t.Fatalf("got the secret %q, want whsec_…", secret)
			}
			s := newSender(t)
			const body = `{"id": "evt_1", "type": "thing.done", "text": "Grüße  \u00fc"}`
			sign := func(id, body string, at time.Time) map[string]string {
				return senders.Sign(testkit.SignRequest{Scheme: test.scheme, Secret: secret, Body: body, Now: at.Unix(), ID: id})
			}
			header := sign("msg_1", body, time.Now())
			first := s.accepted(h.url(w), header, body)
			h.wantEntry(w, first, penstock.OutcomeAccepted, penstock.IdentityProvider)

			again := s.accepted(h.url(w), header, body)
			if d := h.wantEntry(w, again, penstock.OutcomeDuplicate, penstock.IdentityProvider); d.DuplicateOf != first {
				t.Errorf("got a duplicate of %q, want of %s", d.DuplicateOf, first)
			}
			resent := s.accepted(h.url(w), sign("msg_1", body, time.Now().Add(time.Second)), body) // as a sender tries again
			h.wantEntry(w, resent, penstock.OutcomeDuplicate, penstock.IdentityProvider)

			h.wantRefused(s, w, header, strings.Replace(body, "done", "dune", 1), "mismatch")
			h.wantRefused(s, w, header, body+" ", "mismatch")
			h.wantRefused(s, w, nil, body, "missing_header")
			if test.timed {
				const other = `{"id": "evt_2"}`
				h.wantRefused(s, w, sign("msg_2", other, time.Now().Add(-301*time.Second)), other, "stale")
				h.wantRefused(s, w, sign("msg_2", other, time.Now().Add(10*time.Minute)), other, "future")
				h.wantEntry(
					w, s.accepted(h.url(w), sign("msg_2", other, time.Now().Add(-3*time.Minute)), other), penstock.OutcomeAccepted,
					penstock.IdentityProvider,
				)
			}
		})
	}
}

// Notion posts its secret to the URL. Until then, the webhook returns 404.
func TestNotionSendsItsSecret(t *testing.T) {
	t.Parallel()
	senders := testkit.NewSenders(t)
	h := serveHooks(t, testkit.ServeOptions{Args: noWorker})
	w := h.hook(map[string]any{"name": "notion", "auth_mode": "signature", "signature_scheme": "notion"})
	if w.Enabled || !w.PendingSecret || w.Secret != "" {
		t.Fatalf("got %+v, want a webhook that waits for its secret", w)
	}
	const secret, body = "secret_tMrlL1qK5vuQAh1b6cZGhFChZTSYJlce98V0pYn7yBl", `{"id":"evt_1","type":"page.created"}`
	s := newSender(t)
	header := senders.Sign(testkit.SignRequest{Scheme: "notion", Secret: secret, Body: body, Now: time.Now().Unix()})
	if got := s.post(h.url(w), header, body); got.status != http.StatusNotFound {
		t.Errorf("a webhook that waits for its secret returns %d", got.status)
	}
	offer, err := json.Marshal(map[string]string{"verification_token": secret})
	if err != nil {
		t.Fatal(err)
	}
	if got := s.post(h.url(w), nil, string(offer)); got.status != http.StatusAccepted && got.status != http.StatusOK {
		t.Fatalf("got %d for the secret: %s", got.status, got.body)
	}
	h.wantEntry(w, s.accepted(h.url(w), header, body), penstock.OutcomeAccepted, penstock.IdentityProvider)
	// Another such request does not replace the secret.
	h.wantRefused(s, w, nil, `{"verification_token":"secret_of_somebody_else"}`, "missing_header")
	h.wantEntry(w, s.accepted(h.url(w), header, body), penstock.OutcomeDuplicate, penstock.IdentityProvider)
}

// wantEntry requires the given entry of the log.
func (h *hooked) wantEntry(
	w penstock.Webhook, id string, outcome penstock.Outcome, source penstock.IdentitySource,
) store.Delivery {
	h.t.Helper()
	if id == "" {
		h.t.Fatal("the response names no delivery")
	}
	d := h.entry(w, id)
	if d.Outcome != outcome || d.Label != outcome.Label() || d.Reason != "" || d.IdentitySource != source {
		h.t.Errorf("got %s %q by %q, want %s by %q", d.Label, d.Reason, d.IdentitySource, outcome.Label(), source)
	}
	return d
}

// wantRefused sends a request that must get a 401 without details. The log must have the reason.
func (h *hooked) wantRefused(s *sender, w penstock.Webhook, header map[string]string, body, reason string) {
	h.t.Helper()
	got := s.post(h.url(w), header, body)
	if got.status != http.StatusUnauthorized || strings.Contains(string(got.body), reason) ||
		strings.Contains(string(got.body), w.UID) {
		h.t.Errorf("got %d: %s, want a 401 that tells nothing", got.status, got.body)
	}
	newest := h.log(w, "outcome=rejected_auth")
	if len(newest) == 0 || newest[0].Reason != reason || newest[0].IdentitySource != penstock.IdentityNone ||
		newest[0].HTTPStatus != http.StatusUnauthorized {
		h.t.Errorf("got %+v at the top of the log, want Rejected (auth), %s", newest[:min(1, len(newest))], reason)
	}
}
