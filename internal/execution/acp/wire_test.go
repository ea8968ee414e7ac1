package acp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUpdatesAreReadAndWritten(t *testing.T) {
	t.Parallel()
	old := "a"
	changed := "b"
	output := Text("ok")
	tests := []struct {
		name, wire string
		want       Update
	}{
		{
			"a message", `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hi"},"messageId":"m"}`,
			Update{Kind: UpdateAgentMessage, Chunk: &Chunk{Content: Text("hi"), MessageID: "m"}},
		},
		{
			"a thought without text", `{"sessionUpdate":"agent_thought_chunk","content":{"type":"text","text":""}}`,
			Update{Kind: UpdateAgentThought, Chunk: &Chunk{Content: Text("")}},
		},
		{
			"what the user said, with a resource",
			`{"sessionUpdate":"user_message_chunk","content":{"type":"resource","resource":{"uri":"file:///x","text":"t"}}}`,
			Update{
				Kind:  UpdateUserMessage,
				Chunk: &Chunk{Content: ContentBlock{Type: "resource", Resource: &Resource{URI: "file:///x", Text: "t"}}},
			},
		},
		{
			"a tool call",
			`{"sessionUpdate":"tool_call","toolCallId":"t","title":"Edit","kind":"edit","status":"pending",` +
				`"content":[{"type":"diff","path":"/f","oldText":"a","newText":"b"},{"type":"content","content":{"type":"text",` +
				`"text":"ok"}}],` +
				`"locations":[{"path":"/f","line":3}],"rawInput":{"x":[1]},"_meta":{"penstock.dev/tool":"edit_files"}}`,
			Update{Kind: UpdateToolCall, ToolCall: &ToolCall{
				ID: "t", Title: "Edit", Kind: ToolEdit, Status: ToolPending,
				Content: []ToolCallContent{
					{Type: "diff", Path: "/f", OldText: &old, NewText: &changed}, {Type: "content", Content: &output},
				},
				Locations: []Location{{"/f", 3}}, RawInput: json.RawMessage(`{"x":[1]}`), Meta: NewMeta(MetaTool, "edit_files"),
			}},
		},
		{
			"the end of a tool call",
			`{"sessionUpdate":"tool_call_update","toolCallId":"t","status":"completed","rawOutput":"done"}`,
			Update{
				Kind:     UpdateToolCallUpdate,
				ToolCall: &ToolCall{ID: "t", Status: ToolCompleted, RawOutput: json.RawMessage(`"done"`)},
			},
		},
		{
			"a plan", `{"sessionUpdate":"plan","entries":[{"content":"c","priority":"high","status":"pending"}]}`,
			Update{Kind: UpdatePlan, Plan: &Plan{Entries: []PlanEntry{{"c", "high", "pending"}}}},
		},
		{
			"commands", `{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"n","description":"d"}]}`,
			Update{Kind: UpdateCommands, Commands: &Commands{Available: []Command{{"n", "d"}}}},
		},
		{
			"a mode", `{"sessionUpdate":"current_mode_update","currentModeId":"m"}`,
			Update{Kind: UpdateMode, Mode: &ModeUpdate{Current: "m"}},
		},
		{
			"options",
			`{"sessionUpdate":"config_option_update","configOptions":[{"id":"i","name":"n","type":"select",` +
				`"currentValue":"v"}]}`,
			Update{Kind: UpdateConfigOptions, ConfigOptions: &ConfigOptions{Options: []ConfigOption{
				{ID: "i", Name: "n", Type: "select", CurrentValue: json.RawMessage(`"v"`)},
			}}},
		},
		{
			"a title", `{"sessionUpdate":"session_info_update","title":"t"}`,
			Update{Kind: UpdateSessionInfo, Info: &SessionInfo{Title: "t"}},
		},
		{
			"usage", `{"sessionUpdate":"usage_update","used":0,"size":10,"cost":{"amount":0.5,"currency":"USD"}}`,
			Update{Kind: UpdateUsage, Usage: &UsageUpdate{Size: 10, Cost: &Price{0.5, "USD"}}},
		},
		{
			"a kind that nobody knows", `{"sessionUpdate":"dance","steps":[1,2]}`,
			Update{Kind: "dance"},
		},
		{
			"a kind that we know in a form that we do not", `{"sessionUpdate":"plan","entries":"none"}`,
			Update{Kind: UpdatePlan},
		},
		{"no kind", `{"entries":[]}`, Update{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var got Update
			if err := json.Unmarshal([]byte(tt.wire), &got); err != nil {
				t.Fatal(err)
			}
			if string(got.Raw) != tt.wire {
				t.Errorf("Raw = %s", got.Raw)
			}
			tt.want.Raw = got.Raw
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("read (-want +got):\n%s", diff)
			}
			written, err := json.Marshal(got)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.wire, string(written)); diff != "" {
				t.Errorf("written (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRequiredKeysAreWritten(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name string
		v    any
		want string
	}{
		{"an empty text", Text(""), `{"type":"text","text":""}`},
		{"a link", ContentBlock{Type: "resource_link", Name: "n", URI: "u"}, `{"type":"resource_link","uri":"u","name":"n"}`},
		{"a bare stdio server", MCPServer{Name: "n", Command: "c"}, `{"name":"n","command":"c","args":[],"env":[]}`},
		{
			"a bare remote server",
			MCPServer{Name: "n", Type: "sse", URL: "u"},
			`{"type":"sse","name":"n","url":"u","headers":[]}`,
		},
		{
			"a session without servers",
			NewSessionRequest{Cwd: "/", MCPServers: some[MCPServer](nil)},
			`{"cwd":"/","mcpServers":[]}`,
		},
		{"a new file", Diff("/f", nil, ""), `{"type":"diff","path":"/f","newText":""}`},
		{"a refused permission", PermissionOutcome{}.response(), `{"outcome":{"outcome":"cancelled"}}`},
		{
			"a granted permission", PermissionOutcome{OptionID: "o"}.response(),
			`{"outcome":{"outcome":"selected","optionId":"o"}}`,
		},
		{"an empty update", Update{Kind: "idle"}, `{"sessionUpdate":"idle"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := json.Marshal(tt.v)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestLineReader(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("y", 100_000)
	tests := []struct {
		name, in string
		most     int
		want     []string
		end      error
	}{
		{"lines and a rest without a line feed", "a\n\n  \r\nb\r\nc", 10, []string{"a", "b", "c"}, io.EOF},
		{"nothing", "", 10, nil, io.EOF},
		{"only line feeds", "\n\n\n", 10, nil, io.EOF},
		{"longer than the buffer", long + "\nz\n", 100_000, []string{long, "z"}, io.EOF},
		{"exactly the limit", "12345\n12345", 5, []string{"12345", "12345"}, io.EOF},
		{"one too many", "ok\n123456\n", 5, []string{"ok"}, ErrLineTooLong},
		{"one too many at the end", "123456", 5, nil, ErrLineTooLong},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := newLineReader(strings.NewReader(tt.in), tt.most)
			var got []string
			for {
				line, err := r.next()
				if err != nil {
					if !errors.Is(err, tt.end) {
						t.Errorf("ended with %v, want %v", err, tt.end)
					}
					break
				}
				got = append(got, string(line))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// FuzzLine: each line of any input is read, skipped or refused. A message that was read can be
// written and read again.
func FuzzLine(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x","data":[1]}}`,
		`{"jsonrpc":"2.0","id":"a","result":null}` + "\n" + `{"id":1.5,"error":"x"}`,
		`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"plan",` +
			`"entries":[]}}}`,
		`{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"tool_call",` +
			`"content":[{"type":"diff"}]}}}`,
		"\xff\n\r\n[]\n{}\n{\"a\":",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		lines := newLineReader(bytes.NewReader(data), 4096)
		for {
			line, err := lines.next()
			if err != nil {
				if !errors.Is(err, io.EOF) && !errors.Is(err, ErrLineTooLong) {
					t.Fatalf("reading ended with %v", err)
				}
				return
			}
			if bytes.ContainsRune(line, '\n') || len(line) > 4096 {
				t.Fatalf("bad line %q", line)
			}
			m, err := parseLine(line)
			if err != nil {
				continue
			}
			again, err := encodeLine(m)
			if err != nil {
				t.Fatalf("a message that was read cannot be written: %v", err)
			}
			if n := bytes.IndexByte(again, '\n'); n != len(again)-1 {
				t.Fatalf("a line feed in the middle of %q", again)
			}
			var n SessionNotification
			if m.Method == "session/update" && json.Unmarshal(m.Params, &n) == nil && len(n.Update.Raw) > 0 {
				if _, err := json.Marshal(n); err != nil {
					t.Fatalf("an update that was read cannot be written: %v", err)
				}
			}
		}
	})
}
