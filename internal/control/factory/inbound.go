package factory

import (
	"errors"
	"time"

	"github.com/penstock-dev/penstock"
)

// WebhookSnapshot is an enabled webhook as the ingress read it at one time. It
// is never modified: a changed webhook gets a new snapshot.
type WebhookSnapshot struct {
	UID              string
	AuthMode         penstock.AuthMode
	SignatureScheme  penstock.SignatureScheme
	Signature        *penstock.Signature
	DeliveryIDHeader string
	ReplayGuard      bool
	Pending          bool // has no secret yet; its sender may offer one
	Secrets          []SnapshotSecret
}

// SnapshotSecret is a secret that verifies deliveries.
type SnapshotSecret struct {
	Value     string
	ExpiresAt penstock.Time // 0: never
}

// Valid lists the secrets that have not expired, and the index of each in
// Secrets.
func (w *WebhookSnapshot) Valid(now penstock.Time) (values []string, at []int) {
	for i, s := range w.Secrets {
		if s.ExpiresAt == 0 || s.ExpiresAt > now {
			values, at = append(values, s.Value), append(at, i)
		}
	}
	return values, at
}

// InboundDelivery is a delivery after the checks of the ingress.
type InboundDelivery struct {
	Outcome    penstock.Outcome // OutcomeAccepted if no check has failed so far, or a rejection
	Reason     string
	ReceivedAt penstock.Time
	Detail     string            // why it was rejected
	Status     int               // HTTP status; 0: the outcome's own
	Body       []byte            // the JSON, only if it may be accepted; must not change before the result is returned
	Raw        []byte            // the bytes as they were sent; nil: the same as Body
	Size       int64             // bytes of the body, as far as known
	Headers    map[string]string // the headers on the allow-list, by lower-case name
	ClientIP   string
	Secret     int // index in WebhookSnapshot.Secrets of the secret that matched; -1: none

	IdentitySource penstock.IdentitySource
	Identity       string   // empty if the source is IdentityBody
	Guard          bool     // the same signed bytes with another identity are a replay
	SignedSum      []byte   // SHA-256 of the signed bytes, if more than the body is signed
	PaidBy         []string // keys that pay for its runs, besides the automations' own
	Handshake      bool     // starts no run and claims no identity
	Unverified     bool     // does not count against the rate limit: the sender has proved nothing yet
}

// DeliveryResult says what happened to an InboundDelivery.
type DeliveryResult struct {
	DeliveryID  string // of its log entry; "" if it was not logged
	Outcome     penstock.Outcome
	DuplicateOf string
	Detail      string        // why it was rejected, for the sender
	Answered    bool          // a rejected setup request that gets 200
	Limited     bool          // rejected by the rate limit
	Wait        time.Duration // if it was limited, until the next delivery is admitted
}

// ErrStale is returned if the webhook changed after its snapshot was read. The ingress must repeat
// all checks.
var ErrStale = errors.New("the webhook changed during the delivery")

// ReasonSetupPing is the reason of an unsigned request with which a sender checks the URL.
const ReasonSetupPing = "setup_ping"
