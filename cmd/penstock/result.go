package main

import (
	"bytes"
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/itchyny/gojq"
	"go.yaml.in/yaml/v4"

	"github.com/penstock-dev/penstock"
)

// The values of --output.
const (
	outputTable = "table"
	outputJSON  = "json"
	outputYAML  = "yaml"
	outputName  = "name"
)

// resultFlags are the flags of all commands whose result is also available as data.
type resultFlags struct {
	Output string  `group:"result" short:"o" enum:"table,json,yaml,name" default:"table" env:"PENSTOCK_OUTPUT" help:"Output format: table, json, yaml, or name (only the IDs, one per line)."`
	JQ     *string `group:"result" name:"jq" env:"PENSTOCK_JQ" placeholder:"EXPR" help:"Print what this jq expression selects from the JSON, one value per line, texts without quotes. Implies JSON."`
}

// AfterApply sets the format of the results, before the command sends anything.
func (f *resultFlags) AfterApply(std *stdio, parsed *kong.Context) error {
	std.format = resultFormat{kind: f.Output}
	if f.JQ != nil {
		code, err := compileJQ(*f.JQ)
		if err != nil {
			return exitf(exitUsage, "--jq: %w", err)
		}
		std.format = resultFormat{outputJSON, code}
		return nil
	}
	if f.Output != outputName || parsed.Selected() == nil || parsed.Selected().Tag == nil {
		return nil
	}
	// The tag ids says why a command cannot print only IDs.
	switch parsed.Selected().Tag.Get("ids") {
	case "none":
		return exitf(exitUsage, "the result of %s has no IDs for --output name", parsed.Selected().FullPath())
	case "secret":
		return exitf(
			exitUsage, "--output name would not print the secret, which is shown only once: use table, json or yaml",
		)
	}
	return nil
}

// mayWatch returns a usage error if the events that --watch prints have no IDs for the format.
func (s *stdio) mayWatch(watch bool) error {
	if watch && s.format.kind == outputName {
		return exitf(exitUsage, "--watch prints events, which have no IDs for --output name")
	}
	return nil
}

// compileJQ has no access to the environment, which may hold an API key, or to files.
func compileJQ(text string) (*gojq.Code, error) {
	query, err := gojq.Parse(text)
	if err != nil {
		return nil, err
	}
	return gojq.Compile(query)
}

// resultFormat is how a command prints its result. The zero value is a table.
type resultFormat struct {
	kind string
	jq   *gojq.Code
}

// data reports whether results are printed as the API sends them, and not as text for people.
func (f resultFormat) data() bool { return f.kind != "" && f.kind != outputTable }

// whole reports whether everything that the server sent is printed, also whether a list has more pages.
func (f resultFormat) whole() bool {
	return f.jq == nil && (f.kind == outputJSON || f.kind == outputYAML)
}

// result prints a value of the API, with every field that the server sent, in the format that the
// caller chose; as JSON if that is a table.
func (s *stdio) result(ctx context.Context, value any) error {
	return s.writeResult(ctx, value, false)
}

// resultLine prints one value of several: JSON in one line, and YAML as a document.
func (s *stdio) resultLine(ctx context.Context, value any) error {
	return s.writeResult(ctx, value, true)
}

func (s *stdio) writeResult(ctx context.Context, value any, line bool) error {
	raw, ok := value.(jsontext.Value)
	if !ok {
		var err error
		if raw, err = json.Marshal(value, json.Deterministic(true)); err != nil {
			return fmt.Errorf("print JSON: %w", err)
		}
	}
	switch {
	case s.format.jq != nil:
		return s.selected(ctx, raw)
	case s.format.kind == outputYAML:
		return s.yaml(raw, line)
	case s.format.kind == outputName:
		return s.names(raw)
	}
	raw = bytes.Clone(raw)
	var err error
	if line {
		err = raw.Compact()
	} else {
		err = raw.Indent(jsontext.WithIndent("  "))
	}
	if err != nil {
		return fmt.Errorf("print JSON: %w", err)
	}
	_, err = s.out.Write(append(cleanJSON(raw), '\n'))
	return err
}

// selected prints what --jq selects: a text as it is, and any other value as JSON in one line. On a
// terminal, texts are cleaned.
func (s *stdio) selected(ctx context.Context, raw jsontext.Value) error {
	var input any
	if err := json.Unmarshal(raw, &input, jqNumbers); err != nil {
		return fmt.Errorf("read JSON for --jq: %w", err)
	}
	values := s.format.jq.RunWithContext(ctx, input)
	for {
		value, more := values.Next()
		if !more {
			return nil
		}
		if err, failed := value.(error); failed {
			if halt, ok := errors.AsType[*gojq.HaltError](err); ok && halt.Value() == nil {
				return nil
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return exitf(exitOther, "the request has succeeded, but --jq cannot evaluate its result: %w", err)
		}
		text, isText := value.(string)
		switch {
		case !isText:
			encoded, err := gojq.Marshal(value)
			if err != nil {
				return fmt.Errorf("print JSON: %w", err)
			}
			text = string(cleanJSON(encoded))
		case isTerminal(s.out):
			text = cleanText(text)
		}
		if _, err := fmt.Fprintln(s.out, text); err != nil {
			return err
		}
	}
}

// jqNumbers reads numbers as the jq library expects them, with all digits.
var jqNumbers = json.WithUnmarshalers(json.UnmarshalFromFunc(func(dec *jsontext.Decoder, value *any) error {
	if dec.PeekKind() != '0' {
		return errors.ErrUnsupported
	}
	number, err := dec.ReadValue()
	if err == nil {
		*value = stdjson.Number(number) // the type that the library knows
	}
	return err
}))

// idFields are the fields that identify a resource, the most specific one first. A secret and a
// harness are identified by their names, an image by its digest.
var idFields = []string{
	"uid", "artifact_uid", "run_id", "path", "id", "occurrence_uid", "delivery_id", "message_id", "digest", "name", "type",
}

// names prints the ID of the resource, or of each resource of the list, one per line.
func (s *stdio) names(raw jsontext.Value) error {
	ids, ok := idsOf(raw)
	if !ok {
		return exitf(exitOther, "the request has succeeded, but its result has no IDs for --output name")
	}
	for _, id := range ids {
		if _, err := fmt.Fprintln(s.out, cleanLine(id)); err != nil {
			return err
		}
	}
	return nil
}

// idsOf returns the IDs in a result: a text, a resource, or an object with one list of resources.
func idsOf(raw jsontext.Value) ([]string, bool) {
	if id, ok := decoded[string](raw); ok {
		return []string{id}, true
	}
	fields, ok := decoded[map[string]jsontext.Value](raw)
	if !ok {
		return nil, false
	}
	if fields["runs"].Kind() != '[' || fields["fork_group"] == nil { // the group of several new runs has an ID, too
		if id := ownID(fields); id != "" {
			return []string{id}, true
		}
	}
	var found []string
	lists := 0
	for _, field := range fields {
		if field.Kind() != '[' {
			continue
		}
		items, ok := decoded[[]map[string]jsontext.Value](field)
		if !ok {
			continue
		}
		lists++
		for _, item := range items {
			id := ownID(item)
			if id == "" {
				return nil, false
			}
			found = append(found, id)
		}
	}
	return found, lists == 1
}

func ownID(fields map[string]jsontext.Value) string {
	for _, name := range idFields {
		if id, ok := decoded[string](fields[name]); ok && id != "" {
			return id
		}
	}
	return ""
}

// yaml prints JSON as YAML, with the same order of fields and the same digits of numbers.
func (s *stdio) yaml(raw jsontext.Value, document bool) error {
	node, err := yamlNode(jsontext.NewDecoder(bytes.NewReader(raw)))
	if err != nil {
		return fmt.Errorf("print YAML: %w", err)
	}
	text, err := yaml.Dump(node, yaml.WithIndent(2), yaml.WithLineWidth(-1), yaml.WithExplicitStart(document))
	if err != nil {
		return fmt.Errorf("print YAML: %w", err)
	}
	_, err = s.out.Write(cleanJSON(text)) // YAML has the escapes of JSON in quotes, and harmful texts are in quotes
	return err
}

// oldYAML matches texts that readers of YAML 1.1 take for a number, a time or a truth value.
var oldYAML = penstock.LazyRegexp(`(?i)^(?:[-+]?[0-9.][0-9_.,:e+-]*|[-+]?0[xob][0-9a-f_]+|y|n|yes|no|on|off)$`)

// yamlNode reads the next value.
func yamlNode(dec *jsontext.Decoder) (*yaml.Node, error) {
	token, err := dec.ReadToken()
	if err != nil {
		return nil, err
	}
	switch kind := token.Kind(); kind {
	case '{', '[':
		node := &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map"}
		end := jsontext.Kind('}')
		if kind == '[' {
			node, end = &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq"}, ']'
		}
		for dec.PeekKind() != end {
			part, err := yamlNode(dec)
			if err != nil {
				return nil, err
			}
			node.Content = append(node.Content, part)
		}
		if len(node.Content) == 0 {
			node.Style = yaml.FlowStyle // {} and []
		}
		_, err = dec.ReadToken()
		return node, err
	case '"':
		node := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: token.String()}
		hostile := strings.ContainsFunc(node.Value, func(r rune) bool { return r != '\n' && harmful(r) })
		if hostile || oldYAML().MatchString(node.Value) {
			node.Style = yaml.DoubleQuotedStyle
		}
		return node, nil
	case '0':
		tag := "!!int"
		if strings.ContainsAny(token.String(), ".eE") {
			tag = "!!float"
		}
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: tag, Value: token.String()}, nil
	case 'n':
		return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!null", Value: "null"}, nil
	}
	return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: token.String()}, nil
}
