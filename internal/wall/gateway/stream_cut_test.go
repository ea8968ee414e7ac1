package gateway_test

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/penstock-dev/penstock"
)

// cutStream is an answer in which each digit 7 is a token. In total, it has 100 tokens of input and 180 of
// output.
type cutStream struct {
	path, body string
	events     []string
}

var sevens = strings.Repeat("7", 60)

var cutStreams = map[string]cutStream{
	"messages": {
		path: messages, body: `{"model":"claude-x","max_tokens":900,"stream":true,"thinking":{"type":"disabled"}}`,
		events: []string{
			`event: message_start` + "\n" + `data: {"type":"message_start","message":{"id":"msg_1","model":"claude-x",` +
				`"content":[],"usage":{"input_tokens":40,"cache_read_input_tokens":60,"output_tokens":1}}}`,
			`event: content_block_start` + "\n" + `data: {"type":"content_block_start","index":0,` +
				`"content_block":{"type":"text","text":""}}`,
			`event: content_block_delta` + "\n" + `data: {"type":"content_block_delta","index":0,` +
				`"delta":{"type":"text_delta","text":"` + sevens + `"}}`,
			`event: content_block_delta` + "\n" + `data: {"type":"content_block_delta","index":1,` +
				`"delta":{"type":"input_json_delta","partial_json":"{\"a\":` + sevens + `}"}}`,
			`event: content_block_delta` + "\n" + `data: {"type":"content_block_delta","index":2,` +
				`"delta":{"type":"new_delta","new":"` + sevens + `"}}`,
			`event: ping` + "\n" + `data: {"type":"ping"}`,
			`event: message_delta` + "\n" + `data: {"type":"message_delta","delta":{"stop_reason":"end_turn"},` +
				`"usage":{"output_tokens":180}}`,
			`event: message_stop` + "\n" + `data: {"type":"message_stop"}`,
		},
	},
	"chat": {
		path: chatPath, body: `{"model":"gpt-x","max_tokens":900,"stream":true,"stream_options":{"include_usage":true}}`,
		events: []string{
			`data: {"id":"c","object":"chat.completion.chunk","model":"gpt-x","choices":[{"index":0,"delta":` +
				`{"role":"assistant","content":"` + sevens + `"}}],"usage":{"prompt_tokens":100,"completion_tokens":60}}`,
			`: keeps the connection open`,
			`data: {"id":"c","object":"chat.completion.chunk","model":"gpt-x","choices":[{"index":0,"delta":` +
				`{"new":"` + sevens + `"}}]}`,
			`data: {"id":"c","object":"chat.completion.chunk","model":"gpt-x","choices":[{"index":0,"delta":` +
				`{"tool_calls":[{"index":0,"function":{"name":"f","arguments":"` + sevens + `"}}]},"finish_reason":"stop"}]}`,
			`data: {"id":"c","model":"gpt-x","choices":[],"usage":{"prompt_tokens":100,"completion_tokens":180}}`,
			`data: [DONE]`,
		},
	},
	"responses": {
		path: responsesPath, body: `{"model":"gpt-x","max_output_tokens":900,"stream":true,"store":false}`,
		events: []string{
			`event: response.created` + "\n" + `data: {"type":"response.created","response":{"id":"resp_1","instructions":"` +
				strings.Repeat("long ", 200) + `","usage":null}}`,
			`event: response.output_text.delta` + "\n" + `data: {"type":"response.output_text.delta","item_id":"i",` +
				`"delta":"` + sevens + `"}`,
			`event: response.output_text.delta` + "\n" + `data: {"type":"response.output_text.delta","item_id":"i",` +
				`"delta":"` + sevens + `"}`,
			`event: response.output_text.done` + "\n" + `data: {"type":"response.output_text.done","text":"said again"}`,
			`event: response.new` + "\n" + `data: {"type":"response.new","new":"` + sevens + `"}`,
			`event: response.completed` + "\n" + `data: {"type":"response.completed","response":{"id":"resp_1",` +
				`"model":"gpt-x","usage":{"input_tokens":100,"output_tokens":180}}}`,
		},
	},
	"gemini": {
		path: "/model/gemini/v1beta/models/gemini-x:streamGenerateContent?alt=sse",
		body: `{"generationConfig":{"maxOutputTokens":900,"thinkingConfig":{"thinkingBudget":0}}}`,
		events: []string{
			`data: {"candidates":[{"content":{"parts":[{"text":"` + sevens + `"}],"role":"model"}}],` +
				`"usageMetadata":{"promptTokenCount":100,"candidatesTokenCount":60},"modelVersion":"gemini-x"}`,
			`data: {"candidates":[{"content":{"parts":[{"functionCall":{"name":"f","args":{"` + sevens + `":1}}}],` +
				`"role":"model"}}],"usageMetadata":{"promptTokenCount":100,"candidatesTokenCount":120}}`,
			`data: {"candidates":[{"content":{"parts":[{"new":"` + sevens + `"}],"role":"model"},"finishReason":"STOP"}],` +
				`"usageMetadata":{"promptTokenCount":100,"candidatesTokenCount":180}}`,
		},
	},
}

// Wherever a stream is cut, the call counts with at least what the provider bills for what it has delivered,
// and as an estimate unless that is the provider's final count.
func TestAStreamThatIsCutAtAnyByteCountsAtLeastWhatArrived(t *testing.T) {
	t.Parallel()
	for name, stream := range cutStreams {
		for budget, limit := range map[string]int64{"no cap": 0, "cap": 1e12} {
			t.Run(name+"/"+budget, func(t *testing.T) {
				t.Parallel()
				whole := strings.Join(stream.events, "\n\n") + "\n\n"
				c := newCutter(t, stream, whole, limit)
				for cut := range len(whole) + 1 {
					s := c.at(t, cut)
					if s.Unknown {
						continue // counts as it was reserved
					}
					exact := s.Tokens.Input+s.Tokens.CacheRead == 100 && s.Tokens.Output == 180
					delivered := int64(strings.Count(whole[:cut], "7"))
					switch {
					case s.Estimated && cut == len(whole), !s.Estimated && !exact:
						t.Fatalf("cut at %d of %d: settled as %+v", cut, len(whole), s)
					case s.Tokens.Output < delivered, s.Tokens.Input+s.Tokens.CacheRead < 100:
						t.Fatalf("cut at %d: settled as %+v, and %d tokens of output have arrived", cut, s, delivered)
					}
				}
			})
		}
	}
}

// cutter holds a provider that cuts its answers.
type cutter struct {
	*purse

	rig     *rig
	stream  cutStream
	cut     atomic.Int64
	settles chan penstock.Settlement
}

func newCutter(t *testing.T, stream cutStream, whole string, limit int64) *cutter {
	t.Helper()
	c := &cutter{purse: newPurse(limit), stream: stream, settles: make(chan penstock.Settlement)}
	opts := spending(t, c.purse)
	opts.Spend = c
	c.rig = newRig(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("Content-Length", strconv.Itoa(len(whole)))
		sent := whole[:c.cut.Load()]
		_, _ = io.WriteString(w, sent)
		_ = http.NewResponseController(w).Flush()
		if len(sent) < len(whole) {
			panic(http.ErrAbortHandler)
		}
	}, opts)
	return c
}

// Settle implements gateway.Spend.
func (c *cutter) Settle(s penstock.Settlement) {
	c.purse.Settle(s)
	c.settles <- s
}

// at returns the settlement of a call whose answer ends after some bytes.
func (c *cutter) at(t *testing.T, cut int) penstock.Settlement {
	t.Helper()
	c.cut.Store(int64(cut))
	req, err := http.NewRequestWithContext(
		t.Context(), http.MethodPost, c.rig.relay+c.stream.path, strings.NewReader(c.stream.body),
	)
	if err != nil {
		t.Fatal(err)
	}
	if res, err := http.DefaultTransport.RoundTrip(req); err == nil {
		_, _ = io.Copy(io.Discard, res.Body) // it may be cut
		_ = res.Body.Close()
	}
	return <-c.settles
}
