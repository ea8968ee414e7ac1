package run

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
)

// offer is what runs can name as their model.
type offer struct {
	models []penstock.ModelInfo
	first  string
}

// SetModels replaces the models of this server's providers, and the default. "" as the default
// is demo/offline.
func (s *Catalog) SetModels(models []penstock.ModelInfo, first string) {
	s.offer.Store(&offer{models, first})
}

// DefaultModel is the model of runs that name none; "" is demo/offline.
func (s *Catalog) DefaultModel() string { return s.offer.Load().first }

// Models lists the models that a run can name: demo/offline, which needs no provider, the models of
// this server's providers, and finally the aliases.
func (s *Catalog) Models(_ context.Context, p penstock.Principal) (ModelList, error) {
	if err := access.Require(p, penstock.ScopeRunsRead); err != nil {
		return ModelList{}, err
	}
	now := s.offer.Load()
	list := ModelList{Default: cmp.Or(now.first, penstock.ModelOffline), Models: slices.Clone(now.models)}
	has := func(id string) bool {
		return slices.ContainsFunc(list.Models, func(m penstock.ModelInfo) bool { return m.ID == id })
	}
	for _, id := range []string{list.Default, penstock.ModelOffline} {
		if has(id) {
			continue
		}
		m, known := penstock.LookupModel(id)
		if !known { // the operator named a model that is newer than the catalog
			m = penstock.ModelInfo{ID: id, DisplayName: id, Provider: providerOf(id)}
		}
		list.Models = append(list.Models, m)
	}
	list.Models = append(list.Models, s.aliasModels()...)
	return list, nil
}

func providerOf(modelID string) penstock.ModelProvider {
	id, _ := penstock.CanonicalModelID(modelID)
	provider, _, _ := strings.Cut(id, "/")
	switch provider {
	case "openai":
		return penstock.ProviderOpenAI
	case "anthropic":
		return penstock.ProviderAnthropic
	case "google":
		return penstock.ProviderGoogle
	}
	return penstock.ProviderUnknown
}
