package gateway_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/openai/openai-go/v3"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/testkit"
	"github.com/penstock-dev/penstock/internal/wall/gateway"
)

const (
	chatPath      = "/model/openai/v1/chat/completions"
	responsesPath = "/model/openai/v1/responses"
	geminiPath    = "/model/gemini/v1beta/models/gemini-x:generateContent"
)

// Under a cap, the gateway refuses fields that it cannot bound, by name, and sends nothing.
func TestRequestsWithoutABoundAreRefusedByName(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ path, body, names string }{
		"an unknown field": {
			messages, `{"model":"claude-x","max_tokens":9,"messages":[],"turbo":true}`, "/turbo",
		},
		"compaction": {
			messages, `{"model":"claude-x","max_tokens":9,"messages":[],"compaction":{"type":"summarize"}}`, "/compaction",
		},
		"compaction as an edit": {
			messages, `{"model":"claude-x","max_tokens":9,"context_management":{"edits":[{"type":"compact_20260112"}]}}`,
			"/context_management/edits/0",
		},
		"fallback models": {
			messages, `{"model":"claude-x","max_tokens":9,"fallbacks":[{"model":"claude-x"}]}`, "/fallbacks",
		},
		"a tool without max_uses": {
			messages, `{"model":"claude-x","max_tokens":9,"tools":[{"type":"web_search_20250305"}]}`, "web_search",
		},
		"a tool without a price": {
			messages, `{"model":"claude-x","max_tokens":9,"tools":[{"type":"web_fetch_20250910","max_uses":1}]}`, "web_fetch",
		},
		"an advisor": {
			messages, `{"model":"claude-x","max_tokens":9,"tools":[{"type":"advisor_20260301","model":"claude-x"}]}`, "advisor",
		},
		"a region without a price": {
			messages, `{"model":"claude-x","max_tokens":9,"inference_geo":"mars"}`, "region",
		},
		"models to try next": {chatPath, `{"model":"gpt-x","models":["gpt-x"]}`, "/models"},
		"speech":             {chatPath, `{"model":"gpt-x","modalities":["text","audio"]}`, "/modalities"},
		"a search": {
			chatPath, `{"model":"gpt-x","web_search_options":{"search_context_size":"low"}}`, "/web_search_options",
		},
		"a search without options": {chatPath, `{"model":"gpt-x","web_search_options":{}}`, "/web_search_options"},
		"a tier of another name":   {chatPath, `{"model":"gpt-x","priority":"high"}`, "/priority"},
		"an option of the sampler": {
			chatPath, `{"model":"gpt-x","options":{"draft_num_predict":9}}`, "/options/draft_num_predict",
		},
		"a picture as the response": {
			geminiPath, `{"generationConfig":{"responseFormat":{"image":{"delivery":"x"}}}}`, "/image",
		},
		"a picture with default settings": {
			geminiPath, `{"generationConfig":{"responseFormat":{"image":{}}}}`, "/generationConfig/responseFormat/image",
		},
		"a list of responses": {
			geminiPath, `{"generationConfig":{"response_format":[{"text":{}},{"image":{"delivery":"x"}}]}}`,
			"/generationConfig/responseFormat/image",
		},
		"a list of responses with default settings": {
			geminiPath, `{"generationConfig":{"responseFormat":[{"audio":{}}]}}`, "/generationConfig/responseFormat/audio",
		},
		"a fraction as the limit":   {chatPath, `{"model":"gpt-x","max_tokens":1.5}`, "/max_tokens"},
		"an unknown tier":           {chatPath, `{"model":"gpt-x","service_tier":"warp"}`, "/service_tier"},
		"a tier without a price":    {chatPath, `{"model":"gpt-x","service_tier":"ultrafast"}`, "tier"},
		"an image without a window": {chatPath, image("gpt-plain"), "/messages/0/content/0"},
		"an image without a type": {
			chatPath, `{"model":"gpt-plain","messages":[{"content":[{"image_url":"data:image/png;base64,AAAA"}]}]}`,
			"/messages/0/content/0/image_url",
		},
		"an image beside a text": {
			chatPath, `{"model":"gpt-plain","messages":[{"images":["AAAA"],"content":[{"type":"text","text":"x"}]}]}`,
			"/messages/0/images",
		},
		"an image beside more tools": {
			responsesPath, `{"model":"gpt-plain","input":[{"type":"additional_tools","tools":[],"content":[{"type":` +
				`"input_image","image_url":"data:image/png;base64,AAAA"}]}]}`, "/input/0/content/0",
		},
		"a hosted tool without a limit": {responsesPath, `{"model":"gpt-x","tools":[{"type":"web_search"}]}`, "web_search"},
		"a hosted tool in the input": {
			responsesPath, `{"model":"gpt-x","input":[{"type":"additional_tools","tools":[{"type":"namespace","name":"n",` +
				`"tools":[{"type":"web_search"}]}]}]}`, "web_search",
		},
		"a hosted tool in a message": {
			responsesPath, `{"model":"gpt-x","input":[{"type":"message","role":"developer","content":"x","tools":[` +
				`{"type":"web_search"}]}]}`, "web_search",
		},
		"a hosted tool that a message adds": {
			messages, `{"model":"claude-x","max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"x",` +
				`"tool_changes":[{"tool":{"definition":{"type":"web_search_20250305"}}}]}]}]}`, "web_search",
		},
		"a field in a message that the operator allows": {
			chatPath, `{"model":"gpt-x","messages":[{"role":"user","content":"x","operators":1}]}`, "/messages/0/operators",
		},
		"a field that the operator allows": {chatPath, `{"model":"gpt-x","operators":1}`, "/operators"},
		"a field that turns a tool on":     {chatPath, `{"model":"gpt-x","operators":{}}`, "/operators"},
		"a field in a message that turns a tool on": {
			chatPath, `{"model":"gpt-x","messages":[{"role":"user","content":"x","operators":{}}]}`, "/messages/0/operators",
		},
		"a transcription with default settings": {
			geminiPath, `{"generationConfig":{"audioTranscriptionConfig":{}}}`, "/generationConfig/audioTranscriptionConfig",
		},
		"context management of Responses": {
			responsesPath, `{"model":"gpt-x","context_management":[{"type":"x"}]}`, "/context_management",
		},
		"several trains of thought": {responsesPath, `{"model":"gpt-x","reasoning":{"mode":"pro"}}`, "/reasoning/mode"},
		"Google's search":           {geminiPath, `{"contents":[],"tools":[{"googleSearch":{}}]}`, "google_search"},
		"images as output": {
			geminiPath, `{"contents":[],"generationConfig":{"responseModalities":["IMAGE"]}}`,
			"/generationConfig/responseModalities",
		},
		"one modality in place of a list": {
			geminiPath, `{"contents":[],"generationConfig":{"responseModalities":"IMAGE"}}`,
			"/generationConfig/responseModalities",
		},
		"a modality by its number": {
			geminiPath, `{"contents":[],"generationConfig":{"responseModalities":2}}`, "/generationConfig/responseModalities",
		},
		"speech in place of a list": {chatPath, `{"model":"gpt-x","modalities":"audio"}`, "/modalities"},
		"compaction in place of a list": {
			messages, `{"model":"claude-x","max_tokens":9,"context_management":{"edits":{"type":"compact_20260112"}}}`,
			"/context_management/edits/0",
		},
		"an unknown setting": {
			geminiPath, `{"contents":[],"generation_config":{"routing_config":{"auto_mode":{}}}}`,
			"/generationConfig/routingConfig",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opts := spending(t, newPurse(1e12))
			opts.ProviderTools = []string{"web_search", "web_fetch"}
			r := newRig(t, vendor, opts)
			res, body := r.send(t, http.MethodPost, c.path, c.body)
			if res.StatusCode != http.StatusForbidden || !strings.Contains(body, c.names) || len(r.got()) > 0 {
				t.Errorf("got %d %s, with %d requests at the provider; want a refusal that names %s",
					res.StatusCode, body, len(r.got()), c.names)
			}
			if res.Header.Get("X-Should-Retry") != "false" {
				t.Error("an SDK may repeat the request")
			}
			// The run may continue in another way.
			res, body = r.send(t, http.MethodPost, messages, `{"model":"claude-x","max_tokens":9,"messages":[]}`)
			if res.StatusCode != http.StatusOK {
				t.Errorf("a later call got %d %s", res.StatusCode, body)
			}
		})
	}
}

func image(model string) string {
	return `{"model":"` + model + `","max_tokens":5,"messages":[{"role":"user","content":[{"type":"image_url",` +
		`"image_url":{"url":"data:image/png;base64,AAAA"}}]}]}`
}

// The agents' usual requests have a bound.
func TestRequestsOfAgentsHaveABound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ path, body string }{
		"Claude Code": {messages, `{"model":"claude-x","max_tokens":32000,"stream":true,"temperature":1,` +
			`"metadata":{"user_id":"u"},"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral","ttl":"1h"}}],` +
			`"thinking":{"type":"adaptive"},"output_config":{"effort":"high"},` +
			`"context_management":{"edits":[{"type":"clear_thinking_20251015","keep":"all"}]},` +
			`"tools":[{"name":"Bash","description":"d","input_schema":{"type":"object"}}],"messages":[{"role":"user",` +
			`"content":[{"type":"text","text":"hi"}]},{"role":"assistant","content":[{"type":"thinking","thinking":"",` +
			`"signature":"s"},{"type":"tool_use","id":"t","name":"Bash","input":{"type":"strange"}}]},{"role":"user",` +
			`"content":[{"type":"tool_result","tool_use_id":"t","content":[{"type":"text","text":"ok"}]}]}]}`},
		"codex": {responsesPath, `{"model":"gpt-x","instructions":"i","stream":true,"store":false,` +
			`"parallel_tool_calls":true,"tool_choice":"auto","include":["reasoning.encrypted_content"],"prompt_cache_key":"k",` +
			`"reasoning":{"effort":"medium","summary":"auto"},"text":{"verbosity":"low"},"client_metadata":{"a":"b"},` +
			`"tools":[{"type":"function","name":"shell","parameters":{"type":"object"}},{"type":"custom","name":"apply_patch",` +
			`"format":{"type":"grammar","syntax":"lark","definition":"x"}}],"input":[{"type":"message","role":"user",` +
			`"content":[{"type":"input_text","text":"hi"}]},{"type":"reasoning","id":"rs_1","summary":[],` +
			`"encrypted_content":"x"},{"type":"function_call","name":"shell","arguments":"{}","call_id":"c"},` +
			`{"type":"function_call_output","call_id":"c","output":"ok"}]}`},
		"codex with a model that takes code": {responsesPath, `{"model":"gpt-x","stream":true,"store":false,"input":[` +
			`{"type":"additional_tools","role":"developer","id":"at_1","tools":[{"type":"namespace","name":"functions",` +
			`"description":"","tools":[{"type":"custom","name":"exec","format":{"type":"grammar","syntax":"lark",` +
			`"definition":"x"}},{"type":"function","name":"wait","parameters":{"type":"object"}}]}]},` +
			`{"type":"message","role":"user","id":"msg_1","content":[{"type":"input_text","text":"hi"}]},` +
			`{"type":"custom_tool_call","name":"exec","input":"text(1)","call_id":"c"}]}`},
		"gemini-cli": {geminiPath, `{"contents":[{"role":"user","parts":[{"text":"hi"}]},{"role":"model","parts":[` +
			`{"thought":true,"text":"t"},{"functionCall":{"name":"f","args":{}},"thoughtSignature":"s"}]},{"role":"user",` +
			`"parts":[{"functionResponse":{"name":"f","response":{"output":"ok"}}}]}],"systemInstruction":{"role":"user",` +
			`"parts":[{"text":"s"}]},"tools":[{"functionDeclarations":[` +
			`{"name":"f","parametersJsonSchema":{"type":"object"}}]}],` +
			`"toolConfig":{"functionCallingConfig":{"mode":"AUTO"}},"generationConfig":{"temperature":1,"topP":0.95,"topK":64,` +
			`"thinkingConfig":{"includeThoughts":true,"thinkingBudget":8192}}}`},
		"opencode": {chatPath, `{"model":"gpt-x","max_tokens":32000,"stream":true,"stream_options":{"include_usage":true},` +
			`"reasoning_effort":"medium","tools":[{"type":"function","function":{"name":"f","parameters":{}}}],` +
			`"tool_choice":"auto","messages":[{"role":"system","content":"s"},{"role":"user","content":[{"type":"text",` +
			`"text":"hi"}]},{"role":"assistant","content":"","tool_calls":[{"id":"c","type":"function","function":{"name":"f",` +
			`"arguments":"{}"}}]},{"role":"tool","tool_call_id":"c","content":"ok"}]}`},
		"qwen": {chatPath, `{"model":"gpt-x","temperature":0,"top_p":1,"stream":true,"metadata":{"sessionId":"s"},` +
			`"vl_high_resolution_images":true,"enable_thinking":true,"messages":[{"role":"user","content":"hi"}]}`},
		"lists that are null": {geminiPath, `{"contents":[{"parts":null}],"generationConfig":{"responseFormat":null,` +
			`"responseModalities":null}}`},
		"edits that are null": {messages, `{"model":"claude-x","max_tokens":9,"context_management":{"edits":null},` +
			`"messages":[]}`},
		"one modality, which is text": {geminiPath, `{"contents":[],"generationConfig":{"responseModalities":"text"}}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPurse(1e12)
			r := newRig(t, vendor, spending(t, p))
			res, body := r.send(t, http.MethodPost, c.path, c.body)
			r.settled()
			reservation, _ := p.one(t)
			if res.StatusCode != http.StatusOK || reservation.InputTokens > int64(len(c.body))+3000 {
				t.Errorf("got %d %s, reserved %+v", res.StatusCode, body, reservation)
			}
		})
	}
}

// The gateway changes only the limit of the output, and only under a cap.
func TestTheLimitOfTheOutputIsTheOnlyChange(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		path, body, want string
		cap              int64
	}{
		"no cap": {messages, `{ "model":"claude-x", "max_tokens":50000 }`, `{ "model":"claude-x", "max_tokens":50000 }`, 0},
		"room":   {messages, `{ "model":"claude-x", "max_tokens":500 }`, `{ "model":"claude-x", "max_tokens":500 }`, 1e12},
		"lowered": {
			messages, `{ "model":"claude-x", "max_tokens": 50000, "stream":false }`,
			`{ "model":"claude-x", "max_tokens": 5545, "stream":false }`, 100_000_000,
		},
		"added": {chatPath, `{ "model":"gpt-x","n":2 }`, `{"max_tokens":2423, "model":"gpt-x","n":2 }`, 100_000_000},
		"two fields": {
			chatPath, `{"model":"gpt-x","max_completion_tokens":9}`,
			`{"max_tokens":9,"model":"gpt-x","max_completion_tokens":9}`, 1e12,
		},
		"beside the usage": {
			chatPath, `{"model":"gpt-x","stream":true}`,
			`{"stream_options":{"include_usage":true},"max_tokens":128000,"model":"gpt-x","stream":true}`, 1e12,
		},
		"of Responses": {
			responsesPath, `{"model":"gpt-x"}`, `{"max_output_tokens":4847,"model":"gpt-x"}`, 100_000_000,
		},
		"of Gemini": {geminiPath, `{}`, `{"generationConfig":{"maxOutputTokens":65536}}`, 1e12},
		"of Gemini, with settings": {
			geminiPath, `{"generation_config":{"topK":1}}`, `{"generation_config":{"maxOutputTokens":65536,"topK":1}}`, 1e12,
		},
		"of Gemini, as text": {
			geminiPath, `{"generationConfig":{"max_output_tokens":"900000"}}`,
			`{"generationConfig":{"max_output_tokens":39873}}`, 100_000_000,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, vendor, spending(t, newPurse(c.cap)))
			r.send(t, http.MethodPost, c.path, c.body)
			var got string
			for _, request := range r.got() {
				got = request.Body
			}
			if got != c.want {
				t.Errorf("the provider got\n%s, want\n%s", got, c.want)
			}
		})
	}
}

// Thinking needs its token budget, so the gateway refuses such a call instead of lowering its limit
// further.
func TestOutputIsNotLoweredBelowTheThinkingBudget(t *testing.T) {
	t.Parallel()
	r := newRig(t, vendor, spending(t, newPurse(100_000_000)))
	res, body := r.send(t, http.MethodPost, messages,
		`{"model":"claude-x","max_tokens":50000,"thinking":{"type":"enabled","budget_tokens":10000}}`)
	if res.StatusCode != http.StatusForbidden || !strings.Contains(body, "no room") {
		t.Errorf("got %d %s", res.StatusCode, body)
	}
}

// counting responds like a provider whose prompts have a number of tokens. Each response has 500
// tokens, if the request allows it.
func counting(prompt int64) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		_ = json.NewDecoder(r.Body).Decode(&body)
		w.Header().Set("Content-Type", "application/json")
		config, _ := body["generationConfig"].(map[string]any)
		for _, limit := range []any{
			body["max_tokens"], body["max_completion_tokens"], body["max_output_tokens"], config["maxOutputTokens"], 500.,
		} {
			if n, ok := limit.(float64); ok {
				respond(w, r, prompt, min(int64(n), 500))
				return
			}
		}
	}
}

func respond(w io.Writer, r *http.Request, prompt, output int64) {
	switch {
	case strings.HasSuffix(r.URL.Path, "count_tokens"), strings.HasSuffix(r.URL.Path, "input_tokens"):
		fmt.Fprintf(w, `{"input_tokens":%d}`, prompt)
	case strings.HasSuffix(r.URL.Path, ":countTokens"):
		fmt.Fprintf(w, `{"totalTokens":%d}`, prompt)
	case strings.HasSuffix(r.URL.Path, "messages"):
		fmt.Fprintf(w, `{"usage":{"input_tokens":%d,"output_tokens":%d}}`, prompt, output)
	case strings.HasSuffix(r.URL.Path, "completions"):
		fmt.Fprintf(w, `{"usage":{"prompt_tokens":%d,"completion_tokens":%d},"service_tier":"priority"}`, prompt, output)
	case strings.HasSuffix(r.URL.Path, "responses"):
		fmt.Fprintf(w, `{"usage":{"input_tokens":%d,"output_tokens":%d},"service_tier":"priority"}`, prompt, output)
	default:
		fmt.Fprintf(w, `{"usageMetadata":{"promptTokenCount":%d,"candidatesTokenCount":%d}}`, prompt, output)
	}
}

// 64 concurrent calls share a budget worth ten: nine or ten are sent, and their cost never exceeds
// the cap.
func TestParallelCallsStayWithinTheBudget(t *testing.T) {
	t.Parallel()
	words := strings.Repeat("word ", 800)
	const prompt, output = 1000, 500
	for name, c := range map[string]struct {
		path, body string
		worth      int64 // of one call, in nano-dollars
	}{
		"messages": {
			messages, `{"model":"claude-x","max_tokens":1000,"messages":[{"role":"user","content":"` + words + `"}]}`,
			prompt*3000 + output*15_000,
		},
		"chat": {
			chatPath, `{"model":"gpt-x","max_tokens":1000,"messages":[{"role":"user","content":"` + words + `"}]}`,
			prompt*2500 + output*20_000,
		},
		"chat without a limit": {
			chatPath, `{"model":"gpt-x","messages":[{"role":"user","content":"` + words + `"}]}`,
			prompt*2500 + output*20_000,
		},
		"responses without a limit": {
			responsesPath, `{"model":"gpt-x","input":"` + words + `"}`, prompt*2500 + output*20_000,
		},
		"gemini without a limit": {
			geminiPath, `{"contents":[{"parts":[{"text":"` + words + `"}]}]}`, prompt*300 + output*2500,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPurse(10 * c.worth)
			r := newRig(t, counting(prompt), spending(t, p))
			var all sync.WaitGroup
			var mu sync.Mutex
			passed := 0
			for range 64 {
				all.Go(func() {
					res, _ := r.send(t, http.MethodPost, c.path, c.body)
					mu.Lock()
					defer mu.Unlock()
					if res.StatusCode == http.StatusOK {
						passed++
					} else if res.StatusCode != http.StatusForbidden {
						t.Errorf("got status %d", res.StatusCode)
					}
				})
			}
			all.Wait()
			r.settled()
			if passed != 9 && passed != 10 {
				t.Errorf("%d calls passed; spent %d of %d", passed, p.spent, p.cap)
			}
			if p.most > p.cap || p.spent > p.cap {
				t.Errorf("spent %d, at most %d at once, of %d", p.spent, p.most, p.cap)
			}
		})
	}
}

// A prompt has far fewer tokens than bytes. If the budget has no room for the bytes, the provider
// counts the tokens.
func TestTheProviderCountsThePrompt(t *testing.T) {
	t.Parallel()
	words := strings.Repeat("word ", 20_000)
	for name, c := range map[string]struct{ path, body, counted string }{
		"messages": {
			messages,
			`{"model":"claude-x","max_tokens":10,"stream":true,"messages":[{"role":"user","content":"` + words + `"}]}`,
			`{"model":"claude-x","messages":[{"role":"user","content":"` + words + `"}]}`,
		},
		"responses": {
			responsesPath, `{"model":"gpt-x","input":"` + words + `","store":false,"max_output_tokens":16}`,
			`{"model":"gpt-x","input":"` + words + `"}`,
		},
		"gemini": {
			geminiPath, `{"contents":[{"parts":[{"text":"` + words + `"}]}],"generationConfig":{"maxOutputTokens":10}}`,
			`{"generateContentRequest":{"model":"models/gemini-x","contents":[{"parts":[{"text":"` + words +
				`"}]}],"generationConfig":{"maxOutputTokens":10}}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPurse(20_000_000) // has room for 5,000 tokens, but not for 100,000
			r := newRig(t, counting(2000), spending(t, p))
			res, body := r.send(t, http.MethodPost, c.path, c.body)
			r.settled()
			got := r.got()
			if res.StatusCode != http.StatusOK || len(got) != 2 {
				t.Fatalf("got %d %s with %d requests", res.StatusCode, body, len(got))
			}
			if got[0].Body != c.counted || got[0].Header.Get("X-Api-Key")+got[0].Header.Get("Authorization")+
				got[0].Header.Get("X-Goog-Api-Key") == "" {
				t.Errorf("counted %.300s with %v", got[0].Body, got[0].Header)
			}
			reservation, _ := p.one(t)
			if want := int64(2000 + 100 + 500); reservation.InputTokens != want {
				t.Errorf("reserved %d tokens, want %d", reservation.InputTokens, want)
			}
		})
	}
}

// After the first refusal, the session sends no call, even if it would fit.
func TestTheFirstRefusalOfABudgetIsFinal(t *testing.T) {
	t.Parallel()
	p := newPurse(100_000_000)
	r := newRig(t, counting(100_000), spending(t, p))
	res, body := r.send(t, http.MethodPost, messages,
		`{"model":"claude-x","max_tokens":10,"system":"`+strings.Repeat("word ", 100_000)+`"}`)
	if res.StatusCode != http.StatusForbidden {
		t.Fatalf("got %d %s", res.StatusCode, body)
	}
	res, body = r.send(t, http.MethodPost, messages, `{"model":"claude-x","max_tokens":1}`)
	if res.StatusCode != http.StatusForbidden || !strings.Contains(body, "no room") {
		t.Errorf("a small call got %d %s", res.StatusCode, body)
	}
	for _, refused := range r.refusals() {
		if refused.Spend == nil || refused.Spend.Budget == nil || !refused.Spend.Pause {
			t.Errorf("refused with %+v", refused)
		}
	}
}

func (r *rig) refusals() []gateway.Refusal {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.refused
}

// The vendors' SDKs show why a budget refuses a call, and do not repeat the call.
func TestTheVendorsSDKsShowASpentBudget(t *testing.T) {
	t.Parallel()
	for name, ask := range map[string]func(*testing.T, *rig) (string, error){
		"anthropic": askAnthropic, "chat": askChat, "responses": askResponses, "gemini": askGemini,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPurse(1)
			r := newRig(t, vendor, spending(t, p))
			_, err := ask(t, r)
			if err == nil {
				t.Fatal("the request got a response")
			}
			shown := err.Error()
			if e, ok := errors.AsType[*openai.Error](err); ok {
				shown = e.Message
			}
			if n := len(r.refusals()); n != 1 || !strings.Contains(shown, "The budget of this run has no room") {
				t.Errorf("got %q after %d requests", shown, n)
			}
		})
	}
}

// silent is a control plane that does not respond.
type silent struct {
	*purse

	asked chan struct{}
}

func (s silent) Reserve(ctx context.Context, _ penstock.Reservation) (penstock.Reserved, error) {
	close(s.asked)
	<-ctx.Done()
	return penstock.Reserved{}, context.Cause(ctx)
}

// While the control plane does not respond, the call waits and is not sent.
func TestACallThatCannotBeCountedIsNotSent(t *testing.T) {
	t.Parallel()
	s := silent{newPurse(0), make(chan struct{})}
	opts := spending(t, s.purse)
	opts.Spend = s
	r := newRig(t, vendor, opts)
	var agent sync.WaitGroup
	agent.Go(func() {
		body := strings.NewReader(`{"model":"claude-x"}`)
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, r.relay+messages, body)
		if res, err := http.DefaultTransport.RoundTrip(req); err == nil {
			_ = res.Body.Close()
			if res.StatusCode < http.StatusBadRequest { // the session may end before its refusal is written, or after
				t.Errorf("the agent got %d", res.StatusCode)
			}
		}
	})
	<-s.asked
	r.session.Close()
	agent.Wait()
	if n := len(r.got()); n > 0 {
		t.Errorf("%d requests were sent", n)
	}
}

// A waiting call is sent after the other call has settled, but not if its agent disconnects.
func TestACallWaitsForAnotherToSettle(t *testing.T) {
	t.Parallel()
	const body = `{"model":"claude-x","max_tokens":1000}`
	release, begun := make(chan struct{}), make(chan struct{}, 2)
	p := newPurse(30_000_000) // room for one whole bound
	r := newRig(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "count_tokens") {
			http.NotFound(w, r)
			return
		}
		begun <- struct{}{}
		<-release
		respond(w, r, 10, 10)
	}, spending(t, p))
	var agents sync.WaitGroup
	agents.Go(func() { r.send(t, http.MethodPost, messages, body) })
	<-begun
	impatient, hangUp := context.WithCancel(t.Context())
	agents.Go(func() {
		req, _ := http.NewRequestWithContext(impatient, http.MethodPost, r.relay+messages, strings.NewReader(body))
		if res, err := http.DefaultTransport.RoundTrip(req); err == nil {
			_ = res.Body.Close()
			t.Errorf("the agent that hung up got %d", res.StatusCode)
		}
	})
	p.wantAsks(t, 2)
	hangUp()
	n := p.asks()
	agents.Go(func() {
		if res, text := r.send(t, http.MethodPost, messages, body); res.StatusCode != http.StatusOK {
			t.Errorf("the call that waited got %d %s", res.StatusCode, text)
		}
	})
	p.wantAsks(t, n+1)
	close(release)
	agents.Wait()
	r.settled()
	if n := len(begun); n != 1 { // besides the first
		t.Errorf("%d calls were sent after the first", n)
	}
	if p.reservedNow() > 0 {
		t.Errorf("%d nano-dollars are still held", p.reservedNow())
	}
}

// wantAsks waits until a purse was asked n times.
func (p *purse) wantAsks(t *testing.T, n int) {
	t.Helper()
	testkit.Eventually(t, time.Minute, func() error {
		if got := p.asks(); got < n {
			return fmt.Errorf("asked %d times, want %d", got, n)
		}
		return nil
	})
}

func (p *purse) asks() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.asked)
}

// gate holds a reservation until the test releases it.
type gate struct {
	*purse

	asked, open chan struct{}
}

func (g gate) Reserve(ctx context.Context, r penstock.Reservation) (penstock.Reserved, error) {
	close(g.asked)
	<-g.open
	return g.purse.Reserve(ctx, r)
}

// An agent that disconnects while its call is counted pays nothing.
func TestDisconnectBeforeTheCallIsSentFreesItsReservation(t *testing.T) {
	t.Parallel()
	g := gate{newPurse(1e12), make(chan struct{}), make(chan struct{})}
	opts := spending(t, g.purse)
	opts.Spend = g
	r := newRig(t, vendor, opts)
	noticed := make(chan struct{})
	relay := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		context.AfterFunc(q.Context(), func() { close(noticed) })
		r.session.ServeHTTP(w, q)
	}))
	defer relay.Close()
	ctx, hangUp := context.WithCancel(t.Context())
	var agent sync.WaitGroup
	agent.Go(func() {
		body := strings.NewReader(`{"model":"claude-x"}`)
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, relay.URL+messages, body)
		if res, err := http.DefaultTransport.RoundTrip(req); err == nil {
			_ = res.Body.Close()
		}
	})
	<-g.asked
	hangUp()
	agent.Wait()
	<-noticed
	close(g.open)
	r.settled()
	if n := len(r.got()); n > 0 {
		t.Errorf("%d requests were sent", n)
	}
	if _, s := g.one(t); !s.Unsent {
		t.Errorf("settled as %+v", s)
	}
}
