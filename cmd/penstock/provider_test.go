package main

import (
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock/internal/supply/price"
	"github.com/penstock-dev/penstock/internal/wall/gateway"
)

func TestBuiltInAgentGetsTheGatewayInPlaceOfKeys(t *testing.T) {
	t.Parallel()
	p := providers{
		{Name: "openai", API: gateway.OpenAI, Key: "sk-2", BaseURL: "https://models.example.com/v1"},
		{Name: "local", API: gateway.OpenAI, BaseURL: "http://127.0.0.1:11434/v1"},
	}
	want := map[string]string{
		"OPENAI_API_KEY": gatewayKey, "OPENAI_BASE_URL": "{gateway}/model/openai/v1",
		providersVariable: `[{"name":"local","api":"openai","key":"penstock-gateway","base_url":"{gateway}/model/local/v1"}]`,
	}
	if diff := cmp.Diff(want, p.environment()); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"demo/offline", "openai/", "local/"}, p.served()); diff != "" {
		t.Error(diff)
	}
}

func TestKeysOfHarnessesMoveToTheGateway(t *testing.T) {
	t.Parallel()
	settings := &fileSettings{Harnesses: map[string]harnessSettings{
		"claude": {Env: map[string]string{"ANTHROPIC_API_KEY": "sk-1", "COLOR": "blue"}},
		"plain":  {Env: map[string]string{"ACME_API_KEY": "abc"}},
	}}
	got := settings.harnessProviders(slog.New(slog.DiscardHandler))
	want := []gateway.Provider{{
		Name: "claude-anthropic", API: gateway.Anthropic, Key: "sk-1", Vendor: "anthropic", OwnKey: true,
		Setting: "harnesses.claude.env.ANTHROPIC_BASE_URL",
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	wantEnv := map[string]string{
		"ANTHROPIC_API_KEY": gatewayKey, "ANTHROPIC_BASE_URL": "{gateway}/model/claude-anthropic", "COLOR": "blue",
	}
	if diff := cmp.Diff(wantEnv, settings.Harnesses["claude"].Env); diff != "" {
		t.Error(diff)
	}
}

func TestProvidersOfTheConfigurationFile(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ content, says string }{
		"unknown key":         {"providers: {local: {api: openai, url: x}}", "url: unknown key"},
		"without an API":      {"providers: {local: {base_url: 'http://127.0.0.1:1/v1'}}", "api is missing"},
		"without a URL":       {"providers: {local: {api: openai}}", "base_url is missing"},
		"another's API":       {"providers: {anthropic: {api: openai}}", "speaks anthropic"},
		"fields as a text":    {"providers: {openai: {allow_fields: {}}}", "allow_fields"},
		"an impossible speed": {"providers: {openai: {tokens_per_second: -1}}", "tokens_per_second"},
		"no answer":           {"providers: {openai: {limit_includes_thinking: often}}", "limit_includes_thinking"},
		"price of no kind":    {"providers: {local: {api: openai, base_url: 'http://x', prices: cheap}}", "prices"},
	} {
		_, err := parseConfig([]byte(test.content), nil, &fileSettings{})
		if err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: got %v, want %q", name, err, test.says)
		}
	}
	var settings fileSettings
	_, err := parseConfig([]byte("providers:\n  local: {api: openai, base_url: 'http://127.0.0.1:1/v1', prices: free}\n"),
		nil, &settings)
	if err != nil {
		t.Fatal(err)
	}
	table, err := settings.prices("")
	if err != nil {
		t.Fatal(err)
	}
	cost, known := table.Cost(price.Call{Model: "local/any", At: time.Now(), Usage: price.Usage{Input: 1000}})
	if !known || cost != 0 {
		t.Errorf("a free provider costs %d, known %v", cost, known)
	}
}

// What an entry says about the speed and the limits of a provider holds also for the key of a harness.
func TestSpeedAndThinkingOfAProviderReachTheGateway(t *testing.T) {
	t.Parallel()
	var settings fileSettings
	_, err := parseConfig([]byte(`
providers:
  local: {api: openai, base_url: "http://127.0.0.1:1/v1", tokens_per_second: 2000, limit_includes_thinking: false}
  anthropic: {tokens_per_second: 300, limit_includes_thinking: true}
harnesses:
  claude: {command: [/bin/claude], env: {ANTHROPIC_API_KEY: sk-1}}
`), nil, &settings)
	if err != nil {
		t.Fatal(err)
	}
	all := allProviders(&settings).withVendors(&settings)
	all = append(all, settings.harnessProviders(slog.New(slog.DiscardHandler))...)
	got := map[string]string{}
	for _, p := range all {
		if p.LimitIncludesThinking != nil {
			got[p.Name] = fmt.Sprint(p.TokensPerSecond, *p.LimitIncludesThinking)
		}
	}
	want := map[string]string{"local": "2000 false", "anthropic": "300 true", "claude-anthropic": "300 true"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The fields that an entry allows hold for the provider, also if the key belongs to a run or a
// harness.
func TestAllowedFieldsReachTheGateway(t *testing.T) {
	t.Parallel()
	var settings fileSettings
	_, err := parseConfig([]byte(`
providers:
  local: {api: openai, base_url: "http://127.0.0.1:1/v1", allow_fields: [sampler, messages.hint]}
  anthropic: {allow_fields: [hint]}
harnesses:
  claude: {command: [/bin/claude], env: {ANTHROPIC_API_KEY: sk-1}}
`), nil, &settings)
	if err != nil {
		t.Fatal(err)
	}
	all := allProviders(&settings).withVendors(&settings)
	all = append(all, settings.harnessProviders(slog.New(slog.DiscardHandler))...)
	got := map[string][]string{}
	for _, p := range all {
		if len(p.AllowFields) > 0 {
			got[p.Name] = p.AllowFields
		}
	}
	want := map[string][]string{
		"local": {"sampler", "messages.hint"}, "anthropic": {"hint"}, "claude-anthropic": {"hint"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// The secrets of an entry are for its own host: a harness with another one gets only the allowed fields.
func TestSecretsOfAnEntryStayAtItsHost(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		entry, harness string
		want           bool
	}{
		"another host":     {"https://gate.example.com/v1", "https://models.example.com/v1", false},
		"the vendor":       {"https://gate.example.com/v1", "", false},
		"the same address": {"https://gate.example.com/v1", "https://gate.example.com/v1/ ", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			no := false
			settings := &fileSettings{
				Providers: map[string]providerSettings{"openai": {
					API: "openai", BaseURL: test.entry, AllowFields: []string{"hint"}, TokensPerSecond: 5,
					LimitIncludesThinking: &no, Headers: map[string]string{"api-key": "s"}, Query: map[string]string{"k": "s"},
				}},
				Harnesses: map[string]harnessSettings{"codex": {Env: map[string]string{
					"OPENAI_API_KEY": "sk-1", "OPENAI_BASE_URL": test.harness,
				}}},
			}
			got := settings.harnessProviders(slog.New(slog.DiscardHandler))[0]
			want := describe(got, providerSettings{AllowFields: []string{"hint"}})
			if test.want {
				want = describe(got, settings.Providers["openai"])
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
