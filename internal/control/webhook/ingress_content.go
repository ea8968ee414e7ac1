package webhook

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/signature"
	"github.com/penstock-dev/penstock/internal/control/trigger"
)

// The reasons of a body that cannot be read as JSON.
const (
	reasonEncoding = "content_encoding"
	reasonForm     = "form"
)

// compressions are the names of compressions in a Content-Encoding. Senders also write other words
// there, such as utf-8, which say nothing about the bytes.
var compressions = []string{
	"gzip", "x-gzip", "deflate", "compress", "x-compress", "br", "zstd", "zlib", "bzip2", "lz4", "snappy", "dcb", "dcz",
	"aes128gcm", "exi", "pack200-gzip",
}

// compressed returns how the body is compressed, by its headers or its first bytes, or "".
func compressed(header http.Header, body []byte) string {
	for _, value := range header["Content-Encoding"] {
		for name := range strings.SplitSeq(strings.ToLower(value), ",") {
			if name = strings.TrimSpace(name); slices.Contains(compressions, name) {
				return name
			}
		}
	}
	switch {
	case bytes.HasPrefix(body, []byte("\x1f\x8b")):
		return "gzip"
	case bytes.HasPrefix(body, []byte("\x28\xb5\x2f\xfd")):
		return "zstd"
	}
	return ""
}

// byteOrderMark is the mark of UTF-8 at the start of a text.
const byteOrderMark = "\ufeff"

// admissible returns an authenticated delivery with its JSON, or its rejection because of its size,
// encoding or form.
func (d *intake) admissible() *factory.InboundDelivery {
	if d.tooLarge {
		return d.rejection(penstock.OutcomeRejectedSize, "")
	}
	if name := compressed(d.r.Header, d.body.bytes); name != "" {
		a := d.rejection(penstock.OutcomeRejectedJSON, reasonEncoding)
		a.Detail = "the body is compressed with " + name + "; send it without compression"
		return a
	}
	a := d.inbound()
	if text, marked := bytes.CutPrefix(a.Body, []byte(byteOrderMark)); marked {
		a.Body, a.Raw = text, a.Body
		return a
	}
	kind := formType(d.r.Header)
	if kind == "" || mayBeJSON(a.Body) {
		return a
	}
	text, err := readForm(d.plan.Snapshot.SignatureScheme, kind, a.Body)
	if err != nil {
		a = d.rejection(penstock.OutcomeRejectedJSON, reasonForm)
		a.Detail = err.Error()
		return a
	}
	if a.Body, a.Raw = text, a.Body; d.plan.Snapshot.SignatureScheme == signature.Slack {
		// Slack shows an error to its user unless the status is 200, and shows the body otherwise.
		d.reply, a.Status = &Handshake{Status: http.StatusOK}, http.StatusOK
	}
	return a
}

const (
	encodedForm   = "application/x-www-form-urlencoded"
	multipartForm = "multipart/form-data"
)

// formType returns the content type of a form, or "" for any other.
func formType(header http.Header) string {
	kind, _, _ := mime.ParseMediaType(header.Get("Content-Type")) // with an error, it is the type or ""
	if kind != encodedForm && kind != multipartForm {
		return ""
	}
	return kind
}

// mayBeJSON reports whether a body with the content type of a form is to be read as JSON: curl -d
// and other programs send it with JSON. An empty body is no form either.
func mayBeJSON(body []byte) bool {
	text := bytes.TrimLeft(body, " \t\r\n")
	return len(text) == 0 || strings.IndexByte(`{["`, text[0]) >= 0 || trigger.ValidateBody(body) == nil
}

// payloadField is the field of a form in which GitHub and Slack send JSON.
const payloadField = "payload"

// readForm returns the JSON of a form. Its errors contain nothing of the form.
func readForm(scheme penstock.SignatureScheme, kind string, body []byte) ([]byte, error) {
	known := scheme == signature.GitHub || scheme == signature.Slack
	if !known || kind != encodedForm {
		return nil, fmt.Errorf(
			"the sender posts a form (%s), and this webhook reads JSON; set the sender's content type to application/json", kind,
		)
	}
	fields, err := url.ParseQuery(string(bytes.TrimRight(body, "\r\n")))
	if err != nil {
		return nil, errors.New("the form is not encoded correctly")
	}
	texts := make(map[string]string, len(fields))
	for name, values := range fields {
		switch {
		case len(values) > 1:
			return nil, errors.New("the form has a field more than once")
		case !utf8.ValidString(name) || !utf8.ValidString(values[0]):
			return nil, errors.New("the form is not UTF-8")
		}
		texts[name] = values[0]
	}
	payload, found := texts[payloadField]
	switch {
	case found:
		return []byte(payload), nil
	case scheme != signature.Slack:
		return nil, errors.New("the form has no field payload with the JSON")
	}
	var text bytes.Buffer
	to := json.NewEncoder(&text)
	to.SetEscapeHTML(false)
	if err := to.Encode(texts); err != nil { // sorts the keys
		return nil, fmt.Errorf("write the form as JSON: %w", err)
	}
	return bytes.TrimSpace(text.Bytes()), nil
}
