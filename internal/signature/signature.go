// Package signature describes how senders sign their deliveries: the schemes, what a
// webhook may say of its own, and the keys that secrets are.
package signature

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
)

// What a form of signature can be made of, beside what [Check] lets a
// webhook choose.
const (
	AlgorithmHMAC    = "hmac"
	AlgorithmEd25519 = "ed25519"
	AlgorithmToken   = "token" // the header holds the secret itself

	KeyText    = "text"    // the bytes of the secret as it is typed
	KeyBase64  = "base64"  // standard alphabet, with or without padding
	KeyHex     = "hex"     // in either case
	KeyWhsec   = "whsec"   // base64, after whsec_ where that is there (Standard Webhooks)
	KeyWhpk    = "whpk"    // an Ed25519 public key: base64 after whpk_ (Standard Webhooks)
	KeyEd25519 = "ed25519" // an Ed25519 public key in hex
)

// TimestampUnit is how a sender writes the time of its signature.
type TimestampUnit string

// The units of a timestamp. Digits are 1 to 13, without sign or leading zero.
const (
	UnitSeconds      TimestampUnit = "s"
	UnitMilliseconds TimestampUnit = "ms"
	UnitRFC3339      TimestampUnit = "rfc3339"
	UnitAny          TimestampUnit = "any" // RFC 3339, milliseconds where there are 12 digits or more, else seconds
)

// Form is one way in which a scheme's signature can be laid out. The
// signature object of a webhook is the part of it that a user may choose.
type Form struct {
	penstock.Signature

	Algorithm string `json:"algorithm"`
	// Separator stands between several signatures in the header; "" when there
	// is one only. Those without the prefix are of other versions.
	Separator string `json:"separator,omitempty"`
	// Numbered headers are Header followed by 1 to 100, a signature in each.
	Numbered bool `json:"numbered,omitempty"`
	// SignedHeaders is the header that lists the names of {signed_headers}.
	SignedHeaders string `json:"signed_headers,omitempty"`

	// The time is in TimestampHeader, or in the signature header itself as
	// TimestampField=, or in the body under the top-level key TimestampBody.
	// Without any of them the scheme signs none.
	TimestampField string        `json:"timestamp_field,omitempty"`
	TimestampBody  string        `json:"timestamp_body,omitempty"`
	TimestampUnit  TimestampUnit `json:"timestamp_unit,omitempty"`
	Tolerance      time.Duration `json:"-"` // both ways

	// The sender's own id of a delivery is in the header IDHeader or in the body
	// under the top-level key IDBody; with neither the sender gives none.
	IDHeader string `json:"id_header,omitempty"`
	IDBody   string `json:"id_body,omitempty"`
}

// SignsTime reports whether the signature covers a time, so that an old
// delivery cannot be sent again after the tolerance.
func (f Form) SignsTime() bool {
	return f.TimestampHeader != "" || f.TimestampField != "" || f.TimestampBody != ""
}

// SignsID reports whether the signature covers the delivery's id, so that the
// same delivery cannot be sent under another one.
func (f Form) SignsID() bool {
	return f.IDBody != "" || f.IDHeader != "" && strings.Contains(f.Template, "{header:"+f.IDHeader+"}")
}

// Headers lists the headers that verification depends on, the signature's
// first. Each must be there exactly once; of numbered ones it is the start.
func (f Form) Headers() []string {
	headers := []string{f.Header}
	for _, header := range []string{f.TimestampHeader, f.SignedHeaders} {
		if header != "" {
			headers = append(headers, header)
		}
	}
	parts, _ := ParseTemplate(f.Template) // of a preset or checked: without error
	for _, part := range parts {
		if part.Kind == PartHeader && !slices.Contains(headers, part.Text) {
			headers = append(headers, part.Text)
		}
	}
	return headers
}

// MarshalJSON adds what follows from the fields, for who shows a form.
func (f Form) MarshalJSON() ([]byte, error) {
	type plain Form
	return json.Marshal(struct {
		plain

		Headers          []string `json:"headers"`
		ToleranceSeconds int      `json:"tolerance_seconds,omitempty"`
		TimeSigned       bool     `json:"time_signed"`
		IDSigned         bool     `json:"id_signed"`
	}{plain(f), f.Headers(), int(f.Tolerance / time.Second), f.SignsTime(), f.SignsID()})
}

// Preset is what is known of one scheme.
type Preset struct {
	Scheme penstock.SignatureScheme `json:"scheme"`
	Sender string                   `json:"sender"` // for people
	Hint   string                   `json:"hint"`   // where the sender shows its secret, in one sentence
	// SecretAfterURL: the secret exists only once the URL was registered with
	// the sender, so the webhook is made without one and finished later.
	SecretAfterURL bool `json:"secret_after_url"`
	// SecretGenerated: the sender takes a secret that was made here, by
	// [NewSecret].
	SecretGenerated bool `json:"secret_generated"`
	// Forms are tried in turn; a delivery that is valid in one of them is valid.
	// custom_hmac has none: its webhook describes it.
	Forms []Form `json:"forms"`
}

// Presets lists all schemes in the order in which to show them, custom_hmac
// last.
func Presets() []Preset { return slices.Clone(presets) }

// PresetOf is what is known of a scheme; false for an unknown one.
func PresetOf(scheme penstock.SignatureScheme) (Preset, bool) {
	i := slices.IndexFunc(presets, func(p Preset) bool { return p.Scheme == scheme })
	if i < 0 {
		return Preset{}, false
	}
	return presets[i], true
}

// Tolerance is how far a signature's time may be from ours, before or
// after it, where a scheme does not say otherwise.
const Tolerance = 300 * time.Second

// Forms are the forms of a scheme as a webhook has it: those of its preset, with
// what described says. Unless [Check] passes it is an error.
func Forms(scheme penstock.SignatureScheme, described *penstock.Signature) ([]Form, error) {
	preset, known := PresetOf(scheme)
	if !known {
		return nil, fmt.Errorf("unknown signature scheme %q", scheme)
	}
	if fields := Check(scheme, described); len(fields) > 0 {
		return nil, penstock.InvalidFields(fields...)
	}
	if described == nil {
		return preset.Forms, nil
	}
	if scheme == penstock.SchemeCustomHMAC {
		form := Form{Signature: *described, Algorithm: AlgorithmHMAC}
		if form.TimestampHeader != "" {
			form.TimestampUnit, form.Tolerance = UnitAny, Tolerance
		}
		return []Form{form}, nil
	}
	forms := slices.Clone(preset.Forms)
	if described.TimestampHeader != "" { // Grafana's; no other scheme passes Check with one
		forms[0].TimestampHeader, forms[0].Template = described.TimestampHeader, "{timestamp}:{body}"
		forms[0].TimestampUnit, forms[0].Tolerance = UnitSeconds, Tolerance
	}
	return forms, nil
}

// CheckIDHeader says what is wrong with a header that is to name the
// id of each delivery, "" when nothing is: it must be a valid name, and none
// that carries credentials, a signature or a property of the connection.
func CheckIDHeader(name string, described *penstock.Signature) string {
	if problem := checkHeaderName(name); problem != "" {
		return problem
	}
	canonical := http.CanonicalHeaderKey(name)
	carriesSignature := described != nil && canonical == http.CanonicalHeaderKey(described.Header)
	for _, preset := range presets {
		for _, form := range preset.Forms {
			header := http.CanonicalHeaderKey(form.Header)
			if canonical == header || form.Numbered && strings.HasPrefix(canonical, header) {
				carriesSignature = true
			}
		}
	}
	switch {
	case carriesSignature:
		return name + " carries a signature or token, not a delivery id"
	case carriesCredential(canonical):
		return name + " carries a credential, not a delivery id; the delivery log shows the values of this header"
	}
	return ""
}
