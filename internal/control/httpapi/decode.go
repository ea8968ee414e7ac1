package httpapi

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
)

// Limits of request bodies in bytes. A run's attachments do not count toward
// maxJSON, so its body may be as large as both together.
const (
	maxJSON   = run.MaxBodyBytes
	maxSignIn = 16 << 10
	maxRun    = maxJSON + (run.MaxAttachmentBytes+2)/3*4 + 4*run.MaxAttachments
)

// readBody reads the whole body once; later calls return the same bytes.
func (c *call) readBody() ([]byte, error) {
	if c.body != nil {
		return c.body, nil
	}
	limit := c.route.bodyLimit()
	if c.r.ContentLength > limit {
		return nil, tooLarge(limit)
	}
	if e := c.r.Header.Get("Content-Encoding"); e != "" && e != "identity" {
		return nil, penstock.Errorf(penstock.CodeInvalidRequest, "the body must be sent without Content-Encoding")
	}
	body, err := io.ReadAll(http.MaxBytesReader(c.w, c.r.Body, limit))
	if err != nil {
		return nil, bodyError(err, limit)
	}
	c.body = body
	if c.waitTimer != nil {
		c.waitTimer.Reset(c.waitTime) // a large body may take long
	}
	return body, nil
}

func tooLarge(limit int64) error {
	return penstock.Errorf(
		penstock.CodePayloadTooLarge, "the body exceeds the limit of %d bytes", limit,
	)
}

// bodyError converts an error while a body was read. The cause is nearly always the caller's
// connection, so it is an error of the caller.
func bodyError(err error, limit int64) error {
	if _, over := errors.AsType[*http.MaxBytesError](err); over {
		return tooLarge(limit)
	}
	e := penstock.Errorf(penstock.CodeInvalidRequest, "the body ended before its announced length")
	e.Cause = err
	return e
}

// decode reads the JSON body into dst, a pointer to a struct. It ignores unknown fields and lists
// them in the header X-Penstock-Ignored-Fields. Every other problem is an invalid_request that
// names the field.
func (c *call) decode(dst any) error {
	body, err := c.readBody()
	if err != nil {
		return err
	}
	return c.decodeBody(body, dst)
}

// decodeWithPayload decodes the body like decode, and returns its field payload separately, or nil
// without one. A payload may contain everything that a delivery may contain, such as duplicate
// keys, NUL and lone surrogates.
func (c *call) decodeWithPayload(dst any) (payload jsontext.Value, err error) {
	body, err := c.readBody()
	if err != nil {
		return nil, err
	}
	rest, payload := cutPayload(body)
	return payload, c.decodeBody(rest, dst)
}

// cutPayload replaces the first field payload of an object by null. If body is not an object, or
// not JSON, rest is the whole body.
func cutPayload(body []byte) (rest []byte, payload jsontext.Value) {
	dec := jsontext.NewDecoder(bytes.NewReader(body), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
	if token, err := dec.ReadToken(); err != nil || token.Kind() != '{' {
		return body, nil
	}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return body, nil
		}
		wanted := name.String() == "payload"
		value, err := dec.ReadValue()
		if err != nil {
			return body, nil
		}
		if wanted {
			end := int(dec.InputOffset())
			return slices.Concat(body[:end-len(value)], []byte("null"), body[end:]), value.Clone()
		}
	}
	return body, nil
}

func (c *call) decodeBody(body []byte, dst any) error {
	if len(bytes.TrimSpace(body)) == 0 {
		return penstock.Invalid("", "the body is empty; it must be a JSON object")
	}
	if err := checkContentType(c.r.Header); err != nil {
		return err
	}
	ignored, err := decodeStrict(body, dst)
	if err != nil {
		return err
	}
	if errs := unknownOfForge(ignored); errs != nil {
		return penstock.InvalidFields(errs...)
	}
	if len(ignored) > 0 {
		c.w.Header().Set("X-Penstock-Ignored-Fields", ignoredHeader(ignored))
	}
	return nil
}

// settingsOfForge matches pointers of fields of settings of forges, in all requests that have some.
var settingsOfForge = penstock.LazyRegexp(`^(?:/config|/agent_config|/configs/[0-9]+)?/forge(/.*)?/[^/]*$`)

// unknownOfForge reports unknown fields of settings of forges. Such a setting limits what a run may do, so it must
// not be ignored.
func unknownOfForge(ignored []string) (errs []penstock.FieldError) {
	for _, pointer := range ignored {
		place := settingsOfForge().FindStringSubmatch(pointer)
		if place == nil {
			continue
		}
		allowed := map[string]string{
			"": "push, outputs, followups", "/followups": "checks", "/push": "branches, protected_paths, limits, secrets",
			"/push/protected_paths": "policy, add, except", "/push/limits": "files, bytes, binary",
			"/outputs": "pull_request, limits, approval, status", "/outputs/limits": "pull_request, comment",
			"/outputs/pull_request": "open_limit, base, draft, labels, reviewers",
		}[place[1]]
		if allowed != "" { // otherwise it is below a policy, which is not read from requests
			errs = append(errs, penstock.FieldError{
				Pointer: pointer, Detail: "is not a setting of this server; allowed are " + allowed,
			})
		}
	}
	return errs
}

// decodeAny decodes the body like decode. Without a body, it leaves dst unchanged.
func (c *call) decodeAny(dst any) error {
	body, err := c.readBody()
	if err != nil || len(body) == 0 {
		return err
	}
	return c.decode(dst)
}

// checkContentType accepts JSON in UTF-8, and a missing header. It rejects the default type of curl
// -d with a message that says how to change it.
func checkContentType(h http.Header) error {
	values := h.Values("Content-Type")
	if len(values) == 0 {
		return nil
	}
	kind, params, err := mime.ParseMediaType(values[0])
	charset := strings.ToLower(params["charset"])
	isJSON := kind == "application/json" || strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json")
	if err == nil && isJSON && (charset == "" || charset == "utf-8" || charset == "utf8") {
		return nil
	}
	return penstock.Errorf(
		penstock.CodeInvalidRequest, "send the body as JSON in UTF-8, with Content-Type: application/json",
	)
}

// Options of the JSON library. Only workers and the server exchange durations, in nanoseconds.
var (
	lenient     = jsonv1.FormatDurationAsNano(true)
	requestJSON = json.JoinOptions(lenient, json.WithUnmarshalers(json.JoinUnmarshalers(
		json.UnmarshalFromFunc(decodeTexts), json.UnmarshalFromFunc(decodeSecretNames), json.UnmarshalFromFunc(decodeFiles),
	)))
	strict       = json.JoinOptions(requestJSON, json.RejectUnknownMembers(true))
	responseJSON = json.JoinOptions(lenient, json.Deterministic(true))
)

// decodeTexts reads an object of strings, such as metadata. It rejects null, which the JSON library
// would turn into an empty string.
func decodeTexts(dec *jsontext.Decoder, texts *map[string]string) error {
	if dec.PeekKind() != '{' {
		return errors.ErrUnsupported
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	*texts = map[string]string{}
	for dec.PeekKind() == '"' {
		name, err := dec.ReadToken()
		if err != nil {
			return err
		}
		key, value := name.String(), ""
		if dec.PeekKind() == 'n' {
			return penstock.Invalid("", "must be a string, not null")
		}
		if err := json.UnmarshalDecode(dec, &value); err != nil {
			return err
		}
		(*texts)[key] = value
	}
	_, err := dec.ReadToken()
	return err
}

// decodeSecretNames reads names of secrets. Each is a string, or an object with a name.
func decodeSecretNames(dec *jsontext.Decoder, names *penstock.SecretNames) error {
	if dec.PeekKind() != '[' {
		return errors.ErrUnsupported
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	*names = penstock.SecretNames{}
	for dec.PeekKind() != ']' {
		var secret penstock.NamedSecret
		var into any = &secret.Name
		if dec.PeekKind() == '{' {
			into = &secret
		}
		if err := json.UnmarshalDecode(dec, into); err != nil {
			return err
		}
		*names = append(*names, secret.Name)
	}
	_, err := dec.ReadToken()
	return err
}

// maxLevels limits the nesting of arrays and objects in a request. Responses repeat parts of it at
// a deeper level, and the JSON library writes at most 10,000 levels.
const maxLevels = 200

func tooDeep(body []byte) bool {
	if bytes.Count(body, []byte("{"))+bytes.Count(body, []byte("[")) <= maxLevels { // nearly always
		return false
	}
	levels, quoted := 0, false
	for i := 0; i < len(body) && levels <= maxLevels; i++ {
		switch c := body[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			levels++
		case c == '}' || c == ']':
			levels--
		}
	}
	return levels > maxLevels
}

func tooDeepError() error {
	return penstock.Invalid("", "the body has more than %d levels of nested arrays and objects", maxLevels)
}

// decodeStrict decodes body, which must be one JSON object without duplicate names, bad UTF-8 or
// NUL, and not too deep. It returns the pointers of the unknown fields. Without unknown fields, it
// needs only one pass.
func decodeStrict(body []byte, dst any) (ignored []string, err error) {
	if tooDeep(body) {
		return nil, tooDeepError()
	}
	err = json.Unmarshal(body, dst, strict)
	if errors.Is(err, json.ErrUnknownName) {
		reflect.ValueOf(dst).Elem().SetZero()
		if err = json.Unmarshal(body, dst, requestJSON); err == nil {
			ignored = unknownFields(body, reflect.TypeOf(dst).Elem())
		}
	}
	if err != nil {
		return nil, fieldError(body, err)
	}
	if jsontext.Value(body).Kind() != '{' { // null decodes into anything
		return nil, penstock.Invalid("", "the body must be a JSON object")
	}
	if bytes.Contains(body, []byte(`\u0000`)) {
		if at, found := findNUL(body); found {
			return nil, penstock.Invalid(at, `must not contain the character NUL (\u0000)`)
		}
	}
	return ignored, nil
}

// gives reports whether the body is an object that has the field, even if the field is null.
func (c *call) gives(name string) (bool, error) {
	if _, err := c.readBody(); err != nil {
		return false, err
	}
	_, given := c.fields()[name]
	return given, nil
}

// fields returns the fields of the body. It returns nil if the body is not a JSON object; decode
// rejects that.
func (c *call) fields() map[string]jsontext.Value {
	var fields map[string]jsontext.Value
	if err := json.Unmarshal(c.body, &fields); err != nil {
		return nil
	}
	return fields
}

// nulls lists the fields of the decoded body that are null.
func (c *call) nulls() []string {
	var names []string
	for name, value := range c.fields() {
		if value.Kind() == 'n' {
			names = append(names, name)
		}
	}
	return names
}

// isNull reports whether the decoded body has null at a pointer to a field of objects.
func (c *call) isNull(pointer string) bool {
	value := jsontext.Value(c.body)
	for _, name := range strings.Split(pointer, "/")[1:] {
		var fields map[string]jsontext.Value
		if err := json.Unmarshal(value, &fields); err != nil {
			return false
		}
		value = fields[name]
	}
	return value.Kind() == 'n'
}

// findNUL finds a string or name with the character NUL, which PostgreSQL cannot store. body must
// be valid JSON.
func findNUL(body []byte) (pointer string, found bool) {
	dec := jsontext.NewDecoder(bytes.NewReader(body))
	for {
		token, err := dec.ReadToken()
		if err != nil {
			return "", false
		}
		if token.Kind() == '"' && strings.ContainsRune(token.String(), 0) {
			return string(dec.StackPointer()), true
		}
	}
}

// fieldError turns an error of the JSON library about a body into one that says which field is wrong
// and what it should be.
func fieldError(body []byte, err error) error {
	if e, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return syntaxError(body, e)
	}
	e, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		return err
	}
	at := string(e.JSONPointer)
	if own, ok := errors.AsType[*penstock.Error](e.Err); ok {
		if len(own.Fields) == 1 { // relative to the decoded value
			return penstock.Invalid(at+own.Fields[0].Pointer, "%s", own.Fields[0].Detail)
		}
		return penstock.Invalid(at, "%s", own.Explain())
	}
	if _, ok := errors.AsType[base64.CorruptInputError](e.Err); ok {
		return penstock.Invalid(at, "must be base64 with the standard alphabet and padding (RFC 4648 §4)")
	}
	if at == "" {
		return penstock.Invalid("", "the body must be a JSON object, not %s", kindName(e.JSONKind))
	}
	want := wanted(e.GoType)
	if e.Err != nil && strings.HasPrefix(want, "an integer") {
		return penstock.Invalid(at, "must be %s in range, without a fraction", want)
	}
	return penstock.Invalid(at, "must be %s, not %s", want, kindName(e.JSONKind))
}

func syntaxError(body []byte, e *jsontext.SyntacticError) error {
	at := string(e.JSONPointer)
	switch {
	case errors.Is(e, jsontext.ErrDuplicateName):
		return penstock.Invalid(at, "occurs more than once")
	case errors.Is(e, io.ErrUnexpectedEOF):
		return penstock.Invalid("", "the body is not complete JSON: it ends after %d bytes", e.ByteOffset)
	}
	// The library has no values for its other errors, so the body itself decides.
	if _, err := jsontext.NewDecoder(bytes.NewReader(body)).ReadValue(); err == nil {
		return penstock.Invalid("", "the body must be one JSON object; unexpected text follows it at byte %d", e.ByteOffset)
	}
	if notText(body, int(e.ByteOffset)) {
		return penstock.Invalid(at, "must be text in UTF-8")
	}
	return penstock.Invalid(at, "the body is not valid JSON at byte %d", e.ByteOffset)
}

// notText reports whether a string of the body has, at an offset, a byte that is not UTF-8 or an escape
// of half a surrogate pair.
func notText(body []byte, offset int) bool {
	quoted := false
	for i := 0; i < offset; i++ {
		switch c := body[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		}
	}
	rest := body[offset:]
	if r, size := utf8.DecodeRune(rest); r == utf8.RuneError && size == 1 {
		return quoted
	}
	digits, escaped := bytes.CutPrefix(rest, []byte(`\u`))
	unit, err := strconv.ParseUint(string(digits[:min(4, len(digits))]), 16, 16)
	return quoted && escaped && err == nil && utf16.IsSurrogate(rune(unit))
}

func kindName(k jsontext.Kind) string {
	switch k {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 't', 'f':
		return "a boolean"
	}
	return "null"
}

// wanted describes the JSON kind of a Go type.
func wanted(t reflect.Type) string {
	if t == nil {
		return "of another type"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return wanted(t.Elem())
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int64:
		if t == reflect.TypeFor[penstock.Time]() {
			return "a time in RFC 3339, such as 2026-01-31T12:00:00Z"
		}
		return "an integer"
	case reflect.Float64:
		return "a number"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "a base64 string"
		}
		return "an array"
	case reflect.Struct, reflect.Map:
		return "an object"
	}
	return "a string"
}
