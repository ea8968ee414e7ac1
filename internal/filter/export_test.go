package filter

import (
	"encoding/json"
	"strings"
)

// AppendNumber is for the tests of numbers.
func AppendNumber(dst, text []byte) []byte { return appendNumber(dst, text) }

// Text writes a filter as JSON again.
func (f *Filter) Text() string { return textOf(f.fields) }

func textOf(fields []field) string {
	parts := make([]string, len(fields))
	for i, f := range fields {
		value := textOf(f.below)
		if len(f.below) == 0 {
			value = f.leaf.text()
		}
		parts[i] = quote(f.key) + ":" + value
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func (l *leaf) text() string {
	var parts []string
	if len(l.in) > 0 {
		parts = append(parts, `"in":`+textOfSet(l.in))
	}
	if len(l.notIn) > 0 {
		parts = append(parts, `"not_in":`+textOfSet(l.notIn))
	}
	switch l.exists {
	case present:
		parts = append(parts, `"exists":true`)
	case absent:
		parts = append(parts, `"exists":false`)
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func textOfSet(set []scalar) string {
	parts := make([]string, len(set))
	for i, s := range set {
		switch s.kind {
		case '"':
			parts[i] = quote(s.text)
		case '0':
			parts[i] = s.text
		default:
			parts[i] = map[byte]string{'n': "null", 't': "true", 'f': "false"}[s.kind]
		}
	}
	return "[" + strings.Join(parts, ",") + "]"
}

func quote(text string) string {
	quoted, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return string(quoted)
}
