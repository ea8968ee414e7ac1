package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock/internal/wall/gateway"
)

// Keys that were read from a file often have a line end.
func TestProvidersOfTheEnvironmentAreTrimmed(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-abc\n")
	t.Setenv("OPENAI_BASE_URL", " http://127.0.0.1:1/v1\r\n")
	t.Setenv("ANTHROPIC_API_KEY", "\n")
	for _, name := range []string{"GEMINI_API_KEY", "ANTHROPIC_BASE_URL", "GOOGLE_GEMINI_BASE_URL"} {
		t.Setenv(name, "")
	}
	t.Setenv("AZURE_KEY", "the-key\n")
	settings := &fileSettings{}
	if _, err := parseConfig([]byte("providers:\n  azure: {api: openai, base_url: 'https://h/v1?api-version=1', "+
		"query: {a: b}, headers: {api-key: '${AZURE_KEY}'}}\n"), nil, settings); err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	all := allProviders(settings)
	for _, p := range all {
		got[p.Name] = []string{p.Key, p.BaseURL, p.Query["a"], p.Headers["api-key"]}
	}
	want := map[string][]string{
		"openai": {"sk-abc", "http://127.0.0.1:1/v1", "", ""},
		"azure":  {"", "https://h/v1?api-version=1", "b", "the-key"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if _, err := gateway.New(gateway.Options{Providers: all}); err != nil {
		t.Error(err)
	}
}
