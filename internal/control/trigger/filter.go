package trigger

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/penstock-dev/penstock"
)

// Limits of a filter.
const (
	maxText     = 16 << 10 // bytes of the whole filter, as received
	maxLevels   = 10       // nested keys
	maxLeaves   = 64
	maxValues   = 32   // in one set
	maxString   = 1024 // bytes of a string, decoded
	maxKey      = 256  // bytes of a key, decoded
	maxFindings = 32   // reported at once
)

// Filter is a condition on payloads. nil and {} are filters without a condition. A Filter is
// immutable and safe for concurrent use.
type Filter struct {
	fields []field
}

// field is one key of a filter with the condition on its value: nested fields, or a leaf.
type field struct {
	key     string
	pointer string  // from the root of the payload, ignoring its arrays
	below   []field // empty for a leaf
	leaf    leaf
}

// leaf is a condition on a value. All its parts must hold.
type leaf struct {
	in, notIn []scalar // empty: no condition
	exists    presence
}

type presence byte

const (
	anyPresence presence = iota
	present
	absent
)

// scalar is a value other than an array or object, in canonical form.
type scalar struct {
	kind byte   // '"', '0' for any number, 'n', 't', 'f'
	text string // of a string, its code points; of a number, the result of appendNumber
}

// MatchesAll reports whether f has no condition, so that it matches every
// payload and needs no [Document].
func (f *Filter) MatchesAll() bool { return f == nil || len(f.fields) == 0 }

// ParseFilter reads a filter from JSON. An invalid filter is an invalid_request error with up to 32
// findings. Their JSON pointers (RFC 6901) start at the filter's root.
func ParseFilter(text []byte) (*Filter, error) {
	if len(text) > maxText {
		return nil, penstock.Invalid("", "filter has %d bytes; at most %d (16 KB) are allowed", len(text), maxText)
	}
	// A text of 16 KB can never reach the limits of a payload.
	document, err := parseBody(text, maxText, maxDepth)
	if err != nil {
		return nil, penstock.Invalid("", "filter is not valid JSON: %s", err)
	}
	c := compiler{document: document}
	fields := c.root()
	if c.leaves > maxLeaves {
		c.badf("", "filter has %d leaves; at most %d are allowed", c.leaves, maxLeaves)
	}
	if c.findings != nil {
		return nil, penstock.InvalidFields(c.findings...)
	}
	return &Filter{fields}, nil
}

// compiler builds a filter from its text and collects its errors.
type compiler struct {
	document *Document
	leaves   int
	findings []penstock.FieldError
}

func (c *compiler) badf(pointer, format string, args ...any) {
	if len(c.findings) < maxFindings {
		c.findings = append(c.findings, penstock.FieldError{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
	}
}

// text returns an unescaped name or string of the filter.
func (c *compiler) text(i uint32) string {
	var scratch []byte
	return string(c.document.text(i, &scratch))
}

// member is one key of an object of the filter.
type member struct {
	key     string
	pointer string
	value   uint32
}

// members reads an object's keys and rejects duplicates.
func (c *compiler) members(object uint32, pointer string) []member {
	var all []member
	seen := map[string]bool{}
	for name, end := object+1, c.document.after(object); name < end; name = c.document.after(name + 1) {
		key := c.text(name)
		m := member{key, pointer + "/" + penstock.EscapePointer(key), name + 1}
		if c.document.halved(name) {
			c.badf(m.pointer, "key has half of a surrogate pair, which matches no key; write the whole character")
		}
		if seen[key] {
			c.badf(m.pointer, "duplicate key; each key may occur only once")
			continue
		}
		seen[key] = true
		all = append(all, m)
	}
	return all
}

// operator reports whether the member is an operator. A reserved key with an object as its value is
// a field of the payload with this name.
func (c *compiler) operator(m member) bool {
	switch m.key {
	case "in", "not_in", "exists":
		return c.document.kind(m.value) != '{'
	}
	return false
}

func (c *compiler) root() []field {
	if c.document.kind(0) != '{' {
		c.badf("", "filter must be an object")
		return nil
	}
	members := c.members(0, "")
	fields := slices.DeleteFunc(slices.Clone(members), c.operator)
	for _, m := range members {
		if c.operator(m) {
			c.badf(m.pointer, `operator at the root; put it below a key of the payload: {"type": {%q: …}}`, m.key)
		}
	}
	return c.fields(fields, 1)
}

// fields builds the fields of an object's members. level is their level.
func (c *compiler) fields(members []member, level int) []field {
	var fields []field
	for _, m := range members {
		switch {
		case level > maxLevels:
			c.badf(m.pointer, "deeper than %d levels of keys", maxLevels)
		case len(m.key) > maxKey:
			c.badf(m.pointer, "key has %d bytes; at most %d are allowed", len(m.key), maxKey)
		default:
			fields = append(fields, c.field(m, level))
		}
	}
	return fields
}

func (c *compiler) field(m member, level int) field {
	f := field{key: m.key, pointer: m.pointer}
	switch c.document.kind(m.value) {
	case '[':
		c.leaves++
		f.leaf.in = c.set(m.value, m.pointer, "never matches")
	case '{':
		members := c.members(m.value, m.pointer)
		switch {
		case len(members) == 0:
			c.badf(m.pointer, `empty nested object; name a key in it, or write {"exists": true}`)
		case slices.ContainsFunc(members, c.operator):
			c.leaves++
			f.leaf = c.operators(members, m.pointer)
		default:
			f.below = c.fields(members, level+1)
		}
	default:
		const allowed = `write [value], an operator object such as {"not_in": [value]}, or a nested object`
		text := "bare scalar; " + allowed
		if strings.HasPrefix(m.key, "$") {
			text = fmt.Sprintf("%[1]s is not an operator; the operators are in, not_in and exists. If %[1]s is a key "+
				"of the payload, its value in the filter cannot be a bare scalar: ", m.key) + allowed
		}
		c.badf(m.pointer, "%s", text)
	}
	return f
}

// operators builds the leaf of an operator object.
func (c *compiler) operators(members []member, pointer string) leaf {
	var l leaf
	for _, m := range members {
		kind := c.document.kind(m.value)
		switch {
		case !c.operator(m):
			c.badf(
				m.pointer,
				"object mixes payload keys and operators; use either keys or the operators in, not_in and exists",
			)
		case m.key == "exists" && kind != 't' && kind != 'f':
			c.badf(m.pointer, "must be true or false")
		case m.key == "exists" && kind == 't':
			l.exists = present
		case m.key == "exists":
			l.exists = absent
		case kind != '[':
			c.badf(m.pointer, "must be an array of 1 to %d values", maxValues)
		case m.key == "in":
			l.in = c.set(m.value, m.pointer, "never matches")
		default:
			l.notIn = c.set(m.value, m.pointer, "excludes nothing")
		}
	}
	if l.exists == absent && len(l.in) > 0 {
		c.badf(pointer, `"exists": false and "in" exclude each other; use one of them`)
	}
	if slices.ContainsFunc(l.notIn, func(s scalar) bool { return slices.Contains(l.in, s) }) {
		c.badf(pointer, "value in both in and not_in; use one of them")
	}
	return l
}

// set reads the values of an array, up to the limit. empty is the error of an empty array.
func (c *compiler) set(array uint32, pointer, empty string) []scalar {
	var set []scalar
	for i, end := array+1, c.document.after(array); i < end; i = c.document.after(i) {
		s := scalar{kind: c.document.kind(i)}
		here := func() string { return pointer + "/" + strconv.Itoa(len(set)) }
		switch s.kind {
		case '[', '{':
			c.badf(here(), "array holds an object or array; only strings, numbers, booleans and null are allowed")
		case '"':
			if c.document.halved(i) {
				c.badf(here(), "string has half of a surrogate pair, which matches nothing; write the whole character")
			}
			if s.text = c.text(i); len(s.text) > maxString {
				c.badf(here(), "string has %d bytes; at most %d (1 KB) are allowed", len(s.text), maxString)
			}
		case '0':
			s.text = string(appendNumber(nil, c.document.raw(i)))
		}
		set = append(set, s)
	}
	switch {
	case len(set) == 0:
		c.badf(pointer, "empty array %s; give 1 to %d values", empty, maxValues)
	case len(set) > maxValues:
		c.badf(pointer, "more than %d values: %d", maxValues, len(set))
		set = set[:maxValues]
	}
	return set
}

// has reports whether set contains the scalar.
func has(set []scalar, kind byte, text []byte) bool {
	for i := range set {
		if set[i].kind == kind && set[i].text == string(text) {
			return true
		}
	}
	return false
}
