package main

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"
)

// document holds the parts of an OpenAPI 3.1 document that the SDK needs.
type document struct {
	Tags []struct {
		Name, Description string
	}
	Paths      ordered[pathItem]
	Components struct {
		Schemas       ordered[*schema]
		Parameters    ordered[*parameter]
		RequestBodies ordered[*body] `yaml:"requestBodies"`
		Responses     ordered[*body]
	}
}

type pathItem struct {
	Parameters []*parameter
	Get        *operation
	Post       *operation
	Put        *operation
	Patch      *operation
	Delete     *operation
}

type operation struct {
	ID          string `yaml:"operationId"`
	Tags        []string
	Summary     string
	Description string
	Deprecated  bool
	Scope       string `yaml:"x-scope"`
	Parameters  []*parameter
	RequestBody *body `yaml:"requestBody"`
	Responses   ordered[*body]
}

type parameter struct {
	Ref         string `yaml:"$ref"`
	Name        string
	In          string
	Required    bool
	Description string
	Schema      *schema
	SDK         *bool `yaml:"x-sdk"` // false: the SDK does not offer it

	shared string // its key in components/parameters
}

// body is the body of a request or a response.
type body struct {
	Ref      string `yaml:"$ref"`
	Required bool
	Content  ordered[struct{ Schema *schema }]
}

type schema struct {
	Ref           string `yaml:"$ref"`
	Type          oneOrMore
	Format        string
	Description   string
	Deprecated    bool
	WriteOnly     bool `yaml:"writeOnly"`
	Enum          enum
	Required      []string
	Properties    ordered[*schema]
	Additional    *additional `yaml:"additionalProperties"`
	Items         *schema
	OneOf         []*schema `yaml:"oneOf"`
	AnyOf         []*schema `yaml:"anyOf"`
	AllOf         []*schema `yaml:"allOf"`
	Discriminator struct {
		Property string `yaml:"propertyName"`
	}
}

// additional is additionalProperties: true, false or a schema.
type additional struct {
	schema *schema // nil: false; empty: true
}

func (a *additional) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind != yaml.ScalarNode {
		a.schema = &schema{}
		return node.Decode(a.schema)
	}
	if node.Value == "true" {
		a.schema = &schema{}
	}
	return nil
}

// enum is a list of words. It leaves out null, which the type already includes.
type enum []string

func (e *enum) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind != yaml.SequenceNode {
		return fmt.Errorf("line %d: not a list", node.Line)
	}
	for _, item := range node.Content {
		if item.Tag != "!!null" {
			*e = append(*e, item.Value)
		}
	}
	return nil
}

// oneOrMore is a string or a list of strings.
type oneOrMore []string

func (o *oneOrMore) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		*o = oneOrMore{node.Value}
		return nil
	}
	var list []string
	err := node.Decode(&list)
	*o = list
	return err
}

// ordered is a mapping that keeps the order of the document.
type ordered[T any] []entry[T]

type entry[T any] struct {
	key   string
	value T
}

func (o *ordered[T]) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind != yaml.MappingNode {
		return fmt.Errorf("line %d: not a mapping", node.Line)
	}
	for i := 0; i+1 < len(node.Content); i += 2 {
		var value T
		if err := node.Content[i+1].Decode(&value); err != nil {
			return err
		}
		*o = append(*o, entry[T]{node.Content[i].Value, value})
	}
	return nil
}

func (o ordered[T]) get(key string) (T, bool) {
	for _, e := range o {
		if e.key == key {
			return e.value, true
		}
	}
	var none T
	return none, false
}

// base returns the last part of a reference.
func base(ref string) string { return ref[strings.LastIndex(ref, "/")+1:] }

func (d *document) parameter(p *parameter) (*parameter, error) {
	if p.Ref == "" {
		return p, nil
	}
	found, ok := d.Components.Parameters.get(base(p.Ref))
	if !ok {
		return nil, fmt.Errorf("there is no %s", p.Ref)
	}
	found.shared = base(p.Ref)
	return found, nil
}

func resolve(among ordered[*body], b *body) (*body, error) {
	if b == nil || b.Ref == "" {
		return b, nil
	}
	found, ok := among.get(base(b.Ref))
	if !ok {
		return nil, fmt.Errorf("there is no %s", b.Ref)
	}
	return found, nil
}

// target returns the schema that s refers to, or s itself.
func (d *document) target(s *schema) *schema {
	for s != nil && s.Ref != "" {
		s, _ = d.Components.Schemas.get(base(s.Ref))
	}
	return s
}
