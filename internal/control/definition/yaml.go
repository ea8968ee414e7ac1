package definition

import (
	"errors"
	"io"
	"strings"

	"go.yaml.in/yaml/v4"
)

// load parses the YAML and checks its structure. After that, root is safe to read: it has no
// aliases to follow.
func (d *document) load(text string) {
	for i, r := range text {
		if r == '\u0085' || r == '\u2028' || r == '\u2029' || r == '\ufeff' {
			line, column := lineColumn(text, i)
			d.badLinef(
				d.first+line, column, InvalidYAML,
				"the character U+%04X must be written as an escape in double quotes", r,
			)
			return
		}
	}
	if line := directive(text); line > 0 {
		d.badLinef(d.first+line, 1, InvalidYAML, "directives are not allowed: remove the line that begins with %%")
		return
	}
	document, more, err := parseYAML(text)
	if err != nil {
		d.syntax(text, err)
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

// directive returns the line of a directive, which can only be above everything else (YAML 1.2
// §6.8), or 0.
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

// parseYAML reads the first document, or nil, and reports whether another one follows. The parser
// limits its own depth. Its input is hostile, so a panic of the parser becomes an error.
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

// syntax reports an error of the parser about a text.
func (d *document) syntax(text string, err error) {
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
	case refused.Stage == yaml.ComposerStage: // which fails only for an alias without its anchor
		d.badf(at, Alias, "aliases are not allowed: write the value out")
	case startsNothing(text, refused):
		d.badf(
			at, InvalidYAML, "a value cannot begin with this character: put it in quotes, and indent with spaces, not tabs",
		)
	default:
		d.badf(at, InvalidYAML, "invalid YAML: %s", strings.ToValidUTF8(message, "\ufffd"))
	}
}

// startsNothing reports whether the scanner stopped at a character that begins no token, such as a tab or @.
// The library has no value for this error. Its other errors are about a place behind the beginning of the
// construct, except the one about too many levels, which is about the bracket that opens one more.
func startsNothing(text string, refused *yaml.LoadError) bool {
	if refused.Stage != yaml.ScannerStage || refused.Mark != refused.ContextMark {
		return false
	}
	at := []rune(text)
	at = at[min(refused.Mark.Index, len(at)):]
	return len(at) > 0 && at[0] != '[' && at[0] != '{'
}

// secondDocument reports the line --- that begins the second document. It is the next such line
// after the start of the first document. An empty first document has such a line itself.
func (d *document) secondDocument(text string, first *yaml.Node) {
	after := first.Line
	if first.Kind == yaml.ScalarNode && first.Value == "" {
		after = startLine(text, 0)
	}
	d.badLinef(d.first+startLine(text, after), 1, InvalidYAML, "a file has one YAML document; a second one begins here")
}

// startLine returns the next line --- after a line.
func startLine(text string, after int) int {
	number := 0
	for line := range strings.Lines(text) {
		if number++; number > after && strings.HasPrefix(line, "---") {
			break
		}
	}
	return number
}

// structure reports what is not allowed anywhere. It recurses as deep as the parser did.
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
			d.badf(key, DuplicateKey, "the key %s is already in line %d", quote(key.Value), d.first+seen[key.Value])
		default:
			seen[key.Value] = key.Line
		}
		d.structure(value)
	}
}

// entries returns the valid keys of a mapping, without duplicates, with their values.
func entries(mapping *yaml.Node) [][2]*yaml.Node {
	all := make([][2]*yaml.Node, 0, len(mapping.Content)/2)
	seen := make(map[string]bool, len(mapping.Content)/2)
	for i := 0; i < len(mapping.Content); i += 2 {
		key := mapping.Content[i]
		if key.Kind == yaml.ScalarNode && key.ShortTag() != "!!merge" && !seen[key.Value] && (key.Value != "" ||
			kindOf(key) == textScalar) {
			seen[key.Value] = true
			all = append(all, [2]*yaml.Node{key, mapping.Content[i+1]})
		}
	}
	return all
}

// unusable reports whether structure has already reported node.
func unusable(node *yaml.Node) bool {
	return node.Kind == yaml.AliasNode || node.Style&yaml.TaggedStyle != 0 || node.Tag == "!"
}
