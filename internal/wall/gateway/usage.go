package gateway

import (
	"encoding/json"
	"slices"

	"github.com/penstock-dev/penstock"
)

// tally is what a response says besides its content.
type tally struct {
	received func(id string)

	model string
	usage *Usage
	ends  bool // the current event is the provider's last
	last  bool // that event came
	whole bool // nothing follows it, whatever the request asked for
	stale bool // the model went on after this usage
	part  part // of the current event

	failed  bool   // the provider reports an error
	counted bool   // …with what was used until then
	problem string // its message

	// Fields next to the usage.
	tier    string
	tools   map[string]int64
	others  []OtherUsage
	queries int64 // web searches of Gemini

	choices  bool // of a chunk of a chat completion
	hasUsage bool // of the current event
	output   bool // the current event has output
	deltas   bool // a stream of the Responses API has had one
}

// part counts the bytes of one event that can be output of the model.
type part struct {
	content int64 // in places that are known
	known   bool  // elsewhere is no output
	odd     bool  // …but in places that are not known
}

// most is the count for an event of a size. Values that are too large were not counted.
func (p part) most(size int64) int64 {
	if p.known && !p.odd && size <= maxCapture {
		return min(p.content, size)
	}
	return size
}

// content counts a value of output.
func content(t *tally, raw []byte) {
	t.part.content += int64(len(raw))
	switch string(raw) {
	case `""`, "null", "[]", "{}", `"assistant"`:
	default:
		t.output = true
	}
}

func isOdd(t *tally, _ []byte) { t.part.odd, t.output = true, true }

// fails reads an error in a response that began well.
func fails(t *tally, raw []byte) {
	switch string(raw) {
	case "null", "false", `""`, "{}":
		return
	}
	t.failed, t.counted, t.problem = true, t.hasUsage, problemOf(slices.Concat([]byte(`{"error":`), raw, []byte("}")))
}

// counts notes that the current event has usage.
func (t *tally) counts() { t.hasUsage, t.counted = true, t.failed }

// reading says where an API puts what a tally holds: paths of JSON with what to do with
// each value.
type reading struct {
	paths *paths
	do    []func(t *tally, raw []byte)
}

type rule struct {
	path string
	do   func(t *tally, raw []byte)
}

func newReading(rules ...rule) *reading {
	r := &reading{}
	list := make([]string, len(rules))
	for i, rule := range rules {
		list[i] = rule.path
		r.do = append(r.do, rule.do)
	}
	r.paths = newPaths(list...)
	return r
}

// under returns rules for the same values below another path.
func under(path string, rules ...rule) []rule {
	list := make([]rule, len(rules))
	for i, r := range rules {
		list[i] = rule{path + r.path, r.do}
	}
	return list
}

// readings by operation. One serves streams and whole responses: their paths differ.
var readings = map[Operation]*reading{
	Messages:         anthropicReading(),
	ChatCompletions:  chatReading(),
	Responses:        responsesReading(),
	RetrieveResponse: responsesReading(),
	CompactResponse:  responsesReading(),
	GenerateContent:  geminiReading(),
	StreamGenerate:   geminiReading(),
}

func text(raw []byte) string {
	var s string
	_ = json.Unmarshal(raw, &s) // null and other kinds are ""
	return s
}

func modelIs(t *tally, raw []byte) {
	if s := text(raw); s != "" {
		t.model = s
	}
}

func hasID(t *tally, raw []byte) { t.received(text(raw)) }

func anthropicReading() *reading {
	message := []rule{
		{"model", modelIs},
		{"id", hasID},
		{"container.id", hasID},
		{"usage", anthropicUsage},
		{"content.*.content.content.*.file_id", hasID},
	}
	rules := append(under("", message...), under("message.", message...)...)
	return newReading(append(
		rules,
		rule{"error", fails},
		rule{"delta.container.id", hasID},
		rule{"content_block.content.content.*.file_id", hasID},
		rule{"message.content.*?", isOdd},
		rule{"delta.text", content},
		rule{"delta.thinking", content},
		rule{"delta.signature", content},
		rule{"delta.partial_json", content},
		rule{"delta.citation", content},
		rule{"delta.type", func(t *tally, raw []byte) {
			switch text(raw) {
			case "text_delta", "thinking_delta", "signature_delta", "input_json_delta", "citations_delta":
			default:
				t.part.odd = true
			}
		}},
		rule{"type", func(t *tally, raw []byte) {
			switch text(raw) {
			case "message_stop":
				t.ends, t.whole, t.part.known = true, true, true
			case "message_start", "message_delta", "content_block_delta", "content_block_stop", "ping":
				t.part.known = true
			}
		}},
	)...)
}

// anthropicCounts are nil where an event does not say: message_delta has a part of what
// message_start has, and its counts are cumulative.
type anthropicCounts struct {
	Input         *int64           `json:"input_tokens"`
	Output        *int64           `json:"output_tokens"`
	CacheRead     *int64           `json:"cache_read_input_tokens"`
	CacheWrite    *int64           `json:"cache_creation_input_tokens"`
	CacheCreation map[string]int64 `json:"cache_creation"`
}

// cacheTimes are the names of Anthropic's and OpenAI's splits of cache writes.
var cacheTimes = map[string]string{
	"ephemeral_5m_input_tokens": "5m", "ephemeral_1h_input_tokens": "1h",
	"ttl_30m_tokens": "30m", "ttl_12h_tokens": "12h",
}

func (c *anthropicCounts) write(to *penstock.TokenUsage, times *map[string]int64) {
	set := func(to, from *int64) {
		if from != nil {
			*to = *from
		}
	}
	set(&to.Input, c.Input)
	set(&to.Output, c.Output)
	set(&to.CacheRead, c.CacheRead)
	set(&to.CacheWrite, c.CacheWrite)
	splitWrites(times, c.CacheCreation)
}

func splitWrites(times *map[string]int64, counts map[string]int64) {
	for name, n := range counts {
		if n == 0 {
			continue
		}
		if *times == nil {
			*times = map[string]int64{}
		}
		if known := cacheTimes[name]; known != "" {
			name = known
		}
		(*times)[name] = n
	}
}

func anthropicUsage(t *tally, raw []byte) {
	var u struct {
		anthropicCounts

		Details struct {
			Thinking  int64 `json:"thinking_tokens"`
			Reasoning int64 `json:"reasoning_tokens"`
		} `json:"output_tokens_details"`
		ServerTools map[string]int64 `json:"server_tool_use"`
		Tier        string           `json:"service_tier"`
		Speed       string           `json:"speed"`
		Region      string           `json:"inference_geo"`
		Iterations  []struct {
			anthropicCounts

			Type  string `json:"type"`
			Model string `json:"model"`
		} `json:"iterations"`
	}
	if json.Unmarshal(raw, &u) != nil || string(raw) == "null" {
		return
	}
	t.counts()
	if t.usage == nil {
		t.usage = &Usage{}
	}
	u.write(&t.usage.TokenUsage, &t.usage.CacheWriteTTL)
	keep(&t.usage.Tier, u.Tier)
	keep(&t.usage.Speed, u.Speed)
	keep(&t.usage.Region, u.Region)
	t.usage.Reasoning = max(t.usage.Reasoning, u.Details.Thinking, u.Details.Reasoning)
	for name, n := range u.ServerTools {
		t.usage.countTool(trimSuffix(name, "_requests"), n)
	}
	if u.Iterations == nil {
		return
	}
	t.usage.Others = nil // the list is cumulative too
	for _, i := range u.Iterations {
		// Entries of the response's own model are in the counts above; these are not.
		if i.Type != "advisor_message" && i.Type != "compaction" {
			continue
		}
		other := OtherUsage{Kind: i.Type, Model: i.Model}
		i.write(&other.TokenUsage, &other.CacheWriteTTL)
		t.usage.Others = append(t.usage.Others, other)
	}
}

func keep(to *string, from string) {
	if from != "" {
		*to = from
	}
}

func trimSuffix(s, suffix string) string {
	if len(s) > len(suffix) && s[len(s)-len(suffix):] == suffix {
		return s[:len(s)-len(suffix)]
	}
	return s
}

func (u *Usage) countTool(name string, n int64) {
	if n == 0 {
		return
	}
	if u.ServerTools == nil {
		u.ServerTools = map[string]int64{}
	}
	u.ServerTools[name] = n
}

// openaiDetails are parts of OpenAI's counts.
type openaiDetails struct {
	Cached       int64            `json:"cached_tokens"`
	CacheWrite   int64            `json:"cache_write_tokens"`
	CacheWriteBy map[string]int64 `json:"cache_write_tokens_details"`
	Reasoning    int64            `json:"reasoning_tokens"`
	Audio        int64            `json:"audio_tokens"`
}

// openaiUsage turns counts that include their parts into disjoint ones.
func (t *tally) openaiUsage(input, output int64, in, out openaiDetails) {
	t.counts()
	t.usage = &Usage{
		TokenUsage: penstock.TokenUsage{
			Input: max(0, input-in.Cached-in.CacheWrite), Output: output, CacheRead: in.Cached, CacheWrite: in.CacheWrite,
		},
		Reasoning: out.Reasoning,
	}
	t.usage.Audio = min(in.Audio, t.usage.Input)
	t.usage.AudioCacheRead = min(in.Audio-t.usage.Audio, t.usage.CacheRead)
	splitWrites(&t.usage.CacheWriteTTL, in.CacheWriteBy)
}

// total returns the usage, nil if the response has none.
func (t *tally) total() *Usage {
	if t.usage == nil {
		return nil
	}
	u := *t.usage
	keep(&u.Tier, t.tier)
	for name, n := range t.tools {
		u.countTool(name, n)
	}
	u.countTool("web_search", max(t.queries, u.ServerTools["web_search"]))
	u.Others = append(u.Others, t.others...)
	return &u
}
