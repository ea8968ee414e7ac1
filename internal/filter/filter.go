// Package filter decides whether the payload of a webhook delivery is what an automation waits for. A
// filter is JSON that names fields of the payload and the values that they may have; it is parsed once,
// when it is saved, and refused there with everything that is wrong with it. A delivery's body is parsed
// once, by the parser that also decides whether it is JSON at all, and evaluated by any number of filters.
//
// Payloads are hostile: they are read where they lie, nothing of them is ever repeated in a reason, and
// what would take much memory or has two readings (equal keys) does not match. The rules are those of the
// contract's section on payload filters.
package filter

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/penstock-dev/penstock"
)

// What a filter may be at most.
const (
	maxText     = 16 << 10 // bytes in all, as they are given
	maxLevels   = 10       // keys below one another
	maxLeaves   = 64
	maxValues   = 32   // in one set
	maxString   = 1024 // bytes of a string, decoded
	maxKey      = 256  // bytes of a key, decoded
	maxFindings = 32   // that are reported at once
)

// Filter is a condition on payloads; nil and the filter {} have none. It does
// not change and may be used by several goroutines at once.
type Filter struct {
	fields []field
}

// field is one key of a filter with what its value must be: a pattern below it,
// or a leaf.
type field struct {
	key     string
	pointer string  // from the root of the payload, whose arrays take no part in it
	below   []field // empty for a leaf
	leaf    leaf
}

// leaf is what a value must be; all that it says must hold.
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

// scalar is a value other than an array or object, in the one form that equal
// values share.
type scalar struct {
	kind byte   // '"', '0' for any number, 'n', 't', 'f'
	text string // of a string its code points, of a number what appendNumber makes of it
}

// MatchesAll reports whether f has no condition, so that it matches every
// payload and needs no [Document].
func (f *Filter) MatchesAll() bool { return f == nil || len(f.fields) == 0 }

// Parse reads a filter from JSON. What is wrong with it comes as an
// invalid_request error with a finding for each place, up to 32 of them, by JSON
// pointers (RFC 6901) from the filter's root.
func Parse(text []byte) (*Filter, error) {
	if len(text) > maxText {
		return nil, penstock.Invalid("", "filter has %d bytes; at most %d (16 KB) are allowed", len(text), maxText)
	}
	// Neither limit of a payload is ever what refuses a text of 16 KB.
	document, err := parse(text, maxText, maxDepth)
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

// compiler makes a filter of its text and gathers what is wrong with it.
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

// text is what a name or string of the filter stands for.
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

// members reads an object's keys and refuses those that are there twice.
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

// operator reports whether the member is an operator. A reserved key that holds
// an object is a field of the payload that has this name.
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

// fields makes the pattern of an object's members, which are keys on the given
// level.
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
		c.badf(m.pointer, `bare scalar; write [value], an operator object such as {"not_in": [value]}, or a nested object`)
	}
	return f
}

// operators makes the leaf of an operator object.
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

// set reads the values of an array, as many as are allowed; empty says what is
// wrong with one that has none.
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

// has reports whether set holds the scalar.
func has(set []scalar, kind byte, text []byte) bool {
	for i := range set {
		if set[i].kind == kind && set[i].text == string(text) {
			return true
		}
	}
	return false
}
