package main

import (
	"context"
	"log/slog"
	"slices"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/wall/gateway"
)

// modelList finds the models that the server shows: the catalog's, and the models that other
// providers list themselves.
type modelList struct {
	providers providers
	gateway   *gateway.Gateway
	log       *slog.Logger
	last      map[string][]string // what each provider has listed last
	silent    map[string]bool     // providers that do not list them at the moment
}

func newModelList(log *slog.Logger, settings *fileSettings) (*modelList, error) {
	p := allProviders(settings)
	g, err := gateway.New(gateway.Options{Providers: p, Log: log})
	if err != nil {
		return nil, exitf(exitConfig, "%w", err)
	}
	return &modelList{p, g, log, map[string][]string{}, map[string]bool{}}, nil
}

// read returns the models as this process can use them, and the default. A provider that
// cannot be reached has those that it listed before.
func (l *modelList) read(ctx context.Context) (models []penstock.ModelInfo, first string) {
	list := penstock.Models()
	for i, m := range list {
		for _, v := range vendors {
			if v.id == m.Provider && !slices.ContainsFunc(
				l.providers, func(p gateway.Provider) bool { return p.Name == v.Name },
			) {
				list[i].DisableReason = penstock.DisabledByAdmin
				list[i].DisableDetail = "The server has no API key for " + v.title + "."
			}
		}
	}
	for _, provider := range l.providers {
		if inCatalog(provider) {
			continue
		}
		for _, model := range l.modelsOf(ctx, provider.Name) {
			id := provider.ModelID(model)
			if !slices.ContainsFunc(list, func(m penstock.ModelInfo) bool { return m.ID == id }) {
				list = append(list, penstock.ModelInfo{ID: id, DisplayName: model, Provider: penstock.ProviderUnknown})
			}
		}
	}
	return list, l.providers.defaultModel(list)
}

// inCatalog reports whether the catalog has the models of a provider.
func inCatalog(p gateway.Provider) bool {
	return p.Key != "" && vendorOf(p.Name) != nil && len(p.Models) == 0
}

// listTimeout bounds how long a provider may take to list its models while serve starts and later.
const listTimeout = 3 * time.Second

func (l *modelList) modelsOf(ctx context.Context, name string) []string {
	timeout, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	models, err := l.gateway.Models(timeout, name)
	if err == nil {
		l.last[name], l.silent[name] = models, false
		return models
	}
	if !l.silent[name] && ctx.Err() == nil { // this server is not stopping
		l.log.Warn("cannot list the models of a provider; runs can still name them", "provider", name, "error", err)
	}
	l.silent[name] = true
	return l.last[name]
}

// relistEvery is how often the providers are asked for their models.
const relistEvery = 2 * time.Minute

// keep passes the models on to set each time, until ctx ends: a local server may start later
// than this one, and get other models.
func (l *modelList) keep(ctx context.Context, every time.Duration, set func([]penstock.ModelInfo, string)) {
	if !slices.ContainsFunc(l.providers, func(p gateway.Provider) bool { return !inCatalog(p) && len(p.Models) == 0 }) {
		return
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			set(l.read(ctx))
		case <-ctx.Done():
			return
		}
	}
}
