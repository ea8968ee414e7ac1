package field

import (
	"errors"
	"strings"
	"unicode/utf8"

	"github.com/penstock-dev/penstock"
)

// Errors are the findings of an invalid request.
func Errors(err error) ([]penstock.FieldError, bool) {
	known, ok := errors.AsType[*penstock.Error](err)
	if !ok || len(known.Fields) == 0 {
		return nil, false
	}
	return known.Fields, true
}

// Unknown says that nothing has a name, and which name was perhaps meant.
func Unknown(kind, name string, names []string) string {
	text := "there is no " + kind + " named \"" + name + "\""
	if near := penstock.Nearest(name, names); near != "" {
		text += "; did you mean \"" + near + "\"?"
	}
	return text
}

// Limits of what people name and describe, in bytes.
const (
	MaxName        = 100
	MaxDescription = 4 << 10
)

// Name checks a name that people give.
func Name(bad func(pointer, format string, args ...any), name string, required bool) {
	const pointer = "/name"
	switch {
	case name == "" && required:
		bad(pointer, "is required")
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		bad(pointer, "must not contain control characters")
	default:
		Text(bad, pointer, name, MaxName)
	}
}

// MaxURL is the longest address that is kept, in bytes. One by which runs are found
// is in an index, and PostgreSQL's take 2,704.
const MaxURL = 2048

// MaxAgentPrompt bounds the prompt of an agent or an automation, in bytes.
const MaxAgentPrompt = 256 << 10

// Enumerated lists words as a sentence has them.
func Enumerated[T ~string](words []T) string {
	var list []string
	for _, w := range words {
		list = append(list, string(w))
	}
	return strings.Join(list, ", ")
}

// Text refuses what PostgreSQL cannot store and what is too long.
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
