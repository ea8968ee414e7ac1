// Package signature describes how senders sign their deliveries: the schemes, the settings of a
// webhook, and how a secret becomes a signing key.
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

// Values of a form, beside those that [Check] lets a webhook choose.
const (
	AlgorithmHMAC    = "hmac"
	AlgorithmEd25519 = "ed25519"
	AlgorithmToken   = "token" // the header contains the secret itself

	KeyText    = "text"    // the bytes of the secret as typed
	KeyBase64  = "base64"  // standard alphabet, with or without padding
	KeyHex     = "hex"     // in either case
	KeyWhsec   = "whsec"   // base64, after an optional whsec_ (Standard Webhooks)
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
	UnitAny          TimestampUnit = "any" // RFC 3339, or milliseconds if it has 12 digits or more, or seconds
)

// Form is one possible layout of a scheme's signature. A user may choose some of its fields in the
// signature object of a webhook.
type Form struct {
	penstock.Signature

	Algorithm string `json:"algorithm"`
	// Separator separates several signatures in the header; "" means only one. Signatures without
	// the prefix are of other versions.
	Separator string `json:"separator,omitempty"`
	// With Numbered, there are several headers, each with a signature. Their names are Header
	// followed by 1 to 100.
	Numbered bool `json:"numbered,omitempty"`
	// SignedHeaders is the header that lists the names of {signed_headers}.
	SignedHeaders string `json:"signed_headers,omitempty"`

	// The time is in TimestampHeader, or in the signature header itself as TimestampField=, or in
	// the body under the top-level key TimestampBody. Without any of these, the scheme signs no
	// time.
	TimestampField string        `json:"timestamp_field,omitempty"`
	TimestampBody  string        `json:"timestamp_body,omitempty"`
	TimestampUnit  TimestampUnit `json:"timestamp_unit,omitempty"`
	Tolerance      time.Duration `json:"-"` // before and after our time
	// MaxAge is how old a time may be if that is more than Tolerance: the sender repeats the bytes
	// of the first attempt.
	MaxAge time.Duration `json:"-"`
	// With Once, the same signed bytes count once, whether or not the webhook has a replay guard.
	Once bool `json:"once,omitempty"`

	// The sender's own id of a delivery is in the header IDHeader or in the body under the
	// top-level key IDBody; without both, the sender has no id.
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

// Headers lists the headers that verification needs, the signature's first. Each must occur exactly
// once. For numbered headers, it is the start of the name.
func (f Form) Headers() []string {
	headers := []string{f.Header}
	for _, header := range []string{f.TimestampHeader, f.SignedHeaders} {
		if header != "" {
			headers = append(headers, header)
		}
	}
	parts, _ := ParseTemplate(f.Template) // never fails: it is of a preset, or was checked
	for _, part := range parts {
		if part.Kind == PartHeader && !slices.Contains(headers, part.Text) {
			headers = append(headers, part.Text)
		}
	}
	return headers
}

// MarshalJSON adds derived fields, for clients that show a form.
func (f Form) MarshalJSON() ([]byte, error) {
	type plain Form
	return json.Marshal(struct {
		plain

		Headers          []string `json:"headers"`
		ToleranceSeconds int      `json:"tolerance_seconds,omitempty"`
		MaxAgeSeconds    int      `json:"max_age_seconds,omitempty"`
		TimeSigned       bool     `json:"time_signed"`
		IDSigned         bool     `json:"id_signed"`
	}{
		plain(f), f.Headers(), int(f.Tolerance / time.Second), int(f.MaxAge / time.Second), f.SignsTime(), f.SignsID(),
	})
}

// Preset describes one scheme.
type Preset struct {
	Scheme penstock.SignatureScheme `json:"scheme"`
	Sender string                   `json:"sender"` // for people
	Hint   string                   `json:"hint"`   // where the sender shows its secret, in one sentence
	// SecretAfterURL: the sender creates the secret when the URL is registered, so the webhook is
	// created without one.
	SecretAfterURL bool `json:"secret_after_url"`
	// SecretGenerated: the sender accepts a secret from [NewSecret].
	SecretGenerated bool `json:"secret_generated"`
	// SetupPings: the sender checks the URL with an unsigned request.
	SetupPings bool `json:"setup_pings,omitempty"`
	// Forms are tried in order. A delivery is valid if one form is valid. custom_hmac has none,
	// because the webhook describes its form.
	Forms []Form `json:"forms"`
}

// Presets lists all schemes in the order in which to show them, custom_hmac
// last.
func Presets() []Preset { return slices.Clone(presets) }

// PresetOf returns the preset of a scheme, or false for an unknown one.
func PresetOf(scheme penstock.SignatureScheme) (Preset, bool) {
	i := slices.IndexFunc(presets, func(p Preset) bool { return p.Scheme == scheme })
	if i < 0 {
		return Preset{}, false
	}
	return presets[i], true
}

// Tolerance is the default for how far a signature's time may be before or after ours.
const Tolerance = 300 * time.Second

// Forms returns the forms of a webhook: the forms of the scheme's preset with the values of
// described. It returns an error if [Check] fails.
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
	if scheme == CustomHMAC {
		form := Form{Signature: *described, Algorithm: AlgorithmHMAC}
		if form.TimestampHeader != "" {
			form.TimestampUnit, form.Tolerance = UnitAny, Tolerance
		}
		return []Form{form}, nil
	}
	forms := slices.Clone(preset.Forms)
	if described.TimestampHeader != "" { // only Grafana passes Check with it
		forms[0].TimestampHeader, forms[0].Template = described.TimestampHeader, "{timestamp}:{body}"
		forms[0].TimestampUnit, forms[0].Tolerance = UnitSeconds, Tolerance
	}
	return forms, nil
}

// CheckIDHeader describes what is wrong with the header for the id of each delivery, or returns "".
// It must be a valid name. It must not be a header with credentials, a signature or a property of
// the connection.
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

// SendsSetupPings reports whether the sender of a scheme checks the URL with an unsigned request.
func SendsSetupPings(scheme penstock.SignatureScheme) bool {
	preset, _ := PresetOf(scheme)
	return preset.SetupPings
}
