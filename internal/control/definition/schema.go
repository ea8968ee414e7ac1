package definition

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/penstock-dev/penstock"
)

// Schemas returns a JSON Schema (draft 2020-12) for every kind of document. For Markdown, it
// describes the front matter. The schemas come from the types that Parse reads, so Parse rejects
// everything that they reject. Only Parse checks references between keys and files.
func Schemas() map[string]*jsonschema.Schema {
	documents := map[string]struct {
		of    any
		title string
	}{
		"factory":         {Factory{}, "factory.yaml"},
		"agent":           {Agent{}, "The front matter of agents/<name>/agent.md"},
		"automation":      {Automation{}, "The front matter of automations/<name>/automation.md"},
		"runner":          {Runner{}, "runners/<name>.yaml"},
		"webhook":         {Webhook{}, "webhooks/<name>.yaml"},
		"skill":           {skillDocument{}, "The front matter of SKILL.md"},
		"scorer":          {Scorer{}, "The front matter of scorers/<name>/scorer.md"},
		"benchmark-suite": {Benchmark{}, "benchmarks/<suite>/suite.yaml"},
		"benchmark-task":  {Task{}, "benchmarks/<suite>/tasks/<task>.yaml"},
	}
	schemas := map[string]*jsonschema.Schema{}
	for name, document := range documents {
		s := schemaOf(reflect.TypeOf(document.of), "")
		s.Schema, s.ID, s.Title = "https://json-schema.org/draft/2020-12/schema", name+schemaSuffix, document.title
		schemas[name] = s
	}
	factory, agent, automation := schemas["factory"], schemas["agent"], schemas["automation"]
	agentDefaults := factory.Properties["agentDefaults"]
	agentDefaults.OneOf = []*jsonschema.Schema{set("model"), set("harness")}
	for _, s := range []*jsonschema.Schema{agent, automation} {
		s.Not = &jsonschema.Schema{AllOf: []*jsonschema.Schema{set("model"), set("harness")}}
	}
	automation.Properties["triggers"].MinItems = new(1)
	for _, key := range []string{"triggers", "continueOn", "closes"} {
		automation.Properties[key].Items.AllOf = triggerSchemas()
		automation.Properties[key].MaxItems = new(MaxTriggers)
	}
	signed := &jsonschema.Schema{
		Properties: map[string]*jsonschema.Schema{"authMode": constant("signature")}, Required: []string{"authMode"},
	}
	schemas["webhook"].If, schemas["webhook"].Then = signed, &jsonschema.Schema{Required: []string{"signatureScheme"}}
	schemas["webhook"].Else = &jsonschema.Schema{Not: &jsonschema.Schema{Required: []string{"signatureScheme"}}}
	schemas["skill"].AdditionalProperties = nil
	return schemas
}

// schemaSuffix is the end of the name of a schema's file, after the kind of document.
const schemaSuffix = ".schema.json"

// SchemaJSON returns every schema as JSON, by the name of its file.
func SchemaJSON() (map[string]json.RawMessage, error) {
	documents := map[string]json.RawMessage{}
	for name, schema := range Schemas() {
		text, err := json.MarshalIndent(schema, "", "  ")
		if err != nil {
			return nil, fmt.Errorf("write the schema of %s: %w", name, err)
		}
		documents[name+schemaSuffix] = text
	}
	return documents, nil
}

// SchemaFile returns the name of the schema's file for a kind of document. It also accepts the
// file's name itself.
func SchemaFile(name string) string { return strings.TrimSuffix(name, schemaSuffix) + schemaSuffix }

// SchemaFiles lists the names of the schemas' files, sorted.
func SchemaFiles() []string {
	files := SchemaNames()
	for i := range files {
		files[i] += schemaSuffix
	}
	return files
}

func schemaOf(t reflect.Type, rule string) *jsonschema.Schema {
	if t == treeType {
		return &jsonschema.Schema{}
	}
	s := &jsonschema.Schema{}
	switch t.Kind() {
	case reflect.Pointer:
		return schemaOf(t.Elem(), rule)
	case reflect.Struct:
		return objectSchema(t)
	case reflect.Map:
		s.Type, s.AdditionalProperties = "object", schemaOf(t.Elem(), rule)
		return s
	case reflect.Slice:
		s.Type, s.Items = "array", schemaOf(t.Elem(), rule)
		return s
	case reflect.Bool:
		s.Type = "boolean"
	case reflect.Int:
		s.Type = "integer"
	case reflect.Float64:
		s.Type = "number"
	default:
		s.Type = "string"
	}
	rules[rule].describe(s)
	return s
}

func objectSchema(t reflect.Type) *jsonschema.Schema {
	s := &jsonschema.Schema{
		Type: "object", Properties: map[string]*jsonschema.Schema{},
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	}
	for _, f := range fieldsOf(t) {
		if f.body {
			continue
		}
		property := schemaOf(f.kind, f.rule)
		property.Description = f.about
		if f.null {
			f.allowUnset(property)
		}
		if f.value != "" {
			property.Default = json.RawMessage(f.value)
		}
		s.Properties[f.key] = property
		s.PropertyOrder = append(s.PropertyOrder, f.key)
		if f.required {
			s.Required = append(s.Required, f.key)
		}
		if f.alias != "" {
			other := schemaOf(f.kind, f.rule)
			other.Description, other.Deprecated = "Another name of "+f.key+".", true
			s.Properties[f.alias] = other
			s.PropertyOrder = append(s.PropertyOrder, f.alias)
		}
	}
	if t == reflect.TypeFor[MCPServer]() {
		for _, key := range []string{"id", "warpId", "command", "url"} {
			s.OneOf = append(s.OneOf, &jsonschema.Schema{Required: []string{key}})
		}
	}
	return s
}

// allowUnset allows the values that mean that the key is absent.
func (f field) allowUnset(s *jsonschema.Schema) {
	s.Type, s.Types = "", []string{s.Type, "null"}
	if s.Enum != nil {
		s.Enum = append(s.Enum, nil)
	}
	if f.empty {
		s.Pattern = "^$|" + s.Pattern
	}
}

// set describes a mapping with a key whose value is not null.
func set(key string) *jsonschema.Schema {
	given := &jsonschema.Schema{Not: &jsonschema.Schema{Type: "null"}}
	return &jsonschema.Schema{Required: []string{key}, Properties: map[string]*jsonschema.Schema{key: given}}
}

// describe adds a rule to the schema of a scalar.
func (r rule) describe(s *jsonschema.Schema) {
	if r.zero {
		s.Type, s.Types, s.Minimum, s.Maximum = "", []string{s.Type, "integer"}, new(0.0), new(0.0)
	}
	switch {
	case r.open:
		s.Pattern = r.pattern
		for _, value := range r.enum {
			s.Examples = append(s.Examples, value)
		}
	case r.enum != nil:
		for _, value := range r.spellings() {
			s.Enum = append(s.Enum, value)
		}
	case r.bounded:
		s.Maximum = &r.high
		if s.Minimum = &r.low; r.above {
			s.Minimum, s.ExclusiveMinimum = nil, &r.low
		}
	default:
		s.Pattern = r.pattern
		if longest := max(r.max, r.bytes); longest > 0 { // a character has at least one byte
			s.MaxLength = &longest
		}
	}
}

// triggerSchemas returns the schema of the triggers of each provider.
func triggerSchemas() []*jsonschema.Schema {
	var all []*jsonschema.Schema
	for _, provider := range penstock.Providers() {
		filter := &jsonschema.Schema{
			Types: []string{"object", "null"}, Properties: map[string]*jsonschema.Schema{},
			AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
		}
		filter.PropertyOrder = penstock.TriggerKeys(provider)
		for _, key := range filter.PropertyOrder {
			filter.Properties[key] = keySchema(kindOfKey(key))
		}
		event := &jsonschema.Schema{}
		for _, name := range penstock.TriggerEvents(provider) {
			event.Enum = append(event.Enum, name)
		}
		then := &jsonschema.Schema{Properties: map[string]*jsonschema.Schema{"event": event, "filter": filter}}
		if provider != penstock.ProviderSchedule {
			then.Not = &jsonschema.Schema{Required: []string{"schedule"}}
		}
		if provider == penstock.ProviderWebhook {
			filter.Type, filter.Types, filter.Required, then.Required = "object", nil, []string{
				"webhook_ids",
			}, []string{"filter"}
		}
		all = append(all, &jsonschema.Schema{
			If: &jsonschema.Schema{
				Properties: map[string]*jsonschema.Schema{"provider": constant(provider)}, Required: []string{"provider"},
			},
			Then: then,
		})
	}
	return all
}

func keySchema(kind keyKind) *jsonschema.Schema {
	text := &jsonschema.Schema{Type: "string", Pattern: `\S`}
	values := &jsonschema.Schema{Type: "array", Items: text, MaxItems: new(penstock.MaxTriggerNames)}
	switch kind {
	case selection:
		some := values.CloneSchemas()
		some.MinItems = new(1)
		both := matcherSchema(some, values)
		both.Required = []string{"in"}
		return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{some.CloneSchemas(), both}}
	case payloadFilter:
		return &jsonschema.Schema{
			Type: "object",
			Description: "A filter of payloads: lists of values below the payload's keys, or mappings with in, not_in and " +
				"exists.",
		}
	case numberMatcher:
		values.Items = &jsonschema.Schema{Type: "integer", Minimum: new(1.0)}
	}
	return &jsonschema.Schema{
		AnyOf: []*jsonschema.Schema{values.CloneSchemas(), matcherSchema(values, values.CloneSchemas()), {Type: "null"}},
	}
}

func matcherSchema(in, notIn *jsonschema.Schema) *jsonschema.Schema {
	return &jsonschema.Schema{
		Type: "object", Properties: map[string]*jsonschema.Schema{"in": in, "not_in": notIn},
		PropertyOrder: []string{"in", "not_in"}, AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	}
}

func constant(value string) *jsonschema.Schema {
	return &jsonschema.Schema{Const: jsonschema.Ptr[any](value)}
}

// SchemaNames lists the kinds of documents, sorted.
func SchemaNames() []string { return slices.Sorted(maps.Keys(Schemas())) }
