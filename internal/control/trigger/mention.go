package trigger

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// prose returns a Markdown text without code blocks, code spans and comments. Its time is linear in
// the text.
func prose(text string) string { return withoutSpans(withoutBlocks(text)) }

// withoutBlocks removes code blocks: fenced ones (CommonMark §4.5) and indented ones (§4.4). A
// fence without an end extends to the end of the text. A fence may be quoted or belong to a list.
// Indented text below a list item is not code.
func withoutBlocks(text string) string {
	var out strings.Builder
	out.Grow(len(text))
	open, afterBlank, list := "", true, false
	for line := range strings.Lines(text) {
		fence, info := fenceOf(line)
		indented := strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t")
		switch {
		case open != "":
			if strings.HasPrefix(fence, open) && strings.TrimSpace(info) == "" {
				open = ""
			}
		case indented && afterBlank && !list: // afterBlank stays, because the block continues
		case fence != "":
			open, afterBlank = fence, false
			out.WriteByte('\n')
		default:
			if afterBlank = strings.TrimSpace(line) == ""; !afterBlank {
				list = isItem(line) || list && (line[0] == ' ' || line[0] == '\t')
			}
			out.WriteString(line)
		}
	}
	return out.String()
}

// isItem reports whether a line begins an item of a list.
func isItem(line string) bool {
	line = strings.TrimLeft(line, " \t>")
	digits := strings.TrimLeft(line, "0123456789")
	mark := "-*+"
	if len(digits) < len(line) {
		line, mark = digits, ".)"
	}
	return len(line) > 1 && strings.IndexByte(mark, line[0]) >= 0 && (line[1] == ' ' || line[1] == '\t')
}

// fenceOf returns the three or more ` or ~ at the start of a line, and the text after them.
func fenceOf(line string) (fence, info string) {
	line = strings.TrimLeft(line, " \t>-*+0123456789.)")
	if line == "" || line[0] != '`' && line[0] != '~' {
		return "", ""
	}
	info = strings.TrimLeft(line, line[:1])
	fence = line[:len(line)-len(info)]
	if len(fence) < 3 || fence[0] == '`' && strings.Contains(info, "`") {
		return "", "" // it is a code span
	}
	return fence, info
}

// withoutSpans drops code spans (CommonMark §6.1), which end in their paragraph
// by as many backticks as they began with, and comments of HTML.
func withoutSpans(text string) string {
	ends := spanEnds(text)
	var out strings.Builder
	out.Grow(len(text))
	for i := 0; i < len(text); {
		switch {
		case text[i] == '`':
			n := backticks(text[i:])
			if end := ends[i]; end > 0 {
				out.WriteByte(' ')
				i = end
				continue
			}
			out.WriteString(text[i : i+n])
			i += n
		case strings.HasPrefix(text[i:], "<!--"):
			_, rest, closed := strings.Cut(text[i+len("<!--"):], "-->")
			if !closed {
				return out.String()
			}
			i = len(text) - len(rest)
		default:
			out.WriteByte(text[i])
			i++
		}
	}
	return out.String()
}

// backticks counts the backticks at the start of a text.
func backticks(text string) int { return len(text) - len(strings.TrimLeft(text, "`")) }

// spanEnds are the ends of what would be code spans, by where they begin.
func spanEnds(text string) map[int]int {
	type run struct{ at, length, paragraph int }
	var runs []run
	paragraph := 0
	for i := 0; i < len(text); {
		switch {
		case text[i] == '`':
			n := backticks(text[i:])
			runs = append(runs, run{i, n, paragraph})
			i += n
			continue
		case text[i] == '\n' && isBlank(text[i+1:]):
			paragraph++
		}
		i++
	}
	ends := map[int]int{}
	next := map[int]run{} // by length, of later runs
	for _, r := range slices.Backward(runs) {
		if end, ok := next[r.length]; ok && end.paragraph == r.paragraph {
			ends[r.at] = end.at + end.length
		}
		next[r.length] = r
	}
	return ends
}

// isBlank reports whether a text begins with an empty line.
func isBlank(text string) bool {
	return strings.HasPrefix(text, "\n") || strings.HasPrefix(text, "\r\n")
}

// githubName reports whether a character may be part of a login of GitHub, or of
// a team after a slash. Underscores are part of the logins that enterprises
// manage.
func githubName(c rune) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '_'
}

// linearName reports whether a character may be part of a user's name in a Linear mention.
func linearName(c rune) bool {
	return unicode.IsLetter(c) || unicode.IsDigit(c) || c == '-' || c == '_' || c == '.'
}

// mentions returns the names that a Markdown text mentions with an @ outside of words, paths and
// code. Names of teams include the organization. A domain (@example.com) is not a mention on
// GitHub, because names have no dot there.
func mentions(text string, inName func(rune) bool) []string {
	if !strings.Contains(text, "@") {
		return nil
	}
	text = prose(text)
	var names []string
	for at := strings.IndexByte(text, '@'); at >= 0; {
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		rest := text[at+1:]
		name := rest[:nameLength(rest, inName)]
		next := at + 1 + len(name)
		if team := text[next:]; name != "" && strings.HasPrefix(team, "/") {
			n := nameLength(team[1:], inName)
			name = text[at+1 : next+min(n, 1)+n]
			next = at + 1 + len(name)
		}
		after := text[next:]
		domain := len(after) > 1 && (after[0] == '.' || after[0] == '@') && inName(rune(after[1]))
		if name = strings.TrimRight(name, "-."); name != "" && !inWord(before) && !domain {
			names = append(names, name)
		}
		at = -1
		if i := strings.IndexByte(text[next:], '@'); i >= 0 {
			at = next + i
		}
	}
	return names
}

// inWord reports whether an @ after this character is part of a word or path.
func inWord(before rune) bool {
	return unicode.IsLetter(before) || unicode.IsDigit(before) || strings.ContainsRune("_/@\\", before)
}

// nameLength returns the length in bytes of the name at the start of a text.
func nameLength(text string, inName func(rune) bool) int {
	n := strings.IndexFunc(text, func(c rune) bool { return !inName(c) })
	if n < 0 {
		return len(text)
	}
	return n
}

// hasWords reports whether a text contains words that are not part of longer ones. Both are in
// lower case. Its time is linear in the text, because it tries each word once.
func hasWords(text, words string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], words)
		if i < 0 {
			return false
		}
		at := from + i
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		first, _ := utf8.DecodeRuneInString(words)
		last, _ := utf8.DecodeLastRuneInString(words)
		after, _ := utf8.DecodeRuneInString(text[at+len(words):])
		inside := wordRune(before) && wordRune(first)
		if !inside && !(wordRune(last) && wordRune(after)) {
			return true
		}
		rest := strings.IndexFunc(text[at:], func(c rune) bool { return !wordRune(c) })
		if rest < 0 {
			return false
		}
		if rest == 0 { // it does not begin with a letter
			_, rest = utf8.DecodeRuneInString(text[at:])
		}
		from = at + rest
	}
}

// wordRune reports whether a character is part of a word, in scripts with separators between words.
func wordRune(c rune) bool {
	return c == '_' || unicode.IsDigit(c) ||
		unicode.IsLetter(c) &&
			!unicode.In(
				c, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar,
			)
}
