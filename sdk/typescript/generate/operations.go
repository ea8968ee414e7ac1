package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// operationName is a line of sdk/operations.yaml: resource.method, or the operation for which this
// one is another path.
type operationName struct {
	method string
	sameAs string
}

func (n *operationName) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		n.method = node.Value
		return nil
	}
	var other struct {
		SameAs string `yaml:"same_as"`
	}
	err := node.Decode(&other)
	n.sameAs = other.SameAs
	return err
}

// namedOperation is an operation of the contract in the SDK.
type namedOperation struct {
	*operation
	resource []string // factories, runs
	method   string   // create
	verb     string   // POST
	path     string
	args     []argument // of the path
	query    []*parameter
	source   *schema   // of the header X-Penstock-Source, if the operation accepts it
	keyed    bool      // whether it accepts an Idempotency-Key
	bodies   []*schema // the accepted kinds of body
	raw      bool      // whether the body is sent unchanged
	optional bool      // whether the body is optional
	kind     responseKind
	response *schema // of JSON and events
	items    string  // of a page: the field with its items
}

// argument is a parameter of the path.
type argument struct {
	name, inPath, description string
}

// responseKind says how to decode a response.
type responseKind string

const (
	responseJSON   responseKind = "json"
	responsePage   responseKind = "page"
	responseEvents responseKind = "events"
	responseBytes  responseKind = "bytes"
	responseLink   responseKind = "link" // a redirect to bytes
	responseNone   responseKind = "none"
)

func (op *namedOperation) queryType() string {
	return strings.ToUpper(op.ID[:1]) + op.ID[1:] + "Query"
}

func (op *namedOperation) link() string { return strings.Join(op.resource, ".") + "." + op.method }

// route returns the path with the names of the arguments.
func (op *namedOperation) route() string {
	route := op.path
	for _, arg := range op.args {
		route = strings.ReplaceAll(route, "{"+arg.inPath+"}", "{"+arg.name+"}")
	}
	return route
}

// operations lists the operations of the contract, in its order and without alternative paths.
func (d *document) operations(lines ordered[operationName]) ([]*namedOperation, error) {
	var list []*namedOperation
	for _, item := range d.Paths {
		for _, m := range []entry[*operation]{
			{"GET", item.value.Get},
			{"POST", item.value.Post},
			{"PUT", item.value.Put},
			{"PATCH", item.value.Patch},
			{"DELETE", item.value.Delete},
		} {
			if m.value == nil {
				continue
			}
			line, ok := lines.get(m.value.ID)
			if !ok {
				return nil, fmt.Errorf("%s has no name in sdk/operations.yaml", m.value.ID)
			}
			if line.sameAs != "" {
				continue
			}
			op := &namedOperation{operation: m.value, verb: m.key, path: item.key}
			if err := op.fill(d, line.method, item.value.Parameters); err != nil {
				return nil, fmt.Errorf("%s: %w", op.ID, err)
			}
			list = append(list, op)
		}
	}
	return list, nil
}

func (op *namedOperation) fill(d *document, name string, ofPath []*parameter) error {
	words := strings.Split(name, ".")
	for i, word := range words {
		words[i] = camel(word)
	}
	if len(words) < 2 {
		return fmt.Errorf("%q is no resource.method", name)
	}
	op.resource, op.method = words[:len(words)-1], words[len(words)-1]
	for _, p := range slices.Concat(ofPath, op.Parameters) {
		p, err := d.parameter(p)
		if err != nil {
			return err
		}
		switch {
		case p.SDK != nil && !*p.SDK:
		case p.In == "path":
			op.args = append(op.args, argument{lowerFirst(cmp.Or(p.shared, p.Name)), p.Name, p.Description})
		case p.In == "query":
			op.query = append(op.query, p)
		case p.Name == "X-Penstock-Source":
			op.source = p.Schema
		case p.Name == "Idempotency-Key":
			op.keyed = true
		case p.Name != "Last-Event-ID":
			return fmt.Errorf("the %s parameter %s is unknown to the generator", p.In, p.Name)
		}
	}
	slices.SortStableFunc(op.args, func(a, b argument) int {
		return strings.Index(op.path, "{"+a.inPath+"}") - strings.Index(op.path, "{"+b.inPath+"}")
	})
	sent, err := resolve(d.Components.RequestBodies, op.RequestBody)
	if err != nil {
		return err
	}
	if sent != nil {
		op.optional = !sent.Required
		for _, content := range sent.Content {
			if content.key == "*/*" {
				op.raw = true
				continue
			}
			op.bodies = append(op.bodies, content.value.Schema)
		}
	}
	return op.readResponse(d)
}

// readResponse reads the first successful response.
func (op *namedOperation) readResponse(d *document) error {
	status := op.Responses[0].key
	response, err := resolve(d.Components.Responses, op.Responses[0].value)
	if err != nil {
		return err
	}
	switch {
	case status == "302":
		op.kind = responseLink
	case status == "204":
		op.kind = responseNone
	case status[0] != '2' || len(response.Content) == 0 ||
		len(response.Content) > 1 && response.Content[0].key != "application/json":
		return fmt.Errorf("the response %s is unknown to the generator", status)
	case response.Content[0].key == "application/json":
		op.kind, op.response = responseJSON, response.Content[0].value.Schema
		op.readPage(d)
	case response.Content[0].key == "text/event-stream":
		op.kind, op.response = responseEvents, response.Content[0].value.Schema.Items
	default:
		op.kind = responseBytes
	}
	return nil
}

// readPage treats a response with page_info as a page.
func (op *namedOperation) readPage(d *document) {
	response := d.target(op.response)
	if _, ok := response.Properties.get("page_info"); !ok {
		return
	}
	for _, e := range response.Properties {
		if slices.Contains(e.value.Type, "array") {
			op.kind, op.items = responsePage, e.key
		}
	}
}

// camel writes follow_up as followUp.
func camel(word string) string {
	parts := strings.Split(word, "_")
	for i, part := range parts[1:] {
		parts[i+1] = upperFirst(part)
	}
	return strings.Join(parts, "")
}

func upperFirst(s string) string { return strings.ToUpper(s[:1]) + s[1:] }
func lowerFirst(s string) string { return strings.ToLower(s[:1]) + s[1:] }
