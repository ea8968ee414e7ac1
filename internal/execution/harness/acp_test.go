package harness_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/harness"
)

func decode[T any](t *testing.T, d penstock.Draft) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(d.Data, &v); err != nil {
		t.Fatalf("%s: %v in %s", d.Type, err, d.Data)
	}
	return v
}

// texts returns the recorded messages, with event blocks as [name data].
func (s *stage) texts() []string {
	var list []string
	for _, d := range s.events(penstock.EventMessage) {
		for _, b := range decode[penstock.Message](s.t, d).Content {
			text := b.Text
			if b.Type == penstock.BlockEvent {
				text = "[" + b.Name + " " + string(b.Data) + "]"
			}
			list = append(list, text)
		}
	}
	return list
}

func TestStopReasonsBecomeStates(t *testing.T) {
	t.Parallel()
	for stop, want := range map[string]penstock.Result{
		"end_turn": {State: penstock.StateSucceeded},
		"refusal": {
			State: penstock.StateFailed, Message: &penstock.StatusMessage{Message: "The agent refused to continue (refusal)."},
		},
		"max_tokens": {
			State:   penstock.StateFailed,
			Message: &penstock.StatusMessage{Message: "The agent reached the token limit of its model (max_tokens)."},
		},
		"max_turn_requests": {
			State: penstock.StateFailed,
			Message: &penstock.StatusMessage{
				Message: "The agent reached the limit of requests in one turn (max_turn_requests).",
			},
		},
		"cancelled": {
			State: penstock.StateFailed,
			Message: &penstock.StatusMessage{
				Message:   "The agent reported that its turn was cancelled, but nobody cancelled it.",
				ErrorCode: penstock.CodeAgentProcessFailed,
			},
		},
		"tired": {
			State: penstock.StateFailed,
			Message: &penstock.StatusMessage{
				Message:   `The agent stopped for an unknown reason: "tired".`,
				ErrorCode: penstock.CodeAgentProcessFailed,
			},
		},
	} {
		t.Run(stop, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(want, newStage(t).turn("stops", stop)); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
		})
	}
}

func TestQuestionBlocks(t *testing.T) {
	t.Parallel()
	want := penstock.Result{State: penstock.StateBlocked, Message: &penstock.StatusMessage{Message: "Which branch?"}}
	if diff := cmp.Diff(want, newStage(t).turn("asks", "go")); diff != "" {
		t.Errorf("result (-want +got):\n%s", diff)
	}
}

func TestAgentThatEndsBeforeItAnswersFails(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	result := s.turn("dies", "go")
	m := result.Message
	if result.State != penstock.StateFailed || m.ErrorCode != penstock.CodeAgentProcessFailed ||
		!strings.Contains(m.Message, "exit status 7") {
		t.Fatalf("got %s %+v", result.State, m)
	}
	if tail := m.Message[len(m.Message)-100:]; !strings.HasSuffix(tail, "xx out of memory, password ***") {
		t.Errorf("its last words: %q", tail)
	}
	if n := len(m.Message); n < harness.TailSize || n > harness.TailSize+200 {
		t.Errorf("the message has %d bytes", n)
	}
	if diff := cmp.Diff([]string{"I begin"}, s.texts()); diff != "" {
		t.Errorf("what it had said (-want +got):\n%s", diff)
	}
}

func TestALineThatIsTooLongIsNamed(t *testing.T) {
	t.Parallel()
	m := newStage(t).turn("rambles", "go").Message
	if m.ErrorCode != penstock.CodeAgentProcessFailed ||
		!strings.HasPrefix(m.Message, "The agent was stopped because it wrote a line of more than 64 MiB.") {
		t.Errorf("got %+v", m)
	}
}

func TestErrorResponseFailsTheTurn(t *testing.T) {
	t.Parallel()
	result := newStage(t).turn("responds with an error", "go")
	want := "The agent returned an error: the provider is away (code -32603)\n\nstack trace with ***"
	if result.State != penstock.StateFailed || result.Message.Message != want ||
		result.Message.ErrorCode != penstock.CodeAgentProcessFailed {
		t.Errorf("got %s %+v", result.State, result.Message)
	}
}

func TestAgentThatCannotBeStarted(t *testing.T) {
	t.Parallel()
	for part, want := range map[string]struct {
		code penstock.Code
		text string
	}{
		"exits":                {penstock.CodeAgentProcessFailed, "exit status 3\n\nno config file, and the password is ***"},
		"speaks prose":         {penstock.CodeAgentProcessFailed, "exit status 2\n\nusage: tool [--acp]"},
		"says another version": {penstock.CodeAgentProcessFailed, "speaks version 9 of ACP"},
		"wants a login":        {penstock.CodeExternalAuthRequired, "run login first"},
	} {
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			_, err := newStage(t).agent(part)
			var known *penstock.Error
			if !errors.As(err, &known) || known.Code != want.code || !strings.Contains(known.Detail, want.text) {
				t.Errorf("got %v, want %s with %q", err, want.code, want.text)
			}
		})
	}
}

func TestCancelEndsTheTurnInTime(t *testing.T) {
	t.Parallel()
	why := errors.New("somebody wants it to end")
	for _, part := range []string{"obeys", "does not obey"} {
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			a, err := s.agent(part)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() {
				s.awaitWork()
				cancel(why)
			}()
			within(t, "the cancel", func() {
				result, err := a.Prompt(ctx, harness.Message{Text: "go"}, nil)
				if !errors.Is(err, why) {
					t.Errorf("got %v, want the cause", err)
				}
				if part == "obeys" && (result.Usage == nil || result.Usage.Tokens.Input != 11) {
					t.Errorf("usage of the turn that was cut off: %+v", result.Usage)
				}
				a.Close()
			})
			if diff := cmp.Diff([]string{"working"}, s.texts()); diff != "" {
				t.Errorf("what it had said (-want +got):\n%s", diff)
			}
		})
	}
}

// An interrupt that arrives before the agent has read its prompt still ends the turn: the
// cancellation may reach the agent before the prompt.
func TestInterruptEndsTheTurnInTime(t *testing.T) {
	t.Parallel()
	now := make(chan struct{})
	close(now)
	for part, want := range map[string]error{
		"obeys": harness.ErrInterrupted, "does not obey": harness.ErrInterruptIgnored,
	} {
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			a, err := newStage(t).agent(part)
			if err != nil {
				t.Fatal(err)
			}
			for range 3 { // an agent that obeyed takes the next turn
				within(t, "the interrupt", func() {
					if _, err := a.Prompt(t.Context(), harness.Message{Text: "go"}, now); !errors.Is(err, want) {
						t.Errorf("got %v, want %v", err, want)
					}
				})
				if part != "obeys" {
					return
				}
			}
		})
	}
}

func TestStartOfAnUnresponsiveAgentCanBeCancelled(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	why := errors.New("somebody wants it to end")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(100*time.Millisecond, func() { cancel(why) })
	h, err := harness.New(harness.Program{Argv: []string{self(t), "agent", "is deaf"}})
	if err != nil {
		t.Fatal(err)
	}
	within(t, "giving up", func() {
		if _, err := h.Start(ctx, s.session); !errors.Is(err, why) {
			t.Errorf("got %v, want the cause", err)
		}
	})
}

// The agent's updates are recorded in order, in the contract's form, without fields of the agent's
// own.
func TestUpdatesBecomeEvents(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	if result := s.turn("tells all", "go"); result.State != penstock.StateSucceeded {
		t.Fatalf("got %+v", result)
	}
	var got []string
	names := map[string]string{}
	for _, d := range s.events() {
		switch d.Type {
		case penstock.EventMessageDelta:
		case penstock.EventMessage:
			b := decode[penstock.Message](t, d).Content[0]
			got = append(got, strings.TrimSpace("message "+b.Text+b.Name+" "+string(b.Data)))
		case penstock.EventAction:
			b := decode[penstock.Block](t, d)
			names[b.ID] = fmt.Sprintf("#%d", len(names))
			got = append(got, fmt.Sprintf("action %s %s %s %s", names[b.ID], b.Category, b.Name, b.Input))
		case penstock.EventActionResult:
			b := decode[penstock.Block](t, d)
			got = append(got, fmt.Sprintf("result %s %s %s %s %s", names[b.ActionID], b.Category, b.Name, b.State, b.Output))
		default:
			got = append(got, fmt.Sprintf("%s %s", d.Type, d.Data))
		}
	}
	want := []string{
		`message thought {"text":"hm, well"}`,
		`message First message.`,
		`message Second message.`,
		`plan {"entries":[{"content":"look","status":"completed","priority":"high"},{"content":"do","status":"pending",` +
			`"priority":"medium"}]}`,
		`message weather_update {"sky":"gray"}`,
		`message plan {"entries":"none"}`,
		`action #0 command run_command {"command":"ls -l 'my dir'"}`,
		`result #0 command run_command completed {"exit_code":0,"output":"total 0"}`,
		`action #1 files edit_files {"paths":["a.txt"]}`,
		`result #1 files edit_files completed {"files":[{"new_file":true,"new_text":"new\n","path":"a.txt"}]}`,
		`action #2 integration call_mcp_tool {"arguments":{"title":"x"},"server":"tracker","tool":"create"}`,
		`result #2 integration call_mcp_tool failed {"output":"refused"}`,
		`action #3 skill read_skill {"name":"release","skill_path":".penstock/skills/release/SKILL.md"}`,
		`result #3 skill read_skill completed {}`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestDeltasMakeUpTheirMessage(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	begin := time.Now()
	s.turn("floods", "go")
	took := time.Since(begin)
	deltas := s.events(penstock.EventMessageDelta)
	var text string
	for _, d := range deltas {
		text += decode[penstock.MessageDelta](t, d).Text
	}
	messages := s.events(penstock.EventMessage)
	if len(messages) != 1 || messages[0].Key != deltas[0].Key {
		t.Fatalf("got %d messages", len(messages))
	}
	whole := decode[penstock.Message](t, messages[0]).Content[0].Text
	if !strings.HasPrefix(whole, text) || !strings.HasSuffix(whole, "piece 1999, ") {
		t.Errorf("the deltas make %q, the message is %q", text, whole)
	}
	if most := int(took/(50*time.Millisecond)) + 4; len(deltas) > most {
		t.Errorf("%d deltas in %v, want at most %d", len(deltas), took, most)
	}
}

func TestUsageCoversOneTurn(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	a, err := s.agent("consumes")
	if err != nil {
		t.Fatal(err)
	}
	for turn, cost := range []float64{0.25, 0} { // the session's cost did not grow in the second turn
		result, err := a.Prompt(t.Context(), harness.Message{Text: "go"}, nil)
		if err != nil {
			t.Fatal(err)
		}
		want := &penstock.TurnUsage{ModelID: "x/y", Tokens: penstock.TokenUsage{Input: 30, Output: 5}, CostUSD: &cost}
		if diff := cmp.Diff(want, result.Usage, cmpopts.EquateApprox(0, 1e-9)); diff != "" {
			t.Errorf("usage of turn %d (-want +got):\n%s", turn+1, diff)
		}
	}
	if len(s.usage) != 4 || s.usage[0].Tokens.Input != 10 || s.usage[1].Tokens.Input != 25 {
		t.Errorf("told while it worked: %+v", s.usage)
	}
}

func TestUsageOfTheProtocolsDraft(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.session.Model = "a/b"
	want := &penstock.TurnUsage{ModelID: "a/b", Tokens: penstock.TokenUsage{Input: 7, Output: 5}}
	if diff := cmp.Diff(want, s.turn("counts", "go").Usage); diff != "" {
		t.Errorf("usage (-want +got):\n%s", diff)
	}
}

// The agent sees a refusal of the control plane, but not a failure.
func TestArtifactThatIsNotKept(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]string{
		penstock.Invalid("/data/url", "is hunter22, no URL"): "/data/url: is ***, no URL",
		errors.New("dial tcp 10.0.0.1: connection refused"):  "the artifact cannot be saved now",
	} {
		s := newStage(t)
		s.session.Save = func(context.Context, penstock.Upload, io.ReadSeeker) (string, error) { return "", err }
		s.turn("keeps", `{"artifact_type":"PULL_REQUEST","url":"x"}`)
		if texts := strings.Join(s.texts(), ""); !strings.Contains(texts, want) || strings.Contains(texts, "10.0.0.1") {
			t.Errorf("the agent is told %q, want %q", texts, want)
		}
	}
}

func TestPermissionsAreAnsweredByKind(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.turn("asks for permission", "go")
	want := []string{"first: selected x <nil>.", "second: selected allow <nil>."}
	if diff := cmp.Diff(want, s.texts()); diff != "" {
		t.Errorf("responses (-want +got):\n%s", diff)
	}
	var states []string
	for _, d := range s.events(penstock.EventAction, penstock.EventActionResult) {
		b := decode[penstock.Block](t, d)
		states = append(states, b.Type+b.State)
	}
	// The first update about a call has its title. A denied call does not count as failed.
	want = []string{"action", "action_resultfailed", "action", "action_resultdenied"}
	if diff := cmp.Diff(want, states); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
}

func TestSessionIsSetUpAsConfigured(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.mode = "bypass"
	s.session.MCPServers = map[string]penstock.MCPServer{
		"b": {Command: "run", Args: []string{"x"}, Env: map[string]string{"K": "v"}}, "a": {Command: "first"},
	}
	s.session.Model = "a/b"
	s.session.Skills = []harness.Skill{
		{Name: "release", Description: "Makes a release.", Path: ".penstock/skills/release/SKILL.md", Text: "Tag."},
	}
	s.turn("reports", "do it")
	want := `{"mcp":[{"name":"a","command":"first","args":[],"env":[]},{"name":"b","command":"run","args":["x"],` +
		`"env":[{"name":"K","value":"v"}]}],"mode":"bypass","model":"a/b","prompt":"do it",` +
		`"skills":[{"name":"release","description":"Makes a release.","path":".penstock/skills/release/SKILL.md"}]}`
	if diff := cmp.Diff([]string{want}, s.texts()); diff != "" {
		t.Errorf("what the agent saw (-want +got):\n%s", diff)
	}
}

func TestMissingAgentCapabilitiesAreReported(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.session.MCPServers = map[string]penstock.MCPServer{"remote": {URL: "https://example.com/mcp"}}
	if _, err := s.agent("reports"); err != nil {
		t.Errorf("MCP over HTTP, not required: got %v", err)
	}
	failed := s.events(penstock.EventTimeline)
	if len(failed) != 1 || !strings.Contains(string(failed[0].Data), penstock.TimelineMCPFailed) ||
		!strings.Contains(string(failed[0].Data), `"remote"`) {
		t.Errorf("the timeline has %v", failed)
	}
	s.session.MCPServers = map[string]penstock.MCPServer{"remote": {URL: "https://example.com/mcp", Required: true}}
	if _, err := s.agent("reports"); penstock.CodeOf(err) != penstock.CodeAgentProcessFailed ||
		!strings.Contains(err.Error(), "over HTTP, such as remote") {
		t.Errorf("MCP over HTTP: got %v", err)
	}
	s.session.Model, s.session.Load = "a/b", "old" // whose session has no choice of models
	if _, err := s.agent("has http"); penstock.CodeOf(err) != penstock.CodeAgentProcessFailed ||
		!strings.Contains(err.Error(), "does not support other models") {
		t.Errorf("a model that cannot be chosen: got %v", err)
	}
	s.session.Model = ""
	if _, err := s.agent("has http"); err != nil {
		t.Errorf("an agent that can: got %v", err)
	}
}

func TestSavedSessionIsLoadedWithoutItsOldUpdates(t *testing.T) {
	t.Parallel()
	for part, want := range map[string]struct {
		id    string
		fresh bool
	}{
		"echoes":      {"old", false},
		"forgets":     {"new", true},
		"cannot load": {"", true},
	} {
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			s.session.Load = "old"
			a, err := s.agent(part)
			if err != nil {
				t.Fatal(err)
			}
			if a.SessionID() != want.id || a.Fresh() != want.fresh {
				t.Errorf("session %q, fresh %v; want %q, %v", a.SessionID(), a.Fresh(), want.id, want.fresh)
			}
			if _, err := a.Prompt(t.Context(), harness.Message{Text: "and now"}, nil); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff([]string{"You said: and now"}, s.texts()); diff != "" {
				t.Errorf("recorded (-want +got):\n%s", diff)
			}
			if a.Fresh() {
				t.Error("the session is fresh after a prompt")
			}
		})
	}
}

func TestOutputBetweenMessagesIsHarmless(t *testing.T) {
	t.Parallel()
	for part, want := range map[string][]string{"prints between": {"still here"}, "speaks of another session": nil} {
		t.Run(part, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			if result := s.turn(part, "go"); result.State != penstock.StateSucceeded {
				t.Errorf("got %+v", result)
			}
			if diff := cmp.Diff(want, s.texts()); diff != "" {
				t.Errorf("recorded (-want +got):\n%s", diff)
			}
		})
	}
}

// An agent can keep files of the workspace and no others.
func TestArtifactsComeFromTheWorkspaceOnly(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	dir := s.session.Dir
	outside := t.TempDir()
	for name, content := range map[string]string{
		filepath.Join(dir, "sub/report.md"): "# Report", filepath.Join(dir, "plain"): "<html>",
		filepath.Join(outside, "key"): "secret",
	} {
		must(t, os.MkdirAll(filepath.Dir(name), 0o755))
		must(t, os.WriteFile(name, []byte(content), 0o644))
	}
	must(t, os.Symlink(filepath.Join(outside, "key"), filepath.Join(dir, "link")))
	must(t, os.Symlink(outside, filepath.Join(dir, "linked")))
	must(t, os.Symlink("sub/report.md", filepath.Join(dir, "inner")))
	must(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o644))
	large, err := os.Create(filepath.Join(dir, "large"))
	must(t, err)
	must(t, large.Truncate(harness.MaxArtifact+1))
	must(t, large.Close())

	requests := []struct{ request, want string }{
		{`{"artifact_type":"FILE","path":"sub/report.md","title":"R"}`, "kept"},
		{`{"artifact_type":"FILE","path":"` + dir + `/plain"}`, "kept"},
		{`{"artifact_type":"SCREENSHOT","path":"inner"}`, "kept"},
		{`{"artifact_type":"FILE","path":"link"}`, "cannot be opened within the workspace"},
		{`{"artifact_type":"FILE","path":"linked/key"}`, "cannot be opened within the workspace"},
		{`{"artifact_type":"FILE","path":"../` + filepath.Base(outside) + `/key"}`, "is outside the workspace"},
		{`{"artifact_type":"FILE","path":"sub/../../key"}`, "is outside the workspace"},
		{`{"artifact_type":"FILE","path":"/etc/passwd"}`, "is outside the workspace"},
		{`{"artifact_type":"FILE","path":""}`, "not a regular file"},
		{`{"artifact_type":"FILE","path":"sub"}`, "not a regular file"},
		{`{"artifact_type":"FILE","path":"pipe"}`, "not a regular file"},
		{`{"artifact_type":"FILE","path":"large"}`, "the limit is 104857600"},
		{`{"artifact_type":"FILE","path":"none"}`, "the file does not exist"},
		{`{"artifact_type":"PLAN","content":"1. go"}`, "kept"},
		{`{"artifact_type":17}`, "cannot unmarshal"},
	}
	var lines []string
	for _, r := range requests {
		lines = append(lines, r.request)
	}
	s.turn("keeps", strings.Join(lines, "\n"))
	responses := strings.Split(strings.TrimSpace(strings.Join(s.texts(), "")), "\n")
	if len(responses) != len(requests) {
		t.Fatalf("got %d responses: %q", len(responses), responses)
	}
	for i, r := range requests {
		if !strings.Contains(responses[i], r.want) {
			t.Errorf("%s: got %q, want %q", r.request, responses[i], r.want)
		}
	}
	want := map[string]string{
		"FILE sub/report.md": "# Report", "FILE plain": "<html>", "SCREENSHOT inner": "# Report", "PLAN ": "1. go",
	}
	if diff := cmp.Diff(want, s.kept); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
