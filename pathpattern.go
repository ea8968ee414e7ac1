package penstock

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"
)

// ValidPaths reports whether each segment of a path pattern is valid.
func ValidPaths(pattern string) bool {
	for segment := range strings.SplitSeq(pattern, "/") {
		if _, err := path.Match(segment, ""); err != nil {
			return false
		}
	}
	return pattern != "" && pattern[0] != '!'
}

// ParsePaths reads a path pattern from the root of a repository. A pattern with a trailing slash matches
// everything in a folder. The expression is nil for a pattern that only matches plain itself.
func ParsePaths(pattern string) (plain string, expression *regexp.Regexp, err error) {
	pattern = strings.TrimPrefix(strings.TrimPrefix(pattern, "./"), "/")
	if strings.HasSuffix(pattern, "/") {
		pattern += "**"
	}
	if !strings.ContainsAny(pattern, `*?[\`) {
		return pattern, nil, nil
	}
	expression, err = regexp.Compile(pathExpression(pattern))
	return pattern, expression, err
}

// pathExpression converts a path pattern to a regular expression, which always takes linear time:
// ** matches any text, **/ any number of folders, * any text without a slash, ? one character
// except a slash, [a-z] one of these and [^a-z] or [!a-z] another one, and \ takes the next
// character as it is.
func pathExpression(pattern string) string {
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
