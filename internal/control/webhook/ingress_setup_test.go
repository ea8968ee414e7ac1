package webhook_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// The unsigned requests with which senders check a URL are 401, and the row says what they are. With
// setup_pings, they are 200 until the first verified delivery of the sender.
func TestUnsignedSetupRequests(t *testing.T) {
	sites(t, func(s *site) {
		form, long := "application/x-www-form-urlencoded", "webhook_id="+strings.Repeat("7", 100)
		for name, test := range map[string]struct {
			scheme penstock.SignatureScheme
			header map[string]string
			body   string
			ping   bool
		}{
			"WooCommerce": {"woocommerce", map[string]string{"Content-Type": form}, "webhook_id=7", true},
			"with a charset": {
				"woocommerce", map[string]string{"Content-Type": form + "; charset=UTF-8"}, "webhook_id=712", true,
			},
			"Bitbucket":          {"bitbucket", map[string]string{"X-Event-Key": "diagnostics:ping"}, `{"test": true}`, true},
			"no number":          {"woocommerce", map[string]string{"Content-Type": form}, "webhook_id=7&a=b", false},
			"a long one":         {"woocommerce", map[string]string{"Content-Type": form}, long, false},
			"as JSON":            {"woocommerce", map[string]string{"Content-Type": "application/json"}, "webhook_id=7", false},
			"another event":      {"bitbucket", map[string]string{"X-Event-Key": "repo:push"}, `{"test": true}`, false},
			"of another sender":  {"github", map[string]string{"Content-Type": form}, "webhook_id=7", false},
			"of another, a ping": {"jira", map[string]string{"X-Event-Key": "diagnostics:ping"}, `{"test": true}`, false},
		} {
			w := s.signed(test.scheme, "s3cret-of-sixteen", nil)
			s.automation(w, "", nil)
			s.post(path(w), test.header, []byte(test.body)).want(t, name, http.StatusUnauthorized)
			d := s.entries(w)[0]
			if (d.Reason == "setup_ping") != test.ping || strings.Contains(d.Advice, "setup_pings") != test.ping ||
				d.Outcome != penstock.OutcomeRejectedAuth {
				t.Errorf("%s: %s %q, %q", name, d.Label, d.Reason, d.Advice)
			}
			on := factory.WebhookRequest{SetupPings: new(true)}
			_, err := s.Resources.UpdateWebhook(t.Context(), s.admin, s.factory, w.UID, on)
			if able := test.scheme == "woocommerce" || test.scheme == "bitbucket"; (err == nil) != able {
				t.Errorf("%s: set setup_pings: %v", name, err)
			}
			if !test.ping {
				s.post(path(w), test.header, []byte(test.body)).want(t, name, http.StatusUnauthorized)
				continue
			}
			s.post(path(w), test.header, []byte(test.body)).want(t, name+", with setup_pings", http.StatusOK)
			log := s.entries(w)
			d = log[len(log)-1]
			if d.HTTPStatus != http.StatusOK || d.Outcome != penstock.OutcomeRejectedAuth || len(d.Runs) > 0 {
				t.Errorf("%s, with setup_pings: %d %s, runs %v", name, d.HTTPStatus, d.Label, d.Runs)
			}
			body := `{"id": 1}`
			sum := mac("sha256", []byte("s3cret-of-sixteen"), body)
			signed := map[string]string{
				"X-Hub-Signature":        "sha256=" + hexMAC("s3cret-of-sixteen", body),
				"X-WC-Webhook-Signature": base64.StdEncoding.EncodeToString(sum),
			}
			forged := map[string]string{"X-Hub-Signature": "sha256=00"}
			s.post(path(w), forged, []byte(body)).want(t, name, http.StatusUnauthorized)
			s.post(path(w), signed, []byte(body)).want(t, name+", signed", http.StatusAccepted)
			s.post(path(w), test.header, []byte(test.body)).want(t, name+", after a delivery", http.StatusUnauthorized)
		}
	}, noRate)
}

// Microsoft Graph checks a URL with a token that it expects back, as text.
func TestAURLTokenWebhookAnswersAValidationToken(t *testing.T) {
	sites(t, func(s *site) {
		w := s.hook(penstock.AuthURLToken, nil)
		s.automation(w, "", nil)
		url := path(w) + "/" + w.Secret
		got := s.post(url+"?validationToken=Validation%3A+abc%3Cb%3E", map[string]string{"Content-Type": "text/plain"}, nil)
		got.want(t, "the check", http.StatusOK)
		if got.body != "Validation: abc<b>" || !strings.HasPrefix(got.header.Get("Content-Type"), "text/plain") ||
			got.header.Get("X-Content-Type-Options") != "nosniff" {
			t.Errorf("the sender got %q, %v", got.body, got.header)
		}
		d := s.entries(w)[0]
		if d.Reason != store.ReasonHandshake || len(d.Runs) > 0 || d.IdentitySource != penstock.IdentityNone {
			t.Errorf("the row: %s %q, %v", d.Label, d.Reason, d.Runs)
		}
		for name, wrong := range map[string]response{
			"a wrong token":     s.post(path(w)+"/wrong?validationToken=x", nil, nil),
			"no token":          s.post(path(w)+"?validationToken=x", nil, nil),
			"a token of a mode": s.post(path(s.hook(penstock.AuthToken, nil))+"?validationToken=x", nil, nil),
		} {
			if wrong.status != http.StatusUnauthorized || strings.Contains(wrong.body, "validationToken") {
				t.Errorf("%s: got %d %s", name, wrong.status, wrong.body)
			}
		}
		for name, query := range map[string]string{
			"two": "validationToken=a&validationToken=b", "empty": "validationToken=",
		} {
			s.post(url+"?"+query, nil, nil).want(t, name, http.StatusBadRequest)
		}
		notified := s.post(url+"?validationToken=x", nil, []byte(`{"value": []}`))
		notified.want(t, "a notification", http.StatusAccepted)
		if d := s.logged(w, notified.id()); len(d.Runs) != 1 {
			t.Errorf("a notification: %s, runs %v", d.Label, d.Runs)
		}
	})
}
