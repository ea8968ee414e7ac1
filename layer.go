package penstock

import (
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
)

// Layer is one source of configuration, the strongest first in [Resolve].
type Layer struct {
	Name   string // request, automation, agent, factory, server
	Config *Config
}

// Resolve takes each key from the first layer that has it, whole: maps and
// lists are replaced, never merged, and an empty one that is not nil is one that
// is given. Sources says for each key of the result which layer it came from.
//
// Harness, model and the harness's credentials belong together: a harness comes
// with the model that its own layer gives it, unless a stronger one names
// another, and credentials of a weaker layer are those of the same program only.
func Resolve(layers ...Layer) (result Config, sources map[string]string) {
	sources = map[string]string{}
	out := reflect.ValueOf(&result).Elem()
	from := map[string]int{}
	keys := keysOf(out.Type())
	for n, layer := range layers {
		if layer.Config == nil {
			continue
		}
		in := reflect.ValueOf(layer.Config).Elem()
		for key, index := range keys {
			value := in.FieldByIndex(index)
			if _, taken := sources[key]; taken || value.IsZero() {
				continue
			}
			out.FieldByIndex(index).Set(value)
			sources[key], from[key] = layer.Name, n
		}
	}
	if result.Harness != nil {
		result.settleModel(layers, sources, from)
		result.settleAuth(sources, from)
	}
	if names, ok := result.authSecrets(); ok && len(names) == 0 {
		result.HarnessAuthSecrets = nil
		delete(sources, "harness_auth_secrets")
	}
	return result, sources
}

// CarryKeys sets those keys of a run's configuration that two structures share, by
// their names and kinds, in the one that to points to. A field's key is its tag config,
// else its name in JSON.
func CarryKeys(to, from any) {
	out, in := reflect.ValueOf(to).Elem(), reflect.ValueOf(from)
	into := keysOf(out.Type())
	for key, index := range keysOf(in.Type()) {
		target, shared := into[key]
		if !shared {
			continue
		}
		field, value := out.FieldByIndex(target), in.FieldByIndex(index)
		if value.Kind() == field.Kind() && value.CanConvert(field.Type()) {
			field.Set(value.Convert(field.Type()))
		}
	}
}

// keysOf maps the keys of a structure's fields to their places.
func keysOf(t reflect.Type) map[string][]int {
	keys := map[string][]int{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if key := cmp.Or(f.Tag.Get("config"), name); key != "" && key != "-" {
			keys[key] = f.Index
		}
	}
	return keys
}

// settleModel makes the model and that of the harness one.
func (c *Config) settleModel(layers []Layer, sources map[string]string, from map[string]int) {
	harness, named := from["harness"], c.ModelID != ""
	switch model := from["model_id"]; {
	case c.Harness.ModelID != "" && named && model < harness:
		h := *c.Harness // the layer's own is not ours to change
		h.ModelID, c.Harness = c.ModelID, &h
	case c.Harness.ModelID != "" && (!named || model > harness):
		c.ModelID, sources["model_id"] = c.Harness.ModelID, sources["harness"]
	case named && model > harness && layers[model].Name != layerServer &&
		!sameProgram(c.Harness, layers[model].Config.Harness):
		c.ModelID = ""
		delete(sources, "model_id")
		for _, layer := range layers[model+1:] {
			if l := layer.Config; l != nil && l.ModelID != "" && (layer.Name == layerServer ||
				sameProgram(c.Harness, l.Harness)) {
				c.ModelID, sources["model_id"] = l.ModelID, layer.Name
				break
			}
		}
	}
}

// layerServer is the layer of the server's own defaults, the weakest.
const layerServer = "server"

// sameProgram reports whether a model that a layer gives beside another harness
// is one for h: where that layer names no harness, it is for whichever there is.
func sameProgram(h, other *Harness) bool { return other == nil || other.Kind() == h.Kind() }

// settleAuth drops credentials of other programs that a weaker layer than the
// harness's names.
func (c *Config) settleAuth(sources map[string]string, from map[string]int) {
	names, ok := c.authSecrets()
	if !ok || len(names) == 0 || from["harness_auth_secrets"] <= from["harness"] {
		return
	}
	own := maps.Clone(names)
	maps.DeleteFunc(own, func(key, _ string) bool {
		program, is := strings.CutSuffix(key, HarnessAuthSuffix)
		return is && (&Harness{Type: program}).Kind() != c.Harness.Kind()
	})
	if len(own) == len(names) {
		return
	}
	text, _ := json.Marshal(own) // strings: never fails
	c.HarnessAuthSecrets = text
	if len(own) == 0 {
		c.HarnessAuthSecrets = nil
		delete(sources, "harness_auth_secrets")
	}
}

// HarnessAuthSuffix is what follows the name of a harness in the keys of
// harness_auth_secrets.
const HarnessAuthSuffix = "_auth_secret_name"

// noAuth is harness_auth_secrets without any: a harness is replaced with its
// credentials, though there be none.
var noAuth = json.RawMessage("{}")

// withHarness is what a layer says that is made of files: naming a model means
// the built-in harness, and naming a harness means its credentials as well.
func (c *Config) withHarness() *Config {
	if c.ModelID != "" && c.Harness == nil {
		c.Harness = &Harness{Type: HarnessBuiltin}
	}
	if c.Harness != nil && len(c.HarnessAuthSecrets) == 0 {
		c.HarnessAuthSecrets = slices.Clone(noAuth)
	}
	return c
}
