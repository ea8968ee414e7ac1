package api

import (
	"fmt"
	"html/template"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// reference is the content of the page at /docs, generated from the document.
type reference struct {
	Title, Summary string
	Version        string
	Intro          template.HTML
	Groups         []group
	Schemas        []schemaView
}

type group struct {
	ID, Name    string
	Description template.HTML
	Operations  []operationView
}

type operationView struct {
	ID, Summary, Method, Path string
	Scope                     string // "": no key is needed
	Deprecated                bool
	Description               template.HTML
	Parameters                []field
	Bodies                    []bodyView
	Responses                 []responseView // below 400
	Errors                    []responseView
	Curl                      string
	Examples                  []exampleView
}

type bodyView struct {
	Kind     string
	Type     []link
	Required bool
	Fields   []field
}

type responseView struct {
	Status, Words string
	Description   template.HTML
	Kind          string
	Type          []link
	Headers       []field
}

type exampleView struct{ Title, Text string }

type schemaView struct {
	ID, Name    string
	Description template.HTML
	Type        []link // of a value that is not an object
	Facts       []string
	Fields      []field
}

// field is a parameter, a header or a property.
type field struct {
	Name, Where          string // Where is path, query or header, of a parameter
	Type                 []link
	Required, Deprecated bool
	Facts                []string
	Description          template.HTML
}

// link is a piece of text, a link to a schema if To is set.
type link struct{ Text, To string }

type referenceBuilder struct {
	root tree
	base string // origin for the examples
}

func newReference(root tree, base string) (reference, error) {
	b := referenceBuilder{root, base}
	info := root.at("info")
	ref := reference{
		Title: info.at("title").text(), Version: info.at("version").text(),
		Summary: info.at("summary").text(), Intro: markdown(info.at("description").text()),
	}
	for _, tag := range root.at("tags").items() {
		name := tag.at("name").text()
		g := group{ID: "group-" + name, Name: name, Description: markdown(tag.at("description").text())}
		for _, path := range root.at("paths").pairs() {
			for _, member := range path.value.pairs() {
				if slices.Contains(member.value.at("tags").texts(), name) {
					op, err := b.operation(path, member)
					if err != nil {
						return reference{}, fmt.Errorf("%s %s: %w", member.key, path.key, err)
					}
					g.Operations = append(g.Operations, op)
				}
			}
		}
		ref.Groups = append(ref.Groups, g)
	}
	for _, s := range root.at("components", "schemas").pairs() {
		ref.Schemas = append(ref.Schemas, b.schema(s.key, s.value))
	}
	slices.SortFunc(ref.Schemas, func(a, b schemaView) int { return strings.Compare(a.Name, b.Name) })
	return ref, nil
}

func (b referenceBuilder) operation(path, member pair) (operationView, error) {
	op := member.value
	view := operationView{
		ID: op.at("operationId").text(), Summary: op.at("summary").text(),
		Method: strings.ToUpper(member.key), Path: b.root.at("servers").items()[0].at("url").text() + path.key,
		Scope:       op.at("x-scope").text(),
		Deprecated:  op.at("deprecated").text() == "true",
		Description: markdown(op.at("description").text()),
	}
	parameters := slices.Concat(path.value.at("parameters").items(), op.at("parameters").items())
	for i, p := range parameters {
		parameters[i], _ = p.resolve(b.root)
		view.Parameters = append(view.Parameters, b.parameter(parameters[i]))
	}
	body, _ := op.at("requestBody").resolve(b.root)
	for _, media := range body.at("content").pairs() {
		schema := media.value.at("schema")
		target, _ := schema.resolve(b.root)
		view.Bodies = append(view.Bodies, bodyView{
			Kind: media.key, Type: b.typeOf(schema), Required: body.at("required").text() == "true",
			Fields: b.properties(target),
		})
	}
	for _, response := range op.at("responses").pairs() {
		a := b.response(response)
		if response.key < "400" {
			view.Responses = append(view.Responses, a)
		} else {
			view.Errors = append(view.Errors, a)
		}
	}
	return view, b.examples(&view, op, parameters, body)
}

func (b referenceBuilder) parameter(p tree) field {
	f := b.property(p.at("name").text(), p.at("schema"))
	f.Where = p.at("in").text()
	f.Required = p.at("required").text() == "true"
	f.Description = inline(p.at("description").text())
	if p.at("style").text() == "deepObject" {
		f.Name += "[…]"
	}
	return f
}

func (b referenceBuilder) response(response pair) responseView {
	target, _ := response.value.resolve(b.root)
	status, _ := strconv.Atoi(response.key)
	view := responseView{
		Status: response.key, Words: http.StatusText(status), Description: inline(target.at("description").text()),
	}
	for _, media := range target.at("content").pairs() {
		view.Kind, view.Type = media.key, b.typeOf(media.value.at("schema"))
	}
	for _, h := range target.at("headers").pairs() {
		header, _ := h.value.resolve(b.root)
		f := b.property(h.key, header.at("schema"))
		f.Description = inline(header.at("description").text())
		view.Headers = append(view.Headers, f)
	}
	return view
}

func (b referenceBuilder) schema(name string, s tree) schemaView {
	view := schemaView{
		ID: "schema-" + name, Name: name,
		Description: markdown(s.at("description").text()), Fields: b.properties(s),
	}
	if view.Fields == nil {
		view.Type, view.Facts = b.typeOf(s), facts(s)
	}
	return view
}

// properties lists the properties of s. If a property defines an object, the object's properties
// follow it, with names such as `budget.max_cost_usd`.
func (b referenceBuilder) properties(s tree) []field {
	var fields []field
	required := s.at("required").texts()
	for _, p := range s.at("properties").pairs() {
		f := b.property(p.key, p.value)
		f.Required = slices.Contains(required, p.key)
		fields = append(fields, f)
		within, prefix := p.value, p.key+"."
		if element := p.value.at("items"); element.ok() {
			within, prefix = element, p.key+"[]."
		}
		for _, inner := range b.properties(within) {
			inner.Name = prefix + inner.Name
			fields = append(fields, inner)
		}
	}
	return fields
}

// property describes a value by its schema.
func (b referenceBuilder) property(name string, s tree) field {
	target, _ := s.resolve(b.root)
	description := s.at("description").text()
	if description == "" {
		description = target.at("description").text()
	}
	return field{
		Name: name, Type: b.typeOf(s), Facts: facts(s),
		Deprecated:  target.at("deprecated").text() == "true",
		Description: inline(strings.Join(strings.Fields(description), " ")),
	}
}

// typeOf describes the type of a value, with links to its schemas.
func (b referenceBuilder) typeOf(s tree) []link {
	if _, name := s.resolve(b.root); name != "" {
		return []link{{name, "schema-" + name}}
	}
	if variants := s.at("oneOf").items(); len(variants) > 0 && !s.at("properties").ok() {
		var out []link
		for i, v := range variants {
			if i > 0 {
				out = append(out, link{Text: " or "})
			}
			out = append(out, b.typeOf(v)...)
		}
		return out
	}
	var out []link
	for i, kind := range s.at("type").texts() {
		if i > 0 {
			out = append(out, link{Text: " or "})
		}
		switch element, values := s.at("items"), s.at("additionalProperties"); {
		case kind == "array":
			out = append(append(out, link{Text: "array of "}), b.typeOf(element)...)
		case kind == "object" && values.ok() && values.text() == "":
			out = append(append(out, link{Text: "map of "}), b.typeOf(values)...)
		case s.at("format").ok() && kind == "string":
			out = append(out, link{Text: s.at("format").text()})
		default:
			out = append(out, link{Text: kind})
		}
	}
	return out
}

// facts describes the bounds of a value.
func facts(s tree) []string {
	var out []string
	add := func(format, key string) {
		if v := s.at(key); v.ok() {
			out = append(out, fmt.Sprintf(format, strings.Join(v.texts(), ", ")))
		}
	}
	add("one of %s", "enum")
	add("at least %s", "minimum")
	add("at most %s", "maximum")
	if s.at("minLength").text() == "1" || s.at("minItems").text() == "1" {
		out = append(out, "not empty")
	}
	add("up to %s characters", "maxLength")
	add("up to %s items", "maxItems")
	add("up to %s keys", "maxProperties")
	add("default %s", "default")
	return out
}
