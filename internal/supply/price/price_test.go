package price_test

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/supply/price"
)

var november = time.Date(2026, time.November, 30, 23, 59, 59, 0, time.UTC)

// The expected figures are calculated by hand from the vendors' price pages, in millionths of a
// dollar where a sum is written out.
func TestCostOfCalls(t *testing.T) {
	t.Parallel()
	opus := price.Call{Provider: "anthropic", Model: "claude-opus-5-5", Usage: price.Usage{
		Input: 1234, CacheRead: 89_000, CacheWrite: 4321, CacheWriteLong: 100, Output: 567, Reasoning: 500,
		Tools: map[string]int64{"web_search": 2, "web_fetch": 7},
	}}
	haiku := func(prompt int64) price.Call {
		return price.Call{Model: "claude-haiku-5-5", Usage: price.Usage{Input: prompt, Output: 10}}
	}
	sol := func(input int64) price.Call {
		return price.Call{
			Provider: "openai", Model: "gpt-6.1-sol",
			Usage: price.Usage{Input: input, CacheRead: 200_000, Output: 1000},
		}
	}
	argon := price.Call{
		Provider: "gemini", Model: "gemini-4-argon",
		Usage: price.Usage{Input: 1_000_000, CacheRead: 500_000, Output: 100_000},
	}
	cached := func(n int64) price.Call {
		return price.Call{Model: "google/gemini-3.8-flash", Tier: "batch", Usage: price.Usage{CacheRead: n}}
	}
	tests := []struct {
		name string
		call price.Call
		with func(*price.Call)
		want int64 // nano-dollars
	}{
		{"every kind of token, and searches", opus, nil, (4936 + 17_800 + 21_605 + 800 + 11_340 + 20_000) * 1000},
		{
			"in the United States tokens cost a tenth more, and searches the same", opus,
			func(c *price.Call) { c.Region = "us" }, 62_129_100 + 20_000_000,
		},
		{
			"fast tokens cost twice as much", opus, func(c *price.Call) { c.Speed = "fast" }, (2*56_481 + 20_000) * 1000,
		},
		{
			"a version by its date", opus,
			func(c *price.Call) { c.Model, c.Usage.Tools = "claude-opus-5-5-20261014", nil }, 56_481_000,
		},
		{"a prompt as long as the band", haiku(100_000), nil, 10_005_000},
		{"one token more changes the rate of the whole request", haiku(100_001), nil, 50_025_500},
		{"cached tokens count in the length of a prompt", sol(72_001), nil, (288_004 + 40_000 + 15_000) * 1000},
		{"the same below the band", sol(72_000), nil, (144_000 + 20_000 + 10_000) * 1000},
		{"half of it in the flex tier", sol(72_001), func(c *price.Call) { c.Tier = "flex" }, 171_502_000},
		{"the default tier", sol(72_000), func(c *price.Call) { c.Tier = "default" }, 174_000_000},
		{"before a price rises", argon, func(c *price.Call) { c.At = november }, (2_000_000 + 50_000 + 1_000_000) * 1000},
		{"from midnight UTC", argon, func(c *price.Call) { c.At = november.Add(time.Second) }, 6_100_000_000},
		{
			"midnight of another zone is not midnight UTC", argon, func(c *price.Call) {
				c.At = time.Date(2026, time.December, 1, 0, 30, 0, 0, time.FixedZone("", 3600))
			}, 3_050_000_000,
		},
		{
			"audio costs more than text", price.Call{
				Model: "gemini-2.5-flash", Usage: price.Usage{Input: 1000, Audio: 400, Output: 100},
			}, nil, (180 + 400 + 250) * 1000,
		},
		{"one token of 37.5 nano-dollars", cached(1), nil, 38},
		{"two of them", cached(2), nil, 75},
		{"nothing", cached(0), nil, 0},
		{"the demonstration is free", price.Call{Model: "demo/offline", Usage: price.Usage{Input: 1e9}}, nil, 0},
		{"more than can be counted", haiku(math.MaxInt64), nil, math.MaxInt64},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := tt.call
			c.At = november.AddDate(0, 0, -7)
			if tt.with != nil {
				tt.with(&c)
			}
			if got, ok := price.Default().Cost(c); !ok || got != tt.want {
				t.Errorf("got %d, %v; want %d", got, ok, tt.want)
			}
		})
	}
}

// A model without a price is never free.
func TestUnknownPrices(t *testing.T) {
	t.Parallel()
	usage := price.Usage{Input: 1, Output: 1}
	for name, c := range map[string]price.Call{
		"a model that is not listed":    {Provider: "openai", Model: "gpt-0", Usage: usage},
		"a provider that is not listed": {Provider: "acme", Model: "claude-opus-5-5", Usage: usage},
		"a name that only begins alike": {Provider: "anthropic", Model: "claude-opus-5-5-large", Usage: usage},
		"no name":                       {Provider: "anthropic", Usage: usage},
		"a tier":                        {Model: "claude-opus-5-5", Tier: "overnight", Usage: usage},
		"a tier together with a speed":  {Model: "claude-opus-5-5", Tier: "batch", Speed: "fast", Usage: usage},
		"a region":                      {Model: "claude-opus-5-5", Region: "mars", Usage: usage},
		"a tool": {
			Model: "claude-opus-5-5", Usage: price.Usage{Tools: map[string]int64{"web_search": 1, "telescope": 1}},
		},
		"a count below zero": {Model: "claude-opus-5-5", Usage: price.Usage{Output: -1}},
		"uses below zero":    {Model: "claude-opus-5-5", Usage: price.Usage{Tools: map[string]int64{"web_search": -1}}},
		"audio without a price of its own": {
			Model: "gpt-4o-audio-preview", Usage: price.Usage{Input: 9, Audio: 2},
		},
		"cached audio without a price of its own": {
			Model: "gpt-4o-audio-preview", Usage: price.Usage{CacheRead: 9, AudioCacheRead: 2},
		},
		"more audio than input": {
			Model: "gemini-2.5-flash", Usage: price.Usage{Input: 1, Audio: 2},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, ok := price.Default().Cost(c); ok || got != 0 {
				t.Errorf("got %d, %v; want no price", got, ok)
			}
		})
	}
	if _, ok := (*price.Table)(nil).Cost(price.Call{Model: "claude-opus-5-5"}); ok {
		t.Error("a table without prices has one")
	}
}

func TestTurnHasTheRateOfShortPrompts(t *testing.T) {
	t.Parallel()
	// Forty calls with prompts of 50,000 tokens: none exceeds the band of 100,000.
	u := penstock.TokenUsage{Input: 100_000, CacheRead: 1_900_000, CacheWrite: 80_000, Output: 10_000}
	got, ok := price.Default().Turn("anthropic/claude-haiku-5-5", u, november)
	want := penstock.CostBreakdown{Input: 0.01, CacheRead: 0.019, CacheWrite: 0.01, Output: 0.005}
	if diff := cmp.Diff(want, got.Breakdown()); !ok || diff != "" {
		t.Errorf("known %v, cost (-want +got):\n%s", ok, diff)
	}
	if total := penstock.USDOf(got.Total()); total != 0.044 {
		t.Errorf("got %v in all", total)
	}
}
