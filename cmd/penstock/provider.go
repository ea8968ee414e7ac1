package main

import (
	"os"

	"github.com/penstock-dev/penstock"
)

// provider is how to reach one company's models.
type provider struct {
	name         string
	prefix       string // of the ids of its models
	id           penstock.ModelProvider
	key, baseURL string
}

// providers are the model providers that this process has keys for.
type providers struct {
	anthropic, openai, google provider
}

// providersFromEnvironment reads the variables that these companies' own tools
// use. Keys are read from nowhere else.
func providersFromEnvironment() providers {
	return providers{
		anthropic: provider{
			"Anthropic", "anthropic/", penstock.ProviderAnthropic, os.Getenv("ANTHROPIC_API_KEY"),
			os.Getenv("ANTHROPIC_BASE_URL"),
		},
		openai: provider{
			"OpenAI", "openai/", penstock.ProviderOpenAI, os.Getenv("OPENAI_API_KEY"), os.Getenv("OPENAI_BASE_URL"),
		},
		google: provider{
			"Google", "google/", penstock.ProviderGoogle, os.Getenv("GEMINI_API_KEY"), os.Getenv("GOOGLE_GEMINI_BASE_URL"),
		},
	}
}

func (p providers) all() []provider { return []provider{p.anthropic, p.openai, p.google} }

// environment is how the built-in agent is told. The address of a key is always in
// there, empty where it is the provider's own: what a run brings along as environment
// must not have the key sent elsewhere.
func (p providers) environment() map[string]string {
	env := map[string]string{}
	for _, v := range []struct{ key, address, ofKey, ofAddress string }{
		{p.anthropic.key, p.anthropic.baseURL, "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL"},
		{p.openai.key, p.openai.baseURL, "OPENAI_API_KEY", "OPENAI_BASE_URL"},
		{p.google.key, p.google.baseURL, "GEMINI_API_KEY", "GOOGLE_GEMINI_BASE_URL"},
	} {
		if v.key != "" {
			env[v.ofKey] = v.key
		}
		if v.key != "" || v.address != "" {
			env[v.ofAddress] = v.address
		}
	}
	return env
}

// of is the provider of a model, false for models that need none.
func (p providers) of(m penstock.ModelInfo) (provider, bool) {
	for _, candidate := range p.all() {
		if candidate.id == m.Provider {
			return candidate, true
		}
	}
	return provider{}, false
}

// models is the catalogue as this process can use it: what has no key says so.
func (p providers) models() []penstock.ModelInfo {
	list := penstock.Models()
	for i, m := range list {
		if owner, needed := p.of(m); needed && owner.key == "" {
			list[i].DisableReason = penstock.DisabledByAdmin
			list[i].DisableDetail = "The server has no API key for " + owner.name + "."
		}
	}
	return list
}

// served are the models that this process can serve, as a worker claims them:
// prefixes of their ids, demo/offline among them.
func (p providers) served() []string {
	prefixes := []string{penstock.ModelOffline}
	for _, provider := range p.all() {
		if provider.key != "" {
			prefixes = append(prefixes, provider.prefix)
		}
	}
	return prefixes
}

// defaultModel is the first of the catalogue that a configured provider
// serves, demo/offline without one.
func (p providers) defaultModel() string {
	for _, m := range p.models() {
		if _, needed := p.of(m); needed && m.DisableReason == "" {
			return m.ID
		}
	}
	return penstock.ModelOffline
}
