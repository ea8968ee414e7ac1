package penstock

import (
	"slices"
	"strings"
)

// ModelProvider is the company whose API serves a model.
type ModelProvider string

// The contract's providers; anything else, demo/offline included, is UNKNOWN.
const (
	ProviderOpenAI    ModelProvider = "OPENAI"
	ProviderAnthropic ModelProvider = "ANTHROPIC"
	ProviderGoogle    ModelProvider = "GOOGLE"
	ProviderUnknown   ModelProvider = "UNKNOWN"
)

// DisableReason is why a model cannot be used.
type DisableReason string

// DisabledByAdmin is a model whose provider has no key on this server. The
// contract has more reasons; no model of this server has them.
const DisabledByAdmin DisableReason = "ADMIN_DISABLED"

// ModelInfo describes one model that a run can name.
type ModelInfo struct {
	ID              string        `json:"id"` // provider/model
	DisplayName     string        `json:"display_name"`
	Provider        ModelProvider `json:"provider"`
	VisionSupported bool          `json:"vision_supported"`
	Description     string        `json:"description,omitempty"`
	ReasoningLevel  string        `json:"reasoning_level,omitempty"`
	DisableReason   DisableReason `json:"disable_reason,omitempty"` // why no run can use it here now
	DisableDetail   string        `json:"disable_detail,omitempty"` // the same for people

	// PromptLimit is how many tokens a prompt may hold: the model's window, or
	// less where its price rises before that. 0 is not known.
	PromptLimit int64 `json:"-"`
}

// TokenUsage counts tokens. The four counts are disjoint: Input holds neither
// what was read from the provider's cache nor what was written to it.
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

// models is the catalogue: a few current models of each provider. Runs may name
// any other model of these providers. Prices are in internal/price; none of these
// models costs more below its PromptLimit, which the built-in agent keeps.
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

// Models is the catalogue, demo/offline first. The caller owns the slice.
func Models() []ModelInfo { return slices.Clone(models) }

// LookupModel finds a model of the catalogue by any id that CanonicalModelID
// understands.
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

// CanonicalModelID writes a model's id as provider/model. A bare name is given
// its provider where its beginning tells it (claude-, gpt-, o1 and so on,
// gemini-). It is false for an id of no provider that the built-in agent knows;
// whether the provider has such a model only the provider can tell.
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

// NearestModel returns the id of the catalogue that a model's name was perhaps
// meant to be, with its provider or without; "" where none comes near.
func NearestModel(name string) string {
	if len(name) > 64 { // nobody misspells such a name, and measuring it takes time
		return ""
	}
	var ids []string
	for _, m := range models {
		_, bare, _ := strings.Cut(m.ID, "/")
		ids = append(ids, m.ID, bare)
	}
	return Nearest(name, ids)
}

// NoProvider is the ProviderPrefix of a model that belongs to no provider.
const NoProvider = "?"

// maxProvider bounds a provider's prefix, in bytes.
const maxProvider = 100

// ProviderPrefix returns how the ids of a model's provider begin, such as
// "anthropic/". It is "" where no provider is needed: for demo/offline, and where
// no model is named. The provider need not be one that the built-in agent knows.
func ProviderPrefix(modelID string) string {
	if modelID == "" || modelID == ModelOffline {
		return ""
	}
	id, known := CanonicalModelID(modelID)
	provider, model, _ := strings.Cut(id, "/")
	switch {
	case known:
	case provider == "" || model == "" || provider == "demo" || len(provider) >= maxProvider:
		return NoProvider
	}
	return provider + "/"
}
