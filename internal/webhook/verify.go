// Package webhook is the way in for other systems: it receives a delivery,
// verifies that its sender knows the webhook's secret, and finds out which
// delivery it is. A signature is checked over the raw bytes, before anything
// looks into them. Nothing that leaves this package, errors and log lines
// included, holds a secret, a URL's token or a signature that would be valid.
package webhook

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/signature"
)

// What a delivery's security headers may be at most: bytes of one value, and
// signatures of the version that a scheme knows.
const (
	maxSignatureHeader = 8 << 10
	maxCandidates      = 20
)

// Request is a delivery as it arrived.
type Request struct {
	Method string
	// URL is where the sender was told to send: the configured public URL with
	// the request's own path and query, never the Host that the request names.
	URL    string
	Header http.Header
	Body   []byte // the raw bytes; only read
	Now    time.Time
}

// Proof is what a valid delivery showed.
type Proof struct {
	Secret int // index of the first secret that fits
	// ID is the sender's own id of the delivery; "" where the scheme has none, or
	// the value is there twice or is not a [ValidID]. Equal ids are equal whatever
	// header they came in.
	ID         string
	TimeSigned bool // the signature covers a time, so the delivery cannot be sent again later
	IDSigned   bool // the signature covers ID, so the delivery cannot be sent under another
	// SignedSum is the SHA-256 of the signed text where that is more than the body,
	// such as the time; nil where it is the body alone.
	SignedSum []byte
	// Handshake is the answer to a sender that asks whether this URL is really
	// its own; nil for every other delivery. It is recorded and starts nothing.
	Handshake *Handshake
}

// Reason says why a delivery was refused, as the delivery log has it.
type Reason string

// The reasons.
const (
	MissingHeader Reason = "missing_header" // a header that verification depends on is missing or empty
	BadFormat     Reason = "bad_format"     // one is there twice, too long, or not of the scheme's form
	Stale         Reason = "stale"          // signed longer ago than the scheme tolerates
	Future        Reason = "future"         // signed further ahead than the scheme tolerates
	Mismatch      Reason = "mismatch"       // no signature fits any secret
	NoSecret      Reason = "no_secret"      // there is no secret, or none that is a key of the scheme
)

// Failure is why a delivery is not valid.
type Failure struct {
	Reason Reason
	Where  string // the header at fault, or "body"; "" where it is neither
	Detail string // what is wrong with it, in a few words
}

// String is for a person; it never holds a value of the request.
func (f *Failure) String() string {
	what := strings.TrimSpace(f.Where + " " + f.Detail)
	if what == "" {
		return string(f.Reason)
	}
	return string(f.Reason) + ": " + what
}

// Verifier decides whether deliveries are a sender's own. It holds no secret.
type Verifier struct {
	forms     []form
	single    []string // canonical names of the headers that may be there once only
	handshake handshake
}

// NewVerifier makes the verifier of a scheme as a webhook has it; own is nil
// unless the scheme takes one.
func NewVerifier(scheme penstock.SignatureScheme, own *penstock.Signature) (*Verifier, error) {
	described, err := signature.Forms(scheme, own)
	if err != nil {
		return nil, fmt.Errorf("verify by %s: %w", scheme, err)
	}
	if len(described) == 0 {
		return nil, errors.New("the scheme has no form of signature")
	}
	v := &Verifier{handshake: handshakes[scheme]}
	for _, d := range described {
		f, err := compile(d)
		if err != nil {
			return nil, fmt.Errorf("verify by %s: %w", scheme, err)
		}
		v.forms = append(v.forms, f)
		if d.Numbered {
			continue
		}
		for _, header := range d.Headers() {
			if header = http.CanonicalHeaderKey(header); !slices.Contains(v.single, header) {
				v.single = append(v.single, header)
			}
		}
	}
	return v, nil
}

// Missing decides from the headers alone that there is no signature, so that
// the body needs not be read; nil when there is one to look at.
func (v *Verifier) Missing(header http.Header) *Failure {
	for i := range v.forms {
		if v.forms[i].present(header) {
			return nil
		}
	}
	return &Failure{MissingHeader, v.forms[0].shown, "is missing"}
}

// Verify decides whether the delivery is signed by one of the secrets. All
// secrets and all signatures are tried, however early one fits, so that time
// tells nothing about which.
func (v *Verifier) Verify(r Request, secrets []string) (Proof, *Failure) {
	if failure := v.Missing(r.Header); failure != nil {
		return Proof{}, failure
	}
	for _, name := range v.single {
		switch values := r.Header[name]; {
		case len(values) > 1:
			return Proof{}, &Failure{BadFormat, name, "is there more than once"}
		case len(values) == 1 && len(values[0]) > maxSignatureHeader:
			return Proof{}, &Failure{BadFormat, name, "is too long"}
		}
	}
	var failure *Failure
	for i := range v.forms {
		f := &v.forms[i]
		if !f.present(r.Header) {
			continue
		}
		match, around, failed := f.verify(&r, secrets)
		if failed == nil {
			var proof Proof
			if proof, failed = v.look(f, &r); failed == nil {
				proof.Secret, proof.SignedSum = match, around.sum(f, r.Body)
				return proof, nil
			}
		}
		// A form for which there is no key says less than one for which there is.
		if failure == nil || failure.Reason == NoSecret {
			failure = failed
		}
	}
	return Proof{}, failure
}

// look reads what a verified delivery says about itself, its body included.
func (v *Verifier) look(f *form, r *Request) (Proof, *Failure) {
	proof := Proof{TimeSigned: f.SignsTime(), IDSigned: f.SignsID()}
	if f.IDHeader != "" {
		proof.ID = headerID(r.Header, f.idHeader)
	}
	names := v.handshake.members
	if f.IDBody != "" {
		names = append([]string{f.IDBody}, names...)
	}
	if f.TimestampBody != "" {
		names = append([]string{f.TimestampBody}, names...)
	}
	if len(names) == 0 {
		return proof, nil
	}
	values := members(r.Body, names)
	if f.TimestampBody != "" {
		if failure := f.checkTime(string(values[0]), r.Now); failure != nil {
			return Proof{}, failure
		}
		values = values[1:]
	}
	if f.IDBody != "" {
		proof.ID = bodyID(values[0])
		values = values[1:]
	}
	if v.handshake.answer != nil {
		proof.Handshake = v.handshake.answer(values)
	}
	return proof, nil
}

// TokenMatches is the index of the first secret that is the token which was
// given, -1 when none is. An empty token or secret matches nothing. Digests are
// compared, each secret's, so that time tells neither a length nor which one.
func TokenMatches(given string, secrets []string) int {
	match := -1
	got := sha256.Sum256([]byte(given))
	for i, secret := range secrets {
		want := sha256.Sum256([]byte(secret))
		if subtle.ConstantTimeCompare(got[:], want[:]) == 1 && secret != "" && match < 0 {
			match = i
		}
	}
	return match
}
