package webhook_test

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/control/webhook"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// A job that posts the same body every night starts a run each time, if its webhook says so.
func TestAWebhookHasItsOwnWindowForEqualBodies(t *testing.T) {
	sites(t, func(s *site) {
		window := func(text string) penstock.Webhook {
			w := s.hook(penstock.AuthToken, func(r *factory.WebhookRequest) {
				r.DedupBodyWindow = (*penstock.DedupWindow)(&text)
			})
			s.automation(w, "", nil)
			return w
		}
		send := func(w penstock.Webhook) store.Delivery {
			got := s.post(path(w), bearer(w), []byte(`{"job": "nightly"}`))
			got.want(t, "deliver", http.StatusAccepted)
			d := s.logged(w, got.id())
			if strings.Contains(got.body, `"duplicate_of":"`+d.DuplicateOf+`"`) != (d.DuplicateOf != "") {
				t.Errorf("the sender got %s for a duplicate of %q", got.body, d.DuplicateOf)
			}
			return d
		}
		server, off, short := window(""), window("0"), window("1ms")
		first := send(server)
		if d := send(server); d.DuplicateOf != first.ID || !strings.Contains(d.Advice, "dedup_body_window") {
			t.Errorf("with the server's window: %s, %q", d.Label, d.Advice)
		}
		if first.Advice != "" {
			t.Errorf("the first one has the advice %q", first.Advice)
		}
		send(off)
		if d := send(off); len(d.Runs) != 1 || d.IdentitySource != penstock.IdentityBody {
			t.Errorf("without a window: %s, runs %v", d.Label, d.Runs)
		}
		begin := send(short).ReceivedAt
		testkit.Eventually(t, time.Minute, func() error {
			if penstock.Now() > begin+1 {
				return nil
			}
			return errors.New("a millisecond has not passed")
		})
		if d := send(short); len(d.Runs) != 1 {
			t.Errorf("after the window: %s, runs %v", d.Label, d.Runs)
		}
		for _, wrong := range []string{"-1h", "8785h", "nightly", "5"} {
			_, err := s.Resources.UpdateWebhook(t.Context(), s.admin, s.factory, off.UID, factory.WebhookRequest{
				DedupBodyWindow: (*penstock.DedupWindow)(&wrong),
			})
			if penstock.CodeOf(err) != penstock.CodeInvalidRequest {
				t.Errorf("the window %q: %v", wrong, err)
			}
		}
		back := penstock.DedupWindow("")
		on := factory.WebhookRequest{DedupBodyWindow: &back}
		if _, err := s.Resources.UpdateWebhook(t.Context(), s.admin, s.factory, off.UID, on); err != nil {
			t.Fatal(err)
		}
		send(off)
		if d := send(off); d.Outcome != penstock.OutcomeDuplicate {
			t.Errorf("with the server's window again: %s", d.Label)
		}
	}, noRate)
}

// Where only the body identifies a delivery and its sender sent an id, the row says how to use it. The
// id of a CloudEvent counts together with its source.
func TestTheRowRecommendsTheIDOfItsSender(t *testing.T) {
	sites(t, func(s *site) {
		plain := s.hook(penstock.AuthToken, nil)
		send := func(w penstock.Webhook, header map[string]string) store.Delivery {
			maps.Copy(header, bearer(w))
			got := s.post(path(w), header, []byte(`{"a": 1}`))
			got.want(t, "deliver", http.StatusAccepted)
			return s.logged(w, got.id())
		}
		for want, header := range map[string]map[string]string{
			"set delivery_id_header to ce-id, which is read together with ce-source": {"Ce-Id": "1", "ce-source": "/a"},
			"set delivery_id_header to Idempotency-Key":                              {"idempotency-key": "k"},
		} {
			if d := send(plain, header); !strings.Contains(strings.ToLower(d.Advice), strings.ToLower(want)) {
				t.Errorf("%v: %q", header, d.Advice)
			}
		}
		if d := send(plain, map[string]string{"X-Penstock-Delivery-Id": "1", "Idempotency-Key": "k"}); d.Advice != "" {
			t.Errorf("with another id: %q", d.Advice)
		}
		events := s.hook(penstock.AuthToken, func(r *factory.WebhookRequest) { r.DeliveryIDHeader = new("ce-id") })
		long := strings.Repeat("s", 256)
		for _, test := range []struct {
			name, id, source string
			duplicate        bool
			by               penstock.IdentitySource
		}{
			{"the first", "1", "/a", false, "delivery_id_header"},
			{"of another source", "1", "/b", false, "delivery_id_header"},
			{"another id", "2", "/a", false, "delivery_id_header"},
			{"again", "1", "/b", true, "delivery_id_header"},
			{"the longest", long, long, false, "delivery_id_header"},
			{"without a source", "1", "", false, "delivery_id_header"},
			{"a source that is no text", "1", "/\xff", false, "body_hash"},
			{"without an id", "", "/a", true, "body_hash"},
		} {
			header := map[string]string{"ce-id": test.id}
			if test.source != "" {
				header["Ce-Source"] = test.source
			}
			d := send(events, header)
			if (d.Outcome == penstock.OutcomeDuplicate) != test.duplicate || d.IdentitySource != test.by {
				t.Errorf("%s: %s by %s", test.name, d.Label, d.IdentitySource)
			}
		}
	}, noRate)
}

// With retry_unmatched, a delivery that started nothing can be sent again, and then starts its run
// once.
func TestADeliveryThatStartedNothingCanBeSentAgain(t *testing.T) {
	sites(t, func(s *site) {
		for _, again := range []bool{false, true} {
			w := s.signed("github", "s3cret-of-sixteen", func(r *factory.WebhookRequest) {
				r.RetryUnmatched, r.ReplayGuard = &again, new(true)
			})
			body := []byte(`{"type": "order"}`)
			send := func() store.Delivery {
				header := github("s3cret-of-sixteen", body)
				header["X-GitHub-Delivery"] = "d-1"
				return s.logged(w, s.post(path(w), header, body).id())
			}
			send()
			s.automation(w, `{"type": ["order"]}`, nil)
			if d := send(); (len(d.Runs) == 1) != again {
				t.Errorf("retry_unmatched %t: %s, runs %v", again, d.Label, d.Runs)
			}
			if d := send(); d.Outcome != penstock.OutcomeDuplicate || len(d.Runs) != 0 {
				t.Errorf("retry_unmatched %t, a third time: %s", again, d.Label)
			}
		}
	}, noRate)
}

// So can a comment that comes before what it is about. Sent again, it reaches the run, once.
func TestADeliveryThatContinuedNothingCanBeSentAgain(t *testing.T) {
	sites(t, func(s *site) {
		for _, again := range []bool{false, true} {
			w := s.signed("github", "s3cret-of-sixteen", func(r *factory.WebhookRequest) {
				r.RetryUnmatched, r.ReplayGuard = &again, new(true)
			})
			s.automation(w, `{"type": ["opened"]}`, func(r *factory.AutomationRequest) {
				comments := fmt.Sprintf(`{"webhook_ids": [%q], "payload": {"type": ["comment"]}}`, w.UID)
				r.Subject = new("{{pr}}")
				r.ContinueOn = &[]penstock.Trigger{{
					Provider: penstock.ProviderWebhook, Event: penstock.EventReceived, Filter: []byte(comments),
				}}
			})
			send := func(kind, id string) store.Delivery {
				body := []byte(`{"pr": 7, "type": "` + kind + `"}`)
				header := github("s3cret-of-sixteen", body)
				header["X-GitHub-Delivery"] = id
				return s.logged(w, s.post(path(w), header, body).id())
			}
			if d := send("comment", "d-1"); d.Outcome != penstock.OutcomeAccepted || len(d.Runs) != 0 {
				t.Errorf("alone: %s, runs %v", d.Label, d.Runs)
			}
			run := send("opened", "d-2").Runs
			if d := send("comment", "d-1"); slices.Equal(d.Runs, run) != again {
				t.Errorf("retry_unmatched %t: %s, runs %v, want %v", again, d.Label, d.Runs, run)
			}
			if d := send("comment", "d-1"); d.Outcome != penstock.OutcomeDuplicate || len(d.Runs) != 0 {
				t.Errorf("retry_unmatched %t, a third time: %s", again, d.Label)
			}
		}
	}, noRate)
}

// A test is a delivery of its own: its bytes may have been sent before, by the sender or by a test.
func TestATestIsADeliveryOfItsOwn(t *testing.T) {
	sites(t, func(s *site) {
		here := netip.MustParseAddr("127.0.0.1")
		for _, scheme := range []penstock.SignatureScheme{"github", "stripe", "linear"} {
			w := s.signed(scheme, "s3cret-of-sixteen", func(r *factory.WebhookRequest) { r.ReplayGuard = new(true) })
			s.automation(w, `{"id": ["evt_1"]}`, nil)
			payload := []byte(`{"id": "evt_1", "webhookTimestamp": 1}`)
			for n, test := range []factory.TestDelivery{{}, {}, {Payload: payload}, {Payload: payload}} {
				id, err := s.ingress.SendTest(t.Context(), w, test, "test-"+penstock.NewID(), here)
				if err != nil {
					t.Errorf("%s, test %d: %v", scheme, n, err)
					continue
				}
				d := s.logged(w, id)
				if d.Outcome != penstock.OutcomeAccepted || (len(d.Runs) == 1) != (n >= 2) {
					t.Errorf("%s, test %d: %s %q, runs %v", scheme, n, d.Label, d.Reason, d.Runs)
				}
			}
			same := "test-" + penstock.NewID()
			for n := range 2 {
				id, err := s.ingress.SendTest(t.Context(), w, factory.TestDelivery{Payload: payload}, same, here)
				if err != nil || (s.logged(w, id).Outcome == penstock.OutcomeDuplicate) != (n == 1) {
					t.Errorf("%s, one request, time %d: %v", scheme, n, err)
				}
			}
		}
	}, noRate, func(o *webhook.IngressOptions) { o.Limits.WebhooksPerFactory = 0 })
}
