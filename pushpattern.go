package penstock

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxPushPattern bounds the bytes of one pattern of branches or paths.
const MaxPushPattern = 200

// CheckPattern returns what is wrong with a pattern of branches or paths, and "" for a valid one. A pattern
// matches the whole name: ** as a segment matches any number of segments, also none; * any text in a
// segment; ? one character of a segment. Everything that other programs read in another way is an error,
// because a pattern that silently matches nothing protects nothing.
func CheckPattern(pattern string) string {
	switch {
	case pattern == "":
		return "is empty"
	case len(pattern) > MaxPushPattern:
		return fmt.Sprintf("has more than %d bytes", MaxPushPattern)
	case !utf8.ValidString(pattern) || strings.ContainsFunc(pattern, func(r rune) bool { return !unicode.IsPrint(r) }):
		return "has a control character, an invisible one, or is not UTF-8"
	case strings.TrimSpace(pattern) != pattern:
		return "begins or ends with a space"
	case strings.Contains(pattern, `\`):
		return `has a backslash: separate segments with /; there are no escapes`
	case strings.HasPrefix(pattern, "/"):
		return "begins with /: patterns begin at the root of the repository anyway"
	case strings.HasSuffix(pattern, "/"):
		return fmt.Sprintf("ends with /: write %s** for everything below", pattern)
	case strings.HasPrefix(pattern, "!"):
		return "begins with !: patterns cannot be negated"
	case strings.ContainsAny(pattern, "[]{};"):
		return "has one of []{}; but only *, ? and ** are special (write ? for such a character of a name, " +
			"and each pattern as an item of the list)"
	}
	for segment := range strings.SplitSeq(pattern, "/") {
		switch {
		case segment == "":
			return "has an empty segment (//)"
		case segment == "." || segment == "..":
			return fmt.Sprintf("has the segment %s", segment)
		case segment != "**" && strings.Contains(segment, "**"):
			return "has ** beside other characters: ** is a segment of its own, as in **/*.yml"
		}
	}
	return ""
}

// MatchPattern reports whether a valid pattern matches the whole name. The time is at most the product of
// both lengths. If fold is set, case is ignored as in strings.EqualFold.
func MatchPattern(pattern, name string, fold bool) bool {
	many := func(segment string) bool { return segment == "**" }
	one := func(segment, name string) bool { return matchSegment(segment, name, fold) }
	return matchStars(strings.Split(pattern, "/"), strings.Split(name, "/"), many, one)
}

// matchSegment matches one segment, without **.
func matchSegment(segment, name string, fold bool) bool {
	same := func(a, b string) bool { return a == b || fold && strings.EqualFold(a, b) }
	if !strings.ContainsAny(segment, "*?") {
		return same(segment, name)
	}
	many := func(c string) bool { return c == "*" }
	one := func(c, n string) bool { return c == "?" || same(c, n) }
	return matchStars(strings.Split(segment, ""), strings.Split(name, ""), many, one)
}

// matchStars matches a pattern whose elements match one element, or any number if many reports so. It only
// ever goes back to the last such element: what an earlier one takes more, the last one could take, too.
func matchStars(pattern, name []string, many func(string) bool, one func(string, string) bool) bool {
	p, n, star, taken := 0, 0, -1, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && many(pattern[p]):
			star, taken = p, n
			p++
		case p < len(pattern) && one(pattern[p], name[n]):
			p, n = p+1, n+1
		case star >= 0:
			taken++
			p, n = star+1, taken
		default:
			return false
		}
	}
	for p < len(pattern) && many(pattern[p]) {
		p++
	}
	return p == len(pattern)
}

// AllowsBranch reports whether each list has a pattern that matches the branch, in its own case. A final
// ** matches at least one segment here: a branch penstock would make each branch penstock/… impossible.
func (p PushPolicy) AllowsBranch(branch string) bool {
	for _, list := range p.Branches {
		if !matchesBranch(list, branch) {
			return false
		}
	}
	return len(p.Branches) > 0
}

func matchesBranch(list []string, branch string) bool {
	return slices.ContainsFunc(list, func(pattern string) bool {
		if below, found := strings.CutSuffix(pattern, "**"); found {
			pattern = below + "*/**"
		}
		return MatchPattern(pattern, branch, false)
	})
}

// Protects returns the pattern that protects a path, in any case, and "" if a run may change the path. A
// final ** matches no segment, too: a link in the place of a protected folder is protected.
func (p PushPolicy) Protects(path string) string {
	protects := func(pattern string) bool { return MatchPattern(pattern, path, true) }
	at := slices.IndexFunc(p.Always, protects)
	if at >= 0 {
		return p.Always[at]
	}
	if at = slices.IndexFunc(p.Protected, protects); at < 0 || slices.ContainsFunc(p.Except, protects) {
		return ""
	}
	return p.Protected[at]
}
