package definition

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"

	"go.yaml.in/yaml/v4"
)

// Tree is a value of any shape, kept as JSON: with the order of keys and the
// digits of numbers as they are written in YAML.
type Tree json.RawMessage

// MarshalJSON returns t itself, or null if it is empty.
func (t Tree) MarshalJSON() ([]byte, error) { return json.RawMessage(t).MarshalJSON() }

var treeType = reflect.TypeFor[Tree]()

// field is a key of a document, read from the tags of its type. The parser, the JSON Schemas, plans
// and edits all use fieldsOf.
type field struct {
	index    []int
	key      string
	alias    string // another spelling of the key
	required bool   // its json tag has no omitzero
	rule     string
	about    string // for the schema
	value    string // the default, as JSON
	written  bool   // we write it even with its default value
	null     bool   // null means that the key is absent
	empty    bool   // so does an empty text
	body     bool   // the text below the front matter, which has no key
	unused   string // why its value is kept, but not used; "" for other keys
	kind     reflect.Type
}

// fieldsOf lists the fields of a struct type, including the fields of embedded structs, in order.
// Callers share the list.
func fieldsOf(t reflect.Type) []field {
	fieldCache.Lock()
	defer fieldCache.Unlock()
	if fieldCache.of == nil {
		fieldCache.of = map[reflect.Type][]field{}
	}
	fields, known := fieldCache.of[t]
	if !known {
		fields = readFields(t)
		fieldCache.of[t] = fields
	}
	return fields
}

var fieldCache struct {
	sync.Mutex
	of map[reflect.Type][]field
}

func readFields(t reflect.Type) []field {
	var fields []field
	for _, f := range reflect.VisibleFields(t) {
		key, options, _ := strings.Cut(f.Tag.Get("json"), ",")
		if body := f.Tag.Get("body"); body != "" {
			fields = append(fields, field{index: f.Index, key: body, body: true, kind: f.Type})
		}
		if key == "" || key == "-" {
			continue
		}
		unset := f.Tag.Get("unset")
		fields = append(fields, field{
			written: f.Tag.Get("written") == "always", null: unset != "", empty: unset == "null or empty",
			unused: f.Tag.Get("unused"),
			index:  f.Index, key: key, alias: f.Tag.Get("alias"), required: options != "omitzero",
			rule: f.Tag.Get("rule"), about: f.Tag.Get("about"), value: f.Tag.Get("default"), kind: f.Type,
		})
	}
	return fields
}

// decode reads the document's mapping and its body into a struct, and reports
// everything that does not fit.
func (d *document) decode(into any) {
	v := reflect.ValueOf(into).Elem()
	if d.root != nil {
		d.object(d.root, v)
	} else {
		d.missing(nil, fieldsOf(v.Type()), nil)
	}
	for _, f := range fieldsOf(v.Type()) {
		if f.body {
			v.FieldByIndex(f.index).SetString(d.body)
		}
	}
}

// value reads a node into v. rule is the rule of v's field.
func (d *document) value(node *yaml.Node, v reflect.Value, rule string) {
	switch {
	case unusable(node):
		return
	case v.Type() == treeType:
		if d.exact(node) {
			v.SetBytes(jsonOf(node))
		}
		return
	}
	switch v.Kind() {
	case reflect.Pointer:
		target := reflect.New(v.Type().Elem())
		d.value(node, target.Elem(), rule)
		v.Set(target)
	case reflect.Struct:
		if d.is(node, yaml.MappingNode) {
			d.object(node, v)
		}
	case reflect.Map:
		if d.is(node, yaml.MappingNode) {
			d.mapping(node, v, rule)
		}
	case reflect.Slice:
		if d.is(node, yaml.SequenceNode) {
			items := reflect.MakeSlice(v.Type(), len(node.Content), len(node.Content))
			subject := d.each()
			for i, item := range node.Content {
				d.subject = subject
				d.value(item, items.Index(i), rule)
			}
			v.Set(items)
		}
	default:
		d.scalar(node, v, rule)
	}
}

// is reports whether node is of the required kind, a mapping or list. It adds a finding if not.
func (d *document) is(node *yaml.Node, kind yaml.Kind) bool {
	if node.Kind == kind {
		return true
	}
	what := "a list"
	if kind == yaml.MappingNode {
		what = "a mapping"
	}
	d.mismatch(node, what)
	return false
}

func (d *document) mismatch(node *yaml.Node, want string) {
	if node.Kind == yaml.ScalarNode && kindOf(node) == nullScalar {
		d.mustf(node, TypeMismatch, "", "be %s, but has no value: give it one or remove the key", want)
		return
	}
	d.mustf(node, TypeMismatch, "", "be %s, not %s", want, describe(node))
}

// each returns the name of the items of a list or mapping in messages.
func (d *document) each() string { return "each of " + strings.TrimPrefix(d.subject, "each of ") }

// object reads the keys of a mapping into a struct.
func (d *document) object(node *yaml.Node, v reflect.Value) {
	fields := fieldsOf(v.Type())
	dropUnset(node, fields)
	given := map[string]*yaml.Node{}
	for _, entry := range entries(node) {
		key, value := entry[0], entry[1]
		i := slices.IndexFunc(
			fields, func(f field) bool { return !f.body && (f.key == key.Value || f.alias != "" && f.alias == key.Value) },
		)
		if i < 0 {
			d.unknown(key, fields)
			continue
		}
		f := fields[i]
		if other := given[f.key]; other != nil {
			d.badf(
				key, InvalidValue, "%s is another name of %s, which is given in line %d: remove one of them", f.alias, f.key,
				d.first+other.Line,
			)
			continue
		}
		given[f.key] = key
		d.subject = f.key
		if f.unused != "" {
			d.notef(key, UnknownField, "the key %s is kept, and %s", f.key, f.unused)
			keep(value, v.FieldByIndex(f.index))
			continue
		}
		d.value(value, v.FieldByIndex(f.index), f.rule)
	}
	d.missing(node, fields, given)
}

// keep reads the value of a key that is not used. It is not checked, because the public schema may
// give it another form.
func keep(value *yaml.Node, v reflect.Value) {
	switch v.Interface().(type) {
	case Tree:
		v.SetBytes(jsonOf(value))
	case []string:
		var list []string
		for _, item := range value.Content {
			if isText(item) {
				list = append(list, item.Value)
			}
		}
		v.Set(reflect.ValueOf(list))
	}
}

// dropUnset removes keys whose value means that they are absent, so that no later check sees them.
func dropUnset(mapping *yaml.Node, fields []field) {
	var kept []*yaml.Node
	for i := 0; i < len(mapping.Content); i += 2 {
		key, value := mapping.Content[i], mapping.Content[i+1]
		unset := value.Kind == yaml.ScalarNode && !unusable(value) && value.Anchor == "" &&
			slices.ContainsFunc(fields, func(f field) bool {
				return f.key == key.Value && (f.null && kindOf(value) == nullScalar ||
					f.empty && kindOf(value) == textScalar && value.Value == "")
			})
		if !unset {
			kept = append(kept, key, value)
		}
	}
	mapping.Content = kept
}

func (d *document) unknown(key *yaml.Node, fields []field) {
	if d.full() {
		return
	}
	var known, used []string
	for _, f := range fields {
		if f.body {
			continue
		}
		if known = append(known, f.key); f.unused == "" {
			used = append(used, f.key)
		}
	}
	d.nearf(key, UnknownField, nearest(key.Value, known), "unknown key %s; allowed are %s", quote(key.Value), list(used))
}

func (d *document) missing(node *yaml.Node, fields []field, given map[string]*yaml.Node) {
	for _, f := range fields {
		if f.required && !f.body && given[f.key] == nil {
			d.badf(node, MissingRequired, "the key %s is required", f.key)
		}
	}
}

func (d *document) mapping(node *yaml.Node, v reflect.Value, rule string) {
	all := entries(node)
	result := reflect.MakeMapWithSize(v.Type(), len(all))
	subject := d.each()
	for _, entry := range all {
		d.subject = subject
		item := reflect.New(v.Type().Elem()).Elem()
		d.value(entry[1], item, rule)
		result.SetMapIndex(reflect.ValueOf(entry[0].Value), item)
	}
	v.Set(result)
}

// scalar reads a text, a truth value or a number.
func (d *document) scalar(node *yaml.Node, v reflect.Value, rule string) {
	kind := textScalar
	if node.Kind == yaml.ScalarNode {
		kind = kindOf(node)
	}
	switch v.Kind() {
	case reflect.String:
		switch {
		case node.Kind != yaml.ScalarNode || kind == nullScalar:
			d.mismatch(node, "text")
		case kind != textScalar && !(kind == numberScalar && node.Value == "0" && rules[rule].zero):
			d.mustf(node, TypeMismatch, "", "be text, not %s: write %q", describe(node), node.Value)
		default:
			v.SetString(d.checkText(node, rule, node.Value))
		}
	case reflect.Bool:
		if node.Kind != yaml.ScalarNode || kind != boolScalar {
			d.mismatch(node, "true or false")
			return
		}
		v.SetBool(isTrue(node.Value))
	case reflect.Int:
		n, err := strconv.Atoi(node.Value)
		if node.Kind != yaml.ScalarNode || kind != numberScalar || err != nil {
			d.mismatch(node, "a whole number")
			return
		}
		v.SetInt(int64(n))
		d.checkNumber(node, rule, float64(n))
	case reflect.Float64:
		n, err := strconv.ParseFloat(node.Value, 64)
		if node.Kind != yaml.ScalarNode || kind != numberScalar || err != nil {
			d.mismatch(node, "a number")
			return
		}
		v.SetFloat(n)
		d.checkNumber(node, rule, n)
	}
}

// exact adds a finding for a value without a unique meaning in JSON.
func (d *document) exact(node *yaml.Node) bool {
	switch {
	case unusable(node):
		return false
	case node.Kind == yaml.ScalarNode && kindOf(node) == oddScalar:
		d.badf(
			node, TypeMismatch, "programs read %s as different numbers: quote it, or write it in decimal",
			quote(node.Value),
		)
		return false
	}
	ok := true
	for _, item := range node.Content {
		ok = d.exact(item) && ok
	}
	return ok
}

// jsonOf returns a node as JSON. Numbers keep their digits. It omits nodes that structure rejects.
func jsonOf(node *yaml.Node) []byte {
	var b bytes.Buffer
	writeJSON(&b, node)
	return b.Bytes()
}

func writeJSON(b *bytes.Buffer, node *yaml.Node) {
	switch node.Kind {
	case yaml.MappingNode:
		b.WriteByte('{')
		for i, entry := range entries(node) {
			if i > 0 {
				b.WriteByte(',')
			}
			b.Write(jsonText(entry[0].Value))
			b.WriteByte(':')
			writeJSON(b, entry[1])
		}
		b.WriteByte('}')
	case yaml.SequenceNode:
		b.WriteByte('[')
		for i, item := range node.Content {
			if i > 0 {
				b.WriteByte(',')
			}
			writeJSON(b, item)
		}
		b.WriteByte(']')
	case yaml.ScalarNode:
		switch kindOf(node) {
		case nullScalar:
			b.WriteString("null")
		case boolScalar:
			b.WriteString(strconv.FormatBool(isTrue(node.Value)))
		case numberScalar:
			b.WriteString(node.Value)
		default:
			b.Write(jsonText(node.Value))
		}
	default:
		b.WriteString("null")
	}
}

// jsonText returns a text as JSON, without escapes for HTML.
func jsonText(text string) []byte {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // writing a string to a buffer never fails
	return bytes.TrimSuffix(b.Bytes(), []byte("\n"))
}
