package penstock

import (
	"net/http"
)

// Outcome is the final result of a delivery. It never changes.
type Outcome string

// The outcomes of a delivery.
const (
	OutcomeAccepted     Outcome = "accepted"
	OutcomeDuplicate    Outcome = "duplicate"
	OutcomeRejectedAuth Outcome = "rejected_auth"
	OutcomeRejectedJSON Outcome = "rejected_json"
	OutcomeRejectedSize Outcome = "rejected_size"
)

// Outcomes lists every outcome. Databases store the index of an outcome in this list, so append new
// ones.
func Outcomes() []Outcome {
	return []Outcome{OutcomeAccepted, OutcomeDuplicate, OutcomeRejectedAuth, OutcomeRejectedJSON, OutcomeRejectedSize}
}

// Label is the name of the outcome in the delivery log.
func (o Outcome) Label() string {
	switch o {
	case OutcomeAccepted:
		return "Accepted"
	case OutcomeDuplicate:
		return "Duplicate"
	case OutcomeRejectedAuth:
		return "Rejected (auth)"
	case OutcomeRejectedJSON:
		return "Rejected (invalid JSON)"
	case OutcomeRejectedSize:
		return "Rejected (too large)"
	}
	return string(o)
}

// Status is the usual HTTP status of the response.
func (o Outcome) Status() int {
	switch o {
	case OutcomeRejectedAuth:
		return http.StatusUnauthorized
	case OutcomeRejectedJSON:
		return http.StatusBadRequest
	case OutcomeRejectedSize:
		return http.StatusRequestEntityTooLarge
	default:
		return http.StatusAccepted
	}
}

// IdentitySource says which value identifies a delivery.
type IdentitySource string

// The sources of an identity, the strongest first.
const (
	IdentityHeader   IdentitySource = "delivery_id_header"
	IdentityProvider IdentitySource = "provider"
	IdentityPenstock IdentitySource = "x_penstock_delivery_id" // or X-Service-Delivery-Id or X-Warp-Delivery-Id
	IdentityBody     IdentitySource = "body_hash"
	IdentityReplay   IdentitySource = "replay" // of a stored delivery; claims nothing
	IdentityNone     IdentitySource = "none"   // of a rejection or a handshake; claims nothing
)

// Delivery is one entry of a webhook's log: the contract's Delivery.
type Delivery struct {
	ID             string            `json:"delivery_id"`
	WebhookUID     string            `json:"webhook_uid"`
	Outcome        Outcome           `json:"outcome"`
	Label          string            `json:"label"`
	Reason         string            `json:"reason,omitempty"`
	Detail         string            `json:"detail,omitempty"` // why it was rejected, as its sender got it
	Advice         string            `json:"advice,omitempty"` // what its owner could change; not stored
	Size           int64             `json:"size"`             // bytes of the body that were read
	ReceivedAt     Time              `json:"received_at"`
	IdentitySource IdentitySource    `json:"identity_source"`
	DuplicateOf    string            `json:"duplicate_of,omitempty"`
	HTTPStatus     int               `json:"http_status"`
	Runs           []string          `json:"runs"`
	Matches        []DeliveryMatch   `json:"matches"`
	ReplayOf       string            `json:"replay_of,omitempty"`
	Headers        map[string]string `json:"headers"` // only those on an allow-list, which has no header with a secret
	PayloadSHA256  string            `json:"payload_sha256,omitempty"`
	EventType      string            `json:"event_type,omitempty"` // as the sender names the event
	Summary        string            `json:"summary,omitempty"`    // the first values of the payload, for people
	ClientIP       string            `json:"client_ip"`

	// Head is the start of the payload, at most [store.DeliveryHead] bytes; nil if none is stored.
	Head []byte `json:"-"`
}

// DeliveryMatch says whether a delivery matched one automation, and why not.
type DeliveryMatch struct {
	Automation   string `json:"automation"` // its name
	UID          string `json:"automation_uid"`
	WouldTrigger bool   `json:"would_trigger"`
	RunID        string `json:"run_id,omitempty"`
	// Subject is what the delivery is about for the automation, and Fate what became of it: see
	// [SubjectRules]. RunID is then the run that has received it.
	Subject    string `json:"subject,omitempty"` // not stored
	SubjectUID string `json:"subject_uid,omitempty"`
	Fate       Fate   `json:"fate,omitempty"` // stored if the automation was paused
	FateReason string `json:"fate_reason,omitempty"`
	// FailedAt is the JSON pointer of the first key of the filter that failed, "" if the whole body
	// failed, or [FailedAtAutomation]. It is nil if the delivery started a run.
	FailedAt *string `json:"failed_at,omitzero"`
	Reason   string  `json:"reason,omitempty"` // the same in words: one sentence
	// Check, Operator, Actual and Expected are the data of Reason: see trigger.Explanation. Rows of
	// earlier versions have none.
	Check    string   `json:"check,omitempty"`
	Operator string   `json:"operator,omitempty"`
	Actual   []string `json:"actual,omitempty"`
	Expected []string `json:"expected,omitempty"`
	// Words are stored instead of Reason, if Operator is set. [DeliveryMatch.Explain] replaces them.
	Words *MismatchWords `json:"words,omitempty"`
}

// FailedAtAutomation is the FailedAt of a broken automation.
const FailedAtAutomation = "automation"

// OperatorEvent is the operator of a match whose automation waits for other events.
const OperatorEvent = "event"

// MismatchWords are the parts of the sentence that says why a delivery did not fire an automation.
type MismatchWords struct {
	Name    string `json:"name"`    // of the key, such as `type`
	Is      string `json:"is"`      // its values, such as "is `order.created`"
	Expects string `json:"expects"` // such as "expects `order.refunded`"
}

// Sentence joins the parts.
func (w MismatchWords) Sentence() string { return w.Name + " " + w.Is + "; " + w.Expects }

// Explain replaces the stored words with the sentence. Without its payload, a delivery shows nothing
// that was in the payload.
func (m *DeliveryMatch) Explain(hasPayload bool) {
	if m.Words == nil {
		return
	}
	words := *m.Words
	if !hasPayload && len(m.Actual) > 0 {
		m.Actual, words.Is = nil, "does not match"
		if m.Operator == OperatorEvent {
			words.Name, words.Is = "the event", "starts nothing"
		}
	}
	m.Reason, m.Words = words.Sentence(), nil
}

// DefaultDeliveries is the default page size of a log.
const DefaultDeliveries = 50

// DeliveryQuery selects and pages a webhook's log.
type DeliveryQuery struct {
	Outcomes []Outcome // any of them; empty: all
	NoRun    bool      // only accepted ones that started no run, without handshakes
	// Search selects accepted ones whose payload contains these bytes. "" selects all. A page looks
	// at no more than [store.SearchedDeliveries], so it may have few entries, or none, and a next page.
	Search         string
	ReceivedAfter  Time // 0: no limit
	ReceivedBefore Time
	Limit          int // 1-500; 0 is DefaultDeliveries
	Cursor         string
}

// TestIdentity begins the identity of a test that the server sends itself.
const TestIdentity = "test-"

// ReasonHandshake is the reason of an accepted delivery that started no run
// because its sender only tested the URL.
const ReasonHandshake = "handshake"
