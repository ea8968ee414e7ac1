package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/agent"
	"github.com/penstock-dev/penstock/internal/gateway"
)

// vendor is a model provider that its own tools' variables configure.
type vendor struct {
	name, title string
	api         gateway.API
	id          penstock.ModelProvider
	key, url    string // variables
}

var vendors = []vendor{
	{"anthropic", "Anthropic", gateway.Anthropic, penstock.ProviderAnthropic, "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"},
	{"openai", "OpenAI", gateway.OpenAI, penstock.ProviderOpenAI, "OPENAI_API_KEY", "OPENAI_BASE_URL"},
	{"gemini", "Google", gateway.Gemini, penstock.ProviderGoogle, "GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL"},
}

// providers are the model providers of this process: first the vendors, then the named
// ones of the configuration file.
type providers []gateway.Provider

// allProviders returns the providers of the environment and of the configuration file,
// which wins. A base URL without a key is a provider as well, such as a local server.
func allProviders(settings *fileSettings) providers {
	var all providers
	for _, v := range vendors {
		p := gateway.Provider{
			Name: v.name, API: v.api, Key: os.Getenv(v.key), BaseURL: os.Getenv(v.url), Setting: v.url,
		}
		if set, ok := settings.Providers[v.name]; ok {
			p.Key, p.BaseURL = cmp.Or(set.Key, p.Key), cmp.Or(set.BaseURL, p.BaseURL)
			p.Models = set.Models
			if set.BaseURL != "" {
				p.Setting = "providers." + v.name + ".base_url"
			}
		}
		if p.Key != "" || p.BaseURL != "" {
			all = append(all, p)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(settings.Providers)) {
		if vendorOf(name) == nil {
			set := settings.Providers[name]
			all = append(all, gateway.Provider{
				Name: name, API: gateway.API(set.API), BaseURL: set.BaseURL, Key: set.Key, Models: set.Models,
				Setting: "providers." + name + ".base_url",
			})
		}
	}
	return all
}

func vendorOf(name string) *vendor {
	if i := slices.IndexFunc(vendors, func(v vendor) bool { return v.name == name }); i >= 0 {
		return &vendors[i]
	}
	return nil
}

// served lists the models that this process can serve, as a worker claims them: prefixes
// of their ids, and demo/offline.
func (p providers) served() []string {
	prefixes := []string{penstock.ModelOffline}
	for _, provider := range p {
		prefixes = append(prefixes, provider.ModelID(""))
	}
	return prefixes
}

// environment is how the built-in agent finds the providers: behind the gateway, with a
// placeholder as key.
func (p providers) environment() map[string]string {
	env := map[string]string{}
	named := []agent.Provider{}
	for _, provider := range p {
		address := provider.AgentURL("{gateway}")
		if v := vendorOf(provider.Name); v != nil {
			env[v.key], env[v.url] = gatewayKey, address
			continue
		}
		named = append(named, agent.Provider{
			Name: provider.Name, API: string(provider.API), Key: gatewayKey, BaseURL: address,
		})
	}
	if len(named) > 0 {
		text, err := json.Marshal(named)
		if err != nil {
			panic("providers cannot be marshalled: " + err.Error())
		}
		env[providersVariable] = string(text)
	}
	return env
}

// gatewayKey is what an agent has in the place of a provider's key: the gateway replaces it.
const gatewayKey = "penstock-gateway"

// providersVariable tells the built-in agent the providers that no vendor's variables can.
const providersVariable = "PENSTOCK_PROVIDERS"

// listedModels returns the models that the server shows, and its default.
func listedModels(
	ctx context.Context, log *slog.Logger, settings *fileSettings,
) (models []penstock.ModelInfo, first string, err error) {
	p := allProviders(settings)
	g, err := gateway.New(gateway.Options{Providers: p, Log: log})
	if err != nil {
		return nil, "", exitf(exitConfig, "%w", err)
	}
	models = p.models(ctx, log, g)
	return models, p.defaultModel(models), nil
}

// models is the catalogue as this process can use it, with the models of other providers.
func (p providers) models(ctx context.Context, log *slog.Logger, g *gateway.Gateway) []penstock.ModelInfo {
	list := penstock.Models()
	for i, m := range list {
		for _, v := range vendors {
			if v.id == m.Provider && !slices.ContainsFunc(p, func(p gateway.Provider) bool { return p.Name == v.name }) {
				list[i].DisableReason = penstock.DisabledByAdmin
				list[i].DisableDetail = "The server has no API key for " + v.title + "."
			}
		}
	}
	for _, provider := range p {
		if provider.Key != "" && vendorOf(provider.Name) != nil && len(provider.Models) == 0 {
			continue // the catalogue has them
		}
		for _, model := range listModels(ctx, log, g, provider.Name) {
			id := provider.ModelID(model)
			if !slices.ContainsFunc(list, func(m penstock.ModelInfo) bool { return m.ID == id }) {
				list = append(list, penstock.ModelInfo{ID: id, DisplayName: model, Provider: penstock.ProviderUnknown})
			}
		}
	}
	return list
}

// listTimeout bounds how long a provider may take to list its models while serve starts.
const listTimeout = 3 * time.Second

func listModels(ctx context.Context, log *slog.Logger, g *gateway.Gateway, name string) []string {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	models, err := g.Models(ctx, name)
	if err != nil {
		log.Warn("cannot list the models of a provider; runs can still name them", "provider", name, "error", err)
	}
	return models
}

// defaultModel is the first model that a provider serves, in the order of the providers;
// demo/offline without one.
func (p providers) defaultModel(models []penstock.ModelInfo) string {
	for _, provider := range p {
		prefix := provider.ModelID("")
		local := provider.Key == "" || vendorOf(provider.Name) == nil
		for _, m := range models {
			_, listed := penstock.LookupModel(m.ID)
			if strings.HasPrefix(m.ID, prefix) && m.DisableReason == "" && local != listed {
				return m.ID
			}
		}
	}
	return penstock.ModelOffline
}

// providerSettings is one entry of providers in the configuration file. The values of key
// and base_url may contain variables of the server: ${NAME}.
type providerSettings struct {
	API     string   `yaml:"api"` // anthropic, openai or gemini; of a vendor by its name, its own
	BaseURL string   `yaml:"base_url"`
	Key     string   `yaml:"key"`
	Models  []string `yaml:"models"` // none: the provider lists them
}

func (s *fileSettings) readProviders(node *yaml.Node) error {
	var document map[string]map[string]yaml.Node
	if err := node.Load(&document); err != nil {
		return err
	}
	s.Providers = map[string]providerSettings{}
	for _, name := range slices.Sorted(maps.Keys(document)) {
		var p providerSettings
		if err := p.read(name, document[name]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		s.Providers[name] = p
	}
	return nil
}

func (p *providerSettings) read(name string, document map[string]yaml.Node) error {
	fields := map[string]any{"api": &p.API, "base_url": &p.BaseURL, "key": &p.Key, "models": &p.Models}
	for key, value := range document {
		into, known := fields[key]
		if !known {
			return fmt.Errorf("%s: %w", key, noSuchKey(key, slices.Sorted(maps.Keys(fields))))
		}
		if err := value.Load(into); err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
	}
	p.Key, p.BaseURL = os.Expand(p.Key, os.Getenv), os.Expand(p.BaseURL, os.Getenv)
	v := vendorOf(name)
	switch {
	case v != nil && p.API != "" && p.API != string(v.api):
		return fmt.Errorf("api: the provider %s speaks %s", name, v.api)
	case v != nil:
		p.API = string(v.api)
	case p.API == "":
		return errors.New("api is missing: anthropic, openai or gemini")
	case p.BaseURL == "":
		return errors.New("base_url is missing, such as http://127.0.0.1:11434/v1")
	}
	return nil
}

// harnessProviders moves the keys of vendors that the configuration gives to agent programs
// into the gateway. The programs get a placeholder and the address of the gateway instead.
func (s *fileSettings) harnessProviders(log *slog.Logger) []gateway.Provider {
	var list []gateway.Provider
	for _, name := range slices.Sorted(maps.Keys(s.Harnesses)) {
		env := s.Harnesses[name].Env
		for _, v := range vendors {
			key := env[v.key]
			if key == "" || strings.Contains(env[v.url], "{gateway}") {
				continue
			}
			p := gateway.Provider{
				Name: name + "-" + v.name, API: v.api, Key: key, BaseURL: env[v.url], Vendor: v.name,
				Setting: "harnesses." + name + ".env." + v.url,
			}
			list = append(list, p)
			env[v.key], env[v.url] = gatewayKey, p.AgentURL("{gateway}")
			log.Warn("a key in the environment of a harness stays with the worker: its programs reach the provider through "+
				"the model gateway", "harness", name, "variable", v.key)
		}
	}
	return list
}
