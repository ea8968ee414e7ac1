package run

import (
	"encoding/json"
	"maps"
	"strings"

	"github.com/penstock-dev/penstock"
)

// The layers of a run's configuration, the strongest first.
const (
	LayerRequest    = penstock.LayerRequest
	LayerAutomation = "automation"
	LayerAgent      = "agent"
	LayerFactory    = "factory"
	LayerEvent      = "event" // the repository of the event that starts a run
	LayerServer     = "server"
	LayerParent     = "parent" // values that a run inherits from its parent
)

// layerForked is the layer of the run from which a run is forked, until its keys get the sources that they
// have there.
const layerForked = "forked"

// layer is one source of a run's configuration.
type layer struct {
	Name   string // request, automation, agent, factory, server
	Config *penstock.Config
}

// resolve takes each key from the first layer that has it, so the strongest layer comes first. Maps
// and lists replace weaker ones and are never merged. An empty list that is not nil counts as set.
// sources names the layer of each key in the result.
//
// Harness, model and the harness's credentials belong together. A harness keeps the model of its
// own layer, unless a stronger layer names another model. Credentials of a weaker layer apply only
// to the same program.
func resolve(list ...layer) (result penstock.Config, sources map[string]string) {
	sources = map[string]string{}
	from := map[string]int{}
	out := result.Keys()
	for n, source := range list {
		if source.Config == nil {
			continue
		}
		for key, value := range source.Config.Keys() {
			if _, taken := sources[key]; taken || value.IsZero() {
				continue
			}
			out[key].Set(value)
			sources[key], from[key] = source.Name, n
		}
	}
	if result.Harness != nil {
		settleModel(&result, list, sources, from)
		settleAuth(&result, sources, from)
	}
	if names, ok := result.AuthSecrets(); ok && len(names) == 0 {
		result.HarnessAuthSecrets = nil
		delete(sources, "harness_auth_secrets")
	}
	return result, sources
}

// settleModel makes the model and the model of the harness equal.
func settleModel(c *penstock.Config, list []layer, sources map[string]string, from map[string]int) {
	harness, named := from["harness"], c.ModelID != ""
	switch model := from["model_id"]; {
	case c.Harness.ModelID != "" && named && model < harness:
		h := *c.Harness // a copy, because the layer keeps its own
		h.ModelID, c.Harness = c.ModelID, &h
	case c.Harness.ModelID != "" && (!named || model > harness):
		c.ModelID, sources["model_id"] = c.Harness.ModelID, sources["harness"]
	case named && model > harness && list[model].Name != LayerServer &&
		!sameProgram(c.Harness, list[model].Config.Harness):
		c.ModelID = ""
		delete(sources, "model_id")
		for _, source := range list[model+1:] {
			if l := source.Config; l != nil && l.ModelID != "" && (source.Name == LayerServer ||
				sameProgram(c.Harness, l.Harness)) {
				c.ModelID, sources["model_id"] = l.ModelID, source.Name
				break
			}
		}
	}
}

// sameProgram reports whether the model of a layer fits h. other is the harness of that layer.
// Without one, the model fits every harness.
func sameProgram(h, other *penstock.Harness) bool { return other == nil || other.Kind() == h.Kind() }

// settleAuth removes credentials of other programs that come from a weaker layer than the harness.
func settleAuth(c *penstock.Config, sources map[string]string, from map[string]int) {
	names, ok := c.AuthSecrets()
	if !ok || len(names) == 0 || from["harness_auth_secrets"] <= from["harness"] {
		return
	}
	own := maps.Clone(names)
	maps.DeleteFunc(own, func(key, _ string) bool {
		program, is := strings.CutSuffix(key, penstock.HarnessAuthSuffix)
		return is && (&penstock.Harness{Type: program}).Kind() != c.Harness.Kind()
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
