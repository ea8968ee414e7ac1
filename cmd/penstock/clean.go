package main

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// cleanText makes the text of an agent or server safe to print. It removes terminal sequences,
// other control characters, and characters that change the writing direction. Line breaks stay, and
// tabs become spaces.
func cleanText(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for s != "" {
		if n := sequence(s); n > 0 {
			s = s[n:]
			continue
		}
		r, n := utf8.DecodeRuneInString(s)
		s = s[n:]
		switch {
		case r == '\n':
			b.WriteByte('\n')
		case r == '\t':
			b.WriteString("    ")
		case !harmful(r):
			b.WriteRune(r) // an invalid byte has become U+FFFD
		}
	}
	return b.String()
}

// cleanLine is cleanText for a single line.
func cleanLine(s string) string {
	return strings.Join(strings.Fields(cleanText(s)), " ")
}

// harmful reports whether r may affect a terminal in another way than by being shown.
func harmful(r rune) bool {
	return unicode.IsControl(r) || // C0, DEL, C1
		r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069' || r == '\u200e' || r == '\u200f' ||
		r == '\u061c' || // direction
		r == '\u2028' || r == '\u2029'
}

// maxSequence limits a terminal sequence that contains text. A longer sequence, or one that does
// not end in its line, only loses its first character. Otherwise an agent could hide text in an
// unterminated sequence.
const maxSequence = 4096

// sequence returns the length of the terminal sequence at the start of s (ECMA-48 §5.4, §5.6), or
// 0.
func sequence(s string) int {
	var kind rune
	var at int
	switch r, n := utf8.DecodeRuneInString(s); {
	case r == 0x1b && n < len(s):
		kind, at = rune(s[n]), n+1
	case r >= 0x80 && r <= 0x9f:
		kind, at = r-0x40, n
	default:
		return 0
	}
	switch kind {
	case '[':
		for i := at; i < len(s) && i < at+maxSequence; i++ {
			if c := s[i]; c >= 0x40 && c <= 0x7e {
				return i + 1
			} else if c < 0x20 || c > 0x7e {
				return i
			}
		}
	case ']', 'P', 'X', '^', '_':
		line, _, _ := strings.Cut(s[at:min(len(s), at+maxSequence)], "\n")
		ends := [...]string{"\a", "\x1b\\", "\u009c"}
		first, length := len(line), 0
		for _, end := range ends {
			if i := strings.Index(line, end); i >= 0 && i < first {
				first, length = i, len(end)
			}
		}
		if length > 0 {
			return at + first + length
		}
	}
	return 0
}

// cleanJSON escapes harmful characters in JSON. They occur only in strings, so the value stays the
// same.
func cleanJSON(raw []byte) []byte {
	if !strings.ContainsFunc(string(raw), func(r rune) bool { return r != '\n' && harmful(r) }) {
		return raw
	}
	const hex = "0123456789abcdef"
	out := make([]byte, 0, len(raw)+64)
	for _, r := range string(raw) {
		if r != '\n' && harmful(r) {
			out = append(out, '\\', 'u', hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
			continue
		}
		out = utf8.AppendRune(out, r)
	}
	return out
}
