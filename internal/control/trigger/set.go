package trigger

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// set is a set of values. Some of them may be patterns.
type set struct {
	texts    map[string]bool
	patterns []*regexp.Regexp
	words    []string // to find in a text
}

// newSet creates the set of a key's values: numbers or texts.
func newSet(key string, values []json.RawMessage) (set, error) {
	s := set{texts: map[string]bool{}}
	for _, raw := range values {
		var text string
		if key == "pr_numbers" {
			var n int64
			if err := json.Unmarshal(raw, &n); err != nil {
				return s, fmt.Errorf("read a value of %s: %w", key, err)
			}
			text = fmt.Sprint(n)
		} else if err := json.Unmarshal(raw, &text); err != nil {
			return s, fmt.Errorf("read a value of %s: %w", key, err)
		}
		text = canonical(key, text)
		switch key {
		case "keywords":
			s.words = append(s.words, text)
		// The name of a repository or branch cannot contain pattern characters.
		case "paths", "repos", "branches", "base_branches":
			if err := s.addPattern(text); err != nil {
				return s, fmt.Errorf("read a pattern of %s: %w", key, err)
			}
		default:
			s.texts[text] = true
		}
	}
	return s, nil
}

func (s *set) empty() bool { return len(s.texts) == 0 && len(s.patterns) == 0 && len(s.words) == 0 }

// has reports whether a value is in the set.
func (s *set) has(value string) bool {
	if s.texts[value] {
		return true
	}
	for _, p := range s.patterns {
		if p.MatchString(value) {
			return true
		}
	}
	for _, words := range s.words {
		if hasWords(value, words) {
			return true
		}
	}
	return false
}

// addPattern adds a path pattern from the root of a repository. A pattern with a trailing slash
// matches everything in a folder.
func (s *set) addPattern(pattern string) error {
	pattern = strings.TrimPrefix(strings.TrimPrefix(pattern, "./"), "/")
	if strings.HasSuffix(pattern, "/") {
		pattern += "**"
	}
	if !strings.ContainsAny(pattern, `*?[\`) {
		s.texts[pattern] = true
		return nil
	}
	p, err := regexp.Compile(expression(pattern))
	if err == nil {
		s.patterns = append(s.patterns, p)
	}
	return err
}

// expression converts a path pattern to a regular expression, which always takes linear time:
// ** matches any text, **/ any number of folders, * any text without a slash, ? one character
// except a slash, [a-z] one of these and [^a-z] or [!a-z] another one, and \ takes the next
// character as it is.
func expression(pattern string) string {
	var out strings.Builder
	out.WriteString(`(?s)\A`)
	for rest := pattern; rest != ""; {
		_, size := utf8.DecodeRuneInString(rest)
		c := rest[:size]
		switch {
		case strings.HasPrefix(rest, "**/"):
			c, size = "(?:.*/)?", len("**/")
		case strings.HasPrefix(rest, "**"):
			c, size = ".*", len("**")
		case rest[0] == '*':
			c = "[^/]*"
		case rest[0] == '?':
			c = "[^/]"
		case rest[0] == '[':
			c, size = characterClass(rest)
		case rest[0] == '\\' && len(rest) > 1:
			r, n := character(rest)
			c, size = regexp.QuoteMeta(string(r)), n
		default:
			c = regexp.QuoteMeta(c)
		}
		out.WriteString(c)
		rest = rest[size:]
	}
	out.WriteString(`\z`)
	return out.String()
}

// characterClass returns the character class at the start of a pattern, and its length. A [ without
// an end is an ordinary character.
func characterClass(pattern string) (text string, size int) {
	at, negated := 1, false
	if at < len(pattern) && (pattern[at] == '^' || pattern[at] == '!') {
		at, negated = at+1, true
	}
	var ranges strings.Builder
	for at < len(pattern) {
		if pattern[at] == ']' {
			return wrap(ranges.String(), negated), at + 1
		}
		low, n := character(pattern[at:])
		high := low
		if at += n; strings.HasPrefix(pattern[at:], "-") && len(pattern) > at+1 && pattern[at+1] != ']' {
			high, n = character(pattern[at+1:])
			at += 1 + n
		}
		if low <= high && low != '/' {
			fmt.Fprintf(&ranges, `\x{%x}-\x{%x}`, low, high)
		}
	}
	return `\[`, 1
}

// wrap returns the class of ranges, or of all other characters except the slash.
func wrap(ranges string, negated bool) string {
	switch {
	case negated:
		return "[^/" + ranges + "]"
	case ranges == "":
		return `[^\x{0}-\x{10ffff}]`
	}
	return "[" + ranges + "]"
}

// character returns the first character of a text, or the one after a backslash.
func character(text string) (c rune, size int) {
	if text[0] == '\\' && len(text) > 1 {
		c, size = utf8.DecodeRuneInString(text[1:])
		return c, size + 1
	}
	return utf8.DecodeRuneInString(text)
}
