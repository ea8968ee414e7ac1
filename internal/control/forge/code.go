package forge

import (
	"strings"

	"github.com/penstock-dev/penstock"
)

// span is a part of a text, in bytes.
type span struct{ begin, end int }

// codeOf returns the parts of a Markdown text that every forge shows as code: the content of code spans that begin
// and end on one line, and of fenced blocks. It is strict, because mentions in code are left alone: where the
// renderers could see something else, such as behind an odd tag or in a list, it returns less.
func codeOf(text string) []span {
	code, _ := readCode(text)
	return code
}

// closeFence ends a code block at the end of a text, if one is open.
func closeFence(text string) string {
	_, open := readCode(text)
	if open == "" {
		return text
	}
	return strings.TrimSuffix(text, "\n") + "\n" + open
}

// readCode returns the code of a text and, if a fenced block is open at its end, the line that closes it.
func readCode(text string) (code []span, open string) {
	p := codeReader{text: text}
	for p.next() {
		if !p.read() {
			break
		}
	}
	return p.code, p.open
}

type codeReader struct {
	text        string
	line        span // without its \n
	at          int  // where the next line begins
	code        []span
	open        string
	nested      bool // a fence in a list or a quote was not understood
	html, doubt bool // since the last empty line: it may be HTML; code spans are not certain
}

func (p *codeReader) next() bool {
	if p.at >= len(p.text) {
		return false
	}
	end := strings.IndexByte(p.text[p.at:], '\n')
	if end < 0 {
		end = len(p.text) - p.at
	}
	p.line = span{p.at, p.at + end}
	p.at += end + 1
	return true
}

func (p *codeReader) current() string { return p.text[p.line.begin:p.line.end] }

var (
	fenceLine = penstock.LazyRegexp("^( *)(`{3,}|~{3,})(.*)$")
	// rawBlock begins what an empty line does not end: HTML, or a formula.
	rawBlock = penstock.LazyRegexp(`(?i)^(?:<(?:script|pre|style|textarea|\?|!\[|![a-z])|\$\$|\\\[)`)
	htmlLine = penstock.LazyRegexp(`^<[A-Za-z/!?]`)
	mailLike = penstock.LazyRegexp("^`[^\\s@]*@[A-Za-z0-9-]+\\.[A-Za-z0-9][\\w.-]*")
	autolink = penstock.LazyRegexp("^<https?://[^\\s<>`]*>")
)

// read reads a line. It returns false if nothing that follows can be understood.
func (p *codeReader) read() bool {
	line := p.current()
	inner := strings.TrimLeft(line, " \t>*+-0123456789.)")
	found := fenceLine().FindStringSubmatch(line)
	switch {
	case strings.TrimSpace(line) == "":
		p.html, p.doubt = false, false
		return true
	case rawBlock().MatchString(inner):
		return false
	case found != nil && len(found[1]) <= 3 && (found[2][0] == '~' || !strings.Contains(found[3], "`")):
		return !p.html && (found[1] == "" || !p.nested) && p.fence(len(found[1]), found[2])
	case strings.HasPrefix(inner, "```"), strings.HasPrefix(inner, "~~~"):
		p.nested, p.doubt = true, true
	case htmlLine().MatchString(inner) && !autolink().MatchString(inner):
		p.html, p.doubt = true, true
	}
	if p.doubt {
		return p.comment(line)
	}
	return p.spans(line)
}

// comment skips to the end of a comment that begins on a line and does not end there.
func (p *codeReader) comment(from string) bool {
	begin := strings.LastIndex(from, "<!--")
	if begin < 0 || strings.Contains(from[begin:], "-->") {
		return true
	}
	length := strings.Index(p.text[p.line.end:], "-->")
	if length < 0 {
		return false
	}
	for end := p.line.end + length; p.line.end < end && p.next(); {
		continue // it is in the comment
	}
	p.html, p.doubt = true, true
	return true
}

// fence reads a fenced block whose first line is the current one. Deeper ones could be a part of a list: they
// count only if they end in each case on the same line.
func (p *codeReader) fence(indent int, open string) bool {
	begin := p.at
	for p.next() {
		line := p.current()
		rest := strings.TrimLeft(line, " \t")
		deep := len(line) - len(rest)
		if strings.Contains(line[:deep], "\t") {
			deep = max(deep, 4)
		}
		ends := strings.HasPrefix(rest, open) && strings.Trim(strings.TrimRight(rest, " \t"), open[:1]) == ""
		switch {
		case rest == "":
		case indent > 0 && (deep < indent || ends && deep != indent):
			return false
		case ends && deep <= 3:
			p.code = append(p.code, span{begin, p.line.begin})
			p.html, p.doubt = false, false
			return true
		}
	}
	if indent > 0 {
		return false
	}
	if begin < len(p.text) {
		p.code = append(p.code, span{begin, len(p.text)})
	}
	p.open = open
	return true
}

// spans reads the code spans of a line.
func (p *codeReader) spans(line string) bool {
	for i := 0; i < len(line); {
		length, certain := 1, true
		switch line[i] {
		case '`':
			length, certain = p.span(line, i)
		case '\\':
			length = 2
			certain = i+1 < len(line) && !strings.ContainsRune("([", rune(line[i+1])) // a formula, on Gitea
		case '$': // a formula
			certain = false
		case '<':
			length, certain = tag(line[i:])
		case ']':
			length, certain = target(line[i:])
		}
		if !certain {
			p.doubt = true
			return p.comment(line[i:])
		}
		i += length
	}
	return true
}

// span reads a code span that begins at i, and returns its length.
func (p *codeReader) span(line string, i int) (length int, certain bool) {
	word := line[strings.LastIndexAny(line[:i], " \t")+1 : i]
	if strings.Contains(word, "://") || strings.Contains(word, "www.") || strings.Contains(word, "@") {
		return 0, false // Gitea may take the backtick for a part of a URL
	}
	n := run(line[i:])
	// Or of an address: after that, nothing is certain.
	if address := mailLike().FindString(line[i:]); address != "" {
		end := i + len(address)
		if line[i+n] == '@' && run(line[end:]) == n {
			p.code = append(p.code, span{p.line.begin + i + n, p.line.begin + end})
		}
		return 0, false
	}
	for j := i + n; j < len(line); j++ {
		m := run(line[j:])
		if m == n && strings.Contains(line[i:j], "|") {
			return 0, false // cells of a table, of which each is by itself
		}
		if m == n {
			p.code = append(p.code, span{p.line.begin + i + n, p.line.begin + j})
			return j + m - i, true
		}
		j += max(0, m-1)
	}
	return 0, false
}

func run(text string) int { return len(text) - len(strings.TrimLeft(text, "`")) }

// tag reads what may be a tag, and returns its length.
func tag(text string) (length int, certain bool) {
	if comment, found := strings.CutPrefix(text, "<!--"); found {
		inside, _, ends := strings.Cut(comment, "-->")
		return len("<!---->") + len(inside), ends && !strings.Contains(inside, "`")
	}
	if !htmlLine().MatchString(text) {
		return 1, true
	}
	inside, _, ends := strings.Cut(text[1:], ">")
	return len(inside) + 2, ends && !strings.ContainsAny(inside, "`'<?!") && strings.Count(inside, `"`)%2 == 0
}

// target reads the target of a link after its text, and returns its length with the "]".
func target(text string) (length int, certain bool) {
	var closing string
	switch {
	case strings.HasPrefix(text, "]("):
		closing = ")"
	case strings.HasPrefix(text, "]["):
		closing = "]"
	default:
		return 1, true
	}
	inside, _, ends := strings.Cut(text[2:], closing)
	return len(inside) + 3, ends && !strings.ContainsAny(inside, "`'<([\\") && strings.Count(inside, `"`)%2 == 0
}
