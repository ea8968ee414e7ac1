package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/agent"
	"github.com/penstock-dev/penstock/internal/supply/price"
	"github.com/penstock-dev/penstock/internal/wall/gateway"
)

// vendor is a well-known model provider.
type vendor struct {
	gateway.Vendor

	title string
	id    penstock.ModelProvider
}

var vendors = knownVendors()

func knownVendors() []vendor {
	people := map[string]vendor{
		"anthropic": {title: "Anthropic", id: penstock.ProviderAnthropic},
		"openai":    {title: "OpenAI", id: penstock.ProviderOpenAI},
		"gemini":    {title: "Google", id: penstock.ProviderGoogle},
	}
	var list []vendor
	for _, v := range gateway.Vendors() {
		known := people[v.Name]
		known.Vendor = v
		list = append(list, known)
	}
	return list
}

// providers are the model providers of this process: first the vendors, then the named
// ones of the configuration file.
type providers []gateway.Provider

// allProviders returns the providers of the environment and of the configuration file, which wins.
// A base URL without a key also counts as a provider, such as a local server.
func allProviders(settings *fileSettings) providers {
	var all providers
	for _, v := range vendors {
		p := gateway.Provider{
			Name: v.Name, API: v.API, Setting: v.URL,
			Key: strings.TrimSpace(os.Getenv(v.Key)), BaseURL: strings.TrimSpace(os.Getenv(v.URL)),
		}
		if set, ok := settings.Providers[v.Name]; ok {
			p.Key, p.BaseURL = cmp.Or(set.Key, p.Key), cmp.Or(set.BaseURL, p.BaseURL)
			p.Models = set.Models
			p = describe(p, set)
			if set.BaseURL != "" {
				p.Setting = "providers." + v.Name + ".base_url"
			}
		}
		if p.Key != "" || p.BaseURL != "" {
			all = append(all, p)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(settings.Providers)) {
		if vendorOf(name) == nil {
			set := settings.Providers[name]
			all = append(all, describe(gateway.Provider{
				Name: name, API: gateway.API(set.API), BaseURL: set.BaseURL, Key: set.Key, Models: set.Models,
				Setting: "providers." + name + ".base_url",
			}, set))
		}
	}
	return all
}

func vendorOf(name string) *vendor {
	if i := slices.IndexFunc(vendors, func(v vendor) bool { return v.Name == name }); i >= 0 {
		return &vendors[i]
	}
	return nil
}

// describe returns a provider with what its entry says about its requests and responses.
func describe(p gateway.Provider, entry providerSettings) gateway.Provider {
	p.AllowFields, p.Query, p.Headers = entry.AllowFields, entry.Query, entry.Headers
	p.TokensPerSecond, p.LimitIncludesThinking = entry.TokensPerSecond, entry.LimitIncludesThinking
	return p
}

// withVendors adds the vendors without a key on this machine, because a run may have its own key.
func (p providers) withVendors(settings *fileSettings) providers {
	all := slices.Clone(p)
	for _, v := range vendors {
		if !slices.ContainsFunc(p, func(p gateway.Provider) bool { return p.Name == v.Name }) {
			all = append(all, describe(gateway.Provider{Name: v.Name, API: v.API, Setting: v.URL}, settings.Providers[v.Name]))
		}
	}
	return all
}

// apis returns the API of each provider, by the prefix of its models.
func (p providers) apis() map[string]string {
	byPrefix := map[string]string{}
	for _, provider := range p {
		byPrefix[provider.ModelID("")] = string(provider.API)
	}
	return byPrefix
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

// environment returns the variables of the built-in agent for its providers. They point to the
// gateway and have a placeholder as key.
func (p providers) environment() map[string]string {
	env := map[string]string{}
	named := []agent.Provider{}
	for _, provider := range p {
		address := provider.AgentURL("{gateway}")
		if v := vendorOf(provider.Name); v != nil {
			env[v.Key], env[v.URL] = gatewayKey, address
			continue
		}
		named = append(named, agent.Provider{
			Name: provider.Name, API: string(provider.API), Key: gatewayKey, BaseURL: address,
		})
	}
	if len(named) > 0 {
		text, err := json.Marshal(named)
		if err != nil {
			panic("providers cannot be marshaled: " + err.Error())
		}
		env[providersVariable] = string(text)
	}
	return env
}

// gatewayKey is the placeholder that an agent has instead of a provider's key. The gateway replaces
// it.
const gatewayKey = "penstock-gateway"

// providersVariable lists the other providers, which have no vendor's variables, for the built-in
// agent.
const providersVariable = "PENSTOCK_PROVIDERS"

// defaultModel returns the first model of the first provider, or demo/offline without a provider.
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
	API     string   `yaml:"api"` // anthropic, openai or gemini; default for a vendor: its own
	BaseURL string   `yaml:"base_url"`
	Key     string   `yaml:"key"`
	Models  []string `yaml:"models"` // empty: the provider lists them
	// AllowFields are fields of requests that the provider needs and the gateway does not know.
	AllowFields []string `yaml:"allow_fields"`
	// Query and Headers are added to each request. Values may contain variables of the server.
	Query   map[string]string `yaml:"query"`
	Headers map[string]string `yaml:"headers"`
	// Prices is "free", one price, or prices by model; docs/prices.md has the format.
	Prices *price.Provider `yaml:"prices"`
	// TokensPerSecond and LimitIncludesThinking are described at gateway.Provider.
	TokensPerSecond       int64 `yaml:"tokens_per_second"`
	LimitIncludesThinking *bool `yaml:"limit_includes_thinking"`
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
	fields := map[string]any{
		"api": &p.API, "base_url": &p.BaseURL, "key": &p.Key, "models": &p.Models, "prices": &p.Prices,
		"allow_fields": &p.AllowFields, "tokens_per_second": &p.TokensPerSecond,
		"limit_includes_thinking": &p.LimitIncludesThinking, "query": &p.Query, "headers": &p.Headers,
	}
	if err := loadFields(document, fields); err != nil {
		return err
	}
	p.Key, p.BaseURL = os.Expand(p.Key, os.Getenv), os.Expand(p.BaseURL, os.Getenv)
	for _, values := range []map[string]string{p.Query, p.Headers} {
		for name, value := range values {
			values[name] = strings.TrimSpace(os.Expand(value, os.Getenv))
		}
	}
	v := vendorOf(name)
	switch {
	case p.TokensPerSecond < 0:
		return errors.New("tokens_per_second must not be negative")
	case v != nil && p.API != "" && p.API != string(v.API):
		return fmt.Errorf("api: the provider %s speaks %s", name, v.API)
	case v != nil:
		p.API = string(v.API)
	case p.API == "":
		return errors.New("api is missing: anthropic, openai or gemini")
	case p.BaseURL == "":
		return errors.New("base_url is missing, such as http://127.0.0.1:11434/v1")
	}
	return nil
}

// sameURL compares two base URLs without the spaces and slashes that a provider ignores.
func sameURL(a, b string) bool {
	return strings.TrimRight(strings.TrimSpace(a), "/") == strings.TrimRight(strings.TrimSpace(b), "/")
}

// harnessProviders moves the keys of vendors that the configuration gives to agent programs
// into the gateway. The programs get a placeholder and the address of the gateway instead.
func (s *fileSettings) harnessProviders(log *slog.Logger) []gateway.Provider {
	var list []gateway.Provider
	for _, name := range slices.Sorted(maps.Keys(s.Harnesses)) {
		env := s.Harnesses[name].Env
		for _, v := range vendors {
			key := env[v.Key]
			if key == "" || strings.Contains(env[v.URL], "{gateway}") {
				continue
			}
			entry := s.Providers[v.Name]
			if !sameURL(env[v.URL], cmp.Or(entry.BaseURL, os.Getenv(v.URL))) {
				entry = providerSettings{AllowFields: entry.AllowFields} // its headers and query may be secrets
			}
			p := describe(gateway.Provider{
				Name: name + "-" + v.Name, API: v.API, Key: key, BaseURL: env[v.URL], Vendor: v.Name, OwnKey: true,
				Setting: "harnesses." + name + ".env." + v.URL,
			}, entry)
			list = append(list, p)
			env[v.Key], env[v.URL] = gatewayKey, p.AgentURL("{gateway}")
			log.Warn("a key in the environment of a harness stays with the worker: its programs reach the provider through "+
				"the model gateway", "harness", name, "variable", v.Key)
		}
	}
	return list
}
