package secret

import (
	"bytes"
	"io"
	"slices"
	"sort"
	"strings"
)

// Masked replaces a secret value in recorded data.
const Masked = "***"

// minMasked is the length from which a value is masked: shorter values occur by chance in every
// text.
const minMasked = 4

// Masker replaces known secret values in text, including their base64, percent-encoded, hexadecimal
// and JSON string forms. It is immutable and safe for concurrent use. The zero Masker masks
// nothing.
//
// It is an Aho-Corasick automaton, which needs one pass over the text for any number of values. At
// every point, it knows how much of the last text may be the beginning of a value. A stream must
// hold this back.
type Masker struct {
	nodes []node // 0 is the root; empty: nothing to mask
}

type node struct {
	edges []edge // sorted by char
	fail  int32  // the node of the longest proper suffix that is the beginning of a value
	depth int32
	match int32 // length of the longest value that ends here, 0 for none
	hold  int32 // how many of the last characters may be the beginning of a longer value
}

type edge struct {
	char byte
	to   int32
}

// NewMasker makes a masker of values. It ignores values shorter than four bytes. Each line of a
// multi-line value also counts separately, because a PEM key is often printed line by line.
func NewMasker(values ...string) *Masker {
	m := &Masker{}
	for _, v := range values {
		v = strings.TrimSpace(v)
		m.add(v)
		lines := strings.FieldsFunc(v, func(r rune) bool { return r == '\n' || r == '\r' })
		for _, line := range lines {
			if len(lines) > 1 && len(line) >= 2*minMasked {
				m.add(line)
			}
		}
	}
	m.link()
	return m
}

// add adds a value in all its printed forms.
func (m *Masker) add(value string) {
	if len(value) < minMasked {
		return
	}
	for _, form := range Forms(value) {
		m.insert(form)
	}
}

func (m *Masker) insert(word string) {
	if len(m.nodes) == 0 {
		m.nodes = append(m.nodes, node{})
	}
	at := int32(0)
	for i := range len(word) {
		next, found := m.child(at, word[i])
		if !found {
			next = int32(len(m.nodes)) //nolint:gosec // values are of kilobytes, not gigabytes
			m.nodes = append(m.nodes, node{depth: m.nodes[at].depth + 1})
			edges := m.nodes[at].edges
			where := sort.Search(len(edges), func(k int) bool { return edges[k].char >= word[i] })
			m.nodes[at].edges = slices.Insert(edges, where, edge{word[i], next})
		}
		at = next
	}
	m.nodes[at].match = m.nodes[at].depth
}

func (m *Masker) child(at int32, char byte) (int32, bool) {
	edges := m.nodes[at].edges
	if len(edges) == 1 { // nearly all nodes
		return edges[0].to, edges[0].char == char
	}
	i := sort.Search(len(edges), func(k int) bool { return edges[k].char >= char })
	if i < len(edges) && edges[i].char == char {
		return edges[i].to, true
	}
	return 0, false
}

// link sets the node to continue from if a node has no edge for the next character. It works
// breadth first, so that the nodes that it refers to are complete.
func (m *Masker) link() {
	if len(m.nodes) == 0 {
		return
	}
	order := []int32{0}
	for len(order) > 0 {
		at := order[0]
		order = order[1:]
		for _, e := range m.nodes[at].edges {
			if at != 0 {
				fail := m.step(m.nodes[at].fail, e.char)
				m.nodes[e.to].fail = fail
				m.nodes[e.to].match = max(m.nodes[e.to].match, m.nodes[fail].match)
			}
			if n := &m.nodes[e.to]; len(n.edges) > 0 {
				n.hold = n.depth
			} else {
				n.hold = m.nodes[n.fail].hold
			}
			order = append(order, e.to)
		}
	}
}

func (m *Masker) step(at int32, char byte) int32 {
	for {
		if next, found := m.child(at, char); found {
			return next
		}
		if at == 0 {
			return 0
		}
		at = m.nodes[at].fail
	}
}

// String returns text with every known value replaced by Masked. Overlapping values are
// replaced together.
func (m *Masker) String(text string) string {
	if !m.Found(text) {
		return text
	}
	s := m.Stream()
	return s.Write(text) + s.Close()
}

// Found reports whether a text has one of the values, in any of their forms.
func (m *Masker) Found(text string) bool {
	if m == nil || len(m.nodes) == 0 {
		return false
	}
	at := int32(0)
	for i := range len(text) {
		if at = m.step(at, text[i]); m.nodes[at].match > 0 {
			return true
		}
	}
	return false
}

// Blank reads from r and overwrites every known value with asterisks of the same length. It is
// for files whose size and structure must not change.
func (m *Masker) Blank(r io.Reader) io.Reader {
	if m == nil || len(m.nodes) == 0 {
		return r
	}
	s := m.Stream()
	s.blank = true
	return &blankReader{from: r, stream: s, piece: make([]byte, 32<<10)}
}

type blankReader struct {
	from   io.Reader
	stream *Stream
	piece  []byte
	ready  []byte
	err    error
}

func (b *blankReader) Read(p []byte) (int, error) {
	for len(b.ready) == 0 && b.err == nil {
		var n int
		n, b.err = b.from.Read(b.piece)
		b.ready = b.stream.mask(b.piece[:n])
		if b.err != nil {
			b.ready = append(b.ready, b.stream.take(len(b.stream.held))...)
		}
	}
	if len(b.ready) == 0 {
		return 0, b.err
	}
	n := copy(p, b.ready)
	b.ready = b.ready[n:]
	return n, nil
}

// Stream masks a text that arrives in pieces. It holds back a possible beginning of a value
// until the next piece.
func (m *Masker) Stream() *Stream { return &Stream{m: m} }

// Stream is one text in pieces. It is not safe for concurrent use.
type Stream struct {
	m     *Masker
	blank bool // asterisks of the same length in place of Masked
	at    int32
	held  []byte
	hits  []span // in held, in order, not overlapping
	ended bool   // the last output ends with a value; an adjacent value is replaced together with it
}

type span struct{ from, to int }

// Write adds the next piece, and returns the text that is safe to show.
func (s *Stream) Write(piece string) string {
	if s.m == nil || len(s.m.nodes) == 0 {
		return piece
	}
	return string(s.mask([]byte(piece)))
}

// Close ends the text and returns its rest.
func (s *Stream) Close() string { return string(s.take(len(s.held))) }

func (s *Stream) mask(piece []byte) []byte {
	base := len(s.held)
	s.held = append(s.held, piece...)
	for i, c := range piece {
		s.at = s.m.step(s.at, c)
		if n := int(s.m.nodes[s.at].match); n > 0 {
			s.hit(span{base + i + 1 - n, base + i + 1})
		}
	}
	return s.take(len(s.held) - int(s.m.nodes[s.at].hold))
}

func (s *Stream) hit(h span) {
	for len(s.hits) > 0 && s.hits[len(s.hits)-1].to >= h.from {
		h.from = min(h.from, s.hits[len(s.hits)-1].from)
		s.hits = s.hits[:len(s.hits)-1]
	}
	s.hits = append(s.hits, h)
}

// take removes the first n held bytes and returns them masked. A hit that extends beyond them is
// kept whole, because it may still grow.
func (s *Stream) take(n int) []byte {
	var out []byte
	done := 0
	for len(s.hits) > 0 && s.hits[0].from < n {
		h := s.hits[0]
		out = append(out, s.held[done:h.from]...)
		s.ended = s.ended && h.from == done
		done = h.from
		if h.to > n {
			n = h.from
			break
		}
		switch {
		case s.blank:
			out = append(out, bytes.Repeat([]byte("*"), h.to-h.from)...)
		case !s.ended:
			out = append(out, Masked...)
		}
		s.ended = true
		done = h.to
		s.hits = s.hits[1:]
	}
	out = append(out, s.held[done:n]...)
	s.ended = s.ended && n == done
	s.held = append(s.held[:0], s.held[n:]...)
	for i := range s.hits {
		s.hits[i].from -= n
		s.hits[i].to -= n
	}
	return out
}
