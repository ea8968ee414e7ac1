package definition

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// document is one file while it is read: the mapping of its YAML, or of its
// frontmatter, and the text below it.
type document struct {
	*findings

	path  string
	root  *yaml.Node // nil where there is no mapping to be read
	body  string     // of Markdown: with \n for line breaks, without blank lines around it
	first int        // lines of the file above its YAML
	last  int        // the line after its frontmatter, for what is missing below it

	subject string // the key whose value is being read
}

// badf reports a finding at a node; without one at the beginning of the YAML.
func (d *document) badf(at *yaml.Node, code Code, format string, args ...any) {
	d.nearf(at, code, "", format, args...)
}

// nearf is badf with the name that was perhaps meant.
func (d *document) nearf(at *yaml.Node, code Code, nearest, format string, args ...any) {
	found := Diagnostic{Code: code, Message: fmt.Sprintf(format, args...), Path: d.path, Nearest: nearest}
	found.Line, found.Column = d.position(at)
	d.add(found)
}

// mustf is nearf about the value of the key that is being read.
func (d *document) mustf(at *yaml.Node, code Code, nearest, format string, args ...any) {
	d.nearf(at, code, nearest, "%s must %s", d.subject, fmt.Sprintf(format, args...))
}

func (d *document) warnf(at *yaml.Node, code Code, nearest, format string, args ...any) {
	found := Diagnostic{Code: code, Message: fmt.Sprintf(format, args...), Path: d.path, Nearest: nearest, Severity: SeverityWarning}
	found.Line, found.Column = d.position(at)
	d.add(found)
}

func (d *document) badLinef(line, column int, code Code, format string, args ...any) {
	d.add(Diagnostic{Code: code, Message: fmt.Sprintf(format, args...), Path: d.path, Line: line, Column: column})
}

// prompt checks the text below the frontmatter.
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

// find is the value below the document's root at a path of keys and indexes,
// nil where there is none.
func (d *document) find(path ...any) *yaml.Node {
	node := d.root
	for _, step := range path {
		node = child(node, step)
	}
	return node
}

// key is the node of a key itself.
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

// pointed is the node that a JSON pointer (RFC 6901) below at leads to, or the
// last one on the way that there is.
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

// fileText is a file as text: without a byte order mark, or false with a
// finding where it is none.
func (d *document) fileText(content []byte) (string, bool) {
	text := strings.TrimPrefix(string(content), "\ufeff")
	for i, r := range text {
		problem := ""
		switch {
		case r == utf8.RuneError && strings.HasPrefix(text[i:], "\ufffd"):
		case r == utf8.RuneError:
			problem = "the file is not text in UTF-8"
		case r == '\r' && !strings.HasPrefix(text[i:], "\r\n"):
			problem = "a carriage return stands alone; lines end with \\n or \\r\\n"
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

// readMarkdown reads a file that has YAML between two lines --- at its
// beginning, and text below them. A file that begins otherwise is all text where
// it need not have frontmatter.
func (d *document) readMarkdown(content []byte, required bool) {
	text, ok := d.fileText(content)
	if !ok {
		return
	}
	parts, problem := splitMarkdown(text)
	switch {
	case problem == "" && parts.fenced:
		d.first, d.last = 1, strings.Count(text[:parts.body], "\n")+1
		d.load(text[parts.yaml:parts.fence])
	case problem == "" && required:
		problem = "the file must begin with frontmatter: a line ---, YAML, and another line ---"
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

// splitMarkdown finds the frontmatter.
func splitMarkdown(text string) (parts markdown, problem string) {
	opening, _, _ := strings.Cut(text, "\n")
	if !isFence(opening) {
		first := strings.TrimSpace(opening)
		if rest := strings.TrimLeft(text, " \t\r\n"); first == "" {
			first, _, _ = strings.Cut(rest, "\n")
			first = strings.TrimSpace(first)
		}
		if len(first) >= 2 && strings.Trim(first, "-") == "" {
			return markdown{line: 1}, "frontmatter must begin in the first line, with exactly ---"
		}
		return markdown{line: 1}, ""
	}
	parts = markdown{fenced: true, yaml: min(len(opening)+1, len(text))}
	at := parts.yaml
	for line := range strings.Lines(text[at:]) {
		if isFence(line) {
			parts.fence, parts.body = at, at+len(line)
			return parts, ""
		}
		at += len(line)
	}
	return markdown{line: 1}, "the frontmatter does not end: a second line --- is missing"
}

func isFence(line string) bool { return strings.TrimRight(line, " \t\r\n") == "---" }

// trimBody is a body as it is meant: blank lines around it are layout.
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

// load parses the YAML and checks what holds for all of it. What it leaves in
// root can be read without any further care: aliases are not followed.
func (d *document) load(text string) {
	for i, r := range text {
		if r == '\u0085' || r == '\u2028' || r == '\u2029' || r == '\ufeff' {
			line, column := lineColumn(text, i)
			d.badLinef(d.first+line, column, InvalidYAML, "the character U+%04X is not allowed as it is; write it as an escape in double quotes", r)
			return
		}
	}
	if line := directive(text); line > 0 {
		d.badLinef(d.first+line, 1, InvalidYAML, "directives are not allowed: remove the line that begins with %%")
		return
	}
	document, more, err := parseYAML(text)
	if err != nil {
		d.syntax(err)
		return
	}
	if document == nil || document.Kind != yaml.DocumentNode || len(document.Content) == 0 {
		return
	}
	root := document.Content[0]
	if more {
		d.secondDocument(text, root)
		return
	}
	d.structure(root)
	switch {
	case root.Kind == yaml.MappingNode:
		d.root = root
	case root.Kind == yaml.ScalarNode && root.Value == "" && kindOf(root) == nullScalar && root.Anchor == "":
	case root.Kind != yaml.AliasNode:
		d.badf(root, InvalidDocument, "the document must be a mapping of keys to values, not %s", describe(root))
	}
}

// directive is the line of a directive, which can only stand above everything
// else (YAML 1.2 §6.8), 0 where there is none.
func directive(text string) int {
	number := 0
	for line := range strings.Lines(text) {
		number++
		if line[0] == '%' {
			return number
		}
		if line = strings.TrimSpace(line); line != "" && line[0] != '#' {
			return 0
		}
	}
	return 0
}

// parseYAML reads the first document, nil where there is none, and whether
// another one follows. The parser bounds its own depth, and a panic of it is an
// error here: what it reads is hostile.
func parseYAML(text string) (document *yaml.Node, more bool, err error) {
	defer func() {
		if problem := recover(); problem != nil {
			err = errors.New("the YAML cannot be read")
		}
	}()
	loader, err := yaml.NewLoader(strings.NewReader(text))
	if err != nil {
		return nil, false, err
	}
	var node, next yaml.Node
	if err := loader.Load(&node); err != nil {
		if errors.Is(err, io.EOF) {
			return nil, false, nil
		}
		return nil, false, err
	}
	err = loader.Load(&next)
	switch {
	case errors.Is(err, io.EOF):
		return &node, false, nil
	case err != nil:
		return nil, false, err
	}
	return &node, true, nil
}

// syntax reports what the parser refuses.
func (d *document) syntax(err error) {
	refused, ok := errors.AsType[*yaml.LoadError](err)
	if !ok {
		d.badLinef(d.first+1, 1, InvalidYAML, "%s", err)
		return
	}
	at := &yaml.Node{Line: refused.Mark.Line, Column: refused.Mark.Column}
	if at.Line == 0 {
		at.Line, at.Column = refused.ContextMark.Line, refused.ContextMark.Column
	}
	message := refused.Message
	if refused.ContextMsg != "" {
		message = refused.ContextMsg + ": " + message
	}
	switch {
	case strings.HasPrefix(message, "unknown anchor"):
		d.badf(at, Alias, "aliases are not allowed: write the value out")
	case strings.Contains(message, "cannot start any token"):
		d.badf(at, InvalidYAML, "a value cannot begin with this character: put it in quotes, and indent with spaces, not tabs")
	default:
		d.badf(at, InvalidYAML, "invalid YAML: %s", strings.ToValidUTF8(message, "\ufffd"))
	}
}

// secondDocument reports the line --- that begins it: the next one behind the
// beginning of the first document, which has such a line itself where it is
// empty.
func (d *document) secondDocument(text string, first *yaml.Node) {
	after := first.Line
	if first.Kind == yaml.ScalarNode && first.Value == "" {
		after = startLine(text, 0)
	}
	d.badLinef(d.first+startLine(text, after), 1, InvalidYAML, "a file holds one YAML document: a second one begins here")
}

// startLine is the next line --- after a line.
func startLine(text string, after int) int {
	number := 0
	for line := range strings.Lines(text) {
		if number++; number > after && strings.HasPrefix(line, "---") {
			break
		}
	}
	return number
}

// structure reports what is allowed nowhere. It recurses as deep as the parser
// did.
func (d *document) structure(node *yaml.Node) {
	if node.Anchor != "" {
		d.badf(node, Anchor, "anchors are not allowed: remove &%s", quoteless(node.Anchor))
	}
	if node.Style&yaml.TaggedStyle != 0 || node.Tag == "!" {
		d.badf(node, Tag, "tags are not allowed: remove %s", quoteless(node.Tag))
	}
	switch node.Kind {
	case yaml.AliasNode:
		d.badf(node, Alias, "aliases are not allowed: write the value of *%s out", quoteless(node.Value))
	case yaml.ScalarNode:
		if strings.ContainsRune(node.Value, 0) {
			d.badf(node, InvalidValue, "the character U+0000 is not allowed in a text")
		}
	case yaml.MappingNode:
		d.keys(node)
	case yaml.SequenceNode:
		for _, item := range node.Content {
			d.structure(item)
		}
	}
}

func (d *document) keys(mapping *yaml.Node) {
	seen := make(map[string]int, len(mapping.Content)/2)
	for i := 0; i < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		switch {
		case key.Kind == yaml.AliasNode, key.Anchor != "", key.Style&yaml.TaggedStyle != 0:
			d.structure(key)
		case key.Kind != yaml.ScalarNode:
			d.badf(key, InvalidYAML, "a key must be text, not %s", describe(key))
		case key.ShortTag() == "!!merge":
			d.badf(key, InvalidYAML, "merge keys are not allowed: write the keys out")
		case key.Value == "" && kindOf(key) == nullScalar:
			d.badf(key, InvalidYAML, "a key is missing before the colon")
		case strings.ContainsRune(key.Value, 0):
			d.badf(key, InvalidValue, "the character U+0000 is not allowed in a key")
		case seen[key.Value] > 0:
			d.badf(key, DuplicateKey, "the key %s is there already, in line %d", quote(key.Value), d.first+seen[key.Value])
		default:
			seen[key.Value] = key.Line
		}
		d.structure(value)
	}
}

// entries are the keys of a mapping that can be used, each once, with their
// values.
func entries(mapping *yaml.Node) [][2]*yaml.Node {
	all := make([][2]*yaml.Node, 0, len(mapping.Content)/2)
	seen := make(map[string]bool, len(mapping.Content)/2)
	for i := 0; i < len(mapping.Content); i += 2 {
		key := mapping.Content[i]
		if key.Kind == yaml.ScalarNode && key.ShortTag() != "!!merge" && !seen[key.Value] && (key.Value != "" || kindOf(key) == textScalar) {
			seen[key.Value] = true
			all = append(all, [2]*yaml.Node{key, mapping.Content[i+1]})
		}
	}
	return all
}

// unusable reports whether a finding of structure says already all about node.
func unusable(node *yaml.Node) bool {
	return node.Kind == yaml.AliasNode || node.Style&yaml.TaggedStyle != 0 || node.Tag == "!"
}

// quoteless is quote without the quotes, for names that YAML writes so.
func quoteless(name string) string {
	quoted := quote(name)
	return quoted[1 : len(quoted)-1]
}

// lineColumn is the position of a byte.
func lineColumn(text string, at int) (line, column int) {
	before := text[:at]
	return strings.Count(before, "\n") + 1, utf8.RuneCountInString(before[strings.LastIndexByte(before, '\n')+1:]) + 1
}
