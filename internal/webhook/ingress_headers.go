package webhook

import (
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/penstock-dev/penstock/internal/signature"
)

// What the log keeps of a delivery's headers at most.
const (
	maxLoggedValue  = 256 // bytes
	maxLoggedHeader = 24
)

// logged are the headers that the log keeps, by their canonical names: what
// senders say about their deliveries, and nothing that could be a secret.
var logged = loggedHeaders()

func loggedHeaders() map[string]string {
	names := []string{
		"Content-Type", "Content-Encoding", "User-Agent", "X-Request-Id", "X-Correlation-Id",
		"Webhook-Timestamp", "Svix-Timestamp", "X-GitHub-Event", "X-GitHub-Hook-ID", "X-GitHub-Hook-Installation-Target-Type",
		"X-GitHub-Hook-Installation-Target-ID",
		"X-Gitlab-Event", "X-Gitlab-Instance", "X-Gitlab-Webhook-UUID", "X-Gitlab-Event-UUID", "Sentry-Hook-Resource",
		"Sentry-Hook-Timestamp",
		"X-Slack-Request-Timestamp", "X-Slack-Retry-Num", "X-Slack-Retry-Reason", "Linear-Event", "X-Shopify-Topic",
		"X-Shopify-Shop-Domain", "X-Shopify-Event-Id",
		"X-Shopify-Triggered-At", "X-Event-Key", "X-Hook-UUID", "X-Attempt-Number", "X-Atlassian-Webhook-Retry",
		"X-Zendesk-Webhook-Id", "X-Zendesk-Account-Id",
		"Circleci-Event-Type", "X-WC-Webhook-Topic", "X-WC-Webhook-Resource", "X-WC-Webhook-Event", "X-WC-Webhook-ID",
		"X-Buildkite-Event",
		"X-Contentful-Topic", "X-Contentful-Webhook-Name", "X-Grafana-Alerting-Timestamp", "Ce-Id", "Ce-Type", "Ce-Source",
		"Ce-Specversion", "Traceparent",
	}
	names = append(names, identityHeaders...)
	for _, preset := range signature.Presets() {
		for _, form := range preset.Forms {
			names = append(names, form.IDHeader)
		}
	}
	out := map[string]string{}
	for _, name := range names {
		out[http.CanonicalHeaderKey(name)] = strings.ToLower(name)
	}
	delete(out, "")
	return out
}

// headers are those that the log keeps, by their names in lower case.
func (d *intake) headers() map[string]string {
	own := http.CanonicalHeaderKey(d.plan.Inlet.DeliveryIDHeader)
	kept := map[string]string{}
	for name, values := range d.r.Header {
		shown := logged[name]
		if shown == "" && name == own {
			shown = strings.ToLower(name)
		}
		if shown == "" || len(values) == 0 || len(kept) >= maxLoggedHeader {
			continue
		}
		kept[shown] = clip(values[0])
	}
	return kept
}

// clip makes a header's value one that any database stores.
func clip(value string) string {
	if len(value) > maxLoggedValue {
		value = value[:maxLoggedValue]
		for len(value) > 0 && !utf8.RuneStart(value[len(value)-1]) {
			value = value[:len(value)-1]
		}
		value += "…"
	}
	return strings.ToValidUTF8(value, "\uFFFD")
}
