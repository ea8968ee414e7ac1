package signature

import (
	"net/http"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
)

// Check returns the errors of the signature object of a webhook with this scheme. Pointers are
// relative to the request. custom_hmac requires the object, grafana allows only the timestamp
// header in it, and all other schemes allow no object.
func Check(scheme penstock.SignatureScheme, s *penstock.Signature) []penstock.FieldError {
	switch {
	case scheme == CustomHMAC && s == nil:
		return []penstock.FieldError{{Pointer: "/signature", Detail: "is required for custom_hmac"}}
	case s == nil:
		return nil
	case scheme == Grafana:
		return checkGrafana(s)
	case scheme != CustomHMAC:
		return []penstock.FieldError{{Pointer: "/signature", Detail: "is allowed only for custom_hmac and grafana"}}
	}
	var fields []penstock.FieldError
	report := func(field, problem string) {
		if problem != "" {
			fields = append(fields, penstock.FieldError{Pointer: "/signature/" + field, Detail: problem})
		}
	}
	report("header", checkHeaderName(s.Header))
	if len(s.Prefix) > 64 || strings.ContainsFunc(s.Prefix, func(r rune) bool { return r < ' ' || r > '~' }) {
		report("prefix", "must be at most 64 printable ASCII characters")
	}
	report("hash", oneOf(s.Hash, "sha1", "sha256", "sha512"))
	report("encoding", oneOf(s.Encoding, "hex", "base64"))
	report("key_form", oneOf(s.KeyForm, KeyText, KeyBase64, KeyHex, KeyWhsec))
	report("template", checkTemplate(s))
	if s.TimestampHeader != "" {
		report("timestamp_header", checkHeaderName(s.TimestampHeader))
		if http.CanonicalHeaderKey(s.TimestampHeader) == http.CanonicalHeaderKey(s.Header) {
			report("timestamp_header", "must not be the header of the signature")
		}
	}
	return fields
}

func checkGrafana(s *penstock.Signature) []penstock.FieldError {
	if (*s != penstock.Signature{TimestampHeader: s.TimestampHeader}) {
		return []penstock.FieldError{{Pointer: "/signature", Detail: "must have only timestamp_header for grafana"}}
	}
	if s.TimestampHeader == "" {
		return nil
	}
	problem := checkHeaderName(s.TimestampHeader)
	if problem == "" && http.CanonicalHeaderKey(s.TimestampHeader) == "X-Grafana-Alerting-Signature" {
		problem = "must not be the header of the signature"
	}
	if problem == "" {
		return nil
	}
	return []penstock.FieldError{{Pointer: "/signature/timestamp_header", Detail: problem}}
}

func checkTemplate(s *penstock.Signature) string {
	if len(s.Template) > 1024 {
		return "is longer than 1024 bytes"
	}
	parts, err := ParseTemplate(s.Template)
	if err != nil {
		return err.Error()
	}
	count := map[PartKind]int{}
	for _, part := range parts {
		count[part.Kind]++
		if part.Kind == PartHeader && http.CanonicalHeaderKey(part.Text) == http.CanonicalHeaderKey(s.Header) {
			return "must not contain the signature itself"
		}
	}
	switch {
	case count[PartBody] != 1:
		return "must have {body} exactly once"
	case count[PartSignedHeaders] > 0:
		return "must not have {signed_headers}: only contentful supports it"
	case count[PartTimestamp] > 0 && s.TimestampHeader == "":
		return "has {timestamp}, so timestamp_header is required"
	case count[PartTimestamp] == 0 && s.TimestampHeader != "":
		return "must have {timestamp}: an unsigned timestamp gives no protection"
	}
	return ""
}

// unsigned are headers that cannot carry a signature, a signed time or an id. They contain other
// credentials, belong to the connection (RFC 9110 §7.6.1), or net/http removes them.
var unsigned = []string{
	"Authorization", "Cookie", "Connection", "Content-Length", "Expect", "Host", "Keep-Alive", "Proxy-Authenticate",
	"Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// checkHeaderName describes what is wrong with the name of a webhook's header (RFC 9110 §5.6.2), or
// returns "".
func checkHeaderName(name string) string {
	switch {
	case name == "":
		return "is required"
	case len(name) > 128:
		return "is longer than 128 characters"
	case strings.Trim(name, "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") != "":
		return "is not a valid header name"
	case slices.Contains(unsigned, http.CanonicalHeaderKey(name)):
		return "cannot be " + http.CanonicalHeaderKey(name)
	}
	return ""
}

// Names of headers with credentials contain these texts: anywhere in the name, as a word of it, or
// as the word before Key.
var (
	credentialParts = []string{
		"apikey", "assertion", "authent", "authoriz", "bearer", "cookie", "credential", "hmac", "jwt", "oidc", "passphrase",
		"passw", "secret", "session", "signature", "token",
	}
	credentialWords = []string{
		"auth", "csrf", "digest", "login", "otp", "pass", "pat", "pin", "sid", "sig", "sign", "xsrf",
	}
	credentialKeys = []string{
		"access", "api", "app", "application", "client", "function", "functions", "master", "private", "shared",
		"subscription",
	}
)

// carriesCredential reports whether a header is one for credentials, judged by its
// name. An idempotency key or token is an id, whatever it is called.
func carriesCredential(name string) bool {
	name = strings.ToLower(name)
	if strings.Contains(name, "idempotency") {
		return false
	}
	if slices.ContainsFunc(credentialParts, func(part string) bool { return strings.Contains(name, part) }) {
		return true
	}
	before := ""
	for _, word := range strings.FieldsFunc(name, func(c rune) bool { return strings.ContainsRune("-_.", c) }) {
		if slices.Contains(credentialWords, word) || word == "key" && slices.Contains(credentialKeys, before) {
			return true
		}
		before = word
	}
	return false
}

func oneOf(value string, allowed ...string) string {
	if slices.Contains(allowed, value) {
		return ""
	}
	return "must be one of " + strings.Join(allowed, ", ")
}
