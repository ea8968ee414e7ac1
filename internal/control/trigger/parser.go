package trigger

import (
	"bytes"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"math/bits"
	"slices"
	"strconv"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// parser holds the memory for parsing.
type parser struct {
	decoder *jsontext.Decoder
	body    []byte
	nodes   []node
	open    []unfinished // arrays and objects that have not ended
	table   []uint32     // of names, for duplicate
	scratch [2][]byte
}

// unfinished is an array or object whose end has not been read yet.
type unfinished struct {
	node   uint32
	names  int  // of an object: names so far
	object bool // otherwise an array
}

var (
	seed = maphash.MakeSeed()
	// RFC 8259 allows duplicate names and lone surrogates. The option for these also accepts
	// invalid UTF-8, so that is checked first.
	equalNames = jsontext.AllowDuplicateNames(true)
	halfPairs  = jsontext.AllowInvalidUTF8(true)
)

func newParser(body []byte) *parser {
	// The decoder does not copy a bytes.Buffer. It reads token by token without recursion, so deep
	// nesting needs no stack.
	return &parser{decoder: jsontext.NewDecoder(bytes.NewBuffer(body), equalNames, halfPairs), body: body}
}

// parseBody reads one JSON value. Its errors describe what is wrong with the text.
func parseBody(text []byte, values, levels int) (*Document, error) {
	if !utf8.Valid(text) {
		return nil, notUTF8(text)
	}
	p := newParser(text)
	unevaluable, err := p.index(values, levels)
	if err != nil {
		return nil, err
	}
	if unevaluable != "" {
		return &Document{unevaluable: unevaluable}, p.skip()
	}
	return &Document{body: text, nodes: p.nodes}, p.end()
}

// notUTF8 returns the first error of a text that is not valid UTF-8.
func notUTF8(text []byte) error {
	at := 0
	for {
		r, size := utf8.DecodeRune(text[at:])
		if r == utf8.RuneError && size <= 1 {
			break
		}
		at += size
	}
	p := newParser(text[:at])
	if err := p.skip(); err != nil && !errors.Is(err, errEmpty) && !errors.Is(err, errCut) {
		return err
	}
	return fmt.Errorf("invalid UTF-8 at byte %d", at)
}

// index reads one value and records its nodes. If there are too many, it stops and returns the
// reason.
func (p *parser) index(values, levels int) (unevaluable string, err error) {
	if len(p.body) > position {
		return "the body is too long", nil
	}
	count, end := 0, 0
	name := false // the next string is a member's name
	for {
		token, err := p.decoder.ReadToken()
		if err != nil {
			return "", p.explain(err)
		}
		start := end
		for isBetween(p.body[start]) {
			start++
		}
		end = int(p.decoder.InputOffset())
		switch kind := token.Kind(); {
		case kind == '}' || kind == ']':
			p.close()
		case name:
			p.open[len(p.open)-1].names++
			p.add(start, end)
			name = false
			continue
		case count == values:
			return fmt.Sprintf("the body has more than %d values", values), nil
		case kind != '{' && kind != '[':
			count++
			p.add(start, end)
		case len(p.open) == levels:
			return fmt.Sprintf("the body is nested deeper than %d levels", levels), nil
		default:
			count++
			p.open = append(p.open, unfinished{node: p.add(start, end), object: kind == '{'})
		}
		if len(p.open) == 0 {
			return "", nil
		}
		name = p.open[len(p.open)-1].object
	}
}

// isBetween reports whether c is a character between tokens.
func isBetween(c byte) bool {
	switch c {
	case ' ', '\t', '\r', '\n', ',', ':':
		return true
	}
	return false
}

// add records a node and returns its index.
func (p *parser) add(start, end int) uint32 {
	n := node{uint32(start), uint32(end)} //nolint:gosec // index checks the length of the body
	if p.body[start] == '"' && bytes.IndexByte(p.body[start:end], '\\') >= 0 {
		n.start |= escaped
		if hasHalfPair(p.body[start:end]) {
			n.start |= halved
		}
	}
	p.nodes = append(p.nodes, n)
	return uint32(len(p.nodes) - 1) //nolint:gosec // fewer than bytes
}

// hasHalfPair reports whether a valid JSON string has an escaped lone surrogate (RFC 8259 §8.2).
func hasHalfPair(quoted []byte) bool {
	for rest := quoted; ; {
		at := bytes.IndexByte(rest, '\\')
		if at < 0 {
			return false
		}
		if rest = rest[at+1:]; rest[0] != 'u' {
			rest = rest[1:]
			continue
		}
		unit := codeUnit(rest[1:])
		rest = rest[5:]
		if !utf16.IsSurrogate(unit) {
			continue
		}
		if !bytes.HasPrefix(rest, []byte(`\u`)) || utf16.DecodeRune(unit, codeUnit(rest[2:])) == utf8.RuneError {
			return true
		}
		rest = rest[6:]
	}
}

// codeUnit returns the number of four hex digits.
func codeUnit(digits []byte) rune {
	n, _ := strconv.ParseUint(string(digits[:4]), 16, 16) // the parser has accepted them
	return rune(n)
}

// close ends the innermost array or object.
func (p *parser) close() {
	c := p.open[len(p.open)-1]
	p.open = p.open[:len(p.open)-1]
	end := uint32(len(p.nodes)) //nolint:gosec // fewer than bytes
	p.nodes[c.node].end = end | container
	if c.names > 1 && p.duplicate(c, end) {
		p.nodes[c.node].end |= duplicated
	}
}

// duplicate reports whether two names of an object are the same key. Its time is linear in their
// length: it uses a hash table with a hash that no sender can predict. All lone surrogates count as
// equal, because some parsers read each of them as U+FFFD.
func (p *parser) duplicate(c unfinished, end uint32) bool {
	d := Document{body: p.body, nodes: p.nodes}
	size := 1 << bits.Len(uint(2*c.names))
	p.table = slices.Grow(p.table[:0], size)[:size]
	clear(p.table)
	for name := c.node + 1; name < end; name = d.after(name + 1) {
		text := d.text(name, &p.scratch[0])
		slot := int(maphash.Bytes(seed, text) & uint64(size-1)) //nolint:gosec // below size
		for p.table[slot] != 0 {                                // 0 is the root, which is never a name
			if bytes.Equal(d.text(p.table[slot], &p.scratch[1]), text) {
				return true
			}
			slot = (slot + 1) & (size - 1)
		}
		p.table[slot] = name
	}
	return false
}

// skip reads on to the end of the text.
func (p *parser) skip() error {
	if p.decoder.StackDepth() == 0 {
		if err := p.decoder.SkipValue(); err != nil {
			return p.explain(err)
		}
	}
	for p.decoder.StackDepth() > 0 {
		if _, err := p.decoder.ReadToken(); err != nil {
			return p.explain(err)
		}
	}
	return p.end()
}

// end makes sure that nothing follows.
func (p *parser) end() error {
	behind := p.decoder.InputOffset()
	if _, err := p.decoder.ReadToken(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("more than one value, or something behind it, at byte %d", behind)
	}
	return nil
}

var (
	errEmpty = errors.New("it is empty")
	errCut   = errors.New("the value is incomplete")
)

// explain describes what is wrong with the text, without repeating it.
func (p *parser) explain(err error) error {
	if errors.Is(err, io.EOF) {
		return errEmpty
	}
	if bytes.HasPrefix(p.body, []byte("\uFEFF")) {
		return errors.New("it must not begin with a byte order mark")
	}
	at := p.decoder.InputOffset()
	if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		at = syntactic.ByteOffset
	}
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return errCut
	case p.decoder.StackDepth() == maxDepth && int(at) < len(p.body) && (p.body[at] == '[' || p.body[at] == '{'):
		return fmt.Errorf("it is nested deeper than %d levels", maxDepth)
	default:
		return fmt.Errorf("syntax error at byte %d", at)
	}
}
