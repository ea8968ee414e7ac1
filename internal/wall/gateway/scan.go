package gateway

import (
	"math/bits"
	"strings"
)

// paths are places in JSON: names joined by dots, with * for each item of a list, and + for each member of
// an object. A path
// that ends in ? is only noticed: its value is not kept. There are at most 64.
type paths struct {
	parts  [][]string
	notice uint64
	all    uint64
}

func newPaths(list ...string) *paths {
	p := &paths{}
	for i, path := range list {
		path, notice := strings.CutSuffix(path, "?")
		if notice {
			p.notice |= 1 << i
		}
		p.parts = append(p.parts, strings.Split(path, "."))
		p.all |= 1 << i
	}
	return p
}

// step returns the candidates that have name at depth, and whether one ends there.
func (p *paths) step(candidates uint64, depth int, name []byte) (next uint64, ends int) {
	ends = -1
	for rest := candidates; rest != 0; rest &= rest - 1 {
		i := bits.TrailingZeros64(rest)
		parts := p.parts[i]
		if depth < len(parts) && (parts[depth] == string(name) || parts[depth] == "+") {
			if next |= 1 << i; depth == len(parts)-1 {
				ends = i
			}
		}
	}
	return next, ends
}

// scanner reads JSON that arrives in pieces, cut at any byte, and reports the values at
// some paths. It keeps nothing else, so that the size of a response does not matter. It does
// not check the JSON: a provider's is well-formed, and a cut one reports what was whole.
type scanner struct {
	paths *paths
	found func(path int, raw []byte) // raw is valid during the call; nil for a noticed one

	stack   []level
	skip    int  // open containers in which no path continues
	str     bool // inside of a string
	escape  bool // after a backslash
	literal bool // inside of a number, true, false or null
	key     []byte
	long    bool // the key does not fit

	capture   int // the path whose value is kept, -1 for none
	captureAt int // the depth at which it began
	raw       []byte
	tooLarge  bool // the value is not kept
}

// level is an open container on one of the paths.
type level struct {
	candidates uint64
	list       bool
	wantKey    bool   // the next string is a name
	next       uint64 // of the value that comes
	ends       int
}

// Limits of what a scanner keeps. Usage and ids are far smaller.
const (
	maxKey     = 64
	maxCapture = 256 << 10
	maxLevels  = 64
)

var star = []byte("*")

func newScanner(p *paths, found func(int, []byte)) *scanner {
	return &scanner{paths: p, found: found, capture: -1}
}

// reset begins the next JSON text.
func (s *scanner) reset() {
	*s = scanner{
		paths: s.paths, found: s.found, stack: s.stack[:0], key: s.key[:0], raw: s.raw[:0], capture: -1,
	}
	const keep = 4 << 10
	if cap(s.raw) > keep {
		s.raw = nil
	}
}

// write scans a piece.
func (s *scanner) write(p []byte) {
	kept := 0 // where the part of p begins that is not yet in raw
	for i := 0; i < len(p); i++ {
		c := p[i]
		if s.str {
			i = s.inString(p, i)
			if s.str || i >= len(p) {
				continue
			}
			// A string has ended at i.
			if s.skip == 0 && len(s.stack) > 0 && s.top().wantKey && s.capture < 0 {
				s.keyEnded()
			} else {
				kept = s.valueEnded(p, i+1, kept)
			}
			continue
		}
		switch c {
		case ' ', '\t', '\n', '\r', ',', ':', '}', ']':
			if s.literal {
				s.literal = false
				kept = s.valueEnded(p, i, kept)
			}
			kept = s.punctuation(c, p, i, kept)
		case '"':
			if s.isKey() {
				s.key, s.long = s.key[:0], false
			} else {
				kept = s.valueBegins(i, kept)
			}
			s.str = true
		case '{', '[':
			kept = s.valueBegins(i, kept)
			s.open(c == '[')
		default:
			if !s.literal {
				kept = s.valueBegins(i, kept)
				s.literal = true
			}
		}
	}
	s.keep(p, kept, len(p))
}

func (s *scanner) top() *level { return &s.stack[len(s.stack)-1] }

func (s *scanner) isKey() bool {
	return s.skip == 0 && s.capture < 0 && len(s.stack) > 0 && s.top().wantKey
}

// inString returns the index of the quote that ends the string, or len(p).
func (s *scanner) inString(p []byte, i int) int {
	isKey := s.isKey()
	for ; i < len(p); i++ {
		c := p[i]
		switch {
		case s.escape:
			s.escape = false
		case c == '\\':
			s.escape, s.long = true, true // no name on a path has an escape
		case c == '"':
			s.str = false
			return i
		}
		if isKey && !s.long {
			if len(s.key) == maxKey {
				s.long = true
			} else {
				s.key = append(s.key, c)
			}
		}
	}
	return i
}

func (s *scanner) keyEnded() {
	l := s.top()
	l.wantKey = false
	l.next, l.ends = 0, -1
	name := s.key
	if s.long {
		name = nil // only + can be it
	}
	l.next, l.ends = s.paths.step(l.candidates, len(s.stack)-1, name)
}

// whole reports whether no JSON text has begun that has not ended.
func (s *scanner) whole() bool {
	return len(s.stack) == 0 && s.skip == 0 && s.capture < 0 && !s.str && !s.literal
}

// valueBegins is called at the first byte of each value.
func (s *scanner) valueBegins(i, kept int) int {
	if s.capture >= 0 || s.skip > 0 || len(s.stack) == 0 {
		return kept
	}
	l := s.top()
	if l.ends < 0 {
		return kept
	}
	if s.paths.notice&(1<<l.ends) != 0 {
		s.found(l.ends, nil)
		return kept
	}
	s.capture, s.captureAt, s.raw, s.tooLarge = l.ends, 0, s.raw[:0], false
	return i
}

func (s *scanner) open(list bool) {
	switch {
	case s.capture >= 0:
		s.captureAt++
	case s.skip > 0 || len(s.stack) >= maxLevels:
		s.skip++
	default:
		next := s.paths.all
		if len(s.stack) > 0 {
			next = s.top().next
		}
		if next == 0 {
			s.skip++
			return
		}
		l := level{candidates: next, list: list, wantKey: !list, ends: -1}
		if list {
			l.next, l.ends = s.paths.step(next, len(s.stack), star)
		}
		s.stack = append(s.stack, l)
	}
}

func (s *scanner) punctuation(c byte, p []byte, i, kept int) int {
	switch c {
	case ',':
		if s.capture < 0 && s.skip == 0 && len(s.stack) > 0 && !s.top().list {
			s.top().wantKey = true
		}
	case '}', ']':
		switch {
		case s.capture >= 0:
			s.captureAt--
			return s.valueEnded(p, i+1, kept)
		case s.skip > 0:
			s.skip--
		case len(s.stack) > 0:
			s.stack = s.stack[:len(s.stack)-1]
		}
	}
	return kept
}

// valueEnded is called after the last byte of each value.
func (s *scanner) valueEnded(p []byte, end, kept int) int {
	if s.capture < 0 || s.captureAt > 0 {
		return kept
	}
	s.keep(p, kept, end)
	path := s.capture
	s.capture = -1
	if !s.tooLarge {
		s.found(path, s.raw)
	}
	return end
}

// keep adds a part of p to the value that is kept.
func (s *scanner) keep(p []byte, from, to int) {
	if s.capture < 0 || to <= from || s.tooLarge {
		return
	}
	if s.tooLarge = len(s.raw)+to-from > maxCapture; s.tooLarge {
		return
	}
	s.raw = append(s.raw, p[from:to]...)
}
