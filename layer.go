package penstock

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// Keys returns the fields of c by the keys of the configuration. Setting a field changes c.
func (c *Config) Keys() map[string]reflect.Value {
	value := reflect.ValueOf(c).Elem()
	keys := map[string]reflect.Value{}
	for key, index := range keysOf(value.Type()) {
		keys[key] = value.FieldByIndex(index)
	}
	return keys
}

// Over returns a configuration with the keys of c, and the other keys of weaker.
func (c *Config) Over(weaker *Config) *Config {
	merged := *c
	if weaker == nil {
		return &merged
	}
	in := weaker.Keys()
	for key, field := range merged.Keys() {
		if field.IsZero() {
			field.Set(in[key])
		}
	}
	return &merged
}

// Sets reports whether the configuration has a value for a key.
func (c *Config) Sets(key string) bool {
	value, known := c.Keys()[key]
	return known && !value.IsZero()
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

// LayerRequest is the strongest layer: the request for the run.
const LayerRequest = "request"

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
	return r.Config != nil && (r.ConfigSources["repositories"] == LayerRequest &&
		slices.ContainsFunc(r.Config.Repositories, RunRepository.ReadByWorker) ||
		slices.ContainsFunc(r.Config.SecretUses(), func(use SecretUse) bool {
			_, layer := r.CameFrom(use.Pointer)
			return layer == LayerRequest
		}))
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
