package forge

import (
	"cmp"
	"html"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/penstock-dev/penstock"
)

// divider is the zero width space. It follows an "@", a closing keyword or the slash of a command, so that forges
// and bots no longer find them.
//
// Nothing that people would not see at all works everywhere. GitHub looks for mentions in the text that it has
// rendered: there \@name and &#64;name are mentions, and so is `@name` inside of HTML. An answer to a notification
// by mail quotes the text without its formatting (dependabot/dependabot-core#3157), and a squash merge copies the
// text into a commit, where forges mention people but do not know Markdown (renovatebot/renovate#30842). A zero
// width space is part of the text in all these places, and neither GitHub nor Gitea takes it for a space or for a
// part of a name.
const divider = "\u200b"

// neutral returns a Markdown text that an agent wrote so that it has no effect on GitHub or Gitea, and reads the
// same for a person. Mentions, except those that keep accepts (a login, or org/team; nil: none), keywords that close
// or reopen issues, and commands at the start of a line have none. HTML comments, characters that nobody can see,
// and control characters are removed. References such as #12 stay.
//
// Code keeps every character that can be seen. What may or may not be code, depending on who renders it, is not
// treated as code. A code block that is never closed is closed, so that text can follow. The result has at most
// five times the length of the text, and a few bytes.
func neutral(text string, keep func(login string) bool) string {
	text = visible(text)
	for range maxRounds {
		next := withoutComments(text, codeOf(text))
		next = decode(next, codeOf(next))
		next = visible(effectless(next, codeOf(next), keep))
		if next == text {
			return closeFence(text)
		}
		text = next
	}
	return closeFence(neutralEverywhere(text, keep)) // what is code changes with each round: somebody has built this
}

// maxRounds is how often a text is read. Two are enough for what people write.
const maxRounds = 6

// neutralEverywhere is neutral for a text whose code is not left alone: one that a forge may copy into a commit.
func neutralEverywhere(text string, keep func(login string) bool) string {
	text = visible(text)
	for round := 0; ; round++ {
		if round == maxRounds { // entities of which entities are made: they are shown as they are
			text = strings.ReplaceAll(text, "&", "&amp;")
		}
		next := visible(effectless(decode(withoutComments(text, nil), nil), nil, keep))
		if next == text || round == 4*maxRounds {
			return next
		}
		text = next
	}
}

// neutralTitle is neutral for a title: one line, without Markdown.
func neutralTitle(text string, keep func(login string) bool) string {
	return strings.Join(strings.Fields(neutralEverywhere(text, keep)), " ")
}

// visible removes characters that nobody sees, in code, too, but keeps a divider that has an effect.
func visible(text string) string {
	return penstock.VisibleText(text, func(before string, r rune) bool { return string(r) == divider && divides(before) })
}

// divides reports whether a divider at the end of before has an effect: a text that is neutral stays as it is.
func divides(before string) bool {
	switch before[max(0, len(before)-1):] {
	case "@":
		return true
	case "/":
		line := before[strings.LastIndexByte(before, '\n')+1 : len(before)-1]
		return strings.Trim(line, linePrefix) == ""
	}
	tail := before[max(0, len(before)-len("implementing")):]
	return endKeyword().MatchString(tail)
}

const (
	linePrefix = " \t>*+-"
	keywords   = `(?i)(?:close[sd]?|closing|fix(?:e[sd]|ing)?|resolve[sd]?|resolving|reopen(?:s|ed)?|` +
		`implement(?:s|ed|ing)?)`
	// glue is what can be between a keyword and a reference, if nothing is there in the text that a forge has
	// rendered: also all that follows a tag.
	glue = `(?:[^A-Za-z0-9\x00]|&#?[A-Za-z0-9]{1,32};?)*?(?:<[A-Za-z/!?](?s:.)*?)?`
	// reference begins what names an issue or a pull request.
	reference = `(?i:[#!][0-9]|gh-[0-9]|[a-z0-9_][\w.-]*(?:/[\w.-]+)*[#!][0-9]|https?:|www\.|` +
		`[a-z0-9.-]+/[^\s]*/(?:issues|pulls?)/[0-9])`
	glueLimit = 400

	ofReferences  = "#@:/._!-"    // the signs of mentions and references
	mentionStarts = "_-&<\\*~[`@" // what can be between an "@" and the name when the text is rendered, and "_-"
)

var (
	keyword    = penstock.LazyRegexp(keywords)
	endKeyword = penstock.LazyRegexp(keywords + `$`)
	closed     = penstock.LazyRegexp(`^` + glue + reference)
	command    = penstock.LazyRegexp(`(?m)^[ \t>*+-]*/()[A-Za-z][A-Za-z0-9_-]*(?:[ \t:=]|$)`)
	tabbed     = penstock.LazyRegexp("(?m)^([ \\t>*+0-9.)-]*\\t[ \\t>*+0-9.)-]*)[`~]")
	entity     = penstock.LazyRegexp(`&(?:#[0-9]{1,10}|#[xX][0-9A-Fa-f]{1,8}|[A-Za-z][A-Za-z0-9]{1,31});?`)
	mentioned  = penstock.LazyRegexp(`^[A-Za-z0-9_-][\w.-]*(?:/[A-Za-z0-9_-][\w.-]*)?`)
)

// withoutComments removes HTML comments outside of code. The rest of a comment that does not end is shown.
func withoutComments(text string, code []span) string {
	masked := mask(text, code)
	var out strings.Builder
	at := 0
	for {
		begin := strings.Index(masked[at:], "<!--")
		if begin < 0 {
			break
		}
		begin += at
		out.WriteString(text[at:begin])
		rest := masked[begin+len("<!--"):]
		end := strings.Index(rest, "-->")
		switch {
		case strings.HasPrefix(rest, ">"), strings.HasPrefix(rest, "->"): // a comment without a text
			at = begin + len("<!--") + strings.IndexByte(rest, '>') + 1
		case end >= 0:
			at = begin + len("<!--") + end + len("-->")
		default:
			out.WriteString("&lt;!--")
			at = begin + len("<!--")
		}
	}
	out.WriteString(text[at:])
	if code == nil {
		return strings.ReplaceAll(out.String(), "<!--", "&lt;!--") // that the removal has joined
	}
	return out.String()
}

// edit replaces a part of a text.
type edit struct {
	span
	with string
}

// effectless takes their effect from mentions, keywords and commands outside of code.
func effectless(text string, code []span, keep func(string) bool) string {
	masked := mask(text, code)
	var edits []edit
	for i := range len(masked) { // one byte after the other: all that counts is ASCII
		if masked[i] != '@' || !mentions(masked, i, keep) {
			continue
		}
		if inURL(masked, i) { // where a divider would break it
			edits = append(edits, edit{span{i, i + 1}, "%40"})
		} else {
			edits = append(edits, edit{span{i + 1, i + 1}, divider})
		}
	}
	for _, at := range keyword().FindAllStringIndex(masked, -1) {
		after := masked[at[1]:min(len(masked), at[1]+glueLimit)]
		if !wordBefore(masked, at[0]) && !strings.HasPrefix(after, divider) && closed().MatchString(after) {
			edits = append(edits, edit{span{at[1], at[1]}, divider})
		}
	}
	for _, at := range tabbed().FindAllStringSubmatchIndex(masked, -1) {
		edits = append(edits, edit{span{at[2], at[3]}, spaced(masked[at[2]:at[3]])})
	}
	for _, at := range command().FindAllStringSubmatchIndex(masked, -1) {
		edits = append(edits, edit{span{at[2], at[2]}, divider})
	}
	return replace(text, edits)
}

// spaced replaces the tabs at the beginning of a line by spaces up to the same column. Goldmark 1.8.2 panics with a
// backtick or a tilde behind a tab in a quote or a list: Gitea answers 500 then, each time.
func spaced(prefix string) string {
	var out strings.Builder
	for _, r := range prefix {
		if r != '\t' {
			out.WriteRune(r)
			continue
		}
		for first := true; first || out.Len()%4 != 0; first = false {
			out.WriteByte(' ')
		}
	}
	return out.String()
}

// decode replaces entities outside of code.
func decode(text string, code []span) string {
	masked := mask(text, code)
	var edits []edit
	for _, at := range entity().FindAllStringIndex(masked, -1) {
		if with, changes := decoded(masked[at[0]:at[1]]); changes {
			edits = append(edits, edit{span{at[0], at[1]}, with})
		}
	}
	return replace(text, edits)
}

// decoded returns the character of an entity, if it hides a letter, a digit or a sign of a reference from us but not
// from a forge, or "" if nobody would see it.
func decoded(text string) (with string, changes bool) {
	plain := html.UnescapeString(text)
	r, size := utf8.DecodeRuneInString(plain)
	switch {
	case size != len(plain):
		return "", false
	case penstock.HiddenCharacter(r):
		return "", true
	}
	ascii := r <= unicode.MaxASCII && (unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(ofReferences, r))
	return plain, ascii
}

// mentions reports whether an "@" could begin a mention that is not kept.
func mentions(text string, at int, keep func(string) bool) bool {
	rest := text[at+1:]
	if rest == "" || addressed(text[:at]) ||
		!isWord(rest[0]) && !strings.ContainsRune(mentionStarts, rune(rest[0])) {
		return false
	}
	name := strings.TrimRight(mentioned().FindString(rest), ".-")
	return name == "" || keep == nil || !keep(name)
}

// linked is what a forge could make a link of by itself, so that a mention begins behind it.
var linked = penstock.LazyRegexp(`(?i)^(?:www\.|gh-[0-9]|[0-9a-f]{7,64}$)`)

// addressed reports whether the text before an "@" makes it a part of an address or a version, such as x@v4.
func addressed(before string) bool {
	begin := len(before)
	for begin > max(0, len(before)-256) && (isWord(before[begin-1]) || strings.IndexByte("._%+-", before[begin-1]) >= 0) {
		begin--
	}
	local := before[begin:]
	switch {
	case local == "" || !isWord(local[len(local)-1]) || linked().MatchString(local):
		return false
	case strings.HasSuffix(before[:begin], "://"):
		return !strings.Contains(local, ".")
	}
	return begin == 0 || strings.IndexByte("@#!&", before[begin-1]) < 0
}

// wordBefore reports whether a letter or digit is before a position, and it is not the end of an entity.
func wordBefore(text string, at int) bool {
	begin := at
	for begin > 0 && isWord(text[begin-1]) {
		begin--
	}
	return begin < at && (begin == 0 || text[begin-1] != '&' && text[begin-1] != '#')
}

func isWord(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'A' && c <= 'Z' || c >= 'a' && c <= 'z'
}

// inURL reports whether a position is inside of a URL, or of the target of a link.
func inURL(text string, at int) bool {
	begin := at
	for begin > max(0, at-2048) && text[begin-1] > ' ' && !strings.ContainsRune("<>()\"'`", rune(text[begin-1])) {
		begin--
	}
	return strings.Contains(text[begin:at], "://") || begin > 1 && text[begin-2:begin] == "]("
}

// replace applies edits, of which none may overlap.
func replace(text string, edits []edit) string {
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Compare(a.begin, b.begin) })
	var out strings.Builder
	at := 0
	for _, e := range edits {
		if e.begin >= at {
			out.WriteString(text[at:e.begin] + e.with)
			at = e.end
		}
	}
	out.WriteString(text[at:])
	return out.String()
}

// mask replaces code by zeros.
func mask(text string, code []span) string {
	if code == nil {
		return text
	}
	masked := []byte(text)
	for _, s := range code {
		clear(masked[s.begin:s.end])
	}
	return string(masked)
}
