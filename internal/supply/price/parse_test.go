package price_test

import (
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/penstock-dev/penstock/internal/supply/price"
)

const operators = `
# US dollars per million tokens
date: "2027-01-15"
models:
  local/*: free
  corp/small: {input: 0.25, output: 1}
  corp/large:
    window: 200000
    tools: {web_search: 8}
    rates:
    - {input: 1, output: 4, cache_read: 0.1}
    - {above: 1000, input: 2, output: 8, cache_read: 0.2}
    - {tiers: [batch, flex], input: 0.5, output: 2}
    - {from: 2027-03-01, input: 3, output: 9}
`

func TestOperatorsList(t *testing.T) {
	t.Parallel()
	table, err := price.Parse([]byte(operators))
	if err != nil {
		t.Fatal(err)
	}
	day := time.Date(2027, time.February, 1, 0, 0, 0, 0, time.UTC)
	for name, tt := range map[string]struct {
		call price.Call
		want int64
		ok   bool
	}{
		"any model of a free provider": {
			price.Call{Provider: "local", Model: "llama", Usage: price.Usage{Input: 9}}, 0, true,
		},
		"one price": {price.Call{Provider: "corp", Model: "small", Usage: price.Usage{Input: 4}}, 1000, true},
		"a cache without a price costs what input does": {
			price.Call{Provider: "corp", Model: "small", Usage: price.Usage{CacheRead: 4, CacheWriteLong: 4}}, 2000, true,
		},
		"a long prompt": {price.Call{Provider: "corp", Model: "large", Usage: price.Usage{Input: 1001}}, 2_002_000, true},
		"a tier": {
			price.Call{Provider: "corp", Model: "large", Tier: "flex", Usage: price.Usage{Output: 1}}, 2000, true,
		},
		"a tool": {
			price.Call{Provider: "corp", Model: "large", Usage: price.Usage{Tools: map[string]int64{"web_search": 1}}},
			8_000_000, true,
		},
		"a later day": {
			price.Call{Provider: "corp", Model: "large", At: day.AddDate(0, 1, 0), Usage: price.Usage{Input: 1}}, 3000, true,
		},
		"a tier that ends on that day": {
			price.Call{Provider: "corp", Model: "large", At: day.AddDate(0, 1, 0), Tier: "flex"}, 0, false,
		},
		"the demonstration stays free":     {price.Call{Model: "demo/offline"}, 0, true},
		"the built-in prices are replaced": {price.Call{Model: "claude-opus-5-5"}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.call.At.IsZero() {
				tt.call.At = day
			}
			if got, ok := table.Cost(tt.call); got != tt.want || ok != tt.ok {
				t.Errorf("got %d, %v; want %d, %v", got, ok, tt.want, tt.ok)
			}
		})
	}
	if window, _ := table.Limits("corp", "large"); window != 200_000 || table.Date() != "2027-01-15" {
		t.Errorf("window %d, date %q", window, table.Date())
	}
}

func TestPricesOfAProvider(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		yaml   string
		priced map[string]int64 // nano-dollars for one token of input and one of output
	}{
		"free": {"prices: free", map[string]int64{"a": 0, "b/c": 0}},
		"one price": {
			"prices: {input: 1, output: 2}", map[string]int64{"a": 3000, "b/c": 3000},
		},
		"by model":         {"prices: {models: {a: {input: 1, output: 2}, b: free}}", map[string]int64{"a": 3000, "b": 0}},
		"the rest as well": {"prices: {models: {a: {input: 1, output: 2}, '*': free}}", map[string]int64{"a": 3000, "b": 0}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var config struct {
				Prices price.Provider `yaml:"prices"`
			}
			if err := yaml.Load([]byte(tt.yaml), &config); err != nil {
				t.Fatal(err)
			}
			table := price.Default().With("openai", config.Prices)
			for model, want := range tt.priced {
				call := price.Call{Provider: "openai", Model: model, Usage: price.Usage{Input: 1, Output: 1}}
				if got, ok := table.Cost(call); !ok || got != want {
					t.Errorf("%s: got %d, %v; want %d", model, got, ok, want)
				}
			}
			if name == "by model" && table.Known("openai", "gpt-6.1-sol") {
				t.Error("a built-in price of the provider is left")
			}
			if !table.Known("anthropic", "claude-opus-5-5") || !price.Default().Known("openai", "gpt-6.1-sol") {
				t.Error("prices of another provider, or of the table that it was made from, are gone")
			}
		})
	}
}

func TestInvalidLists(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ list, says string }{
		"a price below zero":         {"models: {a/b: {input: -1, output: 1}}", `"-1" is not a price`},
		"a float":                    {"models: {a/b: {input: 1e-7, output: 1}}", `"1e-7" is not a price`},
		"too many places":            {"models: {a/b: {input: 0.0000001, output: 1}}", "six places"},
		"a huge price":               {"models: {a/b: {input: 1000000, output: 1}}", "up to 999999"},
		"a word":                     {"models: {a/b: cheap}", `"cheap" is not a price`},
		"a list for a price":         {"models: {a/b: {input: [1], output: 1}}", "is not a price"},
		"nothing":                    {"models: {a/b: {}}", "a/b: give either free or input and output"},
		"free, and a price":          {"models: {a/b: {free: true, input: 1, output: 1}}", "either free or"},
		"no output":                  {"models: {a/b: {input: 1}}", "needs input and output"},
		"no provider":                {"models: {b: free}", "provider/model"},
		"an unknown key":             {"models: {a/b: {input: 1, output: 1, cached: 1}}", "cached"},
		"an unknown key of the list": {"modells: {}", "modells"},
		"the same model twice":       {"models: {a/b: free, a/b: free}", "a/b"},
		"two rates for one call": {
			"models: {a/b: {rates: [{input: 1, output: 1}, {input: 2, output: 2}]}}", "two rates",
		},
		"two names of one tier": {
			"models: {a/b: {rates: [{input: 1, output: 1}, {tiers: [standard], input: 2, output: 2}]}}", "two rates",
		},
		"only long prompts": {"models: {a/b: {rates: [{above: 5, input: 1, output: 1}]}}", "without above"},
		"only a tier":       {"models: {a/b: {rates: [{tiers: [flex], input: 1, output: 1}]}}", "without tiers"},
		"only from a day":   {"models: {a/b: {rates: [{from: 2027-01-01, input: 1, output: 1}]}}", "without from"},
		"no day":            {"models: {a/b: {rates: [{from: soon, input: 1, output: 1}]}}", `"soon" is not a day`},
		"a discount region": {"models: {a/b: {input: 1, output: 1, regions: {us: 0.5}}}", "factor from 1 to 100"},
		"not YAML":          {"models: {", "price list"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			table, err := price.Parse([]byte(tt.list))
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("got %v, %v; want an error with %q", table, err, tt.says)
			}
		})
	}
}

func TestDearest(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, time.November, 23, 12, 0, 0, 0, time.UTC)
	type rates struct{ input, cacheRead, cacheWrite, output int64 }
	for name, tt := range map[string]struct {
		query price.Query
		want  rates // pico-dollars, which are dollars per million tokens times a million
	}{
		"a short prompt in the standard tier": {
			price.Query{Model: "claude-haiku-5-5", Prompt: 100_000, Tiers: []string{"standard"}, Regions: []string{""}},
			rates{100_000, 10_000, 200_000, 500_000},
		},
		"a prompt of any length": {
			price.Query{Model: "claude-haiku-5-5", Tiers: []string{"standard"}, Regions: []string{"global"}},
			rates{500_000, 50_000, 1_000_000, 2_500_000},
		},
		"in every region": {
			price.Query{Model: "claude-haiku-5-5", Tiers: []string{"standard"}}, rates{550_000, 55_000, 1_100_000, 2_750_000},
		},
		"in every tier": {
			price.Query{Model: "openai/gpt-6.1-sol", Regions: []string{""}},
			rates{24_000_000, 1_200_000, 60_000_000, 90_000_000},
		},
		"on the eve of a new price": {
			price.Query{Model: "gemini-4-argon", At: november, Tiers: []string{""}},
			rates{4_000_000, 200_000, 4_000_000, 20_000_000},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.query.At.IsZero() {
				tt.query.At = day
			}
			got, ok := price.Default().Dearest(tt.query)
			if have := (rates{got.Input, got.CacheRead, got.CacheWriteLong, got.Output}); !ok || have != tt.want {
				t.Errorf("got %+v, %v; want %+v", have, ok, tt.want)
			}
		})
	}
	for name, q := range map[string]price.Query{
		"unknown model":  {Model: "openai/gpt-0"},
		"unknown tier":   {Model: "claude-haiku-5-5", Tiers: []string{"overnight"}},
		"unknown region": {Model: "claude-haiku-5-5", Regions: []string{"mars"}},
	} {
		if got, ok := price.Default().Dearest(q); ok {
			t.Errorf("%s: got %+v", name, got)
		}
	}
}
