package filter

import (
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-dev/penstock"
)

// What a payload may be at most to be evaluated.
const (
	maxNodes  = 50_000
	maxNested = 256
)

// maxDepth is how deep a payload may be nested to be JSON at all. It is the
// parser's own limit.
const maxDepth = 10_000

// Document is a delivery's body that was parsed, for any number of filters and
// goroutines. It reads the body where it lies: the body must not be changed
// while the document is in use. Beside the body it holds at most 800 KB, for
// 50,000 values; where many large bodies come at once, let a few be parsed and
// matched at a time.
type Document struct {
	body        []byte
	nodes       []node
	unevaluable string // why no filter can be evaluated, "" if they can
}

// node is a value or the name of a member, which comes right before its value.
// Nodes are in the order of the text, those inside of an array or object behind
// it. Each field has flags above its offset or index.
type node struct {
	start uint32 // offset of its first byte; escaped, halved
	// end is the offset behind its last byte; of an array or object instead the
	// index of the node behind those inside; container, duplicated.
	end uint32
}

const (
	escaped    = 1 << 31 // a name or string with a backslash
	halved     = 1 << 30 // and one with half of a surrogate pair
	container  = 1 << 30 // an array or object
	duplicated = 1 << 31 // an object with equal keys
	position   = 1<<30 - 1
)

// ParseDocument parses a delivery's body, which must be one JSON value in UTF-8:
// nothing before and behind it but white space, no byte order mark, not deeper
// than 10,000 levels. What is not is an invalid_request error that repeats nothing
// of the body.
//
// A name or string with an escape of half a surrogate pair ("\ud800") is valid
// JSON, and no text: it equals nothing.
//
// Duplicate keys, more than 50,000 values and more than 256 levels are no
// errors, but filters that would have to look at them do not match.
func ParseDocument(body []byte) (*Document, error) {
	d, err := parse(body, maxNodes, maxNested)
	if err != nil {
		return nil, notJSON(err)
	}
	return d, nil
}

// Validate returns the error of [ParseDocument], for a body that no filter will
// look at.
func Validate(body []byte) error {
	if !utf8.Valid(body) {
		return notJSON(notUTF8(body))
	}
	p := newParser(body)
	if err := p.skip(); err != nil {
		return notJSON(err)
	}
	return nil
}

func notJSON(err error) error {
	return penstock.Errorf(penstock.CodeInvalidRequest, "the body is not one JSON value in UTF-8: %s", err)
}

// kind is the first character of the value: '{', '[', '"', 'n', 't', 'f', and
// '0' for every number.
func (d *Document) kind(i uint32) byte {
	c := d.body[d.nodes[i].start&position]
	if c == '-' || c >= '0' && c <= '9' {
		return '0'
	}
	return c
}

// after is the index behind the value and all that is inside of it.
func (d *Document) after(i uint32) uint32 {
	if end := d.nodes[i].end; end&container != 0 {
		return end & position
	}
	return i + 1
}

// raw is the text of a name or of a value that is no array or object.
func (d *Document) raw(i uint32) []byte {
	return d.body[d.nodes[i].start&position : d.nodes[i].end]
}

// text is what a name or a string stands for: the body itself, or else in the
// scratch.
func (d *Document) text(i uint32, scratch *[]byte) []byte {
	quoted := d.raw(i)
	if d.nodes[i].start&escaped == 0 {
		return quoted[1 : len(quoted)-1]
	}
	// The parser took the string: this fails for half pairs alone, which become U+FFFD.
	*scratch, _ = jsontext.AppendUnquote((*scratch)[:0], quoted)
	return *scratch
}

// halved reports whether a name or string has half of a surrogate pair.
func (d *Document) halved(i uint32) bool { return d.nodes[i].start&halved != 0 }

// isText compares a name with a text, which escapes make up to six times longer.
func (d *Document) isText(i uint32, text string, scratch *[]byte) bool {
	n := d.nodes[i]
	if n.start&halved != 0 {
		return false
	}
	length := int(n.end - n.start&position - 2)
	if n.start&escaped == 0 {
		return length == len(text) && string(d.raw(i)[1:1+length]) == text
	}
	return length <= 6*len(text) && string(d.text(i, scratch)) == text
}

// duplicates reports whether an object has a key more than once.
func (d *Document) duplicates(object uint32) bool { return d.nodes[object].end&duplicated != 0 }
