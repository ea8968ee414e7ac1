package factorymcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// tool is one tool of the endpoint.
type tool struct {
	name, title, description string

	inputs   []input
	required []string
	writes   bool // changes something
	destroys bool // undoes work
	repeats  bool // a second call with the same arguments changes nothing more
	open     bool // what it returns or starts reaches beyond this server

	handler mcp.ToolHandler
}

// input is an argument of a tool.
type input struct {
	name, kind, about string

	values []string // all that are possible; nil: any
	items  string   // the JSON Schema of the items of an array
}

func text(name, about string, values ...string) input {
	return input{name: name, kind: "string", about: about, values: values}
}

func number(name, about string) input { return input{name: name, kind: "integer", about: about} }

// definition describes the tool. Its schema is a plain object, because clients drop tools, or all tools of a server,
// for schemas that they do not understand.
func (t *tool) definition() *mcp.Tool {
	properties := map[string]any{}
	for _, in := range t.inputs {
		property := map[string]any{"type": in.kind, "description": in.about}
		if in.values != nil {
			property["enum"] = in.values
		}
		if in.items != "" {
			property["items"] = json.RawMessage(in.items)
		}
		properties[in.name] = property
	}
	schema := map[string]any{"type": "object", "properties": properties, "additionalProperties": false}
	if len(t.required) > 0 {
		schema["required"] = t.required
	}
	return &mcp.Tool{
		Name: t.name, Title: t.title, Description: t.description, InputSchema: schema,
		Annotations: &mcp.ToolAnnotations{
			ReadOnlyHint: !t.writes, DestructiveHint: &t.destroys, IdempotentHint: !t.writes || t.repeats,
			OpenWorldHint: &t.open,
		},
	}
}

// run makes the handler of a tool: it reads the arguments into A, calls work, and turns an error into a result that
// the model can read.
func run[A any](s *Server, t tool, work func(*session, context.Context, *mcp.CallToolRequest, A) (result, error)) tool {
	t.handler = func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		from, ok := ctx.Value(callerKey{}).(*caller)
		if !ok {
			return nil, errNoCaller
		}
		args, err := arguments[A](&t, req.Params.Arguments)
		if err != nil {
			return failure(err.Error()), nil
		}
		// Clients before 2026-07-28 cancel by leaving, which the SDK does not report.
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(from.request.Context(), cancel)()
		r, err := work(&session{s, from}, ctx, req, args)
		if err != nil {
			return s.failed(ctx, t.name, err), nil
		}
		return r.content(), nil
	}
	return t
}

var errNoCaller = errors.New("the request has no caller")

// failed returns the result for an error. Only sentences of the API and of the tools are shown.
func (s *Server) failed(ctx context.Context, name string, err error) *mcp.CallToolResult {
	if e, ok := errors.AsType[*apiError](err); ok {
		switch {
		case e.after > 0:
			return failure(fmt.Sprintf("%s\nTry again in %d seconds.", e.text, int(e.after.Seconds())))
		case e.retryable:
			return failure(e.text + "\nTry again soon.")
		}
		return failure(e.text)
	}
	if ctx.Err() == nil {
		s.log.ErrorContext(ctx, "a tool failed", "tool", name, "error", err)
	}
	return failure("internal error")
}

// arguments reads the arguments of a call. It rejects unknown ones: a model that spells a name wrong would otherwise
// get something else than it asked for.
func arguments[A any](t *tool, raw json.RawMessage) (args A, err error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = json.RawMessage("{}")
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal(raw, &given); err != nil {
		return args, fmt.Errorf("the arguments of %s must be an object", t.name)
	}
	for name, value := range given {
		at := slices.IndexFunc(t.inputs, func(in input) bool { return in.name == name })
		if at < 0 {
			return args, fmt.Errorf("%s has no argument %q; it has %s", t.name, beginning(name, 64), t.names())
		}
		if string(value) == "null" { // many clients send null for what they omit
			delete(given, name)
			continue
		}
		if values := t.inputs[at].values; values != nil {
			var word string
			if json.Unmarshal(value, &word) != nil || !slices.Contains(values, word) {
				return args, fmt.Errorf("%s must be one of %s", name, strings.Join(values, ", "))
			}
		}
	}
	for _, name := range t.required {
		if _, found := given[name]; !found {
			return args, fmt.Errorf("%s needs the argument %s", t.name, name)
		}
	}
	if raw, err = json.Marshal(given); err != nil {
		return args, err
	}
	if err := json.Unmarshal(raw, &args); err != nil {
		if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			name := strings.TrimPrefix(e.Field, "page.") // its fields are embedded
			return args, fmt.Errorf("%s must be of type %s, not %s", name, t.kind(name), e.Value)
		}
		return args, fmt.Errorf("the arguments of %s are not valid", t.name)
	}
	return args, nil
}

func (t *tool) names() string {
	if len(t.inputs) == 0 {
		return "none"
	}
	names := make([]string, len(t.inputs))
	for i, in := range t.inputs {
		names[i] = in.name
	}
	return strings.Join(names, ", ")
}

func (t *tool) kind(name string) string {
	for _, in := range t.inputs {
		if in.name == name {
			return in.kind
		}
	}
	return "another"
}

// tools lists all tools.
func (s *Server) tools() []tool {
	return slices.Concat(s.factoryTools(), s.readingTools(), s.filesTools(), s.writingTools())
}
