package definition

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// document is one file while it is read: the mapping of its YAML, or of its
// front matter, and the text below it.
type document struct {
	*findings

	path  string
	root  *yaml.Node // nil: no mapping to read
	body  string     // of Markdown: with \n for line breaks, without blank lines around it
	first int        // lines of the file above its YAML
	last  int        // the line after its front matter, for findings about missing text below it

	subject string // the key whose value is being read
}

// badf reports a finding at a node, or at the beginning of the YAML if at is nil.
func (d *document) badf(at *yaml.Node, code Code, format string, args ...any) {
	d.nearf(at, code, "", format, args...)
}

// nearf is badf with a suggestion: the name that the author probably meant.
func (d *document) nearf(at *yaml.Node, code Code, nearest, format string, args ...any) {
	if d.full() {
		return
	}
	found := Diagnostic{Code: code, Message: fmt.Sprintf(format, args...), Path: d.path, Nearest: nearest}
	found.Line, found.Column = d.position(at)
	d.add(found)
}

// mustf is nearf about the value of the key that is being read.
func (d *document) mustf(at *yaml.Node, code Code, nearest, format string, args ...any) {
	d.nearf(at, code, nearest, "%s must %s", d.subject, fmt.Sprintf(format, args...))
}

func (d *document) warnf(at *yaml.Node, code Code, nearest, format string, args ...any) {
	d.remark(at, Diagnostic{
		Code: code, Message: fmt.Sprintf(format, args...), Nearest: nearest, Severity: SeverityWarning,
	})
}

// notef reports what there is nothing to fix about.
func (d *document) notef(at *yaml.Node, code Code, format string, args ...any) {
	d.remark(at, Diagnostic{Code: code, Message: fmt.Sprintf(format, args...), Severity: SeverityNote})
}

func (d *document) remark(at *yaml.Node, found Diagnostic) {
	found.Path = d.path
	found.Line, found.Column = d.position(at)
	d.add(found)
}

func (d *document) badLinef(line, column int, code Code, format string, args ...any) {
	d.add(Diagnostic{Code: code, Message: fmt.Sprintf(format, args...), Path: d.path, Line: line, Column: column})
}

// prompt checks the text below the front matter.
func (d *document) prompt() {
	if len(d.body) > maxPrompt {
		d.badLinef(d.last, 1, InvalidDocument, "the prompt has %d bytes; at most %d are allowed", len(d.body), maxPrompt)
	}
}

func (d *document) position(at *yaml.Node) (line, column int) {
	if at == nil || at.Line == 0 {
		return d.first + 1, 1
	}
	return d.first + at.Line, at.Column
}

// find returns the value at a path of keys and indexes below the document's root, or nil.
func (d *document) find(path ...any) *yaml.Node {
	node := d.root
	for _, step := range path {
		node = child(node, step)
	}
	return node
}

// key returns the node of a key itself.
func (d *document) key(path ...any) *yaml.Node {
	parent := d.find(path[:len(path)-1]...)
	if parent == nil || parent.Kind != yaml.MappingNode {
		return nil
	}
	for i := 0; i < len(parent.Content); i += 2 {
		if parent.Content[i].Value == path[len(path)-1] {
			return parent.Content[i]
		}
	}
	return nil
}

func child(node *yaml.Node, step any) *yaml.Node {
	switch step := step.(type) {
	case int:
		if node != nil && node.Kind == yaml.SequenceNode && step < len(node.Content) {
			return node.Content[step]
		}
	case string:
		if node == nil || node.Kind != yaml.MappingNode {
			return nil
		}
		for i := 0; i < len(node.Content); i += 2 {
			if node.Content[i].Value == step {
				return node.Content[i+1]
			}
		}
	}
	return nil
}

// pointed returns the node that a JSON pointer (RFC 6901) below at leads to, or the last existing
// node on the way.
func pointed(at *yaml.Node, pointer string) *yaml.Node {
	if pointer == "" {
		return at
	}
	for segment := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		next := child(at, unescapePointer.Replace(segment))
		if at != nil && at.Kind == yaml.SequenceNode {
			if index, err := strconv.Atoi(segment); err == nil {
				next = child(at, index)
			}
		}
		if next == nil {
			break
		}
		at = next
	}
	return at
}

var unescapePointer = strings.NewReplacer("~1", "/", "~0", "~")

// fileText returns a file as text, without a byte order mark. If the file is not text, it adds a
// finding and returns false.
func (d *document) fileText(content []byte) (string, bool) {
	text := strings.TrimPrefix(string(content), "\ufeff")
	for i, r := range text {
		problem := ""
		switch {
		case r == utf8.RuneError && strings.HasPrefix(text[i:], "\ufffd"):
		case r == utf8.RuneError:
			problem = "the file is not text in UTF-8"
		case r == '\r' && !strings.HasPrefix(text[i:], "\r\n"):
			problem = "a carriage return has no line feed after it; lines end with \\n or \\r\\n"
		case r < ' ' && r != '\t' && r != '\n' && r != '\r', r == 0x7f:
			problem = fmt.Sprintf("the control character U+%04X is not allowed", r)
		}
		if problem != "" {
			before := text[:i]
			line := before[strings.LastIndexByte(before, '\n')+1:]
			d.badLinef(strings.Count(before, "\n")+1, utf8.RuneCountInString(line)+1, InvalidDocument, "%s", problem)
			return "", false
		}
	}
	return text, true
}

// readYAML reads a file that is one YAML document: a mapping.
func (d *document) readYAML(content []byte) {
	text, ok := d.fileText(content)
	if !ok {
		return
	}
	before := d.count
	if d.load(text); d.root == nil && d.count == before {
		d.badLinef(1, 1, InvalidDocument, "the document is empty")
	}
}

// readMarkdown reads a file that has YAML between two lines --- at its beginning, and text below
// them. Unless front matter is required, a file without it is all text.
func (d *document) readMarkdown(content []byte, required bool) {
	text, ok := d.fileText(content)
	if !ok {
		return
	}
	parts, problem := splitMarkdown(text)
	switch {
	case problem == "" && parts.fenced:
		d.first, d.last = strings.Count(text[:parts.yaml], "\n"), strings.Count(text[:parts.body], "\n")+1
		d.load(text[parts.yaml:parts.fence])
	case problem == "" && required:
		problem = "the file must begin with front matter: a line ---, YAML, and another line ---"
		fallthrough
	case problem != "":
		d.badLinef(parts.line, 1, MalformedFrontmatter, "%s", problem)
	default:
		d.last = 1
	}
	d.body = trimBody(text[parts.body:])
}

// markdown says where the parts of a file begin, in bytes.
type markdown struct {
	fenced bool
	yaml   int
	fence  int // the second line ---
	body   int
	line   int // of the problem
}

// splitMarkdown finds the front matter. Blank lines and HTML comments may come before it.
func splitMarkdown(text string) (parts markdown, problem string) {
	start := aboveFence(text)
	opening, _, _ := strings.Cut(text[start:], "\n")
	if !isFence(opening) {
		if first := strings.TrimSpace(opening); len(first) >= 2 && strings.Trim(first, "-") == "" {
			return markdown{line: 1}, "front matter must begin with exactly ---"
		}
		return markdown{line: 1}, ""
	}
	parts = markdown{fenced: true, yaml: min(start+len(opening)+1, len(text))}
	at := parts.yaml
	for line := range strings.Lines(text[at:]) {
		if isFence(line) {
			parts.fence, parts.body = at, at+len(line)
			return parts, ""
		}
		at += len(line)
	}
	return markdown{line: 1}, "the front matter does not end: a second line --- is missing"
}

// aboveFence returns where the first line begins that is neither blank nor an HTML comment.
func aboveFence(text string) (at int) {
	inComment := false
	for line := range strings.Lines(text) {
		content := strings.TrimSpace(line)
		inComment = inComment || strings.HasPrefix(content, "<!--")
		if !inComment && content != "" {
			return at
		}
		inComment = inComment && !strings.HasSuffix(content, "-->")
		at += len(line)
	}
	return at
}

func isFence(line string) bool { return strings.TrimRight(line, " \t\r\n") == "---" }

// trimBody removes the blank lines around a body, which are only layout.
func trimBody(body string) string {
	body = strings.TrimRight(strings.ReplaceAll(body, "\r\n", "\n"), " \t\n")
	for {
		line, rest, more := strings.Cut(body, "\n")
		if strings.TrimSpace(line) != "" || !more {
			return body
		}
		body = rest
	}
}

// quoteless is quote without the quotation marks, for names that YAML writes without them.
func quoteless(name string) string {
	quoted := quote(name)
	return quoted[1 : len(quoted)-1]
}

// lineColumn returns the position of a byte.
func lineColumn(text string, at int) (line, column int) {
	before := text[:at]
	return strings.Count(before, "\n") + 1, utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
}
