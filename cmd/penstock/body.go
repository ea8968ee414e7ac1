package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"reflect"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v4"
)

// requestBody is the body of a request from a file and flags. Flags win.
type requestBody struct {
	File string `short:"f" placeholder:"FILE" help:"File with the request as JSON or YAML, with the API's field names; - reads standard input. Flags override it."`
}

// with reads the file, if there is one, and applies the flags: objects are merged, and everything
// else is replaced.
func (b requestBody) with(std *stdio, flags any) (map[string]any, error) {
	overlay, err := toMap(flags)
	if err != nil || b.File == "" {
		return overlay, err
	}
	var content []byte
	if b.File == "-" {
		content, err = io.ReadAll(std.in)
	} else {
		content, err = os.ReadFile(b.File)
	}
	if err != nil {
		return nil, exitf(exitUsage, "--file: %w", err)
	}
	text, err := decodeText("--file "+b.File, content)
	if err != nil {
		return nil, err
	}
	body := map[string]any{}
	if content = bytes.TrimSpace([]byte(text)); saysNothing(content) {
		return nil, exitf(exitUsage, "--file %s is empty", b.File)
	}
	if bytes.HasPrefix(content, []byte("{")) {
		err = json.Unmarshal(content, &body, exactNumbers)
	} else {
		err = yaml.Load(content, &body) // rejects duplicate keys
	}
	if err != nil {
		return nil, exitf(exitUsage, "--file %s: %w", b.File, err)
	}
	merge(body, overlay)
	return body, nil
}

// exactNumbers keeps numbers as they are written, because an id in a payload filter may have more
// digits than a float64.
var exactNumbers = json.WithUnmarshalers(json.UnmarshalFromFunc(func(dec *jsontext.Decoder, value *any) error {
	if dec.PeekKind() != '0' {
		return errors.ErrUnsupported
	}
	number, err := dec.ReadValue()
	*value = number.Clone()
	return err
}))

// fieldsOf returns the fields of the body that the inputs of a command set: pointers even to an empty
// value, and others to a value.
func fieldsOf(cmd any) map[string]any {
	body := map[string]any{}
	eachInput(reflect.ValueOf(cmd).Elem(), "/", func(name string, value reflect.Value) {
		path := strings.Split(name, "/")
		at := body
		for _, key := range path[1 : len(path)-1] {
			below, ok := at[key].(map[string]any)
			if !ok {
				below = map[string]any{}
				at[key] = below
			}
			at = below
		}
		at[path[len(path)-1]] = value.Interface()
	})
	return body
}

// queryOf returns the query parameters that the inputs of a command set.
func queryOf(cmd any) url.Values {
	query := url.Values{}
	eachInput(reflect.ValueOf(cmd).Elem(), "?", func(name string, value reflect.Value) {
		query.Set(strings.TrimPrefix(name, "?"), fmt.Sprint(value))
	})
	return query
}

// eachInput calls use with each input that has a value, and the tag field with this prefix: / for the
// body, or ? for the query.
func eachInput(cmd reflect.Value, prefix string, use func(name string, value reflect.Value)) {
	for field, value := range cmd.Fields() {
		name := field.Tag.Get("field")
		switch {
		case field.Anonymous:
			eachInput(value, prefix, use)
		case strings.HasPrefix(name, prefix) && !value.IsZero():
			use(name, reflect.Indirect(value))
		}
	}
}

// settle converts flags for the API, in place: the prompt - to the text on standard input, and an
// environment's name to its uid. nil means not set.
func (c *client) settle(ctx context.Context, prompt, environment *string) (err error) {
	if prompt != nil {
		if *prompt, err = c.std.text(*prompt); err != nil {
			return err
		}
	}
	if environment != nil {
		*environment, err = environmentNoun.find(ctx, c, *environment)
	}
	return err
}

func merge(into, from map[string]any) {
	for key, value := range from {
		below, isObject := value.(map[string]any)
		if there, ok := into[key].(map[string]any); ok && isObject {
			there = maps.Clone(there)
			merge(there, below)
			into[key] = there
			continue
		}
		into[key] = value
	}
}

// toMap returns value as a JSON object.
func toMap(value any) (map[string]any, error) {
	raw, err := json.Marshal(value)
	if err != nil {
		return nil, fmt.Errorf("write the request: %w", err)
	}
	return objectOf(raw)
}

func objectOf(raw jsontext.Value) (map[string]any, error) {
	object := map[string]any{}
	if err := json.Unmarshal(raw, &object, exactNumbers); err != nil {
		return nil, fmt.Errorf("read a JSON object: %w", err)
	}
	return object, nil
}

// someChange returns a usage error if nothing is to be changed.
func someChange(body map[string]any, err error) (map[string]any, error) {
	if err == nil && len(body) == 0 {
		err = exitf(exitUsage, "nothing to change: set a flag or --file")
	}
	return body, err
}
