package trigger

import (
	"iter"
	"strconv"
)

// Value is a value of a [Document], for code that reads a payload without a filter. A value of an
// unexpected type is absent. The zero Value is absent, too.
type Value struct {
	document *Document
	index    uint32
}

// Root returns the whole body. unevaluable is the reason why it cannot be read: it is missing, or
// has too many values or levels. The reason contains nothing of the payload.
func (d *Document) Root() (root Value, unevaluable string) {
	switch {
	case d == nil:
		return Value{}, "the delivery has no payload"
	case d.unevaluable != "":
		return Value{}, d.unevaluable
	}
	return Value{document: d}, ""
}

// is reports whether v is a value of a kind: '{', '[', '"', '0', 't', 'f' or 'n'.
func (v Value) is(kind byte) bool { return v.document != nil && v.document.kind(v.index) == kind }

// Exists reports whether v exists. A null exists.
func (v Value) Exists() bool { return v.document != nil }

// IsObject reports whether v is an object.
func (v Value) IsObject() bool { return v.is('{') }

// IsArray reports whether v is an array.
func (v Value) IsArray() bool { return v.is('[') }

// IsNull reports whether v is null.
func (v Value) IsNull() bool { return v.is('n') }

// IsTrue reports whether v is true.
func (v Value) IsTrue() bool { return v.is('t') }

// Ambiguous reports whether v is an object with duplicate keys, which parsers read differently.
func (v Value) Ambiguous() bool { return v.is('{') && v.document.duplicates(v.index) }

// Member returns the first member of the object v with this name.
func (v Value) Member(name string) Value {
	if !v.is('{') {
		return Value{}
	}
	e := evaluator{Document: v.document}
	if i, found := e.find(v.index, name); found {
		return Value{v.document, i}
	}
	return Value{}
}

// At returns the value at a path of members.
func (v Value) At(path []string) Value {
	for _, name := range path {
		v = v.Member(name)
	}
	return v
}

// Scalar returns a string, number or boolean v as text, and "" for any other value.
func (v Value) Scalar() string {
	switch {
	case v.is('"'):
		return v.Prose()
	case v.is('0'), v.is('t'), v.is('f'):
		return string(v.document.raw(v.index))
	}
	return ""
}

// Elements yields the elements of the array v.
func (v Value) Elements() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if !v.is('[') {
			return
		}
		for i, end := v.index+1, v.document.after(v.index); i < end; i = v.document.after(i) {
			if !yield(Value{v.document, i}) {
				return
			}
		}
	}
}

// Text returns the string v, for comparison with other texts. It returns "" for a string with a
// lone surrogate, which equals nothing.
func (v Value) Text() string {
	if !v.is('"') || v.document.halved(v.index) {
		return ""
	}
	return v.Prose()
}

// Prose returns the string v, for finding words in it. Each lone surrogate becomes U+FFFD.
func (v Value) Prose() string {
	if !v.is('"') {
		return ""
	}
	var scratch []byte
	return string(v.document.text(v.index, &scratch))
}

// Int returns the number v if it is written as an integer of 64 bits, and otherwise 0.
func (v Value) Int() int64 {
	if !v.is('0') {
		return 0
	}
	n, err := strconv.ParseInt(string(v.document.raw(v.index)), 10, 64)
	if err != nil {
		return 0
	}
	return n
}
