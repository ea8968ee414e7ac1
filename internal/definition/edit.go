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

// SetKeys changes keys of a YAML document, or of the frontmatter of a Markdown
// document, and leaves every line alone that is not concerned: comments, order
// and layout stay. Inside of a mapping or list only what differs is changed, and
// a key that has the value already is not touched. Comments above a key that is
// removed stay. New keys go to the end.
//
// A document that [Parse] would refuse for its YAML is an error, and one without
// keys may be empty. A mapping in {} at the top is written anew.
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
	changed, err := setKeys(text, changes)
	if err != nil {
		return nil, err
	}
	if mark {
		before = "\ufeff" + before
	}
	return []byte(before + changed + after), nil
}

func setKeys(text string, changes []KeyChange) (string, error) {
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
	if root == nil { // comments at most
		if text != "" && !strings.HasSuffix(text, "\n") {
			result = e.lines("\n") + result
		}
		result = text + result
	} // else a layout that cannot be changed in place: everything in one line, or the like
	if !holds(result, wanted) {
		return "", errUnwritable
	}
	return result, nil
}

// holds reports whether a document says just that.
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

// mappingOf parses a document; nil where it has no keys.
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

// KeyAt is the top-level key of a document, or of the frontmatter of a Markdown document, that
// a line from 1 on belongs to: "prompt" below the frontmatter, "" above the first key.
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

// SetBody replaces the text below the frontmatter of a document, unless it says
// the same already.
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

// WriteFactory puts f into factory.yaml; the document may be empty.
func WriteFactory(document []byte, f Factory) ([]byte, error) { return write(document, false, f) }

// WriteAgent puts a into the agent.md of an agent; the document may be empty.
func WriteAgent(document []byte, a Agent) ([]byte, error) { return write(document, true, a) }

// WriteAutomation puts a into the automation.md of an automation; the document
// may be empty.
func WriteAutomation(document []byte, a Automation) ([]byte, error) { return write(document, true, a) }

// WriteWebhook puts w into the file of a webhook; the document may be empty.
func WriteWebhook(document []byte, w Webhook) ([]byte, error) { return write(document, false, w) }

// write sets those keys of a document that differ from what it says now. Other
// spellings of the same, such as an alias or a default written out, stay. A
// document that is changed names the keys that are always written.
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

// changes are the keys in which a document that was read as now differs from next. With written, those count that are
// always written.
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
		case f.body:
		case f.text(old) == f.text(value) && (there || !missing):
		case value.IsZero() && !f.required:
			changes = append(changes, KeyChange{Key: spelled, Remove: true})
		default:
			changes = append(changes, KeyChange{Key: spelled, Value: value.Interface()})
		}
	}
	return changes
}
