package penstock

// Outcome is what became of a delivery; it never changes.
type Outcome string

// The outcomes of a delivery.
const (
	OutcomeAccepted     Outcome = "accepted"
	OutcomeDuplicate    Outcome = "duplicate"
	OutcomeRejectedAuth Outcome = "rejected_auth"
	OutcomeRejectedJSON Outcome = "rejected_json"
	OutcomeRejectedSize Outcome = "rejected_size"
)

// Outcomes lists every outcome. Databases have an outcome's place in this list: one
// more comes at its end.
func Outcomes() []Outcome {
	return []Outcome{OutcomeAccepted, OutcomeDuplicate, OutcomeRejectedAuth, OutcomeRejectedJSON, OutcomeRejectedSize}
}

// Label is the outcome in the words of the delivery log.
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

// IdentitySource says by what a delivery is told from others.
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
	Size           int64             `json:"size"` // of the body in bytes, as far as it was read
	ReceivedAt     Time              `json:"received_at"`
	IdentitySource IdentitySource    `json:"identity_source"`
	DuplicateOf    string            `json:"duplicate_of,omitempty"`
	HTTPStatus     int               `json:"http_status"`
	Runs           []string          `json:"runs"`
	Matches        []DeliveryMatch   `json:"matches"`
	ReplayOf       string            `json:"replay_of,omitempty"`
	Headers        map[string]string `json:"headers"` // of an allow-list, that never holds a secret
	PayloadSHA256  string            `json:"payload_sha256,omitempty"`
	ClientIP       string            `json:"client_ip"`
}

// DeliveryMatch is what a delivery meant to one automation.
type DeliveryMatch struct {
	Automation   string `json:"automation"` // its name
	UID          string `json:"automation_uid"`
	WouldTrigger bool   `json:"would_trigger"`
	RunID        string `json:"run_id,omitempty"`
	// FailedAt is the JSON pointer of the first key of its filter that failed, ""
	// for the body as a whole, or FailedAtAutomation; nil where it started a run.
	FailedAt *string `json:"failed_at,omitzero"`
	Reason   string  `json:"reason,omitempty"` // why, for people
}

// FailedAtAutomation is where an automation failed that is broken.
const FailedAtAutomation = "automation"

// DefaultDeliveries is the size of a page of a log where the caller says none.
const DefaultDeliveries = 50

// DeliveryQuery selects and pages a webhook's log.
type DeliveryQuery struct {
	Outcomes []Outcome // any of them; none: all
	Limit    int       // 1-500; 0 is DefaultDeliveries
	Cursor   string
}

// DeliveryPage is a page of a webhook's log, newest first.
type DeliveryPage struct {
	Deliveries []Delivery `json:"deliveries"`
	PageInfo   PageInfo   `json:"page_info"`
}
