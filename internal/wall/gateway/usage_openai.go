package gateway

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
)

func chatReading() *reading {
	return newReading(
		rule{"model", modelIs},
		rule{"usage", chatUsage},
		rule{"service_tier", tierIs},
		rule{"error", fails},
		rule{"choices.*.error", fails},
		rule{"choices.*?", func(t *tally, _ []byte) { t.choices = true }},
		rule{"choices.*.message.audio.id", hasID},
		rule{"choices.*.message?", isOdd},
		rule{"choices.*.text?", isOdd},
		rule{"choices.*.delta.+", chatDelta},
		rule{"choices.*.finish_reason", endsHere},
	)
}

// chatDelta reads a member of the delta.
func chatDelta(t *tally, raw []byte) {
	t.part.known = true
	content(t, raw)
	var audio struct {
		ID string `json:"id"`
	}
	if raw[0] == '{' && json.Unmarshal(raw, &audio) == nil && audio.ID != "" {
		t.received(audio.ID)
	}
}

// endsHere is for a value that only the last event has.
func endsHere(t *tally, raw []byte) { t.ends = t.ends || text(raw) != "" }

// tierIs keeps the tier until the usage arrives, because the usage does not contain it.
func tierIs(t *tally, raw []byte) {
	if tier := text(raw); tier != "" {
		t.tier = tier
	}
}

func chatUsage(t *tally, raw []byte) {
	var u struct {
		Prompt     int64         `json:"prompt_tokens"`
		Completion int64         `json:"completion_tokens"`
		In         openaiDetails `json:"prompt_tokens_details"`
		Out        openaiDetails `json:"completion_tokens_details"`
	}
	if string(raw) == "null" || json.Unmarshal(raw, &u) != nil {
		return
	}
	t.openaiUsage(u.Prompt, u.Completion, u.In, u.Out)
}

func responsesReading() *reading {
	item := []rule{
		{"id", hasID},
		{"container_id", hasID},
		{"content.*.annotations.*.file_id", hasID},
		{"content.*.annotations.*.container_id", hasID},
	}
	response := append([]rule{
		{"id", hasID},
		{"model", modelIs},
		{"service_tier", tierIs},
		{"error", fails},
		{"conversation.id", hasID},
		{"usage", responsesUsage},
		{"tool_usage", responsesTools},
	}, under("output.*.", item...)...)
	rules := append(under("", response...), under("response.", response...)...)
	rules = append(rules, under("item.", item...)...)
	return newReading(append(
		rules,
		rule{"annotation.file_id", hasID},
		rule{"annotation.container_id", hasID},
		rule{"delta", content},
		rule{"type", responsesEvent},
	)...)
}

// repeats are events with nothing that has not been in a delta.
var repeats = []string{
	"response.output_text.done", "response.refusal.done", "response.function_call_arguments.done",
	"response.custom_tool_call_input.done", "response.reasoning_text.done", "response.reasoning_summary_text.done",
	"response.reasoning_summary_part.done", "response.content_part.done",
}

func responsesEvent(t *tally, raw []byte) {
	switch kind := text(raw); {
	case kind == "response.completed", kind == "response.incomplete", kind == "response.failed":
		t.ends, t.whole = true, true
	case kind == "error": // its message stands beside its type
		t.failed, t.counted = true, false
	case kind == "response.created", kind == "response.queued", kind == "response.in_progress": // the request
		t.part.known = true
	case strings.HasSuffix(kind, ".delta"):
		t.part.known, t.deltas = true, true
	case t.deltas && slices.Contains(repeats, kind):
		t.part.known = true
	}
}

func responsesUsage(t *tally, raw []byte) {
	var u struct {
		Input  int64         `json:"input_tokens"`
		Output int64         `json:"output_tokens"`
		In     openaiDetails `json:"input_tokens_details"`
		Out    openaiDetails `json:"output_tokens_details"`
	}
	if string(raw) == "null" || json.Unmarshal(raw, &u) != nil {
		return
	}
	t.openaiUsage(u.Input, u.Output, u.In, u.Out)
}

// responsesTools reads tool_usage, which stands beside usage.
func responsesTools(t *tally, raw []byte) {
	var tools map[string]struct {
		Requests int64         `json:"num_requests"`
		Input    int64         `json:"input_tokens"`
		Output   int64         `json:"output_tokens"`
		Cached   int64         `json:"cached_tokens"`
		In       openaiDetails `json:"input_tokens_details"`
	}
	if string(raw) == "null" || json.Unmarshal(raw, &tools) != nil {
		return
	}
	t.tools, t.others = nil, nil
	for name, u := range tools {
		if u.Requests > 0 {
			if t.tools == nil {
				t.tools = map[string]int64{}
			}
			t.tools[name] = u.Requests
		}
		if u.Input > 0 || u.Output > 0 {
			if name == "image_gen" {
				name = "image_generation"
			}
			cached := max(u.Cached, u.In.Cached)
			t.others = append(t.others, OtherUsage{Kind: name, TokenUsage: penstock.TokenUsage{
				Input: max(0, u.Input-cached), CacheRead: cached, Output: u.Output,
			}})
		}
	}
}
