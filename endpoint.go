package penstock

import (
	"slices"
)

// EventEndpoint receives messages about events as signed requests: EventEndpoint of the API.
type EventEndpoint struct {
	UID string `json:"uid"`
	// URL is complete only in the response that creates the endpoint. Later it is the origin, because the path may
	// be a credential.
	URL            string           `json:"url"`
	Events         []EndpointEvent  `json:"events"`                 // empty: all, also of later releases
	FactoryUIDs    []string         `json:"factory_uids,omitempty"` // empty: also events without a factory
	Description    string           `json:"description,omitempty"`
	Enabled        bool             `json:"enabled"`
	DisabledReason string           `json:"disabled_reason,omitempty"` // why the server disabled it
	Format         EndpointFormat   `json:"format"`
	Secrets        []EndpointSecret `json:"secrets"` // the valid ones, the newest first; only of the format standard
	CreatedAt      Time             `json:"created_at"`
	UpdatedAt      Time             `json:"updated_at"`
	Stats          endpointStats    `json:"stats"`

	// The others are only of the format slack_app.
	Channel          string   `json:"channel,omitempty"`           // to which it posts: its id, or its name
	MayAnswer        []string `json:"may_answer,omitempty"`        // ids of Slack users whose clicks count
	InteractivityURL string   `json:"interactivity_url,omitempty"` // to which Slack sends clicks
}

// EndpointSecret is a secret that signs the messages of an endpoint.
type EndpointSecret struct {
	Secret    string `json:"secret,omitempty"` // whsec_…; only in the response that creates it
	CreatedAt Time   `json:"created_at"`
	ExpiresAt Time   `json:"expires_at,omitzero"` // of one that was replaced
}

// endpointStats count the messages of the last days, and say when the endpoint last answered.
type endpointStats struct {
	Waiting       int64 `json:"waiting"`
	Delivered     int64 `json:"delivered"`
	Failed        int64 `json:"failed"` // all attempts failed
	LastSuccessAt Time  `json:"last_success_at,omitzero"`
	LastFailureAt Time  `json:"last_failure_at,omitzero"`
	FailingSince  Time  `json:"failing_since,omitzero"` // no attempt has succeeded since
	WaitsUntil    Time  `json:"waits_until,omitzero"`   // the endpoint asked for it with Retry-After
}

// EndpointFormat is how messages are written.
type EndpointFormat string

// EndpointEvent is a type of messages.
type EndpointEvent string

// EndpointMessage is the body of a message.
type EndpointMessage struct {
	Type      EndpointEvent `json:"type"`
	Timestamp Time          `json:"timestamp"` // when it happened
	Data      EndpointData  `json:"data"`
}

// EndpointData says where to read what a message is about. The message has nothing of what a run has said or
// was given.
type EndpointData struct {
	RunID         string  `json:"run_id,omitempty"`
	State         State   `json:"state,omitempty"`   // of the run, at that time
	Sequence      int64   `json:"sequence,omitzero"` // of a run: later events have larger ones
	FactoryUID    string  `json:"factory_uid,omitempty"`
	AutomationUID string  `json:"automation_uid,omitempty"`
	Commit        string  `json:"commit,omitempty"`  // of the repository that a factory comes from
	Revision      int64   `json:"revision,omitzero"` // of the factory's files that is active now
	WebhookUID    string  `json:"webhook_uid,omitempty"`
	ScheduleID    string  `json:"schedule_id,omitempty"`
	BudgetUID     string  `json:"budget_uid,omitempty"`
	NotifyAt      float64 `json:"notify_at,omitzero"` // the share of the cap that was reached
	EndpointUID   string  `json:"endpoint_uid,omitempty"`
	// URL is the address in the API at which the object can be read.
	URL string `json:"url"`
}

// Wants reports whether the endpoint chose a type of messages of a factory ("": of none).
func (e EventEndpoint) Wants(event EndpointEvent, factoryUID string) bool {
	return (len(e.Events) == 0 || slices.Contains(e.Events, event)) && e.Hears(factoryUID)
}

// Hears reports whether the endpoint may get messages of a factory ("": of none).
func (e EventEndpoint) Hears(factoryUID string) bool {
	return len(e.FactoryUIDs) == 0 || slices.Contains(e.FactoryUIDs, factoryUID)
}
