package agent

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock/internal/execution/acp"
)

// chat is an event of a stream with this delta.
func chat(delta string) string {
	return `data: {"object":"chat.completion.chunk","choices":[{"index":0,"delta":` + delta + `,"finish_reason":null}]}`
}

const chatEnd = `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`

func piece(calls string) string { return chat(`{"tool_calls":[` + calls + `]}`) }

// Servers that are compatible with OpenAI's disagree about how the pieces of calls are marked.
func TestToolCallsOfCompatibleServers(t *testing.T) {
	t.Parallel()
	two := []string{`run_command {"command":"a"}`, `run_command {"command":"b"}`}
	other := []string{`run_command {"command":"a"}`, `read_files {"paths":["b"]}`}
	tests := []struct {
		name   string
		pieces []string
		want   []string
	}{
		{"as OpenAI sends them", []string{
			piece(`{"index":0,"id":"x","function":{"name":"run_command","arguments":""}}`),
			piece(`{"index":0,"function":{"arguments":"{\"command\":"}}`),
			piece(`{"index":1,"id":"y","function":{"name":"run_command","arguments":"{\"com"}}`),
			piece(`{"index":0,"function":{"arguments":"\"a\"}"}}`),
			piece(`{"index":1,"function":{"arguments":"mand\":\"b\"}"}}`),
		}, two},
		{"whole, with one index", []string{
			piece(`{"index":0,"id":"x","function":{"name":"run_command","arguments":"{\"command\":\"a\"}"}}`),
			piece(`{"index":0,"id":"y","function":{"name":"run_command","arguments":"{\"command\":\"b\"}"}}`),
		}, two},
		{"in pieces, with one index", []string{
			piece(`{"index":0,"id":"x","function":{"name":"run_command","arguments":""}}`),
			piece(`{"index":0,"function":{"arguments":"{\"command\":\"a\"}"}}`),
			piece(`{"index":0,"id":"y","function":{"name":"read_files","arguments":""}}`),
			piece(`{"index":0,"function":{"arguments":"{\"paths\":"}}`),
			piece(`{"index":0,"function":{"arguments":"[\"b\"]}"}}`),
		}, other},
		{"with one index and interleaved by id", []string{
			piece(`{"index":0,"id":"x","function":{"name":"run_command","arguments":""}}`),
			piece(`{"index":0,"id":"y","function":{"name":"read_files","arguments":""}}`),
			piece(`{"index":0,"id":"x","function":{"arguments":"{\"command\":\"a\"}"}}`),
			piece(`{"index":0,"id":"y","function":{"arguments":"{\"paths\":[\"b\"]}"}}`),
		}, other},
		{"without index and id", []string{
			piece(`{"function":{"name":"run_command","arguments":"{\"command\":\"a\"}"}}`),
			piece(`{"function":{"name":"run_command","arguments":"{\"command\":"}}`),
			piece(`{"function":{"arguments":"\"b\"}"}}`),
		}, two},
		{"in one event, without index", []string{
			piece(`{"id":"x","function":{"name":"run_command","arguments":"{\"command\":\"a\"}"}},` +
				`{"id":"y","function":{"name":"read_files","arguments":"{\"paths\":[\"b\"]}"}}`),
		}, other},
		{"names and ids in each piece", []string{
			piece(`{"index":0,"id":"x","function":{"name":"run_command","arguments":"{\"com"}}`),
			piece(`{"index":0,"id":"x","function":{"name":"run_command","arguments":"mand\":\"a\"}"}}`),
			piece(`{"index":1,"id":"y","function":{"name":"run_command","arguments":"{\"command\""}}`),
			piece(`{"index":1,"id":"y","function":{"name":"run_command","arguments":":\"b\"}"}}`),
		}, two},
		{"another id in each piece", []string{
			piece(`{"index":0,"id":"x1","function":{"name":"run_command","arguments":"{\"com"}}`),
			piece(`{"index":0,"id":"x2","function":{"arguments":"mand\":\"a\"}"}}`),
			piece(`{"index":1,"id":"x3","function":{"name":"run_command","arguments":"{\"command\":\"b\"}"}}`),
		}, two},
		{"the same id for all", []string{
			piece(`{"index":0,"id":"call","function":{"name":"run_command","arguments":"{\"command\":\"a\"}"}}`),
			piece(`{"index":1,"id":"call","function":{"name":"run_command","arguments":"{\"command\":\"b\"}"}}`),
		}, two},
		{"the same id and index for all", []string{
			piece(`{"index":0,"id":"call","function":{"name":"run_command","arguments":"{\"command\":\"a\"}"}}`),
			piece(`{"index":0,"id":"call","function":{"name":"run_command","arguments":"{\"command\":\"b\"}"}}`),
		}, two},
		{"empty ids and null", []string{
			piece(`{"index":0,"id":"","type":null,"function":{"name":"run_command","arguments":null}}`),
			piece(`{"index":0,"id":null,"function":{"name":null,"arguments":"{\"command\":\"a\"}"}}`),
			piece(`{"index":1,"id":"","function":{"name":"run_command","arguments":"{\"command\":\"b\"}"}}`),
		}, two},
		{"arguments as an object", []string{
			piece(`{"index":0,"id":"x","function":{"name":"run_command","arguments":{"command":"a"}}}`),
		}, two[:1]},
		{"the whole call again", []string{
			piece(`{"index":0,"id":"x","function":{"name":"run_command","arguments":"{\"command\":\"a\"}"}}`),
			piece(`{"index":0,"id":"x","function":{"name":"run_command","arguments":"{\"command\":\"a\"}"}}`),
		}, two[:1]},
		{"more of the arguments each time", []string{
			piece(`{"index":0,"id":"x","function":{"name":"run_command","arguments":"{\"comm"}}`),
			piece(`{"index":0,"id":"x","function":{"name":"run_command","arguments":"{\"command\":\"a"}}`),
			piece(`{"index":0,"id":"x","function":{"name":"run_command","arguments":"{\"command\":\"a\"}"}}`),
		}, two[:1]},
		{"a name in pieces", []string{
			piece(`{"index":0,"id":"x","function":{"name":"run_","arguments":""}}`),
			piece(`{"index":0,"function":{"name":"command","arguments":"{\"command\":\"a\"}"}}`),
		}, two[:1]},
		{"an index that is a text", []string{
			piece(`{"index":"0","id":"x","function":{"name":"run_command","arguments":"{\"command\":\"a\"}"}}`),
		}, two[:1]},
		{"without arguments", []string{
			piece(`{"index":0,"id":"x","function":{"name":"run_command"}}`),
			piece(`{"index":1,"id":"y","function":{"name":"read_files","arguments":{}}}`),
		}, []string{"run_command {}", "read_files {}"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := providers[1]
			h, fake := withModel(t, p, stream(append(tt.pieces, chatEnd, "data: [DONE]")...), p.stream(said{text: "Done."}))
			h.say(h.open(), "hi", acp.StopEndTurn)
			var request struct {
				Messages []struct {
					ToolCallID string `json:"tool_call_id"`
					ToolCalls  []struct {
						ID       string `json:"id"`
						Function struct {
							Name      string `json:"name"`
							Arguments string `json:"arguments"`
						} `json:"function"`
					} `json:"tool_calls"`
				} `json:"messages"`
			}
			if err := json.Unmarshal([]byte(fake.seen()[1].body), &request); err != nil {
				t.Fatal(err)
			}
			var got []string
			results := map[string]int{}
			for _, m := range request.Messages {
				for _, c := range m.ToolCalls {
					got = append(got, c.Function.Name+" "+c.Function.Arguments)
					results[c.ID]--
				}
				if m.ToolCallID != "" {
					results[m.ToolCallID]++
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("the calls (-want +got):\n%s", diff)
			}
			if len(results) != len(got) {
				t.Errorf("%d calls have %d ids", len(got), len(results))
			}
			for id, n := range results {
				if n != 0 || id == "" {
					t.Errorf("call %q has %d results", id, n+1)
				}
			}
		})
	}
}

// Each call of a session has an id of its own, also if a server begins anew with each response.
func TestIDsOfCallsAreNotUsedAgain(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p provider) {
		call := p.stream(said{calls: []saidCall{{"call_0", "run_command", `{"command":"true"}`}}})
		h, _ := withModel(t, p, call, call, p.stream(said{text: "Done."}))
		h.say(h.open(), "hi", acp.StopEndTurn)
		if n := len(h.calls()); n != 2 {
			t.Errorf("the client sees %d calls, want 2", n)
		}
	})
}

// What compatible servers send as text and thoughts.
func TestContentOfCompatibleServers(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name          string
		response      http.HandlerFunc
		text, thought string
	}{
		{"blocks of text and thinking", stream(
			chat(`{"role":"assistant","content":[{"type":"thinking","thinking":[{"type":"text","text":"Hm"},`+
				`{"type":"text","text":"m."}]}]}`),
			chat(`{"content":[{"type":"thinking","thinking":"Yes.","closed":true},{"type":"text","text":"He"}]}`),
			chat(`{"content":"llo"}`), chatEnd,
		), "Hello", "Hmm.Yes."},
		{"other blocks", stream(
			chat(`{"content":["a",{"type":"output_text","text":"b"},{"type":"reference","reference_ids":[1]},7,null]}`), chatEnd,
		), "ab", ""},
		{
			"reasoning",
			stream(chat(`{"content":"","reasoning":"Hm"}`), chat(`{"reasoning":"m."}`), chat(`{"content":"Hi"}`), chatEnd),
			"Hi", "Hmm.",
		},
		{"one thought in three fields", stream(
			chat(`{"reasoning":"Hm","reasoning_content":"Hm","reasoning_details":[{"type":"reasoning.text","text":"Hm"}]}`),
			chat(`{"content":"Hi"}`), chatEnd,
		), "Hi", "Hm"},
		{"reasoning_details", stream(
			chat(`{"reasoning_details":[{"type":"reasoning.text","text":"Hm"},{"type":"reasoning.encrypted","data":"xx"}]}`),
			chat(`{"reasoning_details":[{"type":"reasoning.summary","summary":"m."}],"content":"Hi"}`), chatEnd,
		), "Hi", "Hmm."},
		{"null everywhere", stream(
			`data: {"error":null,"detail":null,"usage":null,"choices":[{"delta":{"content":null,"tool_calls":null,`+
				`"refusal":null,"reasoning":null},"finish_reason":""}]}`,
			chat(`{"content":"Hi"}`), chatEnd,
		), "Hi", ""},
		{"no reason at the end", stream(chat(`{"content":"Hi"}`), "data: [DONE]"), "Hi", ""},
		{"no empty line at the end", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			fmt.Fprint(w, chat(`{"content":"Hi"}`), "\n\n", chatEnd)
		}, "Hi", ""},
		{"comments, and lines of Windows", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
			fmt.Fprint(w, ": keep-alive\r\n\r\n", chat(`{"content":"Hi"}`), "\r\n\r\n", chatEnd, "\r\n\r\n")
		}, "Hi", ""},
		{"a stream of another type", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/plain")
			fmt.Fprint(w, chat(`{"content":"Hi"}`), "\n\n", chatEnd, "\n\n")
		}, "Hi", ""},
		{"no stream", fails(200, `{"object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant",`+
			`"content":"Hi","reasoning":"Hm"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5}}`), "Hi", "Hm"},
		{"cut within a letter", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			for _, b := range []byte(chat(`{"content":"Grüß Gott 😀"}`) + "\n\n" + chatEnd + "\n\n") {
				_, _ = w.Write([]byte{b})
				_ = http.NewResponseController(w).Flush()
			}
		}, "Grüß Gott 😀", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h, _ := withModel(t, providers[1], tt.response)
			h.say(h.open(), "hi", acp.StopEndTurn)
			if got, thought := h.text(), h.chunks(acp.UpdateAgentThought); got != tt.text || thought != tt.thought {
				t.Errorf("got the text %q and the thought %q, want %q and %q", got, thought, tt.text, tt.thought)
			}
		})
	}
}

// An error within a response that began well ends the attempt. Its sentence has provider and message.
func TestErrorsOfCompatibleServers(t *testing.T) {
	t.Parallel()
	half := chat(`{"content":"Half"}`)
	tests := []struct {
		name     string
		response http.HandlerFunc
		again    bool // another attempt may help
		want     string
	}{
		{"a text", stream(half, `data: {"error":"STREAM_EXPLODED"}`, "data: [DONE]"), true, "openai: STREAM_EXPLODED"},
		{"an object", stream(half, `data: {"error":{"message":"overloaded","type":"server_error"}}`), true, "overloaded"},
		{
			"with a status", stream(`data: {"error":{"message":"too long","code":400}}`),
			false, "openai returned 400: too long",
		},
		{
			"with a status as text", stream(`data: {"error":{"message":"wait","code":"429"}}`),
			true, "openai returned 429: wait",
		},
		{
			"of a request", stream(`data: {"error":{"message":"no such tool","type":"invalid_request_error"}}`),
			false, "no such tool",
		},
		{"of quota", stream(`data: {"error":{"message":"pay","code":"insufficient_quota"}}`), false, "pay"},
		{"as an event", stream(half, "event: error\ndata: {\"message\":\"gone\"}"), true, "gone"},
		{
			"as an event that is no JSON", stream(half, "event: error\ndata: Internal Server Error"),
			true, "Internal Server Error",
		},
		{"no JSON", stream(half, "data: upstream connect error"), true, "upstream connect error"},
		{
			"of vLLM",
			stream(`data: {"object":"error","message":"max_tokens is too large","type":"BadRequestError","code":400}`),
			false, "openai returned 400: max_tokens is too large",
		},
		{"of FastAPI", stream(`data: {"detail":"worker died"}`), true, "worker died"},
		{
			"in the choice", stream(`data: {"choices":[{"delta":{"content":""},"finish_reason":"error",` +
				`"error":{"code":502,"message":"bad upstream"}}]}`),
			true, "openai returned 502: bad upstream",
		},
		{
			"as the reason", stream(half, `data: {"choices":[{"delta":{},"finish_reason":"error"}]}`),
			true, "ended with an error",
		},
		{"a document", fails(200, `{"error":{"message":"not loaded"}}`), true, "not loaded"},
		{"an empty document", fails(200, `{}`), true, "empty"},
		{"a web page", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<html><title>Open WebUI</title></html>")
		}, false, "returned a web page and no response of a model: Open WebUI; check the base URL"},
		{"nothing but the end", stream("data: [DONE]"), true, "empty"},
		{
			"FastAPI's 400", fails(400, `{"detail":"max_tokens too big"}`),
			false, "openai returned 400: max_tokens too big",
		},
		{
			"FastAPI's 422", fails(422, `{"detail":[{"loc":["body","tools"],"msg":"bad","type":"x"}]}`),
			false, "openai returned 422: tools: bad",
		},
		{
			"a plain text", fails(404, "404 page not found", "Content-Type: text/plain"),
			false, "openai returned 404: 404 page not found",
		},
		{
			"a page", fails(403, "<html><title>Blocked</title>", "Content-Type: text/html"),
			false, "openai returned 403: Blocked",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			attempts := 1
			if tt.again {
				attempts = maxAttempts
			}
			var responses []http.HandlerFunc
			for range attempts {
				responses = append(responses, tt.response)
			}
			h, fake := withModel(t, providers[1], responses...)
			_, err := h.Prompt(h.ctx, h.open(), acp.Text("hi"))
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, want %q", err, tt.want)
			}
			if n := len(fake.seen()); n != attempts {
				t.Errorf("%d requests, want %d", n, attempts)
			}
		})
	}
}

// People who read the transcript see that the text of a failed attempt does not count, and the model
// does not see the text.
func TestTheTextOfAFailedAttemptIsMarked(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p provider) {
		lines := 5
		if p.name != "anthropic" {
			lines = 2
		}
		h, fake := withModel(
			t, p, thenBreaks(p.cut(said{text: "Half of it", lines: lines})...), p.stream(said{text: "Whole."}),
			p.stream(said{text: "Next."}),
		)
		id := h.open()
		h.say(id, "hi", acp.StopEndTurn)
		h.say(id, "and?", acp.StopEndTurn)
		messages := map[string]string{}
		for _, u := range h.told(func(u acp.Update) bool { return u.Kind == acp.UpdateAgentMessage }) {
			messages[u.Chunk.MessageID] += u.Chunk.Content.Text
		}
		marked, whole := false, false
		for _, text := range messages {
			marked = marked || strings.HasPrefix(text, "Half") && strings.HasSuffix(text, "["+brokenResponse+"]")
			whole = whole || text == "Whole."
		}
		if !marked || !whole {
			t.Errorf("the messages are %q", messages)
		}
		if last := fake.seen()[2].body; strings.Contains(last, "Half") || !strings.Contains(last, "Whole.") {
			t.Errorf("the model gets %.3000s", last)
		}
	})
}

func TestARetryAfterThatIsTooLong(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p provider) {
		later := time.Now().Add(5 * time.Hour).UTC()
		header := "Retry-After: " + later.Format(http.TimeFormat)
		h, fake := withModel(t, p, fails(429, `{"error":{"message":"quota used up"}}`, header))
		_, err := h.Prompt(h.ctx, h.open(), acp.Text("hi"))
		want := "429: quota used up; it accepts requests again at " + later.Format("2006-01-02 15:")
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v", err)
		}
		if n := len(fake.seen()); n != 1 {
			t.Errorf("%d requests, want 1", n)
		}
	})
}

func TestARetryAfterThatIsADate(t *testing.T) {
	t.Parallel()
	p := providers[1]
	var at, again time.Time
	h, _ := withModel(t, p, func(w http.ResponseWriter, r *http.Request) {
		at = time.Now().Add(2 * time.Second).UTC().Truncate(time.Second)
		fails(503, `{}`, "Retry-After: "+at.Format(http.TimeFormat))(w, r)
	}, func(w http.ResponseWriter, r *http.Request) {
		again = time.Now()
		p.stream(said{text: "Now."})(w, r)
	})
	h.say(h.open(), "hi", acp.StopEndTurn)
	if again.Before(at) {
		t.Errorf("tried again at %s, before %s", again, at)
	}
}
