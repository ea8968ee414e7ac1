package webhook

import (
	"bytes"
	"crypto/hmac"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/penstock-dev/penstock/internal/control/signature"
)

// errUnsigned: only the sender can sign, with a private key that we do not have.
var errUnsigned = errors.New("only the sender can sign deliveries to this webhook")

// Sign adds the headers of a signature to a request, as the sender would. id identifies the delivery
// in the header of the scheme, if it has one.
func (v *Verifier) Sign(r *Request, secret, id string) error {
	for i := range v.forms {
		f := &v.forms[i]
		key, err := f.Key(secret)
		if err != nil || f.Algorithm == signature.AlgorithmEd25519 {
			continue
		}
		signed := *r
		signed.Header = r.Header.Clone()
		if f.sign(&signed, key, secret, id) != nil {
			continue
		}
		if _, failure := v.Verify(signed, []string{secret}); failure == nil {
			r.Header = signed.Header
			return nil
		}
	}
	return errUnsigned
}

func (f *form) sign(r *Request, key []byte, secret, id string) error {
	if f.idHeader != "" {
		r.Header.Set(f.idHeader, id)
	}
	if f.Algorithm == signature.AlgorithmToken {
		r.Header.Set(f.header, secret)
		return nil
	}
	timestamp := formatTimestamp(r.Now, f.TimestampUnit)
	if f.timestamp != "" {
		r.Header.Set(f.timestamp, timestamp)
	}
	if f.listed != "" {
		r.Header.Set(f.listed, strings.ToLower(f.SignedHeaders+","+f.TimestampHeader))
	}
	text, failure := f.signedBytes(r, timestamp)
	if failure != nil {
		return errUnsigned
	}
	mac := hmac.New(f.newHash, key)
	for _, part := range [][]byte{text.before, r.Body, text.after} {
		_, _ = mac.Write(part) // a hash never fails
	}
	encoded := hex.EncodeToString(mac.Sum(nil))
	if f.Encoding == "base64" {
		encoded = base64.StdEncoding.EncodeToString(mac.Sum(nil))
	}
	value := f.Prefix + encoded
	if f.TimestampField != "" {
		value = f.TimestampField + "=" + timestamp + f.Separator + value
	}
	r.Header.Set(f.shown, value)
	return nil
}

func formatTimestamp(t time.Time, unit signature.TimestampUnit) string {
	switch unit {
	case signature.UnitMilliseconds:
		return strconv.FormatInt(t.UnixMilli(), 10)
	case signature.UnitRFC3339:
		return t.UTC().Format(time.RFC3339)
	case signature.UnitSeconds, signature.UnitAny:
	}
	return strconv.FormatInt(t.Unix(), 10)
}

// example returns a payload for a test, with the members that the scheme reads.
func (v *Verifier) example(now time.Time, id string) map[string]any {
	body := map[string]any{"type": "test", "test": id}
	for i := range v.forms {
		if v.forms[i].IDBody != "" {
			body[v.forms[i].IDBody] = id
		}
		if v.forms[i].TimestampBody != "" {
			body[v.forms[i].TimestampBody] = now.UnixMilli()
		}
	}
	return body
}

// renewed returns a payload with a current time, if the scheme signs the time in the body.
func (v *Verifier) renewed(body []byte, now time.Time) []byte {
	var fields map[string]json.RawMessage
	if json.Unmarshal(body, &fields) != nil || fields == nil {
		return body
	}
	changed := false
	for i := range v.forms {
		if key := v.forms[i].TimestampBody; key != "" {
			fields[key], changed = json.RawMessage(strconv.FormatInt(now.UnixMilli(), 10)), true
		}
	}
	if !changed {
		return body
	}
	text, err := json.Marshal(fields)
	if err != nil {
		return body
	}
	return text
}

// NearMiss returns a small change with which an invalid request is valid, in words, or "".
func (v *Verifier) NearMiss(r Request, secrets []string) string {
	trimmed, ended := r, r
	trimmed.Body = bytes.TrimRight(r.Body, "\r\n")
	ended.Body = append(bytes.Clone(r.Body), '\n')
	padded := make([]string, len(secrets))
	for i, secret := range secrets {
		padded[i] = strings.TrimSpace(secret)
	}
	switch {
	case v.accepts(trimmed, secrets):
		return "the body ends with a line break that was not sent: without it, the request is valid"
	case v.accepts(ended, secrets):
		return "the body lacks the line break at its end that was sent: with it, the request is valid"
	case v.accepts(r, padded):
		return "the secret has white space around it: without it, the request is valid"
	}
	return ""
}

func (v *Verifier) accepts(r Request, secrets []string) bool {
	_, failure := v.Verify(r, secrets)
	return failure == nil
}

// headersOf returns headers with canonical names.
func headersOf(given map[string]string) http.Header {
	header := http.Header{}
	for name, value := range given {
		header.Add(strings.TrimSpace(name), strings.TrimSpace(value))
	}
	return header
}
