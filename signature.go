package penstock

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// SignatureScheme names a sender's way to sign its deliveries.
type SignatureScheme string

// The schemes that rules elsewhere know by name; [Schemes] has all of them.
const (
	SchemeStandardWebhooks SignatureScheme = "standard_webhooks"
	SchemeGitLab           SignatureScheme = "gitlab"
	SchemeSlack            SignatureScheme = "slack"
	SchemeNotion           SignatureScheme = "notion"
	SchemeDiscord          SignatureScheme = "discord"
	SchemeGrafana          SignatureScheme = "grafana"
	SchemeCustomHMAC       SignatureScheme = "custom_hmac" // described by its webhook's Signature
)

// Signature describes a custom_hmac scheme, or the timestamp header that a
// Grafana contact point is configured with: the contract's signature object.
type Signature struct {
	Header          string `json:"header,omitempty"`           // holds the signature
	Prefix          string `json:"prefix,omitempty"`           // stands before each signature, such as sha256=
	Hash            string `json:"hash,omitempty"`             // sha1, sha256, sha512
	Encoding        string `json:"encoding,omitempty"`         // of the signature: hex, base64
	KeyForm         string `json:"key_form,omitempty"`         // of the secret: text, base64, hex, whsec
	Template        string `json:"template,omitempty"`         // of the signed text, see [ParseTemplate]
	TimestampHeader string `json:"timestamp_header,omitempty"` // holds {timestamp}
}

// What a form of signature can be made of, beside what [Signature.Check] lets
// a webhook choose.
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

// SignatureForm is one way in which a scheme's signature can be laid out. The
// signature object of a webhook is the part of it that a user may choose.
type SignatureForm struct {
	Signature

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
func (f SignatureForm) SignsTime() bool {
	return f.TimestampHeader != "" || f.TimestampField != "" || f.TimestampBody != ""
}

// SignsID reports whether the signature covers the delivery's id, so that the
// same delivery cannot be sent under another one.
func (f SignatureForm) SignsID() bool {
	return f.IDBody != "" || f.IDHeader != "" && strings.Contains(f.Template, "{header:"+f.IDHeader+"}")
}

// Headers lists the headers that verification depends on, the signature's
// first. Each must be there exactly once; of numbered ones it is the start.
func (f SignatureForm) Headers() []string {
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
func (f SignatureForm) MarshalJSON() ([]byte, error) {
	type plain SignatureForm
	return json.Marshal(struct {
		plain

		Headers          []string `json:"headers"`
		ToleranceSeconds int      `json:"tolerance_seconds,omitempty"`
		TimeSigned       bool     `json:"time_signed"`
		IDSigned         bool     `json:"id_signed"`
	}{plain(f), f.Headers(), int(f.Tolerance / time.Second), f.SignsTime(), f.SignsID()})
}

// SignaturePreset is what is known of one scheme.
type SignaturePreset struct {
	Scheme SignatureScheme `json:"scheme"`
	Sender string          `json:"sender"` // for people
	Hint   string          `json:"hint"`   // where the sender shows its secret, in one sentence
	// SecretAfterURL: the secret exists only once the URL was registered with
	// the sender, so the webhook is made without one and finished later.
	SecretAfterURL bool `json:"secret_after_url"`
	// SecretGenerated: the sender takes a secret that was made here, by
	// [NewSigningSecret].
	SecretGenerated bool `json:"secret_generated"`
	// Forms are tried in turn; a delivery that is valid in one of them is valid.
	// custom_hmac has none: its webhook describes it.
	Forms []SignatureForm `json:"forms"`
}

// Schemes lists all schemes in the order in which to show them, custom_hmac
// last.
func Schemes() []SignaturePreset { return slices.Clone(presets) }

// Preset is what is known of the scheme; false for an unknown one.
func (s SignatureScheme) Preset() (SignaturePreset, bool) {
	i := slices.IndexFunc(presets, func(p SignaturePreset) bool { return p.Scheme == s })
	if i < 0 {
		return SignaturePreset{}, false
	}
	return presets[i], true
}

// SignatureTolerance is how far a signature's time may be from ours, before or
// after it, where a scheme does not say otherwise.
const SignatureTolerance = 300 * time.Second

// Forms are the forms of the scheme as a webhook has it: those of its preset,
// with what signature says. Unless [Signature.Check] passes it is an error.
func (s SignatureScheme) Forms(signature *Signature) ([]SignatureForm, error) {
	preset, known := s.Preset()
	if !known {
		return nil, fmt.Errorf("unknown signature scheme %q", s)
	}
	if fields := signature.Check(s); len(fields) > 0 {
		return nil, InvalidFields(fields...)
	}
	if signature == nil {
		return preset.Forms, nil
	}
	if s == SchemeCustomHMAC {
		form := SignatureForm{Signature: *signature, Algorithm: AlgorithmHMAC}
		if form.TimestampHeader != "" {
			form.TimestampUnit, form.Tolerance = UnitAny, SignatureTolerance
		}
		return []SignatureForm{form}, nil
	}
	forms := slices.Clone(preset.Forms)
	if signature.TimestampHeader != "" { // Grafana's; no other scheme passes Check with one
		forms[0].TimestampHeader, forms[0].Template = signature.TimestampHeader, "{timestamp}:{body}"
		forms[0].TimestampUnit, forms[0].Tolerance = UnitSeconds, SignatureTolerance
	}
	return forms, nil
}

// CheckDeliveryIDHeader says what is wrong with a header that is to name the
// id of each delivery, "" when nothing is: it must be a valid name, and none
// that carries credentials, a signature or a property of the connection.
func CheckDeliveryIDHeader(name string, signature *Signature) string {
	if problem := checkHeaderName(name); problem != "" {
		return problem
	}
	canonical := http.CanonicalHeaderKey(name)
	carriesSignature := signature != nil && canonical == http.CanonicalHeaderKey(signature.Header)
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
		return name + " carries the signature or token of a scheme, which is no id"
	case carriesCredential(canonical):
		return name + " carries a credential, which is no id: the delivery log shows the header's values"
	}
	return ""
}
