package definition

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// node is a value for a document: any JSON, with the order of keys and the digits of numbers.
type node struct {
	kind  yaml.Kind
	text  string // of a scalar: the text, or the literal of a number, a boolean or null
	plain bool   // the scalar is a literal, not a text
	keys  []string
	items []node
}

// nodeOf returns the JSON of a Go value as a node.
func nodeOf(value any) (node, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return node{}, err
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	return readNode(decoder)
}

func readNode(decoder *json.Decoder) (node, error) {
	token, err := decoder.Token()
	if err != nil {
		return node{}, err
	}
	switch token := token.(type) {
	case json.Delim:
		n := node{kind: yaml.SequenceNode}
		if token == '{' {
			n.kind = yaml.MappingNode
		}
		for decoder.More() {
			if n.kind == yaml.MappingNode {
				key, err := decoder.Token()
				if err != nil {
					return node{}, err
				}
				n.keys = append(n.keys, fmt.Sprint(key))
			}
			item, err := readNode(decoder)
			if err != nil {
				return node{}, err
			}
			n.items = append(n.items, item)
		}
		_, err := decoder.Token()
		return n, err
	case string:
		return node{kind: yaml.ScalarNode, text: token}, nil
	case nil:
		return node{kind: yaml.ScalarNode, text: "null", plain: true}, nil
	default:
		return node{kind: yaml.ScalarNode, text: fmt.Sprint(token), plain: true}, nil
	}
}

// nodeIn returns a node of a document. It must not contain anything that structure rejects.
func nodeIn(at *yaml.Node) node {
	n := node{kind: at.Kind}
	switch at.Kind {
	case yaml.MappingNode:
		for _, entry := range entries(at) {
			n.keys = append(n.keys, entry[0].Value)
			n.items = append(n.items, nodeIn(entry[1]))
		}
	case yaml.SequenceNode:
		for _, item := range at.Content {
			n.items = append(n.items, nodeIn(item))
		}
	default:
		switch kind := kindOf(at); kind {
		case nullScalar:
			n.text, n.plain = "null", true
		case boolScalar:
			n.text, n.plain = fmt.Sprint(isTrue(at.Value)), true
		default:
			n.text, n.plain = at.Value, kind != textScalar
		}
	}
	return n
}

// equal compares values. The order of keys does not matter.
func (n node) equal(other node) bool {
	if n.kind != other.kind || n.text != other.text || n.plain != other.plain || len(n.items) != len(other.items) {
		return false
	}
	for i, item := range n.items {
		j := i
		if n.kind == yaml.MappingNode {
			if j = slices.Index(other.keys, n.keys[i]); j < 0 {
				return false
			}
		}
		if !item.equal(other.items[j]) {
			return false
		}
	}
	return true
}

func (n node) get(key string) (node, bool) {
	i := slices.Index(n.keys, key)
	if i < 0 {
		return node{}, false
	}
	return n.items[i], true
}

// set changes a key in a copy of a mapping. A nil value removes the key.
func (n node) set(key string, value *node) node {
	n.keys, n.items = slices.Clone(n.keys), slices.Clone(n.items)
	switch i := slices.Index(n.keys, key); {
	case i < 0 && value != nil:
		n.keys, n.items = append(n.keys, key), append(n.items, *value)
	case i >= 0 && value != nil:
		n.items[i] = *value
	case i >= 0:
		n.keys, n.items = slices.Delete(n.keys, i, i+1), slices.Delete(n.items, i, i+1)
	}
	return n
}

// Rendering. The value of a key or dash follows it: a scalar in the same line, and a block in lines
// of its own.

const step = "  "

// behind renders n after a key whose line is indented by indent. With further, more text follows in
// the line, so n must not be a block scalar.
func (n node) behind(indent string, further bool) string {
	if len(n.items) == 0 || n.kind == yaml.ScalarNode {
		return " " + n.scalar(indent, further)
	}
	return "\n" + strings.TrimSuffix(n.block(indent+step), "\n")
}

// block renders n in lines with this indentation.
func (n node) block(indent string) string {
	var b strings.Builder
	for i, item := range n.items {
		b.WriteString(indent)
		if n.kind == yaml.MappingNode {
			b.WriteString(writeText(n.keys[i], false) + ":" + item.behind(indent, false) + "\n")
			continue
		}
		switch {
		case len(item.items) == 0 || item.kind == yaml.ScalarNode:
			b.WriteString("- " + item.scalar(indent, false) + "\n")
		default:
			b.WriteString("- " + strings.TrimPrefix(item.block(indent+step), indent+step))
		}
	}
	return b.String()
}

// flow renders n in one line.
func (n node) flow() string {
	parts := make([]string, len(n.items))
	for i, item := range n.items {
		if parts[i] = item.flow(); n.kind == yaml.MappingNode {
			parts[i] = writeText(n.keys[i], true) + ": " + parts[i]
		}
	}
	switch {
	case n.kind == yaml.MappingNode:
		return "{" + strings.Join(parts, ", ") + "}"
	case n.kind == yaml.SequenceNode:
		return "[" + strings.Join(parts, ", ") + "]"
	case n.plain:
		return n.text
	}
	return writeText(n.text, true)
}

// scalar renders a scalar, or an empty mapping or list.
func (n node) scalar(indent string, oneLine bool) string {
	if n.kind != yaml.ScalarNode || n.plain {
		return n.flow()
	}
	if oneLine || !strings.Contains(strings.TrimRight(n.text, "\n"), "\n") || !blockSafe(n.text) {
		return writeText(n.text, false)
	}
	var b strings.Builder
	b.WriteString("|")
	if !strings.HasSuffix(n.text, "\n") {
		b.WriteString("-")
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(n.text, "\n"), "\n") {
		b.WriteString("\n")
		if line != "" {
			b.WriteString(indent + step + line)
		}
	}
	return b.String()
}

// blockSafe reports whether a literal block keeps a text of several lines unchanged.
func blockSafe(text string) bool {
	first := strings.TrimLeft(text, "\n")
	if first == "" || first[0] == ' ' || first[0] == '\t' || text[0] == '\n' || strings.HasSuffix(text, "\n\n") {
		return false
	}
	for line := range strings.SplitSeq(text, "\n") {
		if line != "" && strings.TrimSpace(line) == "" {
			return false
		}
	}
	return !strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && r != '\t' && !writable(r) })
}

// writable reports whether a character is visible and needs no escape in YAML.
func writable(r rune) bool {
	return r == ' ' || r != utf8.RuneError && r != '\ufeff' && r != '\u2028' && r != '\u2029' && unicode.IsPrint(r)
}

// writeText renders a text in one line. It omits quotes only if every YAML reader reads the same
// text.
func writeText(text string, flow bool) string {
	if plainText(text, flow) {
		return text
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case writable(r):
			b.WriteRune(r)
		case r <= 0xffff:
			fmt.Fprintf(&b, `\u%04X`, r)
		default:
			fmt.Fprintf(&b, `\U%08X`, r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

// plainText reports whether a text needs no quotes. It is cautious: it quotes every text that could
// be a number, a date or a boolean in any version of YAML.
func plainText(text string, flow bool) bool {
	if text == "" || strings.TrimSpace(text) != text || len(text) > 200 || plainKind(text) != textScalar {
		return false
	}
	switch strings.ToLower(text) {
	case "y", "n", "yes", "no", "on", "off", "<<", "=":
		return false
	}
	first, _ := utf8.DecodeRuneInString(text)
	if !unicode.IsLetter(first) && first != '/' && first != '_' && (!unicode.IsDigit(first) ||
		strings.IndexFunc(text, unicode.IsLetter) < 0) {
		return false
	}
	if unicode.IsDigit(first) && strings.ContainsAny(text, ":.-+_") &&
		!strings.ContainsFunc(
			text, func(r rune) bool { return unicode.IsLetter(r) && !strings.ContainsRune("eExXoObBTZtz", r) },
		) {
		return false
	}
	special := "#:"
	if flow {
		special = "#:,[]{}"
	}
	return !strings.ContainsAny(text, special+"\"'`\\|>&*!%@") &&
		!strings.ContainsFunc(text, func(r rune) bool { return !writable(r) })
}

var errUnwritable = errors.New("change a document: a text holds what no document may, such as U+0000")
