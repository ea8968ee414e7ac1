package definition

import (
	"fmt"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v4"
)

// KeyChange sets a top-level key of a document, or removes it.
type KeyChange struct {
	Key    string
	Value  any // anything that encoding/json can write
	Remove bool
}

// SetKeys changes keys of a YAML document, or of the front matter of a Markdown document. All other
// lines stay unchanged, with comments, order and layout. In a mapping or list, it changes only the
// items that differ. A key that already has the value stays as it is. Comments above a removed key
// stay. New keys go to the end.
//
// A document with invalid YAML is an error. A document without keys may be empty. A top-level
// mapping in {} is rewritten.
func SetKeys(document []byte, frontmatter bool, changes []KeyChange) ([]byte, error) {
	text, mark := strings.CutPrefix(string(document), "\ufeff")
	before, after := "", ""
	if frontmatter {
		parts, problem := splitMarkdown(text)
		switch {
		case problem != "":
			return nil, fmt.Errorf("%s: %s", MalformedFrontmatter, problem)
		case parts.fenced:
			before, text, after = text[:parts.yaml], text[parts.yaml:parts.fence], text[parts.fence:]
		default:
			before, text, after = "---\n", "", "---\n\n"+strings.TrimLeft(text, "\r\n")
		}
	}
	changed, err := setTextKeys(text, changes)
	if err != nil {
		return nil, err
	}
	if mark {
		before = "\ufeff" + before
	}
	return []byte(before + changed + after), nil
}

func setTextKeys(text string, changes []KeyChange) (string, error) {
	root, err := mappingOf(text)
	if err != nil {
		return "", err
	}
	wanted := node{kind: yaml.MappingNode}
	if root != nil {
		wanted = nodeIn(root)
	}
	for _, change := range changes {
		if change.Remove {
			wanted = wanted.set(change.Key, nil)
			continue
		}
		value, err := nodeOf(change.Value)
		if err != nil {
			return "", fmt.Errorf("set the key %q: %w", change.Key, err)
		}
		wanted = wanted.set(change.Key, &value)
	}
	e := newEditor(text)
	if root != nil && e.mapping(root, wanted, len(text)) {
		if result := e.apply(); holds(result, wanted) {
			return result, nil
		}
	}
	result := e.lines(wanted.block(""))
	if root == nil { // nothing but comments
		if text != "" && !strings.HasSuffix(text, "\n") {
			result = e.lines("\n") + result
		}
		result = text + result
	} // otherwise the layout cannot be changed in place, for example if everything is in one line
	if !holds(result, wanted) {
		return "", errUnwritable
	}
	return result, nil
}

// holds reports whether a document has exactly this content.
func holds(text string, wanted node) bool {
	root, err := mappingOf(text)
	if err != nil {
		return false
	}
	if root == nil {
		return len(wanted.items) == 0
	}
	return nodeIn(root).equal(wanted)
}

// mappingOf parses a document. It returns nil for a document without keys.
func mappingOf(text string) (*yaml.Node, error) {
	d := document{findings: &findings{}, path: "document"}
	clean, ok := d.fileText([]byte(text))
	if ok {
		d.load(clean)
	}
	if d.count > 0 {
		return nil, fmt.Errorf("change a document: %s", d.sorted()[0])
	}
	return d.root, nil
}

// KeyAt returns the top-level key at a line of a document, or of the front matter of a Markdown
// document. Lines count from 1. It returns "prompt" below the front matter, and "" above the first
// key.
func KeyAt(document []byte, frontmatter bool, line int) string {
	key, fences := "", 0
	for n, text := range strings.Split(strings.TrimPrefix(string(document), "\ufeff"), "\n") {
		switch {
		case n >= line:
			return key
		case frontmatter && fences < 2 && isFence(text):
			if fences++; fences == 2 {
				return "prompt"
			}
		case text != "" && !strings.ContainsAny(text[:1], " \t\r#-"):
			key, _, _ = strings.Cut(text, ":")
			key = strings.Trim(key, `"' `)
		}
	}
	return key
}

// SetBody replaces the text below the front matter of a document, unless it is equal.
func SetBody(document []byte, body string) []byte {
	text := string(document)
	parts, problem := splitMarkdown(strings.TrimPrefix(text, "\ufeff"))
	if problem == "" && trimBody(strings.TrimPrefix(text, "\ufeff")[parts.body:]) == trimBody(body) {
		return document
	}
	e := newEditor(text)
	head := "---\n---\n"
	if problem == "" && parts.fenced {
		mark := len(text) - len(strings.TrimPrefix(text, "\ufeff"))
		head = strings.TrimRight(text[:mark+parts.body], "\r\n") + "\n"
	}
	if body = trimBody(body); body != "" {
		body = "\n" + body + "\n"
	}
	return []byte(e.lines(strings.ReplaceAll(head+body, "\r\n", "\n")))
}

// WriteFactory writes f into factory.yaml. The document may be empty.
func WriteFactory(document []byte, f Factory) ([]byte, error) { return write(document, false, f) }

// WriteAgent writes a into the agent.md of an agent. The document may be empty.
func WriteAgent(document []byte, a Agent) ([]byte, error) { return write(document, true, a) }

// WriteAutomation writes a into the automation.md of an automation. The document may be empty.
func WriteAutomation(document []byte, a Automation) ([]byte, error) { return write(document, true, a) }

// WriteWebhook writes w into the file of a webhook. The document may be empty.
func WriteWebhook(document []byte, w Webhook) ([]byte, error) { return write(document, false, w) }

// write sets the keys of a document that differ from its current values. Other spellings of an
// equal value stay, such as an alias or an explicit default. A changed document also gets the keys
// that are always written.
func write[T any](content []byte, markdown bool, wanted T) ([]byte, error) {
	var present T
	d := document{findings: &findings{}, path: "document"}
	if markdown {
		d.readMarkdown(content, false)
	} else if text, ok := d.fileText(content); ok {
		d.load(text)
	}
	if d.count > 0 {
		return nil, fmt.Errorf("change a document: %s", d.sorted()[0])
	}
	if d.root != nil {
		d.decode(&present)
	}
	now, next := reflect.ValueOf(&present).Elem(), reflect.ValueOf(wanted)
	changes := d.changes(now, next, false)
	if len(changes) > 0 || len(content) == 0 {
		changes = d.changes(now, next, true)
	}
	if markdown && len(content) == 0 {
		content = []byte("---\n---\n")
	}
	if len(changes) > 0 {
		var err error
		if content, err = SetKeys(content, markdown, changes); err != nil {
			return nil, err
		}
	}
	for _, f := range fieldsOf(next.Type()) {
		if f.body {
			content = SetBody(content, next.FieldByIndex(f.index).String())
		}
	}
	return content, nil
}

// changes returns the keys in which next differs from now, the content of the document. With
// written, it also returns missing keys that are always written.
func (d *document) changes(now, next reflect.Value, written bool) []KeyChange {
	var changes []KeyChange
	for _, f := range fieldsOf(next.Type()) {
		old, value := now.FieldByIndex(f.index), next.FieldByIndex(f.index)
		spelled := f.key
		if d.find(f.key) == nil && f.alias != "" && d.find(f.alias) != nil {
			spelled = f.alias
		}
		there := d.find(spelled) != nil
		missing := f.required || written && f.written && !value.IsZero()
		switch {
		case f.body, f.unused != "": // the API does not know it
		case f.text(old) == f.text(value) && (there || !missing):
		case value.IsZero() && !f.required:
			changes = append(changes, KeyChange{Key: spelled, Remove: true})
		default:
			changes = append(changes, KeyChange{Key: spelled, Value: value.Interface()})
		}
	}
	return changes
}
