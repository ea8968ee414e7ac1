package catalog

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/access"
	"github.com/penstock-dev/penstock/internal/signature"
)

// Models lists the models that a run can name: what this server's providers
// offer, always demo/offline, which needs none, and last the aliases.
func (s *Catalog) Models(_ context.Context, p penstock.Principal) (penstock.ModelList, error) {
	if err := access.Require(p, penstock.ScopeRunsRead); err != nil {
		return penstock.ModelList{}, err
	}
	list := penstock.ModelList{
		Default: cmp.Or(s.defaults.ModelID, penstock.ModelOffline),
		Models:  slices.Clone(s.models),
	}
	has := func(id string) bool {
		return slices.ContainsFunc(list.Models, func(m penstock.ModelInfo) bool { return m.ID == id })
	}
	for _, id := range []string{list.Default, penstock.ModelOffline} {
		if has(id) {
			continue
		}
		m, known := penstock.LookupModel(id)
		if !known { // the operator named a model that is newer than the catalogue
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

// Workers lists the hosts of connected workers outside of the server: since when each has a
// worker, and when one was last seen.
func (s *Catalog) Workers(ctx context.Context, p penstock.Principal) ([]penstock.ConnectedWorker, error) {
	if err := access.Require(p, penstock.ScopeRunsRead); err != nil {
		return nil, err
	}
	workers, err := s.store.Workers(ctx) // by host
	if err != nil {
		return nil, err
	}
	hosts := []penstock.ConnectedWorker{}
	for _, w := range workers {
		if w.Local {
			continue
		}
		if n := len(hosts); n == 0 || hosts[n-1].Host != w.Host {
			hosts = append(hosts, penstock.ConnectedWorker{Host: w.Host, ConnectedAt: w.ConnectedAt})
		}
		host := &hosts[len(hosts)-1]
		host.Connections++
		host.Capacity += w.Capacity
		host.Busy += w.Busy
		host.ConnectedAt = min(host.ConnectedAt, w.ConnectedAt)
		host.LastSeenAt = max(host.LastSeenAt, w.LastSeenAt)
	}
	return hosts, nil
}

// SignatureSchemes lists the signature schemes, in display order.
func (s *Catalog) SignatureSchemes() []signature.Preset { return signature.Presets() }
