package gateway

import (
	"encoding/json"

	"github.com/penstock-dev/penstock"
)

// geminiReading serves objects, events, and the list that a stream without alt=sse is.
func geminiReading() *reading {
	answer := []rule{
		{"usageMetadata", geminiUsage},
		{"modelVersion", modelIs},
		{"candidates.*.finishReason", func(t *tally, raw []byte) { t.last = t.last || text(raw) != "" }},
		{"candidates.*.groundingMetadata.webSearchQueries.*?", func(t *tally, _ []byte) { t.queries++ }},
		{"promptFeedback.blockReason", func(t *tally, raw []byte) { t.last = t.last || text(raw) != "" }},
	}
	return newReading(append(under("", answer...), under("*.", answer...)...)...)
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
	}
	if string(raw) == "null" || json.Unmarshal(raw, &u) != nil {
		return
	}
	// The prompt includes what was cached, the candidates exclude the thoughts, and the
	// results of tools are in neither.
	t.usage = &Usage{
		TokenUsage: penstock.TokenUsage{
			Input: max(0, u.Prompt-u.Cached) + u.ToolPrompt, Output: u.Candidates + u.Thoughts, CacheRead: u.Cached,
		},
		Reasoning: u.Thoughts,
	}
	keep(&t.tier, u.TrafficType)
	keep(&t.tier, u.ServiceTier)
}
