package trigger

import (
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-dev/penstock"
)

// Limits of a payload that filters can evaluate.
const (
	maxNodes  = 50_000
	maxNested = 256
)

// maxDepth is the maximum nesting of a payload. It is the limit of the parser.
const maxDepth = 10_000

// Document is the parsed body of a delivery. Any number of filters and goroutines can use it. It
// refers to the body, so do not modify the body while the document is in use. In addition to the
// body, it uses at most 800 KB, for 50,000 values, so limit how many large bodies are parsed and
// matched at a time.
type Document struct {
	body        []byte
	nodes       []node
	unevaluable string // why no filter can be evaluated, "" if they can
}

// node is a value, or the name of a member, which comes right before its value. Nodes are in the
// order of the text, so those in an array or object come after it. Each field has flags above its
// offset or index.
type node struct {
	start uint32 // offset of its first byte; escaped, halved
	// end is the offset after its last byte, with the flags container and duplicated. For an array
	// or object, it is the index of the first node after those inside.
	end uint32
}

const (
	escaped    = 1 << 31 // a name or string with a backslash
	halved     = 1 << 30 // a name or string with a lone surrogate
	container  = 1 << 30 // an array or object
	duplicated = 1 << 31 // an object with duplicate keys
	position   = 1<<30 - 1
)

// ParseDocument parses a delivery's body. It must be one JSON value in UTF-8, without a byte order
// mark, with at most 10,000 levels. Only white space may be around it. Any other body is an
// invalid_request error that contains nothing of the body.
//
// A name or string with a lone surrogate ("\ud800") is valid JSON but not text, so it equals
// nothing.
//
// Duplicate keys, more than 50,000 values and more than 256 levels are not errors, but filters that
// need to read them do not match.
func ParseDocument(body []byte) (*Document, error) {
	d, err := parseBody(body, maxNodes, maxNested)
	if err != nil {
		return nil, notJSON(err)
	}
	return d, nil
}

// ValidateBody returns the error of [ParseDocument], for a body that no filter reads.
func ValidateBody(body []byte) error {
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
	return penstock.Errorf(penstock.CodeInvalidRequest, "the body is not valid JSON in UTF-8: %s", err)
}

// kind returns the first character of the value: '{', '[', '"', 'n', 't', 'f', or '0' for every
// number.
func (d *Document) kind(i uint32) byte {
	c := d.body[d.nodes[i].start&position]
	if c == '-' || c >= '0' && c <= '9' {
		return '0'
	}
	return c
}

// after returns the index after the value and everything inside of it.
func (d *Document) after(i uint32) uint32 {
	if end := d.nodes[i].end; end&container != 0 {
		return end & position
	}
	return i + 1
}

// raw returns the text of a name, or of a value that is not an array or object.
func (d *Document) raw(i uint32) []byte {
	return d.body[d.nodes[i].start&position : d.nodes[i].end]
}

// text returns the unescaped name or string. The result is in the body or in scratch.
func (d *Document) text(i uint32, scratch *[]byte) []byte {
	quoted := d.raw(i)
	if d.nodes[i].start&escaped == 0 {
		return quoted[1 : len(quoted)-1]
	}
	// The parser accepted the string, so this fails only for lone surrogates, which become U+FFFD.
	*scratch, _ = jsontext.AppendUnquote((*scratch)[:0], quoted)
	return *scratch
}

// halved reports whether a name or string has a lone surrogate.
func (d *Document) halved(i uint32) bool { return d.nodes[i].start&halved != 0 }

// isText compares a name with a text. With escapes, the name may be six times longer than the text.
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
