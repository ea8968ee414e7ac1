package httpapi

import (
	"bytes"
	"encoding"
	"encoding/json"
	"reflect"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-dev/penstock"
)

// Bounds of the header X-Penstock-Ignored-Fields.
const (
	maxIgnored      = 20
	maxIgnoredBytes = 1 << 10
)

// unknownFields lists the JSON pointers of the members of body without a field in t, the type of
// the decoded value. It returns at most maxIgnored. body is valid JSON that fits t.
func unknownFields(body []byte, t reflect.Type) []string {
	w := unknownWalk{dec: jsontext.NewDecoder(bytes.NewReader(body))}
	w.value(t)
	return w.found
}

type unknownWalk struct {
	dec   *jsontext.Decoder
	found []string
}

// value reads one JSON value and compares it with t.
func (w *unknownWalk) value(t reflect.Type) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	switch {
	case decodesItself(t):
		_ = w.dec.SkipValue()
	case t == reflect.TypeFor[fileTree]() && w.dec.PeekKind() == '[':
		w.value(reflect.TypeFor[[]listedFile]())
	case t.Kind() == reflect.Struct && w.dec.PeekKind() == '{':
		w.object(t)
	case t.Kind() == reflect.Map && w.dec.PeekKind() == '{':
		_, _ = w.dec.ReadToken()
		for w.dec.PeekKind() == '"' {
			_, _ = w.dec.ReadToken()
			w.value(t.Elem())
		}
		_, _ = w.dec.ReadToken()
	case t.Kind() == reflect.Slice && w.dec.PeekKind() == '[':
		_, _ = w.dec.ReadToken()
		element := t.Elem()
		if t == reflect.TypeFor[penstock.SecretNames]() {
			element = reflect.TypeFor[penstock.NamedSecret]()
		}
		for k := w.dec.PeekKind(); k != ']' && k != jsontext.KindInvalid; k = w.dec.PeekKind() {
			w.value(element)
		}
		_, _ = w.dec.ReadToken()
	default:
		_ = w.dec.SkipValue()
	}
}

func (w *unknownWalk) object(t reflect.Type) {
	fields := fieldsOf(t)
	_, _ = w.dec.ReadToken()
	for w.dec.PeekKind() == '"' {
		name, err := w.dec.ReadToken()
		if err != nil {
			return
		}
		if field, known := fields[name.String()]; known {
			w.value(field)
			continue
		}
		pointer := string(w.dec.StackPointer())
		if n := len(w.found); n < maxIgnored || n < 2*maxIgnored && settingsOfForge().MatchString(pointer) {
			w.found = append(w.found, pointer)
		}
		_ = w.dec.SkipValue()
	}
	_, _ = w.dec.ReadToken()
}

func decodesItself(t reflect.Type) bool {
	p := reflect.PointerTo(t)
	return p.Implements(reflect.TypeFor[json.Unmarshaler]()) || p.Implements(reflect.TypeFor[encoding.TextUnmarshaler]())
}

var fieldCache sync.Map // reflect.Type of a struct to map[string]reflect.Type

// fieldsOf maps the JSON names of a struct's fields to their types.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	cached, _ := fieldCache.Load(t)
	if fields, ok := cached.(map[string]reflect.Type); ok {
		return fields
	}
	fields := make(map[string]reflect.Type, t.NumField())
	for _, f := range reflect.VisibleFields(t) { // including the fields of embedded structs
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if f.IsExported() && name != "" && name != "-" {
			fields[name] = f.Type
		}
	}
	fieldCache.Store(t, fields)
	return fields
}

// ignoredHeader writes the pointers that fit as a header value. It percent-encodes everything that
// is not printable ASCII, as in the URI fragment form of a pointer (RFC 6901 §6).
func ignoredHeader(pointers []string) string {
	var b strings.Builder
	for _, p := range pointers {
		encoded := encodePointer(p)
		if b.Len()+len(encoded) > maxIgnoredBytes {
			break
		}
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		b.WriteString(encoded)
	}
	return b.String()
}

func encodePointer(p string) string {
	const hex = "0123456789ABCDEF"
	var b strings.Builder
	for i := range len(p) {
		if c := p[i]; c > ' ' && c < 0x7f && c != ',' && c != '%' {
			b.WriteByte(c)
		} else {
			b.Write([]byte{'%', hex[c>>4], hex[c&15]})
		}
	}
	return b.String()
}
