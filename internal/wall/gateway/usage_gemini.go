package gateway

import (
	"encoding/json"

	"github.com/penstock-dev/penstock"
)

// geminiReading serves objects, events, and the list that a stream without alt=sse is.
func geminiReading() *reading {
	response := []rule{
		{"usageMetadata", geminiUsage},
		{"modelVersion", modelIs},
		{"candidates.*.finishReason", endsHere},
		{"candidates.*.content", func(t *tally, raw []byte) {
			t.part.known = true
			content(t, raw)
		}},
		{"candidates.*.groundingMetadata.webSearchQueries.*?", func(t *tally, _ []byte) { t.queries++ }},
		{"promptFeedback.blockReason", endsHere},
	}
	rules := append(under("", response...), under("*.", response...)...)
	return newReading(append(rules, rule{"error", fails}, rule{"*.error", func(t *tally, raw []byte) {
		t.hasUsage = false // that was another item
		fails(t, raw)
	}})...)
}

func geminiUsage(t *tally, raw []byte) {
	var u struct {
		Prompt      int64  `json:"promptTokenCount"`
		Cached      int64  `json:"cachedContentTokenCount"`
		Candidates  int64  `json:"candidatesTokenCount"`
		Thoughts    int64  `json:"thoughtsTokenCount"`
		ToolPrompt  int64  `json:"toolUsePromptTokenCount"`
		TrafficType string `json:"trafficType"`
		ServiceTier string `json:"serviceTier"`

		PromptBy modalities `json:"promptTokensDetails"`
		CachedBy modalities `json:"cacheTokensDetails"`
		ToolBy   modalities `json:"toolUsePromptTokensDetails"`
	}
	if string(raw) == "null" || json.Unmarshal(raw, &u) != nil {
		return
	}
	// The prompt includes what was cached, the candidates exclude the thoughts, and the
	// results of tools are in neither.
	t.counts()
	t.usage = &Usage{
		TokenUsage: penstock.TokenUsage{
			Input: max(0, u.Prompt-u.Cached) + u.ToolPrompt, Output: u.Candidates + u.Thoughts, CacheRead: u.Cached,
		},
		Reasoning: u.Thoughts,
	}
	cached := u.CachedBy.audio()
	t.usage.AudioCacheRead = min(cached, t.usage.CacheRead)
	t.usage.Audio = min(max(0, u.PromptBy.audio()-cached)+u.ToolBy.audio(), t.usage.Input)
	keep(&t.tier, u.TrafficType)
	keep(&t.tier, u.ServiceTier)
}

// modalities split a count of tokens by kinds of content.
type modalities []struct {
	Modality string `json:"modality"`
	Tokens   int64  `json:"tokenCount"`
}

func (m modalities) audio() (n int64) {
	for _, part := range m {
		if part.Modality == "AUDIO" {
			n += max(0, part.Tokens)
		}
	}
	return n
}
