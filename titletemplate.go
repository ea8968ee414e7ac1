package penstock

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of a [TitleTemplate].
const (
	MaxTitleTemplate     = 200 // characters
	maxTitlePlaceholders = 10
)

// TitleTemplate is the title of an automation's runs, such as "Ship order {{data.order}}". Each
// placeholder is the path of a value in the payload: names of members with a dot between them.
type TitleTemplate struct {
	parts []titlePart
}

// titlePart is a text and the path of the value after it; a nil path has no value.
type titlePart struct {
	text string
	path []string
}

// ParseTitle reads a template. The error says what is wrong with it, for a field's error.
func ParseTitle(template string) (TitleTemplate, error) {
	var t TitleTemplate
	if n := utf8.RuneCountInString(template); n > MaxTitleTemplate {
		return t, fmt.Errorf("has %d characters; at most %d are allowed", n, MaxTitleTemplate)
	}
	if strings.ContainsFunc(template, unicode.IsControl) {
		return t, fmt.Errorf("must be one line without control characters")
	}
	for rest := template; rest != ""; {
		text, after, found := strings.Cut(rest, "{{")
		if !found {
			t.parts = append(t.parts, titlePart{text: text})
			break
		}
		inside, next, closed := strings.Cut(after, "}}")
		if !closed {
			return t, fmt.Errorf("has a {{ without a }}")
		}
		path := strings.Split(strings.TrimSpace(inside), ".")
		for _, name := range path {
			if name == "" || strings.ContainsAny(name, "{}") {
				return t, fmt.Errorf("has the placeholder {{%s}}; write the path of a value, such as {{data.order}}", inside)
			}
		}
		if t.parts = append(t.parts, titlePart{text, path}); len(t.parts) > maxTitlePlaceholders {
			return t, fmt.Errorf("has more than %d placeholders", maxTitlePlaceholders)
		}
		rest = next
	}
	return t, nil
}

// Title replaces the placeholders by the values, which it never reads as a template. The title is
// one line of at most maxTitle characters, and "" if nothing is left of it.
func (t TitleTemplate) Title(value func(path []string) string) string {
	var b strings.Builder
	for _, p := range t.parts {
		b.WriteString(p.text)
		if p.path != nil {
			b.WriteString(beginning(strings.Map(withoutBidi, value(p.path))))
		}
	}
	return cutTitle(beginning(b.String()))
}

// withoutBidi drops the characters that reorder the text around them.
func withoutBidi(r rune) rune {
	if unicode.Is(unicode.Bidi_Control, r) {
		return -1
	}
	return r
}
