package webhook

import (
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // some senders sign with it still; HMAC does not need what SHA-1 has lost (RFC 6151)
	"crypto/sha256"
	"crypto/sha512"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"hash"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/penstock-dev/penstock/internal/control/signature"
)

// form is one compiled form of a scheme's signature.
type form struct {
	signature.Form

	shown     string // the signature's header as the sender writes it
	header    string // and canonical; of numbered ones the start
	timestamp string
	listed    string // names the signed headers
	idHeader  string
	parts     []signature.TemplatePart // headers by their canonical names
	varies    bool                     // the signed text differs by more than the body
	newHash   func() hash.Hash
	decode    func(string) ([]byte, error)
}

func compile(described signature.Form) (form, error) {
	f := form{
		Form:      described,
		shown:     described.Header,
		header:    http.CanonicalHeaderKey(described.Header),
		timestamp: http.CanonicalHeaderKey(described.TimestampHeader),
		listed:    http.CanonicalHeaderKey(described.SignedHeaders),
		idHeader:  http.CanonicalHeaderKey(described.IDHeader),
		decode:    hex.DecodeString,
	}
	if described.Encoding == "base64" {
		f.decode = base64.StdEncoding.Strict().DecodeString
	}
	if described.Numbered {
		f.shown += "1"
	}
	switch described.Hash {
	case "sha1":
		f.newHash = sha1.New
	case "sha256":
		f.newHash = sha256.New
	case "sha512":
		f.newHash = sha512.New
	}
	if (f.newHash != nil) != (described.Algorithm == signature.AlgorithmHMAC) {
		return f, fmt.Errorf("the algorithm %s has the hash %q", described.Algorithm, described.Hash)
	}
	parts, err := signature.ParseTemplate(described.Template)
	if err != nil {
		return f, fmt.Errorf("the template %w", err)
	}
	for _, part := range parts {
		if part.Kind == signature.PartHeader {
			part.Text = http.CanonicalHeaderKey(part.Text)
		}
		switch part.Kind {
		case signature.PartText, signature.PartBody, signature.PartMethod: // which is POST
		default:
			f.varies = true
		}
		f.parts = append(f.parts, part)
	}
	return f, nil
}

// present reports whether the request has a signature of this form, valid or not.
func (f *form) present(header http.Header) bool {
	if f.Numbered {
		for name, values := range header {
			if f.numbers(name) && slices.ContainsFunc(values, func(v string) bool { return v != "" }) {
				return true
			}
		}
		return false
	}
	return slices.ContainsFunc(header[f.header], func(v string) bool { return v != "" })
}

// numbers reports whether name is one of the numbered headers, 1 to 100.
func (f *form) numbers(name string) bool {
	digits, found := strings.CutPrefix(name, f.header)
	if !found || len(digits) > 3 || strings.HasPrefix(digits, "0") {
		return false
	}
	n, err := strconv.ParseUint(digits, 10, 8)
	return err == nil && n >= 1 && n <= 100
}

// verify checks the signature in this form. It returns the index of the first secret that
// matches, and what is signed around the body.
func (f *form) verify(r *Request, secrets []string) (int, signedParts, *Failure) {
	keys := f.keys(secrets)
	if !slices.ContainsFunc(keys, func(key []byte) bool { return key != nil }) {
		return 0, signedParts{}, &Failure{Reason: NoSecret, Detail: "no secret has the format of the scheme"}
	}
	if f.Algorithm == signature.AlgorithmToken {
		if i := TokenMatches(r.Header.Get(f.header), secrets); i >= 0 {
			return i, signedParts{}, nil
		}
		return 0, signedParts{}, &Failure{Mismatch, f.shown, "is not the secret"}
	}
	texts, timestamp, failure := f.candidates(r.Header)
	if failure != nil {
		return 0, signedParts{}, failure
	}
	if f.timestamp != "" {
		if timestamp = r.Header.Get(f.timestamp); timestamp == "" {
			return 0, signedParts{}, &Failure{MissingHeader, f.TimestampHeader, "is missing"}
		}
	}
	if f.TimestampBody == "" && f.SignsTime() {
		if failure := f.checkTime(timestamp, r.Now); failure != nil {
			return 0, signedParts{}, failure
		}
	}
	text, failure := f.signedBytes(r, timestamp)
	if failure != nil {
		return 0, signedParts{}, failure
	}
	signatures := make([][]byte, len(texts))
	for i, one := range texts {
		if decoded, err := f.decode(one); err == nil {
			signatures[i] = decoded // else it stays nil and fits nothing
		}
	}
	fits := f.fits
	if f.Algorithm == signature.AlgorithmEd25519 {
		fits = fitsPublicKey
	}
	match := -1
	for i, key := range keys { // all, so that the time does not tell which one
		if key != nil && fits(key, signatures, text.before, r.Body, text.after) && match < 0 {
			match = i
		}
	}
	if match < 0 {
		return 0, signedParts{}, &Failure{Mismatch, f.shown, "matches no secret"}
	}
	return match, text, nil
}

// keys returns the key of each secret, nil for one that has not the format of the scheme.
func (f *form) keys(secrets []string) [][]byte {
	keys := make([][]byte, len(secrets))
	for i, secret := range secrets {
		if key, err := f.Key(secret); err == nil {
			keys[i] = key
		}
	}
	return keys
}

// fits reports whether the key made one of the signatures. It hashes the body without a copy.
func (f *form) fits(key []byte, signatures [][]byte, before, body, after []byte) bool {
	mac := hmac.New(f.newHash, key)
	for _, part := range [][]byte{before, body, after} {
		_, _ = mac.Write(part) // a hash never fails
	}
	var sum [sha512.Size]byte
	want := mac.Sum(sum[:0])
	equal := 0
	for _, signature := range signatures {
		equal |= subtle.ConstantTimeCompare(signature, want)
	}
	return equal == 1
}

// fitsPublicKey is fits for an Ed25519 key, which needs the message in one piece.
func fitsPublicKey(key []byte, signatures [][]byte, before, body, after []byte) bool {
	message := slices.Concat(before, body, after)
	valid := false
	for _, signature := range signatures {
		valid = ed25519.Verify(key, message, signature) || valid
	}
	return valid
}

// elements returns the parts of the signature headers.
func (f *form) elements(header http.Header) ([]string, *Failure) {
	switch {
	case f.Numbered:
		var elements []string
		for name, values := range header {
			if !f.numbers(name) {
				continue
			}
			if len(values) != 1 || len(values[0]) > maxSignatureHeader {
				return nil, &Failure{BadFormat, name, "occurs more than once or is too long"}
			}
			elements = append(elements, values[0])
		}
		return elements, nil
	case f.Separator != "":
		return strings.Split(header.Get(f.header), f.Separator), nil
	default:
		return []string{header.Get(f.header)}, nil
	}
}

// candidates reads the signature headers: the signatures of the form's version, without their
// prefix, and the timestamp if it is in the same header.
func (f *form) candidates(header http.Header) (texts []string, timestamp string, failure *Failure) {
	malformed := func(detail string) ([]string, string, *Failure) {
		return nil, "", &Failure{BadFormat, f.shown, detail}
	}
	elements, failure := f.elements(header)
	if failure != nil {
		return nil, "", failure
	}
	for _, element := range elements {
		element = strings.Trim(element, " \t")
		if text, found := strings.CutPrefix(element, f.Prefix); found && text != "" {
			if texts = append(texts, text); len(texts) > maxCandidates {
				return malformed("has too many signatures")
			}
			continue
		}
		if f.TimestampField == "" {
			continue // another version
		}
		if value, found := strings.CutPrefix(element, f.TimestampField+"="); found {
			if timestamp != "" {
				return malformed("has more than one timestamp")
			}
			timestamp = value
		}
	}
	if len(texts) == 0 {
		return malformed("has no signature in the format of the scheme")
	}
	if f.TimestampField != "" && timestamp == "" {
		return malformed("has no timestamp")
	}
	return texts, timestamp, nil
}

// signedParts is the signed text before the body and after it.
type signedParts struct{ before, after []byte }

// sum returns the [Proof.SignedSum] of a delivery.
func (a signedParts) sum(f *form, body []byte) []byte {
	if !f.varies {
		return nil
	}
	h := sha256.New()
	for _, part := range [][]byte{a.before, body, a.after} {
		_, _ = h.Write(part) // a hash never fails
	}
	return h.Sum(nil)
}

// signedBytes puts the signed text together.
func (f *form) signedBytes(r *Request, timestamp string) (signed signedParts, failure *Failure) {
	text := make([]byte, 0, 256)
	split := 0
	for _, part := range f.parts {
		switch part.Kind {
		case signature.PartBody:
			split = len(text)
		case signature.PartTimestamp:
			text = append(text, timestamp...)
		case signature.PartMethod:
			text = append(text, r.Method...)
		case signature.PartURL:
			text = append(text, r.URL...)
		case signature.PartPath:
			_, path := splitURL(r.URL)
			text = append(text, path...)
		case signature.PartHeader:
			value := r.Header.Get(part.Text)
			if value == "" {
				return signedParts{}, &Failure{MissingHeader, part.Text, "is missing"}
			}
			text = append(text, value...)
		case signature.PartSignedHeaders:
			if text, failure = f.signedHeaders(text, r); failure != nil {
				return signedParts{}, failure
			}
		default:
			text = append(text, part.Text...)
		}
	}
	return signedParts{text[:split], text[split:]}, nil
}

// splitURL returns the host of an absolute URL, and its path with the query.
func splitURL(url string) (host, path string) {
	if _, rest, found := strings.Cut(url, "://"); found {
		url = rest
	}
	if i := strings.IndexAny(url, "/?"); i >= 0 {
		return url[:i], url[i:]
	}
	return url, ""
}

// signedHeaders appends the headers that the request lists as signed, sorted, as name:value
// joined by semicolons. The list must contain itself and the timestamp, or it would protect
// neither.
func (f *form) signedHeaders(text []byte, r *Request) ([]byte, *Failure) {
	list := r.Header.Get(f.listed)
	if list == "" {
		return nil, &Failure{MissingHeader, f.SignedHeaders, "is missing"}
	}
	names := strings.Split(strings.ToLower(list), ",")
	for i := range names {
		names[i] = strings.Trim(names[i], " \t")
	}
	slices.Sort(names)
	for _, name := range []string{f.SignedHeaders, f.TimestampHeader} {
		if _, found := slices.BinarySearch(names, strings.ToLower(name)); !found {
			return nil, &Failure{BadFormat, f.SignedHeaders, "does not name " + strings.ToLower(name)}
		}
	}
	for i, name := range names {
		if i > 0 {
			text = append(text, ';')
		}
		text = append(append(text, name...), ':')
		if name == "host" { // net/http takes it out of the headers, and what a request says there is not to be trusted
			host, _ := splitURL(r.URL)
			text = append(text, host...)
			continue
		}
		values := r.Header[http.CanonicalHeaderKey(name)]
		if len(values) != 1 {
			return nil, &Failure{BadFormat, f.SignedHeaders, "names a header that does not occur exactly once"}
		}
		text = append(text, strings.Trim(values[0], " \t")...)
	}
	return text, nil
}

// checkTime checks whether the time of the signature is close enough to now.
func (f *form) checkTime(text string, now time.Time) *Failure {
	where := f.TimestampHeader
	switch {
	case f.TimestampField != "":
		where = f.shown
	case f.TimestampBody != "":
		where = "body"
	}
	signed, ok := parseTimestamp(text, f.TimestampUnit)
	if !ok {
		return &Failure{BadFormat, where, "has no timestamp in the format of the scheme"}
	}
	age := now.UnixMilli() - signed
	if f.TimestampUnit == signature.UnitSeconds {
		age = now.Unix()*1000 - signed // as senders compare: whole seconds
	}
	switch tolerance := f.Tolerance.Milliseconds(); {
	case age > max(tolerance, f.MaxAge.Milliseconds()):
		return &Failure{Stale, where, "has a timestamp that is too old"}
	case age < -tolerance:
		return &Failure{Future, where, "has a timestamp that is too far ahead"}
	}
	return nil
}

// parseTimestamp reads a timestamp into milliseconds since the epoch. Digits
// are 1 to 13, without sign, space or leading zero, whatever the unit.
func parseTimestamp(text string, unit signature.TimestampUnit) (int64, bool) {
	if unit == signature.UnitRFC3339 || unit == signature.UnitAny && strings.Contains(text, "T") {
		t, err := time.Parse(time.RFC3339, text)
		return t.UnixMilli(), err == nil && len(text) <= len(time.RFC3339Nano)
	}
	if text == "" || len(text) > 13 || text[0] == '0' || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, false
	}
	if unit == signature.UnitMilliseconds || unit == signature.UnitAny && len(text) >= 12 {
		return n, true
	}
	return n * 1000, true
}
