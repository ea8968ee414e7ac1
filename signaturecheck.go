package penstock

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// PartKind is what stands at one place of a signed text.
type PartKind string

// The kinds of parts. All but PartText are written in braces in a template.
const (
	PartText          PartKind = ""
	PartBody          PartKind = "body"           // the body, byte for byte
	PartTimestamp     PartKind = "timestamp"      // as it stands in its header
	PartMethod        PartKind = "method"         // of the request: POST
	PartURL           PartKind = "url"            // the public URL to which the delivery was sent
	PartPath          PartKind = "path"           // path and query of that URL
	PartHeader        PartKind = "header"         // {header:Name}: the value of a header
	PartSignedHeaders PartKind = "signed_headers" // of presets only: name:value;… of the headers that the request lists
)

// TemplatePart is one piece of a signed text.
type TemplatePart struct {
	Kind PartKind
	Text string // the text, or the header's name
}

// ParseTemplate reads the template of a signed text: literal text with
// {body}, {timestamp}, {method}, {url}, {path} and {header:Name}. There is no
// way to write a brace itself.
func ParseTemplate(template string) ([]TemplatePart, error) {
	var parts []TemplatePart
	for rest := template; rest != ""; {
		text, after, found := strings.Cut(rest, "{")
		if strings.Contains(text, "}") {
			return nil, errors.New("has a } without a {")
		}
		if text != "" {
			parts = append(parts, TemplatePart{Kind: PartText, Text: text})
		}
		if !found {
			break
		}
		name, next, closed := strings.Cut(after, "}")
		if !closed {
			return nil, errors.New("has a { without a }")
		}
		kind, argument, _ := strings.Cut(name, ":")
		part := TemplatePart{PartKind(kind), argument}
		switch part.Kind {
		case PartHeader:
			if problem := checkHeaderName(argument); problem != "" {
				return nil, errors.New("{header:Name}: " + problem)
			}
		case PartBody, PartTimestamp, PartMethod, PartURL, PartPath, PartSignedHeaders:
			if name != kind {
				return nil, fmt.Errorf("has {%s}, which takes no name", name)
			}
		default:
			return nil, fmt.Errorf("has {%s}, which is none of {body}, {timestamp}, {method}, {url}, {path} and {header:Name}", name)
		}
		parts, rest = append(parts, part), next
	}
	return parts, nil
}

// Check finds everything that is wrong with the signature object of a webhook
// with the given scheme, by JSON pointer into the request. custom_hmac needs
// one; for grafana it may name the timestamp header; elsewhere there is none.
func (s *Signature) Check(scheme SignatureScheme) []FieldError {
	switch {
	case scheme == SchemeCustomHMAC && s == nil:
		return []FieldError{{"/signature", "is required for custom_hmac"}}
	case s == nil:
		return nil
	case scheme == SchemeGrafana:
		return s.checkGrafana()
	case scheme != SchemeCustomHMAC:
		return []FieldError{{"/signature", "is for custom_hmac and grafana only"}}
	}
	var fields []FieldError
	report := func(field, problem string) {
		if problem != "" {
			fields = append(fields, FieldError{"/signature/" + field, problem})
		}
	}
	report("header", checkHeaderName(s.Header))
	if len(s.Prefix) > 64 || strings.ContainsFunc(s.Prefix, func(r rune) bool { return r < ' ' || r > '~' }) {
		report("prefix", "must be at most 64 printable ASCII characters")
	}
	report("hash", oneOf(s.Hash, "sha1", "sha256", "sha512"))
	report("encoding", oneOf(s.Encoding, "hex", "base64"))
	report("key_form", oneOf(s.KeyForm, KeyText, KeyBase64, KeyHex, KeyWhsec))
	report("template", s.checkTemplate())
	if s.TimestampHeader != "" {
		report("timestamp_header", checkHeaderName(s.TimestampHeader))
		if http.CanonicalHeaderKey(s.TimestampHeader) == http.CanonicalHeaderKey(s.Header) {
			report("timestamp_header", "is the header of the signature")
		}
	}
	return fields
}

func (s *Signature) checkGrafana() []FieldError {
	if (*s != Signature{TimestampHeader: s.TimestampHeader}) {
		return []FieldError{{"/signature", "may have timestamp_header only, for grafana"}}
	}
	if s.TimestampHeader == "" {
		return nil
	}
	problem := checkHeaderName(s.TimestampHeader)
	if problem == "" && http.CanonicalHeaderKey(s.TimestampHeader) == "X-Grafana-Alerting-Signature" {
		problem = "is the header of the signature"
	}
	if problem == "" {
		return nil
	}
	return []FieldError{{"/signature/timestamp_header", problem}}
}

func (s *Signature) checkTemplate() string {
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
			return "signs the signature itself"
		}
	}
	switch {
	case count[PartBody] != 1:
		return "must have {body} exactly once"
	case count[PartSignedHeaders] > 0:
		return "has {signed_headers}, which is for contentful only"
	case count[PartTimestamp] > 0 && s.TimestampHeader == "":
		return "has {timestamp}, and no timestamp_header says where it is"
	case count[PartTimestamp] == 0 && s.TimestampHeader != "":
		return "must have {timestamp}: a time that is not signed protects from nothing"
	}
	return ""
}

// unsigned are headers that cannot carry a signature, a signed time or an id:
// they hold credentials of another kind or belong to the connection (RFC 9110
// §7.6.1), or net/http takes them away.
var unsigned = []string{
	"Authorization", "Cookie", "Connection", "Content-Length", "Expect", "Host", "Keep-Alive", "Proxy-Authenticate",
	"Proxy-Authorization", "Proxy-Connection", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
}

// checkHeaderName says what is wrong with the name of a header that a webhook
// is to read (RFC 9110 §5.6.2), "" when nothing is.
func checkHeaderName(name string) string {
	switch {
	case name == "":
		return "is required"
	case len(name) > 128:
		return "is longer than 128 characters"
	case strings.Trim(name, "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") != "":
		return "is not the name of a header"
	case slices.Contains(unsigned, http.CanonicalHeaderKey(name)):
		return "cannot be " + http.CanonicalHeaderKey(name)
	}
	return ""
}

// What the names of headers have in them that carry credentials: anywhere in the
// name, as a word of it, and as the word before Key.
var (
	credentialParts = []string{
		"apikey", "assertion", "authent", "authoriz", "bearer", "cookie", "credential", "hmac", "jwt", "passw", "secret", "session", "signature", "token",
	}
	credentialWords = []string{"auth", "csrf", "otp", "sig", "xsrf"}
	credentialKeys  = []string{"access", "api", "app", "application", "client", "master", "private", "shared", "subscription"}
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

// CheckSecret reports, without repeating it, why secret is no key of a scheme
// that has signature; nil when it is one.
func (s SignatureScheme) CheckSecret(signature *Signature, secret string) error {
	forms, err := s.Forms(signature)
	if err != nil {
		return err
	}
	for _, form := range forms {
		if _, problem := form.Key(secret); problem == nil {
			return nil
		} else if err == nil {
			err = problem
		}
	}
	return err
}

// Key decodes secret into the bytes that the form's algorithm takes. No error
// holds anything of it.
func (f SignatureForm) Key(secret string) ([]byte, error) {
	if secret == "" {
		return nil, errors.New("the secret is empty")
	}
	var key []byte
	var err error
	length := 0 // any
	switch f.KeyForm {
	case KeyText:
		return []byte(secret), nil
	case KeyHex:
		key, err = hex.DecodeString(secret)
	case KeyEd25519:
		length = ed25519.PublicKeySize
		key, err = hex.DecodeString(secret)
	case KeyBase64:
		key, err = decodeBase64Key(secret)
	case KeyWhsec:
		key, err = decodeBase64Key(strings.TrimPrefix(secret, "whsec_"))
	case KeyWhpk:
		length = ed25519.PublicKeySize
		encoded, found := strings.CutPrefix(secret, "whpk_")
		if !found {
			return nil, errors.New("the public key does not begin with whpk_")
		}
		key, err = decodeBase64Key(encoded)
	default:
		return nil, errors.New("the scheme has an unknown form of key")
	}
	if err != nil || len(key) == 0 || length > 0 && len(key) != length {
		return nil, keyProblems[f.KeyForm]
	}
	return key, nil
}

var keyProblems = map[string]error{
	KeyHex:     errors.New("the secret is not hex"),
	KeyEd25519: errors.New("the public key is not 64 characters of hex"),
	KeyBase64:  errors.New("the secret is not base64"),
	KeyWhsec:   errors.New("the secret is not base64 after whsec_"),
	KeyWhpk:    errors.New("the public key is not base64 of 32 bytes after whpk_"),
}

// decodeBase64Key does not insist on padding, which gets lost when secrets are
// copied. What is decoded is the key either way.
func decodeBase64Key(s string) ([]byte, error) {
	return base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "="))
}

// NewSigningSecret makes the secret of a scheme with SecretGenerated: 32
// random bytes as Standard Webhooks writes them.
func NewSigningSecret() string {
	var b [32]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand aborts the program instead
	return "whsec_" + base64.StdEncoding.EncodeToString(b[:])
}
