package run

import (
	"github.com/penstock-dev/penstock"
)

// HarnessUsage is what a run of Claude Code or Codex has used, in the shape that clients of these
// agents read. The numbers come from the ledger.
type HarnessUsage struct {
	RunID          string             `json:"run_id"`
	ConversationID string             `json:"conversation_id"`
	Available      bool               `json:"available"`
	AgeSeconds     *int64             `json:"age_seconds,omitempty"` // since CapturedAt
	Usage          *HarnessUsageState `json:"usage,omitempty"`
}

// HarnessUsageState is the usage after the latest call of the run that was settled.
type HarnessUsageState struct {
	Harness         string               `json:"harness"` // CLAUDE_CODE or CODEX
	ExecutionID     int                  `json:"executionId"`
	CaptureSequence int64                `json:"captureSequence"` // the number of settled calls
	CapturedAt      penstock.Time        `json:"capturedAt"`
	MetricsVersion  int                  `json:"metricsVersion"` // always 1
	Snapshot        HarnessUsageSnapshot `json:"snapshot"`
}

// HarnessUsageSnapshot is the usage of all executions.
type HarnessUsageSnapshot struct {
	Coverage HarnessUsageCoverage `json:"coverage"`
	Payload  HarnessUsagePayload  `json:"payload"`
}

// HarnessUsageCoverage is known, partial or unavailable for each kind of metric. Partial tokens include
// estimates, or lack calls in flight.
type HarnessUsageCoverage struct {
	TokenStatus string `json:"tokenStatus"`
	ToolStatus  string `json:"toolStatus"`
}

// HarnessUsagePayload holds the sum, and the part of each model.
type HarnessUsagePayload struct {
	Usage       HarnessTokens         `json:"usage"`
	Attribution []HarnessUsageOfModel `json:"attribution"`
}

// HarnessUsageOfModel is what the calls to one model have used.
type HarnessUsageOfModel struct {
	Model string        `json:"model"`
	Usage HarnessTokens `json:"usage"`
}

// HarnessTokens counts tokens as the agent's provider does. Claude Code's input excludes what came from the
// cache or went there, and Codex's includes it.
type HarnessTokens struct {
	Input  int64 `json:"input_tokens"`
	Output int64 `json:"output_tokens"`

	// Claude Code.
	CacheRead     *int64 `json:"cache_read_input_tokens,omitempty"`
	CacheCreation *int64 `json:"cache_creation_input_tokens,omitempty"`

	// Codex.
	Cached     *int64 `json:"cached_input_tokens,omitempty"`
	CacheWrite *int64 `json:"cache_write_input_tokens,omitempty"`
	Reasoning  *int64 `json:"reasoning_output_tokens,omitempty"`
	Total      *int64 `json:"total_tokens,omitempty"`
}

// harnessUsageNames are the agents whose usage clients read.
var harnessUsageNames = map[string]string{"claude": "CLAUDE_CODE", "codex": "CODEX"}

// Fill sets the usage from the run's own, as it was at a time. It stays unavailable for other
// agents, and while no call is settled.
func (h *HarnessUsage) Fill(harness string, u RunUsage, state HarnessUsageState, now penstock.Time) {
	state.Harness = harnessUsageNames[harness]
	if h.Available = state.Harness != "" && u.Total.Calls > 0; !h.Available {
		return
	}
	state.MetricsVersion, state.CaptureSequence = 1, u.Total.Calls
	state.Snapshot.Coverage = HarnessUsageCoverage{TokenStatus: "known", ToolStatus: "unavailable"}
	if u.Total.EstimatedCalls+u.Total.UnknownCalls+u.Total.UnsettledCalls > 0 {
		state.Snapshot.Coverage.TokenStatus = "partial"
	}
	payload := &state.Snapshot.Payload
	payload.Usage = tokensOf(harness, u.Total)
	for _, row := range u.Models {
		payload.Attribution = append(payload.Attribution, HarnessUsageOfModel{row.Key, tokensOf(harness, row.UsageSum)})
	}
	h.Usage, h.AgeSeconds = &state, new(max(0, int64(now.Sub(state.CapturedAt).Seconds())))
}

func tokensOf(harness string, sum penstock.UsageSum) HarnessTokens {
	if harness == "claude" {
		return HarnessTokens{
			Input: sum.Input, Output: sum.Output, CacheRead: &sum.CacheRead, CacheCreation: &sum.CacheWrite,
		}
	}
	return HarnessTokens{
		Input: sum.Input + sum.CacheRead + sum.CacheWrite, Output: sum.Output, Cached: &sum.CacheRead,
		CacheWrite: &sum.CacheWrite, Reasoning: &sum.Reasoning, Total: new(sum.Total()),
	}
}
