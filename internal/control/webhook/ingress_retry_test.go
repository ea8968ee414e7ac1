package webhook_test

import (
	"encoding/hex"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/webhook"
)

// Linear repeats the bytes of the first attempt after a minute, an hour and six hours. A retry that
// comes through counts, but only once, whatever its id is.
func TestALinearRetryAfterAFailedAttemptStartsOneRun(t *testing.T) {
	sites(t, func(s *site) {
		w := s.signed("linear", "s3cret-of-sixteen", nil)
		s.automation(w, "", nil)
		send := func(to *site, id string, body []byte) response {
			return to.post(path(w), map[string]string{
				"Linear-Signature": hex.EncodeToString(mac("sha256", []byte("s3cret-of-sixteen"), string(body))),
				"Linear-Delivery":  id,
			}, body)
		}
		at := func(age time.Duration) []byte {
			return fmt.Appendf(nil, `{"type": "Issue", "webhookTimestamp": %d}`, time.Now().Add(-age).UnixMilli())
		}
		send(s, "other", at(0)).want(t, "another delivery", http.StatusAccepted)
		body := at(6 * time.Hour)
		send(s, "first", body).want(t, "the first attempt, beyond the rate", http.StatusTooManyRequests)
		later := open(t, s.url, s.dir, noRate)
		retry := send(later, "first", body)
		retry.want(t, "the retry", http.StatusAccepted)
		if d := s.logged(w, retry.id()); d.Outcome != penstock.OutcomeAccepted || len(d.Runs) != 1 {
			t.Errorf("the retry: %s %q, runs %v", d.Label, d.Reason, d.Runs)
		}
		for _, id := range []string{"first", "forged", ""} {
			got := send(later, id, body)
			got.want(t, "the same bytes again", http.StatusAccepted)
			if d := s.logged(w, got.id()); d.Outcome != penstock.OutcomeDuplicate || d.DuplicateOf != retry.id() {
				t.Errorf("the same bytes under the id %q: %s of %q", id, d.Label, d.DuplicateOf)
			}
		}
		send(later, "old", at(24*time.Hour+time.Minute)).want(t, "after a day", http.StatusUnauthorized)
		send(later, "new", at(-2*time.Minute)).want(t, "from the future", http.StatusUnauthorized)
	}, func(o *webhook.IngressOptions) { o.Limits.DeliveriesPerMinute = 1 })
}
