package filter

import (
	"iter"
	"strconv"
)

// Value is a value of a [Document], for those who read more of a payload than
// conditions. What the payload has in another form than its reader expects is
// absent, as is the zero Value: nothing can be read of it.
type Value struct {
	document *Document
	index    uint32
}

// Root is the body as a whole. unevaluable says, in words that hold nothing of
// the payload, why nothing of it is to be read: there is none, or it has too many
// values or levels.
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

// Exists reports whether v is there; null is.
func (v Value) Exists() bool { return v.document != nil }

// IsObject reports whether v is an object.
func (v Value) IsObject() bool { return v.is('{') }

// IsTrue reports whether v is true.
func (v Value) IsTrue() bool { return v.is('t') }

// Ambiguous reports whether v is an object with equal keys, so that parsers
// differ about what it says.
func (v Value) Ambiguous() bool { return v.is('{') && v.document.duplicates(v.index) }

// Member is the member of the object v with this name, the first of several.
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

// Text is what the string v stands for, to be compared with other texts: "" where
// it has half of a surrogate pair, since that equals nothing.
func (v Value) Text() string {
	if !v.is('"') || v.document.halved(v.index) {
		return ""
	}
	return v.Prose()
}

// Prose is what the string v says to a reader, to look for words in it: U+FFFD
// stands for each half of a surrogate pair.
func (v Value) Prose() string {
	if !v.is('"') {
		return ""
	}
	var scratch []byte
	return string(v.document.text(v.index, &scratch))
}

// Int is the number v if it is written as a whole one of 64 bits, else 0.
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
