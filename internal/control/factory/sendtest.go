package factory

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/trigger"
)

// TestOf completes a test delivery for a webhook that the caller may try: with the payload and the
// headers of a sample or an earlier delivery. id makes a sample differ from others.
func (s *Deliveries) TestOf(
	ctx context.Context, hook penstock.Webhook, req penstock.TestDelivery, id string,
) (penstock.TestDelivery, error) {
	switch {
	case req.Event != "" && (len(req.Payload) > 0 || req.DeliveryID != ""):
		return req, penstock.Invalid("/event", "cannot be given together with payload or delivery_id")
	case req.DeliveryID != "" && len(req.Payload) > 0:
		return req, penstock.Invalid("/delivery_id", "cannot be given together with payload")
	case req.GitHubEvent != "" && (len(req.Payload) == 0 || hook.SignatureScheme != penstock.SchemeGitHub):
		return req, penstock.Invalid("/github_event", "is allowed only with a payload, for a webhook with the scheme github")
	case req.GitHubEvent != "" && !plainName(req.GitHubEvent):
		return req, penstock.Invalid("/github_event", "is not the name of an event, such as pull_request")
	case req.DeliveryID != "":
		return s.testAgain(ctx, hook, req)
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

// testAgain completes a test with an accepted delivery of the webhook.
func (s *Deliveries) testAgain(
	ctx context.Context, hook penstock.Webhook, req penstock.TestDelivery,
) (penstock.TestDelivery, error) {
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
