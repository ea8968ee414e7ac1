package agent

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/acp"
)

// withModel starts an agent whose provider gives these responses.
func withModel(t *testing.T, p provider, responses ...http.HandlerFunc) (*harness, *fakeModel) {
	t.Helper()
	fake := newFakeModel(t, responses...)
	h := start(t, func(c *Config) {
		c.Model = p.model
		p.config(c, fake.URL)
	})
	return h, fake
}

// each runs a test for every provider.
func each(t *testing.T, f func(t *testing.T, p provider)) {
	t.Helper()
	for _, p := range providers {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			f(t, p)
		})
	}
}

func TestATurnWithAToolCall(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p provider) {
		h, fake := withModel(t, p,
			p.stream(
				said{
					thought: "Hm.", text: "Let me look.",
					calls: []saidCall{{"call_1", "run_command", `{"command":"echo from-the-tool"}`}},
				},
			),
			p.stream(said{text: "All done."}),
		)
		h.write(".penstock/skills/review/SKILL.md", "---\ndescription: >-\n  How we\n  review\n---\n")
		id := h.open()
		r := h.say(id, "Fix it.", acp.StopEndTurn)

		if got := h.text(); got != "Let me look.All done." {
			t.Errorf("said %q", got)
		}
		if got := h.chunks(acp.UpdateAgentThought); got != "Hm." {
			t.Errorf("thought %q", got)
		}
		if c := h.call(toolRunCommand); c.Output != "from-the-tool\nexit code 0" || c.Kind != acp.ToolExecute ||
			c.Title != "Run echo from-the-tool" {
			t.Errorf("the call was told as %+v", c)
		}
		written := int64(5)
		if p.name == "google" {
			written = 0
		}
		want := acp.TurnUsage{
			TokenUsage: penstock.TokenUsage{Input: 200, Output: 40, CacheRead: 14, CacheWrite: 2 * written},
			ModelID:    p.model, Provider: p.name,
		}
		var usage acp.TurnUsage
		if !r.Meta.Read(acp.MetaUsage, &usage) {
			t.Errorf("no usage in %v", r.Meta)
		}
		if diff := cmp.Diff(want, usage); diff != "" {
			t.Errorf("usage (-want +got):\n%s", diff)
		}
		updates := h.told(func(u acp.Update) bool { return u.Usage != nil })
		if len(updates) != 2 || updates[1].Usage.Used != 127+written || !updates[1].Usage.Meta.Read(acp.MetaUsage, &usage) ||
			usage != want {
			t.Errorf("usage updates = %+v", updates)
		}

		requests := fake.seen()
		if len(requests) != 2 {
			t.Fatalf("%d requests, want 2", len(requests))
		}
		first, second := requests[0], requests[1]
		if first.path != p.path || !strings.HasSuffix(first.header.Get(p.key), "the-key") {
			t.Errorf("asked %s with the key %q", first.path, first.header.Get(p.key))
		}
		for _, want := range []string{
			"built-in agent", h.workspace, "review: How we review", "Fix it.", "edit_files", "old_text",
		} {
			if !strings.Contains(first.body, want) {
				t.Errorf("the first request lacks %q", want)
			}
		}
		for _, want := range []string{"from-the-tool\\nexit code 0", "Let me look.", "echo from-the-tool"} {
			if !strings.Contains(second.body, want) {
				t.Errorf("the second request lacks %q:\n%s", want, second.body)
			}
		}
		if p.name != "openai" && !strings.Contains(second.body, "c2ln") {
			t.Errorf("the provider's signature did not go back:\n%s", second.body)
		}
	})
}

func TestSeveralCallsInOneResponseAllGetResults(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p provider) {
		h, fake := withModel(t, p,
			p.stream(said{calls: []saidCall{
				{"c1", "run_command", `{"command":"echo one"}`},
				{"c2", "no_such_tool", `{}`},
				{"c3", "read_files", `{"files":"not a list"}`},
				{"c4", "ask_user", `{"question":"Which?"}`},
				{"c5", "run_command", `{"command":"echo five"}`},
			}}),
			p.stream(said{text: "Thanks."}),
		)
		id := h.open()
		r := h.say(id, "go", acp.StopEndTurn)
		var blocked acp.Blocked
		if !r.Meta.Read(acp.MetaBlocked, &blocked) || blocked.Question != "Which?" {
			t.Errorf("meta = %v", r.Meta)
		}
		want := []string{
			"run_command completed", "no_such_tool failed", "read_files failed", "ask_user completed", "run_command completed",
		}
		if diff := cmp.Diff(want, names(h.calls())); diff != "" {
			t.Errorf("calls (-want +got):\n%s", diff)
		}
		h.say(id, "The second.", acp.StopEndTurn)
		body := fake.seen()[1].body
		for _, want := range []string{
			"one\\nexit", `the tool \"no_such_tool\" does not exist`, "does not match", answered, "five\\nexit", "The second.",
		} {
			if !strings.Contains(body, want) {
				t.Errorf("the request after the answer lacks %q:\n%s", want, body)
			}
		}
	})
}

func TestStopReasons(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		said said
		want acp.StopReason
	}{
		{"a refusal", said{text: "No.", stop: "refusal"}, acp.StopRefusal},
		{"cut off", said{text: "On and on", stop: "length"}, acp.StopMaxTokens},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			each(t, func(t *testing.T, p provider) {
				h, _ := withModel(t, p, p.stream(tt.said))
				r := h.say(h.open(), "hi", tt.want)
				var usage acp.TurnUsage
				if !r.Meta.Read(acp.MetaUsage, &usage) || usage.Output != 20 {
					t.Errorf("usage = %+v", usage)
				}
			})
		})
	}
}

func TestRefusalsInTheFormOfEachProvider(t *testing.T) {
	t.Parallel()
	tests := []struct {
		provider int
		events   []string
	}{
		{1, []string{
			`data: {"id":"c","choices":[{"index":0,"delta":{"refusal":"I will not."},"finish_reason":null}]}`,
			`data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, "data: [DONE]",
		}},
		{2, []string{`data: {"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"}}`}},
	}
	for _, tt := range tests {
		p := providers[tt.provider]
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			h, _ := withModel(t, p, stream(tt.events...))
			h.say(h.open(), "hi", acp.StopRefusal)
		})
	}
}

func TestCancelWhileTheModelResponds(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p provider) {
		h, fake := withModel(t, p,
			thenHangs(p.cut(said{text: "On it", lines: 4})...),
			p.stream(said{text: "Welcome back."}))
		id := h.open()
		done := make(chan acp.PromptResponse, 1)
		go func() {
			r, err := h.Prompt(h.ctx, id, acp.Text("go"))
			if err != nil {
				t.Error(err)
			}
			done <- r
		}()
		h.await(func(u acp.Update) bool { return u.Kind == acp.UpdateAgentMessage })
		began := time.Now()
		if err := h.Cancel(h.ctx, id); err != nil {
			t.Fatal(err)
		}
		if r := <-done; r.StopReason != acp.StopCancelled {
			t.Errorf("stop reason %q", r.StopReason)
		}
		if took := time.Since(began); took > 30*time.Second {
			t.Errorf("it took %s", took)
		}
		h.say(id, "Again.", acp.StopEndTurn)
		if n := len(fake.seen()); n != 2 {
			t.Errorf("%d requests, want 2", n)
		}
	})
}

func TestAnIncompleteToolCallIsNotRun(t *testing.T) {
	t.Parallel()
	p := providers[0]
	cut := p.events(said{calls: []saidCall{{"c", "run_command", `{"command":"touch owned"}`}}})
	for i := range cut { // the output limit cut the call's input
		cut[i] = strings.Replace(cut[i], `"stop_reason":"tool_use"`, `"stop_reason":"max_tokens"`, 1)
	}
	h, fake := withModel(t, p, stream(cut...), p.stream(said{text: "Sorry."}))
	id := h.open()
	h.say(id, "hi", acp.StopMaxTokens)
	if len(h.calls()) != 0 {
		t.Errorf("calls = %v", names(h.calls()))
	}
	h.say(id, "go on", acp.StopEndTurn)
	if body := fake.seen()[1].body; !strings.Contains(body, "did not finish") {
		t.Errorf("the call without a result was not closed:\n%s", body)
	}
}

func TestBrokenInputIsReportedToTheModel(t *testing.T) {
	t.Parallel()
	p := providers[1] // only OpenAI's format can carry invalid JSON as input
	h, fake := withModel(t, p,
		p.stream(said{calls: []saidCall{{"c", "run_command", `{"command": "echo`}}}),
		p.stream(said{text: "Sorry."}))
	h.say(h.open(), "hi", acp.StopEndTurn)
	if c := h.call(toolRunCommand); c.Status != acp.ToolFailed || !strings.Contains(c.Output, "command is empty") {
		t.Errorf("got %+v", c)
	}
	if body := fake.seen()[1].body; !strings.Contains(body, "broken_json") {
		t.Errorf("the model does not see what it wrote:\n%s", body)
	}
}

func TestPicturesInAPrompt(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, p provider) {
		h, fake := withModel(t, p, p.stream(said{text: "Nice."}))
		_, err := h.Prompt(h.ctx, h.open(),
			acp.Text("What is this?"),
			acp.ContentBlock{Type: "image", MimeType: "image/png", Data: "aW1hZ2U="},
			acp.ContentBlock{Type: "resource_link", Name: "notes", URI: "file:///w/notes.md"},
			acp.ContentBlock{Type: "resource", Resource: &acp.Resource{URI: "file:///w/a", Text: "inline"}},
			acp.ContentBlock{Type: "audio", Data: "x"},
		)
		if err != nil {
			t.Fatal(err)
		}
		body := fake.seen()[0].body
		for _, want := range []string{
			"aW1hZ2U=", "image/png", "notes at file:///w/notes.md", "inline", "type audio was left out",
		} {
			if !strings.Contains(body, want) {
				t.Errorf("the request lacks %q:\n%s", want, body)
			}
		}
	})
}

func TestAConversationMovesFromOneProviderToAnother(t *testing.T) {
	t.Parallel()
	with := func(i int, responses ...http.HandlerFunc) (provider, *fakeModel) {
		return providers[i], newFakeModel(t, responses...)
	}
	var fakes []*fakeModel
	h := start(t, func(c *Config) {
		for i := range providers {
			p, fake := with(
				i, providers[i].stream(said{thought: "Secret of " + providers[i].name, text: "From " + providers[i].name}),
			)
			p.config(c, fake.URL)
			fakes = append(fakes, fake)
		}
	})
	id := h.open()
	h.say(id, "demo: run echo demo was here", acp.StopEndTurn)
	for _, p := range providers {
		if err := h.SetModel(h.ctx, id, p.model); err != nil {
			t.Fatal(err)
		}
		h.say(id, "next", acp.StopEndTurn)
	}
	last := fakes[2].seen()[0].body
	for _, want := range []string{"demo was here", "From anthropic", "From openai"} {
		if !strings.Contains(last, want) {
			t.Errorf("the last provider was not told %q", want)
		}
	}
	if strings.Contains(last, "Secret of") {
		t.Errorf("the last provider was told the thoughts of others:\n%s", last)
	}
}
