package egress

import (
	"net/url"
	"strings"
)

// matchPath reports whether path, as it is sent, is among patterns. A final * of a pattern
// stands for the rest.
func matchPath(patterns []string, path string) bool {
	for _, pattern := range patterns {
		prefix, wild := strings.CutSuffix(pattern, "*")
		prefix = escapePath(prefix)
		if path == prefix || wild && strings.HasPrefix(path, prefix) {
			return true
		}
	}
	return false
}

// escapePath writes a path of a rule as requests do: with percent-encoding where a request needs
// it. Characters that are encoded in the rule stay encoded.
func escapePath(path string) string {
	u, err := url.ParseRequestURI(path)
	if err != nil {
		return path
	}
	return u.EscapedPath()
}

// ambiguousPath says why two servers could read an escaped path in two ways, "" if they
// cannot. Rules with paths refuse such a path: a server that resolves it after the check could
// serve something else than what was matched.
func ambiguousPath(path string) string {
	lower := strings.ToLower(path)
	switch {
	case !strings.HasPrefix(path, "/"):
		return "it does not begin with a slash"
	case strings.Contains(path, "//"):
		return "it has an empty segment"
	case strings.Contains(path, `\`) || strings.Contains(lower, "%5c"):
		return "it has a backslash"
	case strings.Contains(lower, "%2f"):
		return "it has an encoded slash"
	case strings.Contains(lower, "%25"):
		return "it is encoded twice"
	}
	for segment := range strings.SplitSeq(path, "/") {
		decoded, err := url.PathUnescape(segment)
		if err != nil {
			return "it has an invalid escape"
		}
		if strings.ContainsFunc(decoded, func(r rune) bool { return r < ' ' || r == 0x7f }) {
			return "it has a control character"
		}
		// Some servers cut parameters off before they resolve dots: /a/..;x/b.
		if name, _, _ := strings.Cut(decoded, ";"); name == "." || name == ".." {
			return "it has a dot segment"
		}
	}
	return ""
}
