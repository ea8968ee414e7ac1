package penstock

import (
	"slices"
	"strings"
)

// ModelProvider is the company whose API serves a model.
type ModelProvider string

// The contract's providers. Every other model, such as demo/offline, is UNKNOWN.
const (
	ProviderOpenAI    ModelProvider = "OPENAI"
	ProviderAnthropic ModelProvider = "ANTHROPIC"
	ProviderGoogle    ModelProvider = "GOOGLE"
	ProviderUnknown   ModelProvider = "UNKNOWN"
)

// disableReason is why a model cannot be used.
type disableReason string

// DisabledByAdmin means that the model's provider has no key on this server. The server does not
// use the other reasons of the contract.
const DisabledByAdmin disableReason = "ADMIN_DISABLED"

// ModelInfo describes one model that a run can name.
type ModelInfo struct {
	ID              string        `json:"id"` // provider/model
	DisplayName     string        `json:"display_name"`
	Provider        ModelProvider `json:"provider"`
	VisionSupported bool          `json:"vision_supported"`
	Description     string        `json:"description,omitempty"`
	ReasoningLevel  string        `json:"reasoning_level,omitempty"`
	DisableReason   disableReason `json:"disable_reason,omitempty"` // why no run can use it now
	DisableDetail   string        `json:"disable_detail,omitempty"` // the same in words

	// PromptLimit is the largest prompt in tokens: the context window of the model, or less if
	// longer prompts have a higher price. 0 means unknown.
	PromptLimit int64 `json:"-"`
}

// TokenUsage counts tokens. The four counts are disjoint: Input excludes tokens that were read from
// the provider's cache or written to it.
type TokenUsage struct {
	Input      int64 `json:"input_tokens"`
	Output     int64 `json:"output_tokens"`
	CacheRead  int64 `json:"cache_read_tokens"`
	CacheWrite int64 `json:"cache_write_tokens"`
}

// Add returns the sum of both.
func (u TokenUsage) Add(v TokenUsage) TokenUsage {
	return TokenUsage{
		Input:      u.Input + v.Input,
		Output:     u.Output + v.Output,
		CacheRead:  u.CacheRead + v.CacheRead,
		CacheWrite: u.CacheWrite + v.CacheWrite,
	}
}

// Total is the number of all tokens.
func (u TokenUsage) Total() int64 { return u.Input + u.Output + u.CacheRead + u.CacheWrite }

// models is the catalog: a few current models of each provider. Runs may name any other model of
// these providers. Prices are in internal/supply/price; The price of each model is constant up to its
// PromptLimit, and the built-in agent keeps prompts below that.
var models = []ModelInfo{
	{
		ID: ModelOffline, DisplayName: "Demo (offline)", Provider: ProviderUnknown,
		Description: "No language model: needs no key and no network, and shows the whole path of a run.",
	},
	{
		ID: "anthropic/claude-opus-5-5", DisplayName: "Claude Opus 5.5", Provider: ProviderAnthropic, VisionSupported: true,
		Description: "For coding, knowledge work and long-running agents.", PromptLimit: 1_000_000,
	},
	{
		ID: "anthropic/claude-sonnet-5-5", DisplayName: "Claude Sonnet 5.5", Provider: ProviderAnthropic,
		VisionSupported: true,
		Description:     "An efficient model for coding and agents.", PromptLimit: 1_000_000,
	},
	{
		ID: "anthropic/claude-haiku-5-5", DisplayName: "Claude Haiku 5.5", Provider: ProviderAnthropic, VisionSupported: true,
		Description: "The fastest, for many small tasks.", PromptLimit: 100_000,
	},
	{
		ID: "openai/gpt-6.1-sol", DisplayName: "GPT-6.1 Sol", Provider: ProviderOpenAI, VisionSupported: true,
		PromptLimit: 272_000,
	},
	{
		ID: "openai/gpt-6.1-terra", DisplayName: "GPT-6.1 Terra", Provider: ProviderOpenAI, VisionSupported: true,
		PromptLimit: 272_000,
	},
	{
		ID: "openai/gpt-6-luna", DisplayName: "GPT-6 Luna", Provider: ProviderOpenAI, VisionSupported: true,
		PromptLimit: 272_000,
	},
	{
		ID: "google/gemini-4-argon", DisplayName: "Gemini 4 Argon", Provider: ProviderGoogle, VisionSupported: true,
		PromptLimit: 1_048_576,
	},
	{
		ID: "google/gemini-3.8-flash", DisplayName: "Gemini 3.8 Flash", Provider: ProviderGoogle, VisionSupported: true,
		PromptLimit: 1_000_000,
	},
	{
		ID: "google/gemini-3.5-flash-lite", DisplayName: "Gemini 3.5 Flash-Lite", Provider: ProviderGoogle,
		VisionSupported: true,
		PromptLimit:     1_000_000,
	},
}

// Models is the catalog, demo/offline first. The caller owns the slice.
func Models() []ModelInfo { return slices.Clone(models) }

// LookupModel finds a model of the catalog by any id that CanonicalModelID accepts.
func LookupModel(id string) (ModelInfo, bool) {
	id, ok := CanonicalModelID(id)
	if !ok {
		return ModelInfo{}, false
	}
	i := slices.IndexFunc(models, func(m ModelInfo) bool { return m.ID == id })
	if i < 0 {
		return ModelInfo{}, false
	}
	return models[i], true
}

// CanonicalModelID returns a model's id as provider/model. It derives the provider of a bare name
// from its prefix (claude-, gpt-, o1 and so on, gemini-). It returns false if the built-in agent
// does not know the provider. It does not check whether the provider has such a model.
func CanonicalModelID(id string) (string, bool) {
	provider, model, found := strings.Cut(id, "/")
	if found {
		known := id == ModelOffline || (model != "" && (provider == "anthropic" || provider == "openai" ||
			provider == "google"))
		return id, known
	}
	switch {
	case strings.HasPrefix(id, "claude-"):
		return "anthropic/" + id, true
	case strings.HasPrefix(id, "gpt-"), len(id) > 1 && id[0] == 'o' && id[1] >= '1' && id[1] <= '9':
		return "openai/" + id, true
	case strings.HasPrefix(id, "gemini-"):
		return "google/" + id, true
	}
	return id, false
}

// NearestModel returns the id in the catalog that is most similar to a name, with or without its
// provider, or "" if no id is similar.
func NearestModel(name string) string {
	if len(name) > 64 { // too long for a misspelled name, and comparing it takes time
		return ""
	}
	var ids []string
	for _, m := range models {
		_, bare, _ := strings.Cut(m.ID, "/")
		ids = append(ids, m.ID, bare)
	}
	return Nearest(name, ids)
}
