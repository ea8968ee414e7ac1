package penstock

import (
	"math"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestCanonicalModelID(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, id, want string
		known          bool
	}{
		{"the demonstration", "demo/offline", "demo/offline", true},
		{"another demo does not exist", "demo/online", "demo/online", false},
		{"full id", "anthropic/claude-opus-5-5", "anthropic/claude-opus-5-5", true},
		{"full id with a slash in the model's name", "openai/meta/llama", "openai/meta/llama", true},
		{"provider without a model", "openai/", "openai/", false},
		{"unknown provider", "acme/x", "acme/x", false},
		{"bare claude", "claude-x", "anthropic/claude-x", true},
		{"bare gpt", "gpt-x", "openai/gpt-x", true},
		{"bare o3", "o3", "openai/o3", true},
		{"bare o4-mini", "o4-mini", "openai/o4-mini", true},
		{"a word with o", "opus", "opus", false},
		{"bare gemini", "gemini-x", "google/gemini-x", true},
		{"empty", "", "", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, known := CanonicalModelID(tt.id)
			if got != tt.want || known != tt.known {
				t.Errorf("CanonicalModelID(%q) = %q, %v; want %q, %v", tt.id, got, known, tt.want, tt.known)
			}
		})
	}
}

func TestModelCost(t *testing.T) {
	t.Parallel()
	usage := TokenUsage{Input: 1_000_000, Output: 500_000, CacheRead: 2_000_000, CacheWrite: 100_000}
	before := time.Date(2026, time.November, 30, 23, 59, 59, 0, time.UTC)
	tests := []struct {
		name, model string
		at          time.Time
		want        CostBreakdown
		known       bool
	}{
		{
			"a listed model", "anthropic/claude-opus-5-5", before,
			CostBreakdown{Input: 4, Output: 10, CacheRead: 0.4, CacheWrite: 0.5},
			true,
		},
		{
			"by its bare name", "claude-opus-5-5", before,
			CostBreakdown{Input: 4, Output: 10, CacheRead: 0.4, CacheWrite: 0.5},
			true,
		},
		{"before a price changes", "google/gemini-4-argon", before, CostBreakdown{Input: 2, Output: 5, CacheRead: 0.2}, true},
		{
			"from the moment it has changed", "google/gemini-4-argon", before.Add(time.Second),
			CostBreakdown{Input: 4, Output: 10, CacheRead: 0.4},
			true,
		},
		{"the demonstration is free", "demo/offline", before, CostBreakdown{}, true},
		{"an unlisted model of a known provider", "openai/gpt-0", before, CostBreakdown{}, false},
		{"an unknown provider", "acme/model", before, CostBreakdown{}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, known := modelCostAt(tt.model, usage, tt.at)
			if known != tt.known {
				t.Errorf("known = %v, want %v", known, tt.known)
			}
			if diff := cmp.Diff(tt.want, got, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
				t.Errorf("cost (-want +got):\n%s", diff)
			}
		})
	}
}

func TestModelsAreWellFormed(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, m := range Models() {
		if id, ok := CanonicalModelID(m.ID); !ok || id != m.ID || seen[m.ID] {
			t.Errorf("%q is not a canonical id, or is there twice", m.ID)
		}
		seen[m.ID] = true
		if m.DisplayName == "" || m.Provider == "" {
			t.Errorf("%s lacks a name or a provider", m.ID)
		}
		if cost, ok := ModelCost(m.ID, TokenUsage{Input: 1, Output: 1}); !ok || math.IsNaN(cost.Total()) {
			t.Errorf("%s is in the catalogue without a price", m.ID)
		}
	}
}
