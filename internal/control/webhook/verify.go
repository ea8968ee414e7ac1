// Package webhook receives deliveries from other systems. It verifies that the sender knows the
// webhook's secret, and finds the identity of the delivery. It checks a signature over the raw
// bytes before it parses them. Nothing that leaves this package, including errors and log
// lines, contains a secret, the token of a URL or a valid signature.
package webhook

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/signature"
)

// The limits of a delivery's security headers: bytes of one value, and the number of
// signatures.
const (
	maxSignatureHeader = 8 << 10
	maxCandidates      = 20
)

// Request is a delivery as it arrived.
type Request struct {
	Method string
	// URL is the configured public URL with the path and query of the request. It never uses
	// the Host of the request.
	URL    string
	Header http.Header
	Body   []byte // the raw bytes; only read
	Now    time.Time
}

// Proof describes a valid delivery.
type Proof struct {
	Secret int // index of the first secret that matches
	// ID is the sender's id of the delivery. It is "" if the scheme has none, or if the value
	// occurs twice or is not a [ValidID]. Equal ids from different headers are the same id.
	ID         string
	TimeSigned bool // the signature covers a time, so the delivery cannot be sent again later
	IDSigned   bool // the signature covers ID, so the delivery cannot be sent under another
	Once       bool // the same signed bytes count once
	// SignedSum is the SHA-256 of the signed text if it contains more than the body, such as
	// the time. It is nil if only the body is signed.
	SignedSum []byte
	// Handshake is the response to a sender that checks the URL, or nil. Such a delivery is
	// recorded and starts nothing.
	Handshake *Handshake
}

// Reason is why a delivery was rejected, as the delivery log shows it.
type Reason string

// The reasons.
const (
	MissingHeader Reason = "missing_header" // a required header is missing or empty
	BadFormat     Reason = "bad_format"     // a header occurs twice, is too long, or has another format
	Stale         Reason = "stale"          // the timestamp is older than the scheme allows
	Future        Reason = "future"         // the timestamp is further ahead than the scheme allows
	Mismatch      Reason = "mismatch"       // no signature matches any secret
	NoSecret      Reason = "no_secret"      // no secret is valid for the scheme
)

// Failure is why a delivery is not valid.
type Failure struct {
	Reason Reason
	Where  string // the invalid header, or "body"; "" if neither
	Detail string // what is wrong with it, in a few words
}

// String returns a message for people. It never contains a value of the request.
func (f *Failure) String() string {
	what := f.words()
	if what == "" {
		return string(f.Reason)
	}
	return string(f.Reason) + ": " + what
}

// words says what is wrong, without the reason.
func (f *Failure) words() string { return strings.TrimSpace(f.Where + " " + f.Detail) }

// Verifier verifies the signatures of deliveries. It holds no secret.
type Verifier struct {
	forms     []form
	single    []string // canonical names of the headers that may occur only once
	handshake handshakeCheck
}

// NewVerifier creates the verifier of a webhook's scheme. own is nil unless the scheme has
// settings.
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

// Missing returns a failure if the headers show that the signature is missing, so that the body
// need not be read. Otherwise it returns nil.
func (v *Verifier) Missing(header http.Header) *Failure {
	for i := range v.forms {
		if v.forms[i].present(header) {
			return nil
		}
	}
	return &Failure{MissingHeader, v.forms[0].shown, "is missing"}
}

// Verify checks whether one of the secrets signed the delivery. It always tries all secrets and
// signatures, so that its duration does not reveal which one matched.
func (v *Verifier) Verify(r Request, secrets []string) (Proof, *Failure) {
	if failure := v.Missing(r.Header); failure != nil {
		return Proof{}, failure
	}
	for _, name := range v.single {
		switch values := r.Header[name]; {
		case len(values) > 1:
			return Proof{}, &Failure{BadFormat, name, "occurs more than once"}
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
		// The failure of a form with a key says more than the failure of a form without.
		if failure == nil || failure.Reason == NoSecret {
			failure = failed
		}
	}
	return Proof{}, failure
}

// look reads the id and the handshake of a verified delivery.
func (v *Verifier) look(f *form, r *Request) (Proof, *Failure) {
	proof := Proof{TimeSigned: f.SignsTime(), IDSigned: f.SignsID(), Once: f.Once}
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
	if v.handshake.respond != nil {
		proof.Handshake = v.handshake.respond(values)
	}
	return proof, nil
}

// TokenMatches returns the index of the first secret that equals the token, or -1. An empty
// token or secret matches nothing. It compares the digest of every secret, so that its duration
// reveals neither a length nor an index.
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

// ValidID reports whether a text can identify a delivery: 1 to 256 visible ASCII characters.
func ValidID(s string) bool {
	return s != "" && len(s) <= 256 && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}

// headerID returns the value of a header if it occurs once and is a [ValidID], or else "".
func headerID(header http.Header, canonical string) string {
	if values := header[canonical]; len(values) == 1 && ValidID(values[0]) {
		return values[0]
	}
	return ""
}

// bodyID returns an id from the body: a string, or a number as it is written. It returns "" for
// any other value.
func bodyID(value jsontext.Value) string {
	id := string(value)
	switch value.Kind() {
	case '"':
		id = stringOf(value)
	case '0':
	default:
		return ""
	}
	if !ValidID(id) {
		return ""
	}
	return id
}

// stringOf returns the text of a JSON string. It returns "" for any other value, and for a string
// with a lone surrogate.
func stringOf(value jsontext.Value) string {
	if value.Kind() != '"' {
		return ""
	}
	text, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		return ""
	}
	return string(text)
}

// members reads top-level members of a JSON object. A missing member is nil. A duplicate member is
// nil too, because parsers disagree about which one counts. All are nil if the body is not one JSON
// object in UTF-8. A lone surrogate elsewhere in it does not matter.
func members(body []byte, names []string) []jsontext.Value {
	values, nothing := make([]jsontext.Value, len(names)), make([]jsontext.Value, len(names))
	seen := make([]bool, len(names))
	body = bytes.TrimPrefix(body, []byte(byteOrderMark))
	if !utf8.Valid(body) { // the option for lone surrogates accepts invalid UTF-8
		return nothing
	}
	in := jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if token, err := in.ReadToken(); err != nil || token.Kind() != '{' {
		return nothing
	}
	for in.PeekKind() == '"' {
		token, err := in.ReadToken()
		if err != nil {
			return nothing
		}
		i := slices.Index(names, token.String())
		if i < 0 {
			if err := in.SkipValue(); err != nil {
				return nothing
			}
			continue
		}
		value, err := in.ReadValue()
		if err != nil {
			return nothing
		}
		if seen[i] {
			values[i] = nil
			continue
		}
		values[i], seen[i] = bytes.Clone(value), true
	}
	if _, err := in.ReadToken(); err != nil || in.PeekKind() != 0 || len(bytes.Trim(in.UnreadBuffer(), " \t\r\n")) > 0 {
		return nothing
	}
	return values
}

// Handshake is the response to a sender that checks a URL.
type Handshake struct {
	Status      int
	ContentType string // "" with an empty body
	Body        []byte
}

// handshakeCheck says how a sender checks a URL: the top-level members to read, and the response.
// The response is nil if the delivery is not such a check.
type handshakeCheck struct {
	members []string
	respond func(values []jsontext.Value) *Handshake
}

var handshakes = map[penstock.SignatureScheme]handshakeCheck{
	signature.Slack:   {[]string{"type", "challenge"}, respondSlack},
	signature.Discord: {[]string{"type", "event"}, respondDiscord},
}

// respondSlack repeats the challenge of a url_verification in JSON, because a browser might
// render other formats.
func respondSlack(values []jsontext.Value) *Handshake {
	if stringOf(values[0]) != "url_verification" {
		return nil
	}
	body, err := json.Marshal(map[string]string{"challenge": stringOf(values[1])})
	if err != nil {
		return nil
	}
	return &Handshake{http.StatusOK, "application/json", body}
}

// respondDiscord responds to both of Discord's pings: webhook events send type 0, interactions send
// type 1, which for webhook events is an event.
func respondDiscord(values []jsontext.Value) *Handshake {
	switch kind := string(values[0]); {
	case kind == "0":
		return &Handshake{Status: http.StatusNoContent}
	case kind == "1" && values[1] == nil:
		return &Handshake{http.StatusOK, "application/json", []byte(`{"type":1}`)}
	}
	return nil
}

// OfferedSecret returns the secret that a sender posts unsigned to a newly registered URL:
// Notion's verification_token, as the only member of an object. Accept it only while the
// webhook has no secret.
func OfferedSecret(scheme penstock.SignatureScheme, body []byte) (string, bool) {
	if scheme != signature.Notion {
		return "", false
	}
	var offer map[string]string // an object with duplicate names is refused
	if err := json.Unmarshal(body, &offer); err != nil || len(offer) != 1 || !ValidID(offer["verification_token"]) {
		return "", false
	}
	return offer["verification_token"], true
}
