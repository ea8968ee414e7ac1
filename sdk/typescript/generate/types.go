package main

import (
	"fmt"
	"slices"
	"strings"
)

const header = "// Generated from api/openapi.yaml and sdk/operations.yaml by `make generate`. Do not edit.\n"

// types writes the schemas and the operations' queries in TypeScript.
func types(doc *document, list []*namedOperation) string {
	t := &typeWriter{doc: doc, received: doc.reachable(list, responsesOf), sent: doc.reachable(list, bodiesOf)}
	t.WriteString(header)
	t.WriteString(`
import type { Known, Open, Unrecognized } from './open.js';
`)
	for _, e := range doc.Components.Schemas {
		t.schema(e.key, e.value)
	}
	for _, op := range list {
		if len(op.query) > 0 {
			t.query(op)
		}
	}
	return t.String()
}

func responsesOf(op *namedOperation) *schema { return op.response }
func bodiesOf(op *namedOperation) *schema {
	return &schema{OneOf: op.bodies}
}

// reachable returns the names of the schemas that the operations use, directly or indirectly.
func (d *document) reachable(list []*namedOperation, from func(*namedOperation) *schema) map[string]bool {
	seen := map[string]bool{}
	var visit func(*schema)
	visit = func(s *schema) {
		if s == nil {
			return
		}
		if name := base(s.Ref); s.Ref != "" && !seen[name] {
			seen[name] = true
			visit(d.target(s))
		}
		for _, e := range s.Properties {
			visit(e.value)
		}
		if s.Additional != nil {
			visit(s.Additional.schema)
		}
		visit(s.Items)
		for _, part := range slices.Concat(s.OneOf, s.AnyOf, s.AllOf) {
			visit(part)
		}
	}
	for _, op := range list {
		visit(from(op))
	}
	return seen
}

// typeWriter writes declarations. Types of responses are open: they may have values that are newer
// than this SDK. Types that are only sent are closed, so that the type checker finds a misspelled
// value.
type typeWriter struct {
	strings.Builder
	doc            *document
	received, sent map[string]bool
}

func (t *typeWriter) schema(name string, s *schema) {
	open := t.received[name] || !t.sent[name]
	indent := ""
	t.WriteString("\n" + comment(indent, s.Description, s.Deprecated))
	if len(s.Properties) == 0 || len(s.Type) > 1 {
		fmt.Fprintf(t, "export type %s = %s;\n", name, t.expr(s, open, indent))
		return
	}
	choices := choicesOf(s)
	if len(choices) == 0 {
		fmt.Fprintf(t, "export interface %s %s\n", name, t.object(s, open, t.sent[name], indent))
		return
	}
	fmt.Fprintf(t, "export type %s = %sFields & (\n", name, name)
	for _, c := range choices {
		fmt.Fprintf(t, "  | Required<Pick<%sFields, %s>>\n", name, quoted(c, " | "))
	}
	t.WriteString(");\n")
	fmt.Fprintf(
		t, "\n/** The fields of {@link %s}, of which some are required. */\nexport interface %sFields %s\n", name, name,
		t.object(s, open, t.sent[name], indent),
	)
}

// choicesOf returns the alternative sets of required fields of an object.
func choicesOf(s *schema) [][]string {
	var choices [][]string
	for _, alternative := range slices.Concat(s.OneOf, s.AnyOf) {
		if len(alternative.Properties) == 0 && len(alternative.Required) > 0 {
			choices = append(choices, alternative.Required)
		}
	}
	return choices
}

// object writes the members of an object. A field that is sent may be undefined, which means
// absent.
func (t *typeWriter) object(s *schema, open, sent bool, indent string) string {
	var b strings.Builder
	b.WriteString("{\n")
	inner := indent + "  "
	for _, e := range s.Properties {
		b.WriteString(comment(inner, e.value.Description, e.value.Deprecated))
		mark, absent := "?", ""
		if slices.Contains(s.Required, e.key) {
			mark = ""
		} else if sent {
			absent = " | undefined"
		}
		fmt.Fprintf(&b, "%s%s%s: %s%s;\n", inner, key(e.key), mark, t.expr(e.value, open, inner), absent)
	}
	if s.Additional != nil && s.Additional.schema != nil {
		fmt.Fprintf(&b, "%s[key: string]: unknown;\n", inner)
	}
	b.WriteString(indent + "}")
	return b.String()
}

// expr returns a schema as a type expression.
func (t *typeWriter) expr(s *schema, open bool, indent string) string {
	if s.Ref != "" {
		name := base(s.Ref)
		if !open && t.isOpenEnum(s) {
			return "Known<" + name + ">"
		}
		return name
	}
	if len(s.OneOf) > 0 && len(s.Properties) == 0 {
		parts := make([]string, 0, len(s.OneOf)+1)
		for _, part := range s.OneOf {
			if !part.WriteOnly || !open {
				parts = append(parts, t.expr(part, open, indent))
			}
		}
		if s.Discriminator.Property != "" && open {
			parts = append(parts, fmt.Sprintf("Unrecognized<'%s', %s>", s.Discriminator.Property, t.common(s)))
		}
		return strings.Join(parts, " | ")
	}
	parts := make([]string, 0, len(s.Type))
	for _, name := range s.Type {
		parts = append(parts, t.single(s, name, open, indent))
	}
	if len(parts) == 0 {
		return "unknown"
	}
	return strings.Join(parts, " | ")
}

// common returns the fields that all members of a union have, besides its discriminator. A field
// has its type if all members agree on it, and otherwise unknown.
func (t *typeWriter) common(union *schema) string {
	var fields []string
	first := t.doc.target(union.OneOf[0])
	for _, e := range first.Properties {
		if e.key == union.Discriminator.Property {
			continue
		}
		expr, everywhere, mark := t.expr(e.value, true, ""), true, ""
		for _, member := range union.OneOf {
			object := t.doc.target(member)
			field, ok := object.Properties.get(e.key)
			if !slices.Contains(object.Required, e.key) {
				mark = "?"
			}
			if everywhere = everywhere && ok; ok && t.expr(field, true, "") != expr {
				expr = "unknown"
			}
		}
		if everywhere {
			fields = append(fields, key(e.key)+mark+": "+expr)
		}
	}
	return "{ " + strings.Join(fields, "; ") + " }"
}

// isOpenEnum reports whether a reference leads to an enum that may get new values.
func (t *typeWriter) isOpenEnum(s *schema) bool {
	return len(t.doc.target(s).Enum) > 1 && (t.received[base(s.Ref)] || !t.sent[base(s.Ref)])
}

func (t *typeWriter) single(s *schema, name string, open bool, indent string) string {
	switch name {
	case "string":
		switch {
		case s.Format == "binary":
			return "Blob"
		case len(s.Enum) > 1 && open:
			return "Open<" + quoted(s.Enum, " | ") + ">"
		case len(s.Enum) > 0:
			return quoted(s.Enum, " | ")
		}
		return "string"
	case "integer", "number":
		return "number"
	case "array":
		item := t.expr(s.Items, open, indent)
		if strings.ContainsAny(item, "|&") && !strings.HasPrefix(item, "Open<") {
			item = "(" + item + ")"
		}
		return item + "[]"
	case "object":
		switch {
		case len(s.Properties) > 0:
			return t.object(s, open, !open, indent)
		case s.Additional != nil && s.Additional.schema != nil:
			return "Record<string, " + t.expr(s.Additional.schema, open, indent) + ">"
		}
		return "Record<string, unknown>"
	default:
		return name // boolean, null
	}
}

// query writes the type of an operation's query parameters.
func (t *typeWriter) query(op *namedOperation) {
	fmt.Fprintf(t, "\n/** Parameters of {@link %s}. */\nexport interface %s {\n", op.link(), op.queryType())
	for _, p := range op.query {
		t.WriteString(comment("  ", p.Description, false))
		mark, absent := "?", " | undefined"
		if p.Required {
			mark, absent = "", ""
		}
		value := t.expr(p.Schema, false, "  ")
		switch {
		case p.Schema.Format == "date-time":
			value = "string | Date"
		case slices.Contains(p.Schema.Type, "array"):
			value += " | " + t.expr(p.Schema.Items, false, "  ")
		}
		fmt.Fprintf(t, "  %s%s: %s%s;\n", key(p.Name), mark, value, absent)
	}
	t.WriteString("}\n")
}

// comment returns a doc comment, with the line breaks of the contract.
func comment(indent, text string, deprecated bool) string {
	text = strings.TrimSpace(strings.ReplaceAll(text, "*/", "*\\/"))
	if deprecated {
		text = strings.TrimSpace(text + "\n@deprecated")
	}
	if text == "" {
		return ""
	}
	lines := strings.Split(text, "\n")
	if len(lines) == 1 {
		return indent + "/** " + text + " */\n"
	}
	var b strings.Builder
	b.WriteString(indent + "/**\n")
	for _, line := range lines {
		b.WriteString(strings.TrimRight(indent+" * "+line, " ") + "\n")
	}
	b.WriteString(indent + " */\n")
	return b.String()
}

func quoted(words []string, between string) string {
	list := make([]string, len(words))
	for i, word := range words {
		list[i] = "'" + strings.ReplaceAll(word, "'", `\'`) + "'"
	}
	return strings.Join(list, between)
}

// key returns a name in the form of an object's key.
func key(name string) string {
	for i, r := range name {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return "'" + name + "'"
		}
	}
	return name
}

// routes writes the operations by method and path, each with the type of its response.
func routes(doc *document, list []*namedOperation) string {
	w := &resourceWriter{doc: doc}
	w.WriteString("\n/** What each operation returns, by its method and path. */\nexport interface Routes {\n")
	for _, op := range list {
		value := "Response"
		switch op.kind {
		case responseJSON, responsePage:
			value = (&typeWriter{doc: doc}).expr(op.response, true, "  ")
		case responseNone:
			value = "undefined"
		case responseEvents, responseBytes, responseLink:
		}
		fmt.Fprintf(w, "  '%s %s': %s;\n", op.verb, op.route(), value)
	}
	w.WriteString("}\n")
	return header + "\nimport type {\n  " + strings.Join(w.typesUsed(), ",\n  ") + ",\n} from './types.gen.js';\n" +
		w.String()
}
