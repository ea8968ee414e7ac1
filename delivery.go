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
