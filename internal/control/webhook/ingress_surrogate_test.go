package webhook_test

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// An unpaired surrogate ("\ud800") is valid JSON (RFC 8259 §8.2), and senders produce it when they
// cut texts. Such a delivery is accepted and stored unchanged. For filters, the value equals
// nothing.
func TestLoneSurrogatesAreAccepted(t *testing.T) {
	sites(t, func(s *site) {
		w := s.hook(penstock.AuthToken, nil)
		want := map[string]bool{}
		for filter, matches := range map[string]bool{
			"": true, `{"a": {"exists": true}}`: true, `{"a": ["\ufffd"]}`: false, `{"a": {"not_in": ["\ufffd"]}}`: true,
			`{"\ufffd": {"exists": false}}`: true, `{"b": {"c": ["x"]}}`: true, `{"list": ["y"]}`: true,
			`{"list": ["\ufffd"]}`: false,
		} {
			want[s.automation(w, filter, nil).UID] = matches
		}
		const body = `{"a": "\ud800", "\udc00": {"\uDFFF": "\udc00\ud83d"}, "list": ["\ud800", "y"], "b": {"c": "x", ` +
			`"d": "x\ud800"}}`
		got := s.post(path(w), bearer(w), []byte(body))
		got.want(t, body, http.StatusAccepted)
		check := func(d store.Delivery) {
			t.Helper()
			if d.Outcome != penstock.OutcomeAccepted || len(d.Matches) != len(want) {
				t.Fatalf("got %s with %d matches", d.Label, len(d.Matches))
			}
			for _, m := range d.Matches {
				if m.WouldTrigger != want[m.UID] {
					t.Errorf("automation %s: got %t, %s", m.UID, m.WouldTrigger, m.Reason)
				}
			}
			kept, err := s.Deliveries.Payload(t.Context(), s.admin, s.factory, w.UID, d.ID)
			if err != nil || string(kept) != body {
				t.Errorf("got the payload %s (%v)", kept, err)
			}
		}
		check(s.logged(w, got.id()))
		again, err := s.Deliveries.Replay(t.Context(), s.admin, s.factory, w.UID, got.id())
		if err != nil {
			t.Fatal(err)
		}
		check(again)
		v, err := s.Deliveries.TestFilter(t.Context(), s.admin, s.factory, factory.FilterTest{
			DeliveryID: got.id(), WebhookUID: w.UID, Filter: []byte(`{"a": {"not_in": ["\ufffd"]}, "b": {"c": ["x"]}}`),
		})
		if err != nil || !v.WouldTrigger {
			t.Errorf("a filter that is tried on it: %+v, %v", v, err)
		}
	}, noRate)
}

// Next to an unpaired surrogate, the sender's id and time are read from the body as usual.
func TestIdentityBesideALoneSurrogate(t *testing.T) {
	sites(t, func(s *site) {
		mux, linear := s.signed("mux", "s3cret-of-sixteen", nil), s.signed("linear", "s3cret-of-sixteen", nil)
		send := func(w penstock.Webhook, body string) store.Delivery {
			t.Helper()
			at := strconv.FormatInt(time.Now().Unix(), 10)
			h := map[string]string{
				"Mux-Signature": "t=" + at + ",v1=" + hex.EncodeToString(
					mac("sha256", []byte("s3cret-of-sixteen"), at+"."+body),
				),
				"Linear-Signature": hex.EncodeToString(mac("sha256", []byte("s3cret-of-sixteen"), body)), "Linear-Delivery": "d1",
			}
			got := s.post(path(w), h, []byte(body))
			got.want(t, body, http.StatusAccepted)
			return s.logged(w, got.id())
		}
		first := send(mux, `{"text": "\ud83d", "id": "evt_1"}`)
		if first.IdentitySource != penstock.IdentityProvider {
			t.Errorf("got the identity from %s", first.IdentitySource)
		}
		if d := send(mux, `{"text": "again \udc00", "id": "evt_1"}`); d.DuplicateOf != first.ID {
			t.Errorf("the same id again: %s of %q", d.Label, d.DuplicateOf)
		}
		for n := range 2 { // an id that is no text is none
			if d := send(mux, fmt.Sprintf(`{"n": %d, "id": "evt_\ud800"}`, n)); d.Outcome != penstock.OutcomeAccepted ||
				d.IdentitySource != penstock.IdentityBody {
				t.Errorf("an id with half a pair: %s by %s", d.Label, d.IdentitySource)
			}
		}
		if d := send(
			linear, fmt.Sprintf(`{"text": "\ud83d", "webhookTimestamp": %d}`, time.Now().UnixMilli()),
		); d.IdentitySource != penstock.IdentityProvider {
			t.Errorf("a signed time in the body: %s by %s", d.Label, d.IdentitySource)
		}
	}, noRate)
}
