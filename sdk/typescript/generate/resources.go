package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// helpers are handwritten classes that a resource extends, with methods that use more than one
// operation.
var helpers = map[string]string{"runs": "Waiting"}

// resources writes the operations as methods of classes, and the class with one field for each
// resource.
func resources(doc *document, list []*namedOperation) string {
	tree := &resource{}
	for _, op := range list {
		r := tree
		for _, name := range op.resource {
			r = r.child(name)
		}
		r.operations = append(r.operations, op)
	}
	w := &resourceWriter{doc: doc}
	for _, r := range tree.children {
		w.class(r)
	}
	w.root(tree)
	return header + w.imports() + w.String()
}

// resource is a group of operations, such as factories.runs.
type resource struct {
	path       []string
	operations []*namedOperation
	children   []*resource
}

func (r *resource) child(name string) *resource {
	for _, c := range r.children {
		if c.name() == name {
			return c
		}
	}
	c := &resource{path: append(slices.Clone(r.path), name)}
	r.children = append(r.children, c)
	slices.SortFunc(r.children, func(a, b *resource) int { return strings.Compare(a.name(), b.name()) })
	return c
}

func (r *resource) name() string { return r.path[len(r.path)-1] }

func (r *resource) class() string {
	var b strings.Builder
	for _, name := range r.path {
		b.WriteString(upperFirst(name))
	}
	return b.String() + "Resource"
}

type resourceWriter struct {
	strings.Builder
	doc *document
}

var (
	comments = regexp.MustCompile(`(?m)^\s*(/?\*.*|//.*)$`)
	typeName = regexp.MustCompile(`\b[A-Z][A-Za-z0-9]+\b`)
)

// typesUsed returns the names of types.gen.ts that the text uses.
func (w *resourceWriter) typesUsed() []string {
	code := comments.ReplaceAllString(w.String(), "")
	used := map[string]bool{}
	for _, name := range typeName.FindAllString(code, -1) {
		used[name] = true
	}
	var list []string
	for _, e := range w.doc.Components.Schemas {
		if used[e.key] {
			list = append(list, e.key)
		}
	}
	for name := range used {
		if strings.HasSuffix(name, "Query") {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

func (w *resourceWriter) imports() string {
	return `
import type { Core, RequestOptions } from './core.js';
import type { EventStream, StreamOptions } from './events.js';
import type { PagePromise } from './page.js';
import type { APIPromise } from './promise.js';
import { Resource } from './resource.js';
import type {
  ` + strings.Join(w.typesUsed(), ",\n  ") + `,
} from './types.gen.js';
import { Waiting } from './wait.js';
`
}

// class writes the class of a resource, after the classes of the resources inside of it.
func (w *resourceWriter) class(r *resource) {
	for _, c := range r.children {
		w.class(c)
	}
	parent := helpers[strings.Join(r.path, ".")]
	if parent == "" {
		parent = "Resource"
	}
	fmt.Fprintf(w, "\n/** `client.%s` */\nexport class %s extends %s {\n", strings.Join(r.path, "."), r.class(), parent)
	w.fields(r)
	for _, op := range r.operations {
		w.method(op)
	}
	w.WriteString("}\n")
}

// fields writes the fields for the resources inside of one, which are created together with it.
func (w *resourceWriter) fields(r *resource) {
	if len(r.children) == 0 {
		return
	}
	for _, c := range r.children {
		fmt.Fprintf(w, "  readonly %s: %s;\n", c.name(), c.class())
	}
	w.WriteString("\n  constructor(core: Core) {\n")
	if len(r.path) > 0 {
		w.WriteString("    super(core);\n")
	}
	for _, c := range r.children {
		fmt.Fprintf(w, "    this.%s = new %s(core);\n", c.name(), c.class())
	}
	w.WriteString("  }\n")
}

func (w *resourceWriter) root(tree *resource) {
	w.WriteString("\n/** Every operation of the API, by resource. */\nexport class Resources {\n")
	w.fields(tree)
	w.WriteString("}\n")
}

func (w *resourceWriter) method(op *namedOperation) {
	text := op.Summary + ".\n\n" + strings.TrimSpace(op.Description)
	if op.Scope != "" && op.Scope != "any" {
		text += "\n\nNeeds the scope `" + op.Scope + "`."
	}
	result, call := w.result(op)
	w.WriteString("\n" + comment("  ", text, op.Deprecated))
	fmt.Fprintf(w, "  %s(%s): %s {\n", op.method, strings.Join(w.parameters(op), ", "), result)
	fmt.Fprintf(w, "    return this.core.%s(\n      {\n%s      },\n      options,\n    );\n  }\n", call, w.call(op))
}

// result returns the type that a method returns, and the method of Core that creates it.
func (w *resourceWriter) result(op *namedOperation) (of, call string) {
	t := &typeWriter{doc: w.doc}
	switch op.kind {
	case responsePage:
		field, _ := w.doc.target(op.response).Properties.get(op.items)
		of := t.expr(op.response, true, "") + ", " + t.expr(field.Items, true, "")
		return "PagePromise<" + of + ">", "page"
	case responseEvents:
		return "EventStream<" + t.expr(op.response, true, "") + ">", "events"
	case responseBytes, responseLink:
		return "APIPromise<Response>", string(op.kind)
	case responseNone:
		return "APIPromise<void>", "none"
	case responseJSON:
	}
	return "APIPromise<" + t.expr(op.response, true, "") + ">", "json"
}

func (w *resourceWriter) parameters(op *namedOperation) []string {
	var list []string
	for _, arg := range op.args {
		list = append(list, arg.name+": string")
	}
	if len(op.bodies) > 0 {
		var kinds []string
		for _, b := range op.bodies {
			kinds = append(kinds, base(b.Ref))
		}
		suffix := ""
		if op.optional {
			suffix = " = {}"
		}
		list = append(list, "body: "+strings.Join(kinds, " | ")+suffix)
	}
	if op.raw {
		list = append(list, "content: Blob")
	}
	if len(op.query) > 0 {
		mark := "?"
		if len(requiredQuery(op)) > 0 {
			mark = ""
		}
		list = append(list, "query"+mark+": "+op.queryType())
	}
	options := "RequestOptions"
	if op.kind == responseEvents {
		options = "StreamOptions"
	}
	if op.source != nil {
		options += " & { source?: " + quoted(op.source.Enum, " | ") + " | undefined }"
	}
	return append(list, "options?: "+options)
}

func requiredQuery(op *namedOperation) []string {
	var needed []string
	for _, p := range op.query {
		if p.Required {
			needed = append(needed, p.Name)
		}
	}
	return needed
}

// call returns the arguments that Core gets about a request.
func (w *resourceWriter) call(op *namedOperation) string {
	var b strings.Builder
	line := func(format string, args ...any) { fmt.Fprintf(&b, "        "+format+",\n", args...) }
	line("method: '%s'", op.verb)
	line("path: '%s'", op.route())
	if len(op.args) > 0 {
		names := make([]string, len(op.args))
		for i, arg := range op.args {
			names[i] = arg.name
		}
		line("args: { %s }", strings.Join(names, ", "))
	}
	if len(op.bodies) > 0 {
		line("body")
	}
	if op.raw {
		line("content")
	}
	needs := requiredQuery(op)
	if len(op.bodies) == 1 {
		body := w.doc.target(op.bodies[0])
		needs = append(needs, body.Required...)
		if choices := slices.Concat(choicesOf(body)...); len(choices) > 0 {
			line("needsOneOf: [%s]", quoted(choices, ", "))
		}
	}
	if len(needs) > 0 {
		line("needs: [%s]", quoted(needs, ", "))
	}
	if len(op.query) > 0 {
		known := make([]string, len(op.query))
		for i, p := range op.query {
			known[i] = p.Name
		}
		line("query")
		line("known: [%s]", quoted(known, ", "))
	}
	if op.verb == "POST" && !op.keyed {
		line("once: true")
	}
	if op.source != nil {
		line("headers: { 'X-Penstock-Source': options?.source }")
	}
	if op.items != "" {
		line("items: '%s'", op.items)
	}
	return b.String()
}
