package harness

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/acp"
)

// recorded returns the blocks of drafts, one a line.
func recorded(t *testing.T, drafts []penstock.Draft) []string {
	t.Helper()
	var lines []string
	for _, d := range drafts {
		var b penstock.Block
		if err := json.Unmarshal(d.Data, &b); err != nil {
			t.Fatal(err)
		}
		if b.Type == penstock.BlockAction {
			lines = append(lines, fmt.Sprintf("%s %s %s", b.Category, b.Name, b.Input))
		} else {
			lines = append(lines, fmt.Sprintf("%s %s", b.State, b.Output))
		}
	}
	return lines
}

func follow() (*actions, *[]penstock.Draft) {
	var drafts []penstock.Draft
	return &actions{
		add: func(d penstock.Draft) { drafts = append(drafts, d) }, session: &Session{Dir: "/ws"}, open: map[string]*action{},
	}, &drafts
}

func TestToolCallsInTheirPublicForm(t *testing.T) {
	t.Parallel()
	tool := func(name string) acp.Meta { return acp.NewMeta(acp.MetaTool, name) }
	for name, test := range map[string]struct {
		call acp.ToolCall
		want []string
	}{
		"a command in words": {
			acp.ToolCall{
				Kind: acp.ToolExecute, Title: "Run it",
				RawInput:  rawJSON(`{"command":"make test","workdir":"/ws/app","description":"Tests","env":{"K":"v"}}`),
				RawOutput: rawJSON(`{"stdout":"ok","exitCode":2}`),
			},
			[]string{
				`command run_command {"command":"make test","cwd":"app","description":"Tests"}`,
				`completed {"exit_code":2,"output":"ok"}`,
			},
		},
		"a command without its words": {
			acp.ToolCall{Kind: acp.ToolExecute, Title: "make"},
			[]string{`command run_command {"command":"make"}`, `completed {}`},
		},
		"files by where they are": {
			acp.ToolCall{
				Kind: acp.ToolRead, Title: "Read",
				Locations: []acp.Location{{Path: "/ws/b"}, {Path: "/ws/a"}, {Path: "/ws/b", Line: 7}},
				RawInput:  rawJSON(`{"file_path":"/ws/c"}`),
			},
			[]string{`files read_files {"paths":["a","b"]}`, `completed {}`},
		},
		"files by the parameters": {
			acp.ToolCall{
				Kind: acp.ToolRead, RawInput: rawJSON(`{"files":[{"path":"/ws/x/../c","line":1},{"name":"no path"}]}`),
				RawOutput: rawJSON(`"all of it"`),
			},
			[]string{`files read_files {"paths":["c"]}`, `completed {"output":"all of it"}`},
		},
		"a file by its URI": {
			acp.ToolCall{Kind: acp.ToolDelete, RawInput: rawJSON(`{"filename":"file:///ws/c"}`)},
			[]string{`files edit_files {"paths":["c"]}`, `completed {}`},
		},
		"a change of a file": {
			acp.ToolCall{
				Kind: acp.ToolEdit, Content: []acp.ToolCallContent{acp.Diff("/ws/a", new("old"), "new"), acp.TextOutput("done")},
			},
			[]string{
				`files edit_files {"paths":["a"]}`, `completed {"files":[{"new_text":"new","old_text":"old","path":"a"}]}`,
			},
		},
		"changes of files that only the diffs name": {
			acp.ToolCall{
				Kind: acp.ToolEdit, Title: "Editing files",
				Content: []acp.ToolCallContent{acp.Diff("/ws/b", new("old"), "new"), acp.Diff("/ws/a", nil, "one")},
			},
			[]string{
				`files edit_files {"paths":["a","b"]}`,
				`completed {"files":[{"new_text":"new","old_text":"old","path":"b"},` +
					`{"new_file":true,"new_text":"one","path":"a"}]}`,
			},
		},
		"a search": {
			acp.ToolCall{Kind: acp.ToolSearch, Title: "Grep", RawInput: rawJSON(`{"pattern":"TODO","path":"/ws/src"}`)},
			[]string{`search search_files {"paths":["src"],"query":"TODO"}`, `completed {}`},
		},
		"a search of the built-in agent": {
			acp.ToolCall{
				Meta: tool("search_files"), Title: "List files", RawInput: rawJSON(`{"glob":"*.go"}`),
				RawOutput: rawJSON(`{"matches":0,"more":false}`),
				Content:   []acp.ToolCallContent{acp.TextOutput("No matches.")},
			},
			[]string{
				`search search_files {"glob":"*.go"}`, `completed {"matches":0,"more":false,"output":"No matches."}`,
			},
		},
		"a search for everything": {
			acp.ToolCall{Meta: tool("search_files"), Title: "List files", RawInput: rawJSON(`{"pattern":""}`)},
			[]string{`search search_files {"title":"List files"}`, `completed {}`},
		},
		"a command of the built-in agent": {
			acp.ToolCall{
				Meta: tool("run_command"), RawInput: rawJSON(`{"command":"ls"}`),
				RawOutput: rawJSON(`{"exit_code":0,"output":"a\n","duration_ms":12,"pid":{"x":1}}`),
				Content:   []acp.ToolCallContent{acp.TextOutput("a\nexit code 0")},
			},
			[]string{`command run_command {"command":"ls"}`, `completed {"duration_ms":12,"exit_code":0,"output":"a\n"}`},
		},
		"a page": {
			acp.ToolCall{Kind: acp.ToolFetch, RawInput: rawJSON(`{"url":"https://example.com"}`)},
			[]string{`integration fetch_url {"url":"https://example.com"}`, `completed {}`},
		},
		"a tool of an MCP server": {
			acp.ToolCall{
				Title: "x", Meta: tool("call_mcp_tool"),
				RawInput: rawJSON(`{"server":"tracker","tool":"find","arguments":{"q":["a",1]}}`),
				Content:  []acp.ToolCallContent{content(acp.ContentBlock{Type: "image", MimeType: "image/png", Data: "eA=="})},
			},
			[]string{
				`integration call_mcp_tool {"arguments":{"q":["a",1]},"server":"tracker","tool":"find"}`,
				`completed {"output":"[image image/png]"}`,
			},
		},
		"an artifact": {
			acp.ToolCall{
				Meta:      tool("create_artifact"),
				RawInput:  rawJSON(`{"artifact_type":"FILE","path":"/ws/report.md","title":"Report"}`),
				RawOutput: rawJSON(`{"artifact_uid":"u1"}`),
			},
			[]string{
				`documents create_artifact {"artifact_type":"FILE","path":"report.md","title":"Report"}`,
				`completed {"artifact_uid":"u1"}`,
			},
		},
		"a question": {
			acp.ToolCall{Meta: tool("ask_user"), RawInput: rawJSON(`{"question":"Which?"}`)},
			[]string{`review ask_user {"question":"Which?"}`, `completed {}`},
		},
		"a skill of which the agent says that the platform ships it": {
			acp.ToolCall{
				Meta:     tool("read_skill"),
				RawInput: rawJSON(`{"skill_path":"/ws/.penstock/skills/a/SKILL.md","bundled_skill_id":"b"}`),
				Content: []acp.ToolCallContent{
					content(acp.ContentBlock{Type: "resource", Resource: &acp.Resource{Text: "Do it."}}),
				},
			},
			[]string{`skill read_skill {"skill_path":".penstock/skills/a/SKILL.md"}`, `completed {"output":"Do it."}`},
		},
		"a command of Claude Code": {
			acp.ToolCall{
				Kind: acp.ToolExecute, Title: "make", RawInput: rawJSON(`{"command":"make","description":"Build"}`),
				RawOutput: rawJSON(`"built"`), Content: []acp.ToolCallContent{acp.TextOutput("```console\nbuilt\n```")},
			},
			[]string{`command run_command {"command":"make","description":"Build"}`, `completed {"output":"built"}`},
		},
		"a command of Codex": {
			acp.ToolCall{
				Kind: acp.ToolExecute, RawInput: rawJSON(`{"command":"make","cwd":"/ws"}`),
				Meta: acp.Meta{
					"terminal_output_delta": rawJSON(`{"data":"built\n"}`), "terminal_exit": rawJSON(`{"exit_code":2}`),
				},
			},
			[]string{`command run_command {"command":"make"}`, `completed {"exit_code":2,"output":"built\n"}`},
		},
		"a command of OpenCode": {
			acp.ToolCall{
				Kind: acp.ToolExecute, RawInput: rawJSON(`{"command":"make"}`), Content: []acp.ToolCallContent{acp.TextOutput("x")},
				RawOutput: rawJSON(`{"output":"built","metadata":{"exit":3}}`),
			},
			[]string{`command run_command {"command":"make"}`, `completed {"exit_code":3,"output":"built"}`},
		},
		"a command of Gemini CLI": {
			acp.ToolCall{
				Kind: acp.ToolExecute, Title: "make",
				Content: []acp.ToolCallContent{acp.TextOutput("[current working directory /ws] (Build)")},
			},
			[]string{`command run_command {"command":"make"}`, `completed {}`},
		},
		"a file in a fence": {
			acp.ToolCall{
				Kind: acp.ToolRead, RawInput: rawJSON(`{"file_path":"/ws/a.md"}`),
				Content: []acp.ToolCallContent{acp.TextOutput("````\nUse:\n```sh\nmake\n```\n````")},
			},
			[]string{`files read_files {"paths":["a.md"]}`, "completed {\"output\":\"Use:\\n```sh\\nmake\\n```\"}"},
		},
		"a text with two fences": {
			acp.ToolCall{
				Kind: acp.ToolRead, RawInput: rawJSON(`{"file_path":"/ws/a.md"}`),
				Content: []acp.ToolCallContent{acp.TextOutput("```\na\n```\nb\n```\nc\n```")},
			},
			[]string{
				`files read_files {"paths":["a.md"]}`,
				"completed {\"output\":\"```\\na\\n```\\nb\\n```\\nc\\n```\"}",
			},
		},
		"a link": {
			acp.ToolCall{
				Kind: acp.ToolThink, Title: "Think",
				Content: []acp.ToolCallContent{content(acp.ContentBlock{Type: "resource_link", Name: "doc", URI: "https://x"})},
			},
			[]string{`review think {"title":"Think"}`, `completed {"output":"doc https://x"}`},
		},
		"something else": {
			acp.ToolCall{
				Kind: "teleport", Title: "Beam", Name: "beam", RawInput: rawJSON(`{"secret_plan":"x"}`),
				RawOutput: rawJSON(`{"internal":1}`),
			},
			[]string{`integration call_tool {"title":"Beam"}`, `completed {}`},
		},
		"a name that no tool has": {
			acp.ToolCall{Meta: tool("rm_rf"), Kind: acp.ToolSwitchMode, RawInput: rawJSON(`[1,2]`)},
			[]string{`review switch_mode {}`, `completed {}`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, drafts := follow()
			test.call.Status = acp.ToolCompleted
			s.see(test.call, true)
			if diff := cmp.Diff(test.want, recorded(t, *drafts)); diff != "" {
				t.Errorf("recorded (-want +got):\n%s", diff)
			}
		})
	}
}

func rawJSON(s string) json.RawMessage { return json.RawMessage(s) }

func content(c acp.ContentBlock) acp.ToolCallContent {
	return acp.ToolCallContent{Type: "content", Content: &c}
}

// The output of a running command is shown once a second at most, and only its end.
func TestOutputOfARunningActionIsShownPeriodically(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, drafts := follow()
		s.see(acp.ToolCall{ID: "c", Kind: acp.ToolExecute, Title: "make", Status: acp.ToolInProgress}, true)
		var printed strings.Builder
		for i := range 1000 { // ten seconds
			fmt.Fprintf(&printed, "line %d\n", i)
			s.see(
				acp.ToolCall{ID: "c", Status: acp.ToolInProgress, Content: []acp.ToolCallContent{acp.TextOutput(printed.String())}},
				false,
			)
			time.Sleep(10 * time.Millisecond)
		}
		for range 100 { // ten seconds without news
			s.see(acp.ToolCall{ID: "c", Content: []acp.ToolCallContent{acp.TextOutput(printed.String())}}, false)
			time.Sleep(100 * time.Millisecond)
		}
		running := recorded(t, *drafts)[1:]
		if len(running) < 9 || len(running) > 12 {
			t.Errorf("shown %d times", len(running))
		}
		if last := running[len(running)-1]; !strings.HasPrefix(last, `running {"cut":true,"output":"`) ||
			!strings.HasSuffix(last, `line 999\n"}`) || len(last) > 6<<10 {
			t.Errorf("the last one: %.60s … %s", last, last[len(last)-20:])
		}
		s.end(true)
		all := recorded(t, *drafts)
		if last := all[len(all)-1]; !strings.HasPrefix(last, `failed {"output":"line 0\n`) {
			t.Errorf("cut off: %.60s", last)
		}
	})
}

func TestFinishedActionsAreForgotten(t *testing.T) {
	t.Parallel()
	s, drafts := follow()
	for i := range 3 * maxOpen {
		s.see(acp.ToolCall{ID: fmt.Sprint(i), Title: "x", Status: acp.ToolCompleted}, true)
	}
	if len(s.open) > maxOpen || len(*drafts) != 6*maxOpen {
		t.Errorf("%d actions are remembered, %d drafts were recorded", len(s.open), len(*drafts))
	}
}

// Announcing a call records nothing, so that endless announcements do not slow an agent down.
func TestActionsThatAreOnlyAnnouncedAreBounded(t *testing.T) {
	t.Parallel()
	s, _ := follow()
	for i := range 3 * maxOpen {
		s.see(acp.ToolCall{ID: fmt.Sprint(i)}, true)
		if len(s.open) > maxOpen+1 {
			t.Fatalf("%d actions are remembered", len(s.open))
		}
	}
}

func TestActionsThatNeverEndAreBounded(t *testing.T) {
	t.Parallel()
	s, _ := follow()
	s.most = 64 << 10
	actions, results := 0, 0
	s.add = func(d penstock.Draft) {
		if d.Type == penstock.EventAction {
			actions++
		} else {
			results++
		}
	}
	input := rawJSON(`{"command":"` + strings.Repeat("x", 8<<10) + `"}`)
	held := func() (n int) {
		for _, a := range s.open {
			n += len(a.call.RawInput)
		}
		return n
	}
	for i := range 12 {
		s.see(acp.ToolCall{ID: fmt.Sprint(i), Kind: acp.ToolExecute, RawInput: input}, true)
		s.ask(acp.ToolCall{ID: fmt.Sprint("asked", i), Kind: acp.ToolExecute, RawInput: input}, true)
		for range 2 { // the same again takes no more room
			s.see(acp.ToolCall{ID: fmt.Sprint(i), RawInput: input}, false)
		}
		if n := held(); n > s.most {
			t.Fatalf("%d bytes are held", n)
		}
	}
	s.end(false)
	if actions != 24 || results != 24 || s.held != 0 || held() != 0 {
		t.Errorf("%d actions, %d results, %d bytes are held", actions, results, s.held)
	}
}

// The control plane refuses a turn whose end is too large, and that includes the names of the
// agent's model and session.
func TestNamesThatAnAgentGivesAreBounded(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1<<20)
	a := &acpAgent{id: long, capable: acp.AgentCapabilities{LoadSession: true}}
	a.tokens(acp.NewMeta(acp.MetaUsage, acp.TurnUsage{ModelID: long, TokenUsage: penstock.TokenUsage{Input: 1}}))
	if id, usage := a.SessionID(), a.consumed(); len(id) > 1<<10 || len(usage.ModelID) > 1<<10 || usage.Tokens.Input != 1 {
		t.Errorf("got an id of %d bytes, a model's of %d, %d tokens", len(id), len(usage.ModelID), usage.Tokens.Input)
	}
}

// Some agents announce a command before they know its text.
func TestACommandIsAnnouncedOnceItIsKnown(t *testing.T) {
	t.Parallel()
	s, drafts := follow()
	s.see(acp.ToolCall{
		ID: "c", Kind: acp.ToolExecute, Title: "bash", Status: acp.ToolPending, RawInput: rawJSON(`{"cwd":"/ws"}`),
	}, true)
	if len(*drafts) > 0 {
		t.Errorf("recorded %v", recorded(t, *drafts))
	}
	s.see(acp.ToolCall{
		ID: "c", Title: "make", Status: acp.ToolInProgress, RawInput: rawJSON(`{"command":"make","cwd":"/ws"}`),
	}, false)
	want := []string{`command run_command {"command":"make"}`}
	if diff := cmp.Diff(want, recorded(t, *drafts)); diff != "" {
		t.Errorf("recorded (-want +got):\n%s", diff)
	}
}
