package run

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// IsModelAuto reports whether a model's name is ModelAuto or begins with auto-.
func IsModelAuto(name string) bool {
	return name == ModelAuto || strings.HasPrefix(name, ModelAuto+"-")
}

// ModelList lists the models that a run can name.
type ModelList struct {
	Default string               `json:"default_model_id"`
	Models  []penstock.ModelInfo `json:"models"`
}

// maxShownModel limits the model name in a message, in bytes.
const maxShownModel = 100

// QuotedModel returns the name of a model for messages and headers: quoted, in ASCII, without
// control characters and commas, and shortened.
func QuotedModel(name string) string {
	if len(name) > maxShownModel {
		name = strings.ToValidUTF8(name[:maxShownModel], "") + "..."
	}
	return strings.ReplaceAll(strconv.QuoteToASCII(name), ",", `\x2c`)
}

// providerKeys are the variables that give a worker a provider.
var providerKeys = map[string]string{
	"anthropic/": "ANTHROPIC_API_KEY", "openai/": "OPENAI_API_KEY", "google/": "GEMINI_API_KEY",
}

// NoProvider returns the message that no connected worker has a provider for a model, and how
// to fix this.
func NoProvider(model string) string {
	text := "no connected worker has a provider for the model " + QuotedModel(model)
	if key, known := providerKeys[store.ProviderPrefix(model)]; known {
		return fmt.Sprintf("%s: set %s on a worker, or cancel the run and create one with another model", text, key)
	}
	return text +
		": the built-in agent supports anthropic/, openai/ and google/ models; " +
		"cancel the run and create one with such a model"
}

// knownModel reports whether the server knows the built-in agent's model, or an alias of one.
// Only a provider knows its models, so any name with the prefix of a provider of the built-in
// agent or of a worker is known.
func (s *Catalog) knownModel(name string, workers []store.Worker) bool {
	if name == "" || name == s.DefaultModel() || IsModelAuto(name) {
		return true
	}
	if _, known := penstock.CanonicalModelID(name); known {
		return true
	}
	for alias, model := range s.aliases {
		if name == alias || name == model {
			return true
		}
	}
	provider := store.ProviderPrefix(name)
	return slices.ContainsFunc(s.offer.Load().models, func(m penstock.ModelInfo) bool { return m.ID == name }) ||
		slices.ContainsFunc(workers, func(w store.Worker) bool { return slices.Contains(w.Providers, provider) })
}

// Warnings returns what will keep a new run from starting.
func (s *Catalog) Warnings(ctx context.Context, run *store.NewRun) ([]string, error) {
	if run.Harness != penstock.HarnessBuiltin {
		return nil, nil
	}
	model := run.Config.Model()
	if s.knownModel(model, nil) {
		return nil, nil
	}
	workers, err := s.store.Queue.Workers(ctx)
	if err != nil || s.knownModel(model, workers) {
		return nil, err
	}
	text, near := unknownModel(model, "the run waits")
	if near != "" {
		text += fmt.Sprintf("; did you mean %q?", near)
	}
	return []string{text}, nil
}

// ModelCheck returns the check of model names in definitions.
func (s *Catalog) ModelCheck(workers []store.Worker) func(string) (problem, nearest string) {
	return func(name string) (problem, nearest string) {
		if s.knownModel(name, workers) {
			return "", ""
		}
		return unknownModel(name, "runs wait")
	}
}

// unknownModel returns the message for an unknown model. It suggests a similar name.
func unknownModel(name, whoWaits string) (problem, nearest string) {
	return "unknown model " + QuotedModel(name) + ": " + whoWaits + " for a worker that has a provider for it",
		penstock.NearestModel(name)
}

// aliasModels lists the aliases of models as models.
func (s *Catalog) aliasModels() []penstock.ModelInfo {
	var list []penstock.ModelInfo
	for _, alias := range slices.Sorted(maps.Keys(s.aliases)) {
		id := cmp.Or(s.Model(alias), s.DefaultModel(), penstock.ModelOffline)
		m, known := s.listedModel(id)
		if !known {
			m = penstock.ModelInfo{Provider: providerOf(id)}
		}
		m.ID, m.DisplayName, m.Description = alias, alias, "An alias of "+id+"."
		list = append(list, m)
	}
	return list
}

// listedModel finds a model as this server lists it.
func (s *Catalog) listedModel(id string) (penstock.ModelInfo, bool) {
	m, known := penstock.LookupModel(id)
	if !known {
		m.ID = id
	}
	models := s.offer.Load().models
	if i := slices.IndexFunc(models, func(listed penstock.ModelInfo) bool { return listed.ID == m.ID }); i >= 0 {
		return models[i], true
	}
	return m, known
}

// Model resolves a model name; "" is the server's default.
func (s *Catalog) Model(name string) string {
	if model, known := s.aliases[name]; known {
		name = model
	}
	if IsModelAuto(name) {
		return ""
	}
	return name
}

// ModelAuto lets the server choose the model. So does each auto-* name without an alias on the
// server.
const ModelAuto = "auto"
