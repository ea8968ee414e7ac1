package webhook

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-dev/penstock"
)

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
	penstock.SchemeSlack:   {[]string{"type", "challenge"}, respondSlack},
	penstock.SchemeDiscord: {[]string{"type", "event"}, respondDiscord},
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

// respondDiscord responds to both of Discord's pings: that of webhook events is
// type 0, that of interactions type 1, which for webhook events is an event.
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
	if scheme != penstock.SchemeNotion {
		return "", false
	}
	var offer map[string]string // an object with duplicate names is refused
	if err := json.Unmarshal(body, &offer); err != nil || len(offer) != 1 || !ValidID(offer["verification_token"]) {
		return "", false
	}
	return offer["verification_token"], true
}
