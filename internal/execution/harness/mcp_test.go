package harness_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/harness"
)

// chatty is an MCP server that prints a banner, and a line before each message. It has the tool greet,
// and die ends it.
const chatty = `echo 'Server 1.0 listening'
while read -r line; do
	id=$(printf '%s' "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
	echo "[info] request $id"
	case $line in
	*'"initialize"'*)
		body='"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},'
		body="$body"'"serverInfo":{"name":"s","version":"1"}}' ;;
	*'"greet"'*) body='"result":{"content":[{"type":"text","text":"hello '$WHO'"}]}' ;;
	*'"die"'*) echo 'no memory left' >&2; exit 7 ;;
	*) body='"error":{"code":-32601,"message":"method not found"}' ;;
	esac
	if [ "$id" ]; then printf '{"jsonrpc":"2.0","id":%s,%s}\n' "$id" "$body"; fi
done`

const dead = `echo 'no database' >&2; exit 3`

// withServer gives the stage one MCP server, behind our front.
func (s *stage) withServer(script string, required bool) (home string) {
	s.t.Helper()
	home = s.t.TempDir()
	root, err := os.OpenRoot(home)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(func() { root.Close() })
	s.session.Home, s.session.HomeDir, s.session.Exe = root, home, self(s.t)
	s.session.MCPServers = map[string]penstock.MCPServer{"tracker": {
		Command: "sh", Args: []string{"-c", script}, Env: map[string]string{"WHO": "hunter22"}, Required: required,
	}}
	return home
}

// failures are the timeline's entries about MCP servers.
func (s *stage) failures() (list []string) {
	for _, d := range s.events(penstock.EventTimeline) {
		if strings.Contains(string(d.Data), penstock.TimelineMCPFailed) {
			list = append(list, string(d.Data))
		}
	}
	return list
}

func (s *stage) said() string { return strings.Join(s.texts(), "") }

func TestAnotherAgentsServerPrintsMoreThanMessages(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.withServer(chatty, true)
	result := s.turn("uses MCP", "use/greet")
	if result.State != penstock.StateSucceeded || !strings.Contains(s.said(), "hello hunter22") {
		t.Errorf("the turn is %+v, and the agent said %q", result, s.said())
	}
	if got := s.failures(); len(got) > 0 {
		t.Errorf("the server was reported: %q", got)
	}
}

// Arguments are visible to all programs of the run, in logs too.
func TestTheFrontHasNoSecretInItsArguments(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.withServer(chatty, false)
	s.turn("reports", "go")
	if said := s.said(); !strings.Contains(said, `"mcp-front","tracker"`) || strings.Count(said, "hunter22") != 1 {
		t.Errorf("the agent gets %s", said)
	}
}

func TestAnotherAgentsServerDoesNotStart(t *testing.T) {
	t.Parallel()
	for _, part := range []string{"uses MCP", "needs MCP"} {
		s := newStage(t)
		s.withServer(dead, true)
		if _, err := s.agent(part); err == nil || penstock.CodeOf(err) != penstock.CodeAgentProcessFailed ||
			!strings.Contains(err.Error(), "tracker") || !strings.Contains(err.Error(), "no database") ||
			!strings.Contains(err.Error(), "required: true") {
			t.Errorf("%s, required: got %v", part, err)
		}
	}
	s := newStage(t)
	s.withServer(dead, false)
	result := s.turn("uses MCP", "use/greet")
	if result.State != penstock.StateSucceeded {
		t.Errorf("the turn is %+v", result)
	}
	if got := s.failures(); len(got) != 1 || !strings.Contains(got[0], "exit status 3") ||
		!strings.Contains(got[0], `"tracker"`) {
		t.Errorf("the timeline has %q", got)
	}
	if !strings.Contains(s.said(), "The MCP server tracker does not work: it ended (exit status 3)") {
		t.Errorf("the agent was not told: %q", s.said())
	}
}

func TestAnotherAgentsServerEndsInACall(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		prompt   string
		required bool
		want     penstock.State
	}{
		{"use/die", false, penstock.StateSucceeded},
		{"use/die", true, penstock.StateFailed},
		{"and hang/die", true, penstock.StateFailed},
	} {
		s := newStage(t)
		s.withServer(chatty, test.required)
		a, err := s.agent("uses MCP")
		if err != nil {
			t.Fatal(err)
		}
		result, err := a.Prompt(t.Context(), harness.Message{Text: test.prompt}, nil)
		if err != nil || result.State != test.want {
			t.Errorf("%s, required %t: the turn is %+v, %v", test.prompt, test.required, result, err)
		}
		if test.required && (result.Message == nil || !strings.Contains(result.Message.Message, "exit status 7")) {
			t.Errorf("the reason is %+v", result.Message)
		}
		if got := s.failures(); len(got) != 1 || !strings.Contains(got[0], "no memory left") {
			t.Errorf("the timeline has %q", got)
		}
		if !strings.Contains(s.said(), `the MCP server \"tracker\" does not work`) &&
			!strings.Contains(s.said(), `the MCP server "tracker" does not work`) {
			t.Errorf("the agent was not told: %q", s.said())
		}
		if test.required {
			continue
		}
		if _, err := a.Prompt(t.Context(), harness.Message{Text: "next/x"}, nil); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(s.said(), "The MCP server tracker does not work: it ended (exit status 7)") {
			t.Errorf("the next prompt does not say so: %q", s.said())
		}
	}
}

// Every program of the run can write the reports, in any form.
func TestReportsOfFrontsAreNotTrusted(t *testing.T) {
	t.Parallel()
	const file = ".penstock-mcp.jsonl"
	line := `{"name":"tracker","reason":"` + strings.Repeat("ä", 3000) + `"}` + "\n"
	for name, test := range map[string]struct {
		forge func(t *testing.T, path string)
		want  int // reports
	}{
		"a pipe": {func(t *testing.T, path string) {
			if err := syscall.Mkfifo(path, 0o600); err != nil {
				t.Fatal(err)
			}
		}, 0},
		"a folder": {func(t *testing.T, path string) { write(t, filepath.Join(path, "x"), "x") }, 0},
		"a link out of HOME": {func(t *testing.T, path string) {
			out := filepath.Join(t.TempDir(), "secret")
			write(t, out, line)
			if err := os.Symlink(out, path); err != nil {
				t.Fatal(err)
			}
		}, 0},
		"other names, no JSON": {func(t *testing.T, path string) {
			write(t, path, `{"name":"other","reason":"x"}`+"\nnull\n[]\n{\n\x00\n"+line+`{"name":"tracker"`)
		}, 1},
		"very many": {func(t *testing.T, path string) { write(t, path, strings.Repeat(line, 1000)) }, 100},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			path := filepath.Join(s.withServer(chatty, false), file)
			test.forge(t, path) // of an earlier session: it is removed
			a, err := s.agent("uses MCP")
			if err != nil {
				t.Fatal(err)
			}
			if got := s.failures(); len(got) > 0 {
				t.Errorf("reports of an earlier session: %.200q", got)
			}
			test.forge(t, path)
			result, err := a.Prompt(t.Context(), harness.Message{Text: "use/greet"}, nil)
			if err != nil || result.State != penstock.StateSucceeded {
				t.Errorf("the turn is %+v, %v", result, err)
			}
			got := s.failures()
			if len(got) > test.want || test.want > 0 && len(got) == 0 {
				t.Errorf("%d reports, want %d", len(got), test.want)
			}
			for _, one := range got {
				if len(one) > 3000 {
					t.Errorf("a report of %d bytes", len(one))
				}
			}
			a.Close()
			if _, err := os.Lstat(path); err == nil {
				t.Error("the file is still there")
			}
		})
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
