package webhook_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/webhook"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// linearHook is a webhook of Linear that starts one run for each delivery.
type linearHook struct{ penstock.Webhook }

const linearSecret = "s3cret-of-sixteen"

func newLinearHook(s *site) linearHook {
	w := s.signed("linear", linearSecret, nil)
	s.automation(w, "", nil)
	return linearHook{w}
}

func (w linearHook) send(to *site, id string, body []byte) response {
	return to.post(path(w.Webhook), map[string]string{
		"Linear-Signature": hex.EncodeToString(mac("sha256", []byte(linearSecret), string(body))),
		"Linear-Delivery":  id,
	}, body)
}

// signedBefore is a body that Linear signed so long ago.
func signedBefore(age time.Duration) []byte {
	return fmt.Appendf(nil, `{"type": "Issue", "webhookTimestamp": %d}`, time.Now().Add(-age).UnixMilli())
}

// Linear repeats the bytes of the first attempt after a minute, an hour and six hours. A retry that
// comes through counts, but only once, whatever its id is.
func TestALinearRetryAfterAFailedAttemptStartsOneRun(t *testing.T) {
	sites(t, func(s *site) {
		w := newLinearHook(s)
		w.send(s, "other", signedBefore(0)).want(t, "another delivery", http.StatusAccepted)
		body := signedBefore(6 * time.Hour)
		w.send(s, "first", body).want(t, "the first attempt, beyond the rate", http.StatusTooManyRequests)
		later := open(t, s.url, s.dir, noRate)
		retry := w.send(later, "first", body)
		retry.want(t, "the retry", http.StatusAccepted)
		if d := s.logged(w.Webhook, retry.id()); d.Outcome != penstock.OutcomeAccepted || len(d.Runs) != 1 {
			t.Errorf("the retry: %s %q, runs %v", d.Label, d.Reason, d.Runs)
		}
		for _, id := range []string{"first", "forged", ""} {
			got := w.send(later, id, body)
			got.want(t, "the same bytes again", http.StatusAccepted)
			if d := s.logged(w.Webhook, got.id()); d.Outcome != penstock.OutcomeDuplicate || d.DuplicateOf != retry.id() {
				t.Errorf("the same bytes under the id %q: %s of %q", id, d.Label, d.DuplicateOf)
			}
		}
		w.send(later, "old", signedBefore(24*time.Hour+time.Minute)).want(t, "after a day", http.StatusUnauthorized)
		w.send(later, "new", signedBefore(-2*time.Minute)).want(t, "from the future", http.StatusUnauthorized)
	}, func(o *webhook.IngressOptions) { o.Limits.DeliveriesPerMinute = 1 })
}

// An attempt that got a 503 leaves nothing behind, so the retry with the same bytes starts one run, on whichever
// server it arrives.
func TestALinearRetryAfterA503StartsOneRun(t *testing.T) {
	sites(t, func(s *site) {
		w := newLinearHook(s)
		started := 0
		retry := func(what, id string, body []byte, to *site) {
			t.Helper()
			if got := len(s.runs()); got != started {
				t.Errorf("%s: %d runs after the 503, want %d", what, got, started)
			}
			started++
			var got response
			testkit.Eventually(t, testkit.Patience*time.Minute, func() error { // until the memory is free
				if got = w.send(to, id, body); got.status == http.StatusServiceUnavailable {
					return fmt.Errorf("got %d %s", got.status, got.body)
				}
				return nil
			})
			got.want(t, what, http.StatusAccepted)
			if d := s.logged(w.Webhook, got.id()); d.Outcome != penstock.OutcomeAccepted || len(d.Runs) != 1 {
				t.Errorf("%s: the retry is %s %q, runs %v", what, d.Label, d.Reason, d.Runs)
			}
			again := w.send(s, id, body)
			again.want(t, "the same bytes again", http.StatusAccepted)
			if d := s.logged(w.Webhook, again.id()); d.DuplicateOf != got.id() || len(s.runs()) != started {
				t.Errorf("%s: the same bytes again: %s of %q, %d runs", what, d.Label, d.DuplicateOf, len(s.runs()))
			}
		}

		cut, other := *s, open(t, s.url, s.dir, noRate)
		service := cut.losing()
		w.send(&cut, "first", signedBefore(0)).want(t, "while all is well", http.StatusAccepted)
		started++
		for id, recovered := range map[string]*site{"same": &cut, "other": other} {
			body := signedBefore(6*time.Hour + time.Duration(started)*time.Second)
			service.deliver = true
			w.send(&cut, id, body).want(t, id, http.StatusServiceUnavailable)
			service.deliver = false
			retry("the database is away, "+id+" server", id, body, recovered)
		}

		// The response is lost, not the delivery: its run is the only one.
		body := signedBefore(12 * time.Hour)
		service.stored = true
		w.send(&cut, "stored", body).want(t, "the delivery is stored", http.StatusServiceUnavailable)
		service.stored = false
		started++
		got := w.send(other, "stored", body)
		got.want(t, "the retry of a stored delivery", http.StatusAccepted)
		if d := s.logged(w.Webhook, got.id()); d.Outcome != penstock.OutcomeDuplicate || len(s.runs()) != started {
			t.Errorf("the retry of a stored delivery: %s, %d runs, want %d", d.Label, len(s.runs()), started)
		}

		full := open(t, s.url, s.dir, noRate, func(o *webhook.IngressOptions) { o.HeldBytes, o.BodyTime = 1, time.Second })
		slow := s.hook(penstock.AuthToken, nil)
		id := "large"
		body = append(signedBefore(23*time.Hour), bytes.Repeat([]byte(" "), 262_000)...)
		testkit.Eventually(t, testkit.Patience*time.Minute, func() error {
			full.holdRoom(slow)
			full.post(path(slow), bearer(slow), []byte(`{"small": true}`)) // what was sent before this is read by then
			if got := w.send(full, id, body); got.status != http.StatusServiceUnavailable {
				id, body = id+"r", append(body, ' ') // it arrived too early: the next one is another one
				return fmt.Errorf("got %d %s", got.status, got.body)
			}
			return nil
		})
		started = len(s.runs())
		retry("no memory for bodies", id, body, full)
	}, noRate)
}
