package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v4"
)

// requestBody is the body of a request from a file, in which flags win.
type requestBody struct {
	File string `short:"f" placeholder:"FILE" help:"File with the request as JSON or YAML, with the API's field names; - reads standard input. Flags override it."`
}

// with reads the file, if one is named, and lays what the flags say over it:
// objects are merged, everything else is replaced.
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
	body := map[string]any{}
	if content = bytes.TrimSpace(content); saysNothing(content) {
		return nil, exitf(exitUsage, "--file %s is empty", b.File)
	}
	if bytes.HasPrefix(content, []byte("{")) {
		err = json.Unmarshal(content, &body, exactNumbers)
	} else {
		err = yaml.Load(content, &body) // refuses duplicate keys
	}
	if err != nil {
		return nil, exitf(exitUsage, "--file %s: %w", b.File, err)
	}
	merge(body, overlay)
	return body, nil
}

// exactNumbers keeps numbers as they are written: an id in a payload filter may
// have more digits than a float64.
var exactNumbers = json.WithUnmarshalers(json.UnmarshalFromFunc(func(dec *jsontext.Decoder, value *any) error {
	if dec.PeekKind() != '0' {
		return errors.ErrUnsupported
	}
	number, err := dec.ReadValue()
	*value = number.Clone()
	return err
}))

// given are the flags that were given, though it were with an empty value.
func given(flags map[string]*string) map[string]any {
	fields := map[string]any{}
	for name, value := range flags {
		if value != nil {
			fields[name] = *value
		}
	}
	return fields
}

// settle makes of what a person says what the API takes, in place: of a prompt -
// what standard input has, of an environment's name its uid. What is nil was not
// given.
func (c *client) settle(ctx context.Context, prompt, environment *string) (err error) {
	if prompt != nil {
		if *prompt, err = c.std.text(*prompt); err != nil {
			return err
		}
	}
	if environment != nil {
		*environment, err = c.environmentUID(ctx, *environment)
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

// toMap is value as its JSON object.
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

// nameGiven is the name of what is created, as an argument or by --name; nil is
// neither.
func nameGiven(argument, flag *string) (*string, error) {
	switch {
	case argument == nil:
		return flag, nil
	case flag != nil && *flag != *argument:
		return nil, exitf(exitUsage, "the name is set twice, as %q and as --name %q: remove one", *argument, *flag)
	}
	return argument, nil
}
