package factory

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/signature"
	"github.com/penstock-dev/penstock/internal/control/trigger"
)

// TestDelivery is a delivery that the server sends to one of its own webhooks: one of a payload, a
// sample of an event, or an earlier delivery. Without any of these, it is an example.
type TestDelivery struct {
	Payload     json.RawMessage `json:"payload"`
	GitHubEvent string          `json:"github_event"` // the header X-GitHub-Event of a payload; "": ping
	Event       string          `json:"event"`        // of a github or linear trigger
	DeliveryID  string          `json:"delivery_id"`

	// Headers are those with which the sender names the event, by lower-case name.
	Headers map[string]string `json:"-"`
	PaidBy  []string          `json:"-"` // the keys of the caller
}

// WebhookVerification is a request of a sender, to find out why it is rejected.
type WebhookVerification struct {
	Headers map[string]string `json:"headers"`
	Body    string            `json:"body"`
	At      *penstock.Time    `json:"at"` // when it arrived; nil: now
}

// WebhookVerified says whether a request is authentic, and why not.
type WebhookVerified struct {
	Valid  bool   `json:"valid"`
	Reason string `json:"reason,omitempty"` // as in the delivery log
	Detail string `json:"detail,omitempty"` // what is wrong, for people
	Hint   string `json:"hint,omitempty"`   // a small change with which it is valid
}

// TestOf completes a test delivery for a webhook that the caller may try: with the payload and the
// headers of a sample or an earlier delivery. id makes a sample differ from others.
func (s *Deliveries) TestOf(
	ctx context.Context, hook penstock.Webhook, req TestDelivery, id string,
) (TestDelivery, error) {
	switch {
	case req.Event != "" && (len(req.Payload) > 0 || req.DeliveryID != ""):
		return req, penstock.Invalid("/event", "cannot be given together with payload or delivery_id")
	case req.DeliveryID != "" && len(req.Payload) > 0:
		return req, penstock.Invalid("/delivery_id", "cannot be given together with payload")
	case req.GitHubEvent != "" && (len(req.Payload) == 0 || hook.SignatureScheme != signature.GitHub):
		return req, penstock.Invalid("/github_event", "is allowed only with a payload, for a webhook with the scheme github")
	case req.GitHubEvent != "" && !plainName(req.GitHubEvent):
		return req, penstock.Invalid("/github_event", "is not the name of an event, such as pull_request")
	case req.DeliveryID != "":
		return s.retest(ctx, hook, req)
	case req.Event != "":
		events := penstock.TriggerEvents(string(hook.SignatureScheme))
		req.GitHubEvent, req.Payload = trigger.Sample(string(hook.SignatureScheme), req.Event, id, time.Now())
		if req.Payload == nil && len(events) == 0 {
			return req, penstock.Invalid("/event", "is allowed only for webhooks with the scheme github or linear")
		}
		if req.Payload == nil {
			return req, penstock.Invalid("/event", "must be one of %s", strings.Join(events, ", "))
		}
	}
	if req.GitHubEvent != "" {
		req.Headers = map[string]string{"x-github-event": req.GitHubEvent}
	}
	return req, nil
}

// retest completes a test with an accepted delivery of the webhook.
func (s *Deliveries) retest(
	ctx context.Context, hook penstock.Webhook, req TestDelivery,
) (TestDelivery, error) {
	d, err := s.store.Deliveries.Find(ctx, hook.UID, req.DeliveryID)
	if err != nil {
		return req, err
	}
	req.Payload, err = s.store.Deliveries.Payload(ctx, d.ID)
	if penstock.CodeOf(err) == penstock.CodeNotFound || err == nil && len(req.Payload) == 0 {
		return req, penstock.Invalid("/delivery_id", "the delivery has no payload: only accepted deliveries keep it")
	}
	req.Headers = map[string]string{}
	for name, value := range d.Headers {
		if slices.Contains(eventHeaders, name) {
			req.Headers[name] = value
		}
	}
	return req, err
}

// plainName reports whether a text is the name of an event.
func plainName(text string) bool {
	return len(text) <= 64 && strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
}
