package gateway

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth bounds the nesting of a request.
const maxDepth = 500

// node is a JSON value of a request with its place in the body. Strings are decoded on
// demand: most of a body is text that nothing here looks at.
type node struct {
	kind       jsontext.Kind
	start, end int
	raw        []byte
	members    []member // of an object
	items      []node   // of an array
}

type member struct {
	name  string
	value node
}

// parse reads a body as strictly as any provider does, so that nothing that is checked can
// be read in another way: one value, no name twice in an object (RFC 8259 leaves open which
// one counts), no names with control or replacement characters.
func parse(body []byte, foldCase bool) (node, error) {
	d := jsontext.NewDecoder(bytes.NewBuffer(body), jsontext.AllowInvalidUTF8(true))
	p := parser{body: body, d: d, fold: foldCase}
	root, err := p.value(0)
	if err != nil {
		return node{}, err
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return node{}, errors.New("something follows the JSON value")
	}
	return root, nil
}

type parser struct {
	body []byte
	d    *jsontext.Decoder
	fold bool // Google's two spellings of each name are one
}

func (p *parser) value(depth int) (node, error) {
	if depth > maxDepth {
		return node{}, fmt.Errorf("it is nested more than %d deep", maxDepth)
	}
	kind := p.d.PeekKind()
	switch kind {
	case jsontext.KindBeginObject, jsontext.KindBeginArray:
	default:
		raw, err := p.d.ReadValue()
		if err != nil {
			return node{}, err
		}
		end := int(p.d.InputOffset())
		return node{kind: kind, start: end - len(raw), end: end, raw: p.body[end-len(raw) : end]}, nil
	}
	if _, err := p.d.ReadToken(); err != nil {
		return node{}, err
	}
	n := node{kind: kind, start: int(p.d.InputOffset()) - 1}
	var err error
	if kind == jsontext.KindBeginObject {
		err = p.object(&n, depth)
	} else {
		for err == nil && p.d.PeekKind() != jsontext.KindEndArray {
			var item node
			item, err = p.value(depth + 1)
			n.items = append(n.items, item)
		}
	}
	if err != nil {
		return node{}, err
	}
	_, err = p.d.ReadToken()
	n.end = int(p.d.InputOffset())
	return n, err
}

func (p *parser) object(n *node, depth int) error {
	for p.d.PeekKind() != jsontext.KindEndObject {
		token, err := p.d.ReadToken()
		if err != nil {
			return err
		}
		name := token.String()
		if strings.ContainsFunc(name, func(r rune) bool { return unicode.IsControl(r) || r == utf8.RuneError }) {
			return errors.New("the name of a field has a control character or is not Unicode")
		}
		if p.fold {
			name = camelCase(name)
			if n.member(name) != nil {
				return fmt.Errorf("the field %.60q is there twice", name)
			}
		}
		value, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		n.members = append(n.members, member{name, value})
	}
	return nil
}

// camelCase is how Google's APIs read a name: file_uri and fileUri are the same field
// (ProtoJSON).
func camelCase(name string) string {
	if !strings.Contains(name, "_") {
		return name
	}
	var b strings.Builder
	up := false
	for _, r := range name {
		switch {
		case r == '_':
			up = true
			continue
		case up:
			r = unicode.ToUpper(r)
		}
		up = false
		b.WriteRune(r)
	}
	return b.String()
}

// member returns the value of a name, nil if the object does not have it.
func (n *node) member(name string) *node {
	for i := range n.members {
		if n.members[i].name == name {
			return &n.members[i].value
		}
	}
	return nil
}

func (n *node) isObject() bool { return n != nil && n.kind == jsontext.KindBeginObject }
func (n *node) isArray() bool  { return n != nil && n.kind == jsontext.KindBeginArray }
func (n *node) isString() bool { return n != nil && n.kind == jsontext.KindString }

// isSet reports whether n is there and says something: not null, false, "" or empty.
func (n *node) isSet() bool {
	if n == nil {
		return false
	}
	switch n.kind {
	case jsontext.KindNull, jsontext.KindFalse:
		return false
	case jsontext.KindString:
		return len(n.raw) > len(`""`)
	case jsontext.KindBeginObject:
		return len(n.members) > 0
	case jsontext.KindBeginArray:
		return len(n.items) > 0
	}
	return true
}

// isOn reports whether n can turn something on: it is set, or an object without fields, which turns on a tool
// with its usual settings.
func (n *node) isOn() bool { return n.isSet() || n.isObject() }

func (n *node) isTrue() bool { return n != nil && n.kind == jsontext.KindTrue }

// text is the string that n holds, "" for other kinds.
func (n *node) text() string {
	if !n.isString() {
		return ""
	}
	if inner := n.raw[1 : len(n.raw)-1]; bytes.IndexByte(inner, '\\') < 0 {
		return string(inner)
	}
	decoded, _ := jsontext.AppendUnquote(nil, n.raw) // lone surrogates become U+FFFD
	return string(decoded)
}
