package request

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/penstock-dev/penstock"
)

// FieldErrors returns the field errors of an invalid request.
func FieldErrors(err error) ([]penstock.FieldError, bool) {
	known, ok := errors.AsType[*penstock.Error](err)
	if !ok || len(known.Fields) == 0 {
		return nil, false
	}
	return known.Fields, true
}

// Unknown returns the message for an unknown name. It suggests a similar name.
func Unknown(kind, name string, names []string) string {
	text := "there is no " + kind + " named \"" + name + "\""
	if near := penstock.Nearest(name, names); near != "" {
		text += "; did you mean \"" + near + "\"?"
	}
	return text
}

// The limits of names and descriptions, in bytes.
const (
	MaxName        = 100
	MaxDescription = 4 << 10
)

// Name checks a name that a user chose.
func Name(bad func(pointer, format string, args ...any), name string, required bool) {
	const pointer = "/name"
	switch {
	case name == "" && required:
		bad(pointer, "is required")
	default:
		Printable(bad, pointer, name, MaxName)
	}
}

// Printable returns an error if a text has control characters, is too long or PostgreSQL cannot store it.
func Printable(bad func(pointer, format string, args ...any), pointer, text string, limit int) {
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		bad(pointer, "must not contain control characters")
		return
	}
	Text(bad, pointer, text, limit)
}

// MaxURL is the longest stored URL, in bytes. Some URLs are in an index, whose entries
// PostgreSQL limits to 2,704 bytes.
const MaxURL = 2048

// MaxAgentPrompt is the longest prompt of an agent or automation, in bytes.
const MaxAgentPrompt = 256 << 10

// Enumerated joins words for a sentence.
func Enumerated[T ~string](words []T) string {
	var list []string
	for _, w := range words {
		list = append(list, string(w))
	}
	return strings.Join(list, ", ")
}

// Text returns an error if a text is too long or PostgreSQL cannot store it.
func Text(bad func(pointer, format string, args ...any), pointer, text string, limit int) {
	switch {
	case len(text) > limit:
		bad(pointer, "is %d bytes long; at most %d are allowed", len(text), limit)
	case strings.ContainsRune(text, 0):
		bad(pointer, "must not contain the character NUL")
	case !utf8.ValidString(text):
		bad(pointer, "must be UTF-8")
	}
}
