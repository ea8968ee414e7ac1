package penstock

import (
	"cmp"
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Layer is one source of a run's configuration.
type Layer struct {
	Name   string // request, automation, agent, factory, server
	Config *Config
}

// Resolve takes each key from the first layer that has it, so the strongest layer comes first. Maps
// and lists replace weaker ones and are never merged. An empty list that is not nil counts as set.
// sources names the layer of each key in the result.
//
// Harness, model and the harness's credentials belong together. A harness keeps the model of its
// own layer, unless a stronger layer names another model. Credentials of a weaker layer apply only
// to the same program.
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

// Over returns a configuration with the keys of c, and the other keys of weaker.
func (c *Config) Over(weaker *Config) *Config {
	merged := *c
	if weaker == nil {
		return &merged
	}
	out, in := reflect.ValueOf(&merged).Elem(), reflect.ValueOf(weaker).Elem()
	for _, index := range keysOf(out.Type()) {
		if field := out.FieldByIndex(index); field.IsZero() {
			field.Set(in.FieldByIndex(index))
		}
	}
	return &merged
}

// Sets reports whether the configuration has a value for a key.
func (c *Config) Sets(key string) bool {
	value := reflect.ValueOf(c).Elem()
	index, known := keysOf(value.Type())[key]
	return known && !value.FieldByIndex(index).IsZero()
}

// CarryKeys copies the keys of a run's configuration that both structures have, with equal name and
// kind, from one to the other. The key of a field is its tag config, or its name in JSON without
// one.
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

// keysOf maps each key of a structure to the index of its field.
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

// settleModel makes the model and the model of the harness equal.
func (c *Config) settleModel(layers []Layer, sources map[string]string, from map[string]int) {
	harness, named := from["harness"], c.ModelID != ""
	switch model := from["model_id"]; {
	case c.Harness.ModelID != "" && named && model < harness:
		h := *c.Harness // a copy, because the layer keeps its own
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

// LayerRequest is the strongest layer: the request for the run.
const LayerRequest = "request"

// layerServer is the weakest layer: the defaults of the server.
const layerServer = "server"

// CameFrom returns the configuration key of a pointer, and the name of the layer of its value.
func (r *Run) CameFrom(pointer string) (key, layer string) {
	parts := strings.Split(pointer[1:], "/")
	key = parts[0]
	if len(parts) > 1 {
		name := parts[1]
		if i, err := strconv.Atoi(name); err == nil && key == "secrets" && i < len(r.Config.Secrets) {
			name = r.Config.Secrets[i]
		}
		if layer, own := r.ConfigSources[key+"/"+name]; own {
			return key, layer
		}
	}
	return key, r.ConfigSources[key]
}

// RequestedSecrets reports whether the request for the run named managed secrets, or repositories that
// workers read with their own rights. Agents, automations and factories name theirs for every caller.
func (r *Run) RequestedSecrets() bool {
	return r.Config != nil && (slices.ContainsFunc(r.Config.Repositories, RunRepository.ReadByWorker) ||
		slices.ContainsFunc(r.Config.SecretUses(), func(use SecretUse) bool {
			_, layer := r.CameFrom(use.Pointer)
			return layer == LayerRequest
		}))
}

// sameProgram reports whether the model of a layer fits h. other is the harness of that layer.
// Without one, the model fits every harness.
func sameProgram(h, other *Harness) bool { return other == nil || other.Kind() == h.Kind() }

// settleAuth removes credentials of other programs that come from a weaker layer than the harness.
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

// noAuth is an empty harness_auth_secrets. A new harness replaces the credentials too, even if it
// has none.
var noAuth = json.RawMessage("{}")

// withHarness completes a layer that comes from files. A model alone selects the built-in harness,
// and a harness replaces the credentials too.
func (c *Config) withHarness() *Config {
	if c.ModelID != "" && c.Harness == nil {
		c.Harness = &Harness{Type: HarnessBuiltin}
	}
	if c.Harness != nil && len(c.HarnessAuthSecrets) == 0 {
		c.HarnessAuthSecrets = slices.Clone(noAuth)
	}
	return c
}
