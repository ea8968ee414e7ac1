package penstock

import (
	"errors"
	"time"
)

// Inlet is an enabled webhook as its ingress sees it, at one moment. It never
// changes: what changes is another Inlet.
type Inlet struct {
	UID              string
	AuthMode         AuthMode
	SignatureScheme  SignatureScheme
	Signature        *Signature
	DeliveryIDHeader string
	ReplayGuard      bool
	Pending          bool // has no secret yet; its sender may offer one
	Secrets          []InletSecret
}

// InletSecret is a secret by which deliveries are verified.
type InletSecret struct {
	Value     string
	ExpiresAt Time // 0: never
}

// Valid lists the values that hold at a moment and where each stands in
// Secrets.
func (in *Inlet) Valid(now Time) (values []string, at []int) {
	for i, s := range in.Secrets {
		if s.ExpiresAt == 0 || s.ExpiresAt > now {
			values, at = append(values, s.Value), append(at, i)
		}
	}
	return values, at
}

// Arrival is a delivery as its ingress has judged it.
type Arrival struct {
	Outcome    Outcome // OutcomeAccepted where nothing speaks against it yet, or a rejection
	Reason     string
	ReceivedAt Time
	Status     int               // of the answer to what is accepted or a duplicate; 0: 202
	Body       []byte            // of what may be accepted; it must not change before the receipt is there
	Size       int64             // of the body, as far as it is known
	Headers    map[string]string // of the allow-list, by their names in lower case
	ClientIP   string
	Secret     int // index in the Inlet's Secrets of the one that fitted; -1: none did

	IdentitySource IdentitySource
	Identity       string // unless the source is IdentityBody
	Guard          bool   // the same signed bytes under another identity are a replay
	SignedSum      []byte // SHA-256 of these where they are more than the body
	Handshake      bool   // starts nothing and claims nothing
	Unverified     bool   // counts against no rate: nobody has shown yet that it is the sender's
}

// Receipt is what became of an Arrival.
type Receipt struct {
	DeliveryID  string // of its entry in the log, "" where it has none
	Outcome     Outcome
	DuplicateOf string
	Detail      string        // of a rejection, for the sender
	Limited     bool          // the rate refused it
	Wait        time.Duration // until one will be admitted, where it was refused
}

// ErrStale is a delivery that was judged by an Inlet which has changed since:
// all checks are to be made anew.
var ErrStale = errors.New("the webhook has changed meanwhile")

// ReasonHandshake is why an accepted delivery has started nothing: its sender
// only tried the URL.
const ReasonHandshake = "handshake"
