package api

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"
)

// tree is a value of the document, in the order in which it is written. The zero tree is an absent
// value, and everything in it is absent too.
type tree struct{ n *yaml.Node }

type pair struct {
	key   string
	value tree
}

func parseTree(data []byte) (tree, error) {
	var doc yaml.Node
	if err := yaml.Unmarshal(data, &doc); err != nil {
		return tree{}, err
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		return tree{}, fmt.Errorf("not one document")
	}
	return tree{doc.Content[0]}, nil
}

func (t tree) ok() bool { return t.n != nil }

// pairs lists the members of an object, in order.
func (t tree) pairs() []pair {
	if t.n == nil || t.n.Kind != yaml.MappingNode {
		return nil
	}
	out := make([]pair, 0, len(t.n.Content)/2)
	for i := 0; i+1 < len(t.n.Content); i += 2 {
		out = append(out, pair{t.n.Content[i].Value, tree{t.n.Content[i+1]}})
	}
	return out
}

// items lists the elements of an array.
func (t tree) items() []tree {
	if t.n == nil || t.n.Kind != yaml.SequenceNode {
		return nil
	}
	out := make([]tree, len(t.n.Content))
	for i, n := range t.n.Content {
		out[i] = tree{n}
	}
	return out
}

// at returns the value at a path of keys.
func (t tree) at(keys ...string) tree {
	for _, key := range keys {
		var next tree
		for _, p := range t.pairs() {
			if p.key == key {
				next = p.value
			}
		}
		t = next
	}
	return t
}

// text returns a scalar as written, without spaces around it, or "" if it is absent.
func (t tree) text() string {
	if t.n == nil || t.n.Kind != yaml.ScalarNode {
		return ""
	}
	return strings.TrimSpace(t.n.Value)
}

// texts returns the scalars of a list. A scalar counts as a list of one.
func (t tree) texts() []string {
	if s := t.text(); s != "" {
		return []string{s}
	}
	var out []string
	for _, item := range t.items() {
		out = append(out, item.text())
	}
	return out
}

// resolve follows a $ref within root. name is its last segment.
func (t tree) resolve(root tree) (target tree, name string) {
	ref := t.at("$ref").text()
	if ref == "" {
		return t, ""
	}
	keys := strings.Split(strings.TrimPrefix(ref, "#/"), "/")
	return root.at(keys...), keys[len(keys)-1]
}

// json writes t in its original order, indented by two spaces.
func (t tree) json() ([]byte, error) {
	compact, err := t.compactJSON()
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	err = json.Indent(&out, compact, "", "  ")
	return out.Bytes(), err
}

func (t tree) compactJSON() ([]byte, error) {
	var out bytes.Buffer
	err := t.writeJSON(&out)
	return out.Bytes(), err
}

func (t tree) writeJSON(w *bytes.Buffer) error {
	switch t.n.Kind {
	case yaml.MappingNode:
		w.WriteByte('{')
		for i, p := range t.pairs() {
			if i > 0 {
				w.WriteByte(',')
			}
			if err := writeScalar(w, p.key); err != nil {
				return err
			}
			w.WriteByte(':')
			if err := p.value.writeJSON(w); err != nil {
				return err
			}
		}
		w.WriteByte('}')
	case yaml.SequenceNode:
		w.WriteByte('[')
		for i, item := range t.items() {
			if i > 0 {
				w.WriteByte(',')
			}
			if err := item.writeJSON(w); err != nil {
				return err
			}
		}
		w.WriteByte(']')
	case yaml.ScalarNode:
		var v any
		if err := t.n.Decode(&v); err != nil {
			return err
		}
		return writeScalar(w, v)
	default:
		return fmt.Errorf("line %d: only plain values are allowed", t.n.Line)
	}
	return nil
}

// writeScalar writes v, a value from YAML, without escapes for HTML.
func writeScalar(w *bytes.Buffer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil { // infinity and the like
		return err
	}
	w.Truncate(w.Len() - 1) // the encoder ends the line
	return nil
}
