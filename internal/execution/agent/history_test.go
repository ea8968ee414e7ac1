package agent

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock/internal/execution/acp"
)

func calls(ids ...string) message {
	m := message{Role: roleAssistant}
	for _, id := range ids {
		name := "run_command"
		if strings.HasPrefix(id, "ask") {
			name = toolAskUser
		}
		m.Parts = append(m.Parts, part{Kind: partCall, CallID: id, Tool: name, Input: json.RawMessage("{}")})
	}
	return m
}

func results(ids ...string) message {
	m := message{Role: roleTool}
	for _, id := range ids {
		m.Parts = append(m.Parts, part{Kind: partResult, CallID: id, Text: "done"})
	}
	return m
}

func TestOpenCallsAreClosed(t *testing.T) {
	t.Parallel()
	user := message{Role: roleUser, Parts: []part{text("hi")}}
	tests := []struct {
		name    string
		history []message
		want    []string // the results at the end: id, a colon, and how the call ended
	}{
		{"nothing", nil, nil},
		{"no calls", []message{user, {Role: roleAssistant, Parts: []part{text("hello")}}}, nil},
		{"all have results", []message{user, calls("a", "b"), results("a", "b")}, []string{"a: done", "b: done"}},
		{"none has", []message{user, calls("a", "b")}, []string{"a: interrupted", "b: interrupted"}},
		{
			"some have",
			[]message{user, calls("a", "b", "c"), results("b")},
			[]string{"b: done", "a: interrupted", "c: interrupted"},
		},
		{"a question", []message{user, calls("a", "ask"), results("a")}, []string{"a: done", "ask: answered"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			closed := closeCalls(tt.history)
			var got []string
			if n := len(closed); n > 0 && closed[n-1].Role == roleTool {
				for _, p := range closed[n-1].Parts {
					how := map[string]string{interrupted: "interrupted", answered: "answered"}[p.Text]
					if how == "" {
						how = p.Text
					}
					got = append(got, p.CallID+": "+how)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if open := openCalls(closed); len(open) > 0 {
				t.Errorf("still open: %v", open)
			}
		})
	}
}

func TestOldOutputMakesRoom(t *testing.T) {
	t.Parallel()
	p := providers[0]
	// Each step reads 60 KB, about 15,000 tokens, so the model's prompt limit is reached long
	// before the end.
	const steps = 30
	events := func(i int) []string {
		lines := p.events(
			said{calls: []saidCall{{"call_" + string(rune('a'+i)), "read_files", `{"files":[{"path":"big"}]}`}}},
		)
		used := min(15_000*(i+1), 140_000)
		lines[0] = strings.Replace(lines[0], `"input_tokens":100`, `"input_tokens":`+string(mustJSON(used)), 1)
		return lines
	}
	fake := newFakeModel(t)
	for i := range steps {
		fake.responses = append(fake.responses, stream(events(i)...))
	}
	fake.responses = append(fake.responses, p.stream(said{text: "Read."}))
	h := start(t, func(c *Config) {
		c.Model = p.model
		p.config(c, fake.URL)
	})
	h.write("big", strings.Repeat("0123456789\n", 6000))
	h.say(h.open(), "read", acp.StopEndTurn)
	requests := fake.seen()
	last := requests[len(requests)-1].body
	if !strings.Contains(last, "removed to save space") || !strings.Contains(last, "0123456789") {
		t.Errorf("old output is there still, or none is left at all (%d bytes)", len(last))
	}
	for i, r := range requests {
		if tokens := len(r.body) / charToken; tokens > maxContext {
			t.Errorf("request %d has about %d tokens", i+1, tokens)
		}
	}
}

func TestAPromptThatIsTooLong(t *testing.T) {
	t.Parallel()
	p := providers[0]
	h, fake := withModel(t, p)
	h.say(h.open(), strings.Repeat("x", maxContext*charToken+100), acp.StopMaxTokens)
	if n := len(fake.seen()); n != 0 {
		t.Errorf("%d requests were made", n)
	}
}

func TestASaveIsAtomic(t *testing.T) {
	t.Parallel()
	st := store{dir: t.TempDir()}
	s := savedSession{Version: savedVersion, ID: "01890a5d-ac96-774b-bcce-b302099a8057", Model: "m"}
	for i := range 3 {
		s.History = append(s.History, message{Role: roleUser, Parts: []part{text(strings.Repeat("x", i))}})
		if err := st.save(s); err != nil {
			t.Fatal(err)
		}
		got, err := st.load(s.ID)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(s, got); diff != "" {
			t.Errorf("(-saved +loaded):\n%s", diff)
		}
	}
	entries, err := os.ReadDir(filepath.Join(st.dir, "sessions"))
	if err != nil || len(entries) != 1 {
		t.Errorf("files = %v, %v; want the session alone", entries, err)
	}
	if info, err := entries[0].Info(); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode = %v, %v", info.Mode(), err)
	}
}

func TestEveryDamageOfASavedSessionIsAnErrorOrHarmless(t *testing.T) {
	t.Parallel()
	const id = "01890a5d-ac96-774b-bcce-b302099a8057"
	whole := mustJSON(savedSession{Version: savedVersion, ID: id, Model: "demo/offline", History: []message{
		{Role: roleUser, Parts: []part{text("demo: say hi")}}, calls("a", "ask"), results("a"),
	}})
	st := store{dir: t.TempDir()}
	path, err := st.path(id)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	try := func(data []byte) (loaded bool) {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		s, err := st.load(id)
		if err != nil {
			return false
		}
		_ = closeCalls(s.History)
		_, _ = demo{directives: true}.next(s.History)
		_ = anthropicMessages(s.History)
		_ = openaiMessages("", s.History)
		_ = googleContents(s.History)
		return true
	}
	for n := range whole {
		if try(whole[:n]) {
			t.Errorf("the first %d of %d bytes were loaded as a session", n, len(whole))
		}
		for _, b := range []byte{0, '"', '}', '0'} {
			changed := bytes.Clone(whole)
			changed[n] = b
			try(changed)
		}
	}
	if !try(whole) {
		t.Error("the undamaged session was not loaded")
	}
}
