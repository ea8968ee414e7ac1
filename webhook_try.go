package penstock

import "encoding/json"

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
	At      *Time             `json:"at"` // when it arrived; nil: now
}

// WebhookVerified says whether a request is authentic, and why not.
type WebhookVerified struct {
	Valid  bool   `json:"valid"`
	Reason string `json:"reason,omitempty"` // as in the delivery log
	Detail string `json:"detail,omitempty"` // what is wrong, for people
	Hint   string `json:"hint,omitempty"`   // a small change with which it is valid
}
