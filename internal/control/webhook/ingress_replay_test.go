package webhook_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/signature"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/control/webhook"
)

// signAs signs a body with a form of HMAC, as its sender does.
func signAs(f signature.Form, secret, url, body string, at time.Time) map[string]string {
	stamp := strconv.FormatInt(at.Unix(), 10)
	switch f.TimestampUnit {
	case signature.UnitMilliseconds:
		stamp = strconv.FormatInt(at.UnixMilli(), 10)
	case signature.UnitRFC3339:
		stamp = at.UTC().Format(time.RFC3339)
	}
	list := strings.ToLower(f.SignedHeaders + "," + f.TimestampHeader)
	text := strings.NewReplacer(
		"{timestamp}", stamp, "{method}", http.MethodPost, "{url}", url, "{path}",
		strings.TrimPrefix(url, "https://hooks.example.com"),
		"{signed_headers}", strings.ToLower(f.SignedHeaders)+":"+list+";"+strings.ToLower(f.TimestampHeader)+":"+stamp,
		"{body}", body,
	).Replace(f.Template)
	sum := mac(f.Hash, []byte(secret), text)
	signature := hex.EncodeToString(sum)
	if f.Encoding == "base64" {
		signature = base64.StdEncoding.EncodeToString(sum)
	}
	header := map[string]string{f.Header: f.Prefix + signature}
	if f.TimestampField != "" {
		header[f.Header] = f.TimestampField + "=" + stamp + f.Separator + header[f.Header]
	}
	if f.TimestampHeader != "" {
		header[f.TimestampHeader] = stamp
	}
	if f.SignedHeaders != "" {
		header[f.SignedHeaders] = list
	}
	return header
}

// guarded are schemes whose id is not signed, or which have no id.
var guarded = map[string]struct {
	scheme    penstock.SignatureScheme
	signature *penstock.Signature
	header    string // of the id; "": X-Penstock-Delivery-Id
}{
	"calendly":   {scheme: "calendly"},
	"zendesk":    {scheme: "zendesk", header: "X-Zendesk-Webhook-Invocation-Id"},
	"buildkite":  {scheme: "buildkite"},
	"hubspot":    {scheme: "hubspot"},
	"contentful": {scheme: "contentful"},
	"grafana":    {scheme: "grafana", signature: &penstock.Signature{TimestampHeader: "X-Grafana-Alerting-Timestamp"}},
	"linear":     {scheme: "linear", header: "Linear-Delivery"},
	"github":     {scheme: "github", header: "X-GitHub-Delivery"},
	"custom": {scheme: signature.CustomHMAC, signature: &penstock.Signature{
		Header: "X-Sig", Hash: "sha512", Encoding: "hex", KeyForm: "text", Template: "{timestamp}.{header:X-Event}.{body}",
		TimestampHeader: "X-Time",
	}},
	"stripe with a header of its own": {scheme: "stripe", header: "X-Order"},
	"stripe without its id":           {scheme: "stripe"},
}

// The same signed bytes under another unsigned id are a replay, whether or not a time is signed
// with them. The sender's own retries remain duplicates.
func TestTheReplayGuardWhereATimeIsSigned(t *testing.T) {
	sites(t, func(s *site) {
		for name, test := range guarded {
			hook := func(guard bool) penstock.Webhook {
				return s.signed(test.scheme, "s3cret-of-sixteen", func(r *factory.WebhookRequest) {
					r.Signature, r.ReplayGuard = test.signature, &guard
					if test.header == "X-Order" {
						r.DeliveryIDHeader = &test.header
					}
				})
			}
			forms, err := signature.Forms(test.scheme, test.signature)
			if err != nil {
				t.Fatal(err)
			}
			now := time.Now()
			send := func(w penstock.Webhook, id string, at time.Time, body string) store.Delivery {
				t.Helper()
				form := forms[0]
				form.Template = strings.ReplaceAll(form.Template, "{header:X-Event}", "order")
				h := signAs(form, "s3cret-of-sixteen", s.public+path(w), body, at)
				h["X-Event"] = "order"
				if test.header == "" {
					h["X-Penstock-Delivery-Id"] = id
				} else {
					h[test.header] = id
				}
				got := s.post(path(w), h, []byte(body))
				got.want(t, name, http.StatusAccepted)
				return s.logged(w, got.id())
			}
			body := fmt.Sprintf(`{"n": 1, "webhookTimestamp": %d}`, now.UnixMilli())
			w := hook(true)
			first := send(w, "a", now, body)
			if d := send(w, "b", now, body); d.Reason != "replayed_signature" || d.DuplicateOf != first.ID ||
				d.Outcome != penstock.OutcomeDuplicate {
				t.Errorf("%s: under another id: %s %q of %q", name, d.Label, d.Reason, d.DuplicateOf)
			}
			if d := send(w, "a", now, body); d.Reason != "" || d.DuplicateOf != first.ID {
				t.Errorf("%s: under the same id: %s %q of %q", name, d.Label, d.Reason, d.DuplicateOf)
			}
			if d := send(w, "b", now, strings.Replace(body, "1", "2", 1)); d.Outcome != penstock.OutcomeAccepted {
				t.Errorf("%s: another body under the id of a replay: %s %q", name, d.Label, d.Reason)
			}
			if outside := forms[0].TimestampHeader + forms[0].TimestampField; outside != "" {
				if d := send(w, "c", now.Add(time.Second), body); d.Outcome != penstock.OutcomeAccepted {
					t.Errorf("%s: an equal body of another time: %s %q", name, d.Label, d.Reason)
				}
			}
			open := hook(false)
			send(open, "a", now, body)
			want := ""
			if forms[0].Once {
				want = "replayed_signature"
			}
			if d := send(open, "b", now, body); d.Reason != want || (d.Outcome == penstock.OutcomeDuplicate) != forms[0].Once {
				t.Errorf("%s: without the guard: %s %q", name, d.Label, d.Reason)
			}
		}
	}, noRate, func(o *webhook.IngressOptions) { o.Limits.WebhooksPerFactory = 0 })
}

// The guard works even if the body itself is not an identity.
func TestTheReplayGuardWithoutAnyID(t *testing.T) {
	sites(t, func(s *site) {
		w := s.signed("github", "s3cret-of-sixteen", func(r *factory.WebhookRequest) { r.ReplayGuard = new(true) })
		body := []byte(`{"a": 1}`)
		first := s.logged(w, s.post(path(w), github("s3cret-of-sixteen", body), body).id())
		for _, id := range []string{"", "forged"} {
			h := github("s3cret-of-sixteen", body)
			h["X-GitHub-Delivery"] = id
			if d := s.logged(w, s.post(path(w), h, body).id()); d.DuplicateOf != first.ID || d.Reason != "replayed_signature" {
				t.Errorf("the id %q: %s %q of %q", id, d.Label, d.Reason, d.DuplicateOf)
			}
		}
	}, noRate, func(o *webhook.IngressOptions) { o.Limits.DedupBodyWindow = 0 })
}
