package harness_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/harness"
)

func (s *stage) command(script string) harness.Agent {
	s.t.Helper()
	h, err := harness.New(
		harness.Program{
			Protocol: harness.ProtocolCommand, Argv: []string{"/bin/sh", "-c", script},
			Env: map[string]string{"GREETING": "hello"},
		},
	)
	if err != nil {
		s.t.Fatal(err)
	}
	a, err := h.Start(s.t.Context(), s.session)
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(a.Close)
	return a
}

// succeeded is the result of a program that exits with 0.
var succeeded = penstock.Result{State: penstock.StateSucceeded, ActionsUnknown: true}

func TestCommand(t *testing.T) {
	t.Parallel()
	failure := func(text string) penstock.Result {
		return penstock.Result{
			State:   penstock.StateFailed,
			Message: &penstock.StatusMessage{Message: text, ErrorCode: penstock.CodeAgentProcessFailed},
		}
	}
	for name, test := range map[string]struct {
		script string
		want   penstock.Result
		texts  []string
	}{
		"reads its prompt from standard input": {
			`echo "$GREETING, $(cat)"`, succeeded, []string{"hello, do it\n"},
		},
		"reads its prompt from the file": {
			`cat "$PENSTOCK_PROMPT_FILE"`, succeeded, []string{"do it"},
		},
		"prints nothing": {`:`, succeeded, nil},
		"fails": {
			`echo working; echo "wrong key hunter22" >&2; exit 4`,
			failure("The command failed: exit status 4\n\nworking\nwrong key ***"),
			[]string{"working\nwrong key hunter22\n"},
		},
		"fails without a word": {`exit 1`, failure("The command failed: exit status 1"), nil},
		"prints characters in pieces": {
			`printf '\303'; sleep 0.1; printf '\251t\303'; sleep 0.1; printf '\251'`,
			succeeded,
			[]string{"été"},
		},
		"prints no text": {
			`printf 'a\377\376b\303'`, succeeded, []string{"a\uFFFD\uFFFDb\uFFFD"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t)
			result, err := s.command(test.script).Prompt(t.Context(), harness.Message{Text: "do it"}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, result); diff != "" {
				t.Errorf("result (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.texts, s.texts()); diff != "" {
				t.Errorf("messages (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLongOutputKeepsItsBeginningAndItsEnd(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	if _, err := s.command(
		`echo begin; head -c 8000000 /dev/zero | tr '\0' x; echo; echo end`,
	).Prompt(t.Context(), harness.Message{}, nil); err != nil {
		t.Fatal(err)
	}
	texts := s.texts()
	if len(texts) != 1 {
		t.Fatalf("got %d messages", len(texts))
	}
	text := texts[0]
	if !strings.HasPrefix(text, "begin\nxxx") || !strings.HasSuffix(text, "xxx\nend\n") ||
		!strings.Contains(text, " bytes left out …]") || len(text) > 2<<20 {
		t.Errorf("got %d bytes: %.20q … %q", len(text), text, text[len(text)-20:])
	}
}

func TestCancelledCommandIsKilled(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	why := errors.New("somebody wants it to end")
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		s.awaitWork()
		cancel(why)
	}()
	within(t, "the cancel", func() {
		if _, err := s.command(`echo working; sleep 1000`).Prompt(ctx, harness.Message{}, nil); !errors.Is(err, why) {
			t.Errorf("got %v, want the cause", err)
		}
	})
}

func TestInterruptedCommandIsKilled(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	a := s.command("cd '" + s.session.Dir + "'; [ -e again ] && exit; touch again; echo working; sleep 1000")
	interrupt := make(chan struct{})
	go func() {
		s.awaitWork()
		close(interrupt)
	}()
	within(t, "the interrupt", func() {
		if _, err := a.Prompt(t.Context(), harness.Message{}, interrupt); !errors.Is(err, harness.ErrInterrupted) {
			t.Errorf("got %v, want an interrupted turn", err)
		}
	})
	result, err := a.Prompt(t.Context(), harness.Message{}, nil)
	if err != nil || result.State != penstock.StateSucceeded {
		t.Errorf("the next turn: %+v, %v", result, err)
	}
}

// A program of an earlier turn may have put a link at the path of the prompt.
func TestPromptFileFollowsNoLink(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	victim := filepath.Join(t.TempDir(), "victim")
	must(t, os.WriteFile(victim, []byte("untouched"), 0o644))
	must(t, os.Mkdir(filepath.Join(s.session.Dir, ".penstock"), 0o755))
	must(t, os.Symlink(victim, filepath.Join(s.session.Dir, ".penstock/prompt.md")))
	a := s.command(`cat "$PENSTOCK_PROMPT_FILE"`)
	if _, err := a.Prompt(t.Context(), harness.Message{Text: "do it"}, nil); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(victim); string(got) != "untouched" {
		t.Errorf("the file behind the link holds %q", got)
	}
	if diff := cmp.Diff([]string{"do it"}, s.texts()); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}

	must(t, os.RemoveAll(filepath.Join(s.session.Dir, ".penstock")))
	must(t, os.Symlink(filepath.Dir(victim), filepath.Join(s.session.Dir, ".penstock")))
	result, err := s.command(`true`).Prompt(t.Context(), harness.Message{Text: "do it"}, nil)
	if err != nil || result.State != penstock.StateFailed {
		t.Errorf("got %+v, %v", result, err)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(victim), "prompt.md")); err == nil {
		t.Error("the prompt was written out of the workspace")
	}
}
