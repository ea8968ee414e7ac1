package agent

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock/internal/execution/acp"
)

func TestLoadedSessionReplaysItsUpdates(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	id := h.open()
	h.say(id, "demo: run echo hi; exit 1\ndemo: think so\ndemo: read missing.txt", acp.StopEndTurn)
	before := h.calls()
	said := h.text()
	h.restart()
	h.forget()
	s, err := h.LoadSession(h.ctx, acp.LoadSessionRequest{SessionID: id, Cwd: h.workspace})
	if err != nil {
		t.Fatal(err)
	}
	if len(s.ConfigOptions) != 1 {
		t.Errorf("options = %+v", s.ConfigOptions)
	}
	if got := h.text(); got != said {
		t.Errorf("told again: %q, want %q", got, said)
	}
	if got := h.chunks(acp.UpdateUserMessage); !strings.HasPrefix(got, "demo: run echo hi") {
		t.Errorf("the user's message was told again as %q", got)
	}
	after := h.calls()
	for i := range after {
		after[i].Raw, before[i].Raw = nil, nil // curated at first, text when repeated
	}
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("calls told again (-before +after):\n%s", diff)
	}
	h.forget()
	h.say(id, "More, please.", acp.StopEndTurn)
	if !strings.Contains(h.read(demoSummary), "> More, please.") {
		t.Error("the loaded session did not go on")
	}
}

func TestSessionsThatCannotBeLoaded(t *testing.T) {
	t.Parallel()
	const id = "01890a5d-ac96-774b-bcce-b302099a8057"
	tests := []struct {
		name, id, file string
		code           int
		want           string
	}{
		{"no file", id, "", acp.CodeResourceNotFound, "was saved"},
		{"a path for an id", "../../../etc/passwd", "", acp.CodeResourceNotFound, "was saved"},
		{"an id in another form", strings.ToUpper(id), "", acp.CodeResourceNotFound, "was saved"},
		{"empty", id, "\x00", acp.CodeInternal, "damaged"},
		{"torn", id, `{"version":1,"id":"` + id + `","history":[{"ro`, acp.CodeInternal, "damaged"},
		{"of another session", id, `{"version":1,"id":"other"}`, acp.CodeInternal, "damaged"},
		{"of another version", id, `{"version":99,"id":"` + id + `"}`, acp.CodeInternal, "another version"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := start(t, nil)
			if tt.file != "" {
				path := filepath.Join(h.cfg.StateDir, "sessions", id+".json")
				if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(strings.TrimSuffix(tt.file, "\x00")), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			_, err := h.LoadSession(h.ctx, acp.LoadSessionRequest{SessionID: tt.id, Cwd: h.workspace})
			var failed *acp.Error
			if !errors.As(err, &failed) || failed.Code != tt.code || !strings.Contains(failed.Message, tt.want) {
				t.Errorf("got %v, want code %d and %q", err, tt.code, tt.want)
			}
		})
	}
}

func TestASessionThatCannotBeSavedIsAnError(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	id := h.open()
	sessions := filepath.Join(h.cfg.StateDir, "sessions")
	if err := os.RemoveAll(sessions); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(sessions, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := h.Prompt(h.ctx, id, acp.Text("hi")); err == nil || !strings.Contains(err.Error(), "save session "+id) {
		t.Errorf("got %v", err)
	}
}

func TestModelsThatCannotBeUsed(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, model string
		code        int
		want        string
	}{
		{"no key for Anthropic", "anthropic/claude-x", acp.CodeAuthRequired, "ANTHROPIC_API_KEY"},
		{"no key for OpenAI", "gpt-x", acp.CodeAuthRequired, "OPENAI_API_KEY"},
		{"no key for Google", "gemini-x", acp.CodeAuthRequired, "GEMINI_API_KEY"},
		{"unknown provider", "acme/x", acp.CodeInvalidParams, `"acme/x"`},
		{"nothing", "", acp.CodeInvalidParams, `""`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := start(t, nil)
			var failed *acp.Error
			if err := h.SetModel(h.ctx, h.open(), tt.model); !errors.As(err, &failed) || failed.Code != tt.code ||
				!strings.Contains(failed.Message, tt.want) {
				t.Errorf("SetModel: %v, want code %d and %q", err, tt.code, tt.want)
			}
			if tt.model == "" {
				return
			}
			h = start(t, func(c *Config) { c.Model = tt.model })
			failed = nil
			_, err := h.Prompt(h.ctx, h.open(), acp.Text("hi"))
			if !errors.As(err, &failed) || failed.Code != tt.code || !strings.Contains(failed.Message, tt.want) {
				t.Errorf("Prompt: %v, want code %d and %q", err, tt.code, tt.want)
			}
		})
	}
}

func TestOnlyUsableModelsAreOffered(t *testing.T) {
	t.Parallel()
	h := start(t, func(c *Config) { c.Providers = []Provider{{Name: openaiID, Key: "k"}} })
	s, err := h.NewSession(h.ctx, acp.NewSessionRequest{Cwd: h.workspace})
	if err != nil {
		t.Fatal(err)
	}
	options := string(s.ConfigOptions[0].Options)
	if !strings.Contains(options, "demo/offline") || !strings.Contains(options, "openai/") ||
		strings.Contains(options, "anthropic/") {
		t.Errorf("options = %s", options)
	}
	if err := h.SetModel(h.ctx, s.ID, "gpt-99"); err != nil {
		t.Fatalf("a model that is not listed: %v", err)
	}
	if err := h.SetConfigOption(h.ctx, s.ID, "color", "blue"); err == nil {
		t.Error("an unknown option was taken")
	}
}

func TestWorkspacesThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	for _, cwd := range []string{"relative", filepath.Join(h.workspace, "missing"), ""} {
		if _, err := h.NewSession(h.ctx, acp.NewSessionRequest{Cwd: cwd}); err == nil {
			t.Errorf("a session in %q has started", cwd)
		}
	}
}

func TestSkillsThatTheClientReports(t *testing.T) {
	t.Parallel()
	h := start(t, nil)
	h.write("shipped/deploy/SKILL.md", "Deploy with care.")
	skills := []acp.Skill{{Name: "deploy", Description: "d", Path: "shipped/deploy/SKILL.md", BundledID: "deploy-1"}}
	s, err := h.NewSession(h.ctx, acp.NewSessionRequest{Cwd: h.workspace, Meta: acp.NewMeta(acp.MetaSkills, skills)})
	if err != nil {
		t.Fatal(err)
	}
	for _, wanted := range []string{"deploy", "shipped/deploy", "shipped/deploy/SKILL.md"} {
		h.forget()
		h.say(s.ID, "demo: read_skill "+wanted, acp.StopEndTurn)
		c := h.call(toolReadSkill)
		if want := `{"skill_path":"shipped/deploy/SKILL.md","bundled_skill_id":"deploy-1"}`; string(c.Input) != want {
			t.Errorf("%s: input %s, want %s", wanted, c.Input, want)
		}
		if !strings.HasSuffix(c.Output, "Deploy with care.") {
			t.Errorf("%s: output %q", wanted, c.Output)
		}
	}
	h.forget()
	h.say(s.ID, "demo: read_skill ../../etc", acp.StopEndTurn)
	if c := h.call(toolReadSkill); c.Status != acp.ToolFailed {
		t.Errorf("a skill outside of the workspace was read: %+v", c)
	}
}
