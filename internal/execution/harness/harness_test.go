package harness_test

import (
	"context"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/agent"
	"github.com/penstock-dev/penstock/internal/execution/harness"
	"github.com/penstock-dev/penstock/internal/testkit"
)

// The test binary also plays the agents and commands that the tests start.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "agent" {
		os.Exit(playAgent(os.Args[2]))
	}
	if len(os.Args) > 1 && os.Args[1] == harness.FrontCommand {
		os.Exit(agent.Front(os.Args[2:], os.Environ()))
	}
	if len(os.Args) > 1 && os.Args[1] == "reference" {
		os.Exit(playReference())
	}
	os.Exit(m.Run())
}

// stage is a session that keeps everything that happens in it.
type stage struct {
	t       *testing.T
	session harness.Session

	mu     sync.Mutex
	drafts []penstock.Draft
	kept   map[string]string // content of saved files, by name or type
	usage  []penstock.TurnUsage
	mode   string // of the program
}

func newStage(t *testing.T) *stage {
	t.Helper()
	dir := t.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	s := &stage{t: t, kept: map[string]string{}}
	s.session = harness.Session{
		Start: start, Dir: dir, Root: root, Log: slog.New(slog.DiscardHandler),
		Record: func(d penstock.Draft) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.drafts = append(s.drafts, d)
		},
		Save: func(_ context.Context, u penstock.Upload, content io.ReadSeeker) (string, error) {
			text := u.Artifact.Content
			if content != nil {
				all, err := io.ReadAll(content)
				if err != nil {
					return "", err
				}
				text = string(all)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			s.kept[string(u.Type)+" "+u.Artifact.Filepath] = text
			return u.ID, nil
		},
		Consumed: func(u penstock.TurnUsage) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.usage = append(s.usage, u)
		},
		Mask: func(text string) string { return strings.ReplaceAll(text, "hunter22", "***") },
	}
	return s
}

// events returns the drafts of the given types that were recorded so far, or all drafts if no type
// is given.
func (s *stage) events(types ...penstock.EventType) []penstock.Draft {
	s.mu.Lock()
	defer s.mu.Unlock()
	var list []penstock.Draft
	for _, d := range s.drafts {
		if len(types) == 0 || slices.Contains(types, d.Type) {
			list = append(list, d)
		}
	}
	return list
}

// awaitWork returns when the agent has sent something, or after some minutes.
func (s *stage) awaitWork() {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(testkit.Patience * time.Minute); time.Now().Before(deadline) &&
		len(s.events(penstock.EventMessageDelta)) == 0; {
		<-tick.C
	}
}

// agent starts the test binary as an agent that plays a role.
func (s *stage) agent(part string) (harness.Agent, error) {
	s.t.Helper()
	h, err := harness.New(
		harness.Program{
			Argv: []string{self(s.t), "agent", part}, Env: map[string]string{"STAGE_DIR": s.session.Dir}, Mode: s.mode,
		},
	)
	if err != nil {
		s.t.Fatal(err)
	}
	a, err := h.Start(s.t.Context(), s.session)
	if err == nil {
		s.t.Cleanup(a.Close)
	}
	return a, err
}

// turn starts an agent and gives it one prompt.
func (s *stage) turn(part, prompt string) penstock.Result {
	s.t.Helper()
	a, err := s.agent(part)
	if err != nil {
		s.t.Fatalf("start the agent: %v", err)
	}
	result, err := a.Prompt(s.t.Context(), harness.Message{Text: prompt}, nil)
	if err != nil {
		s.t.Fatalf("prompt: %v", err)
	}
	return result
}

func self(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

// program is a real process without a sandbox, in its own process group.
type program struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout io.ReadCloser
	ended  chan struct{}
	exit   harness.Exit
}

func start(_ context.Context, c harness.Command) (harness.Process, error) {
	cmd := exec.Command(c.Argv[0], c.Argv[1:]...)
	cmd.Env = append(os.Environ(), c.Env...)
	cmd.Stderr = c.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout = write
	if c.Stderr == nil {
		cmd.Stderr = write
	}
	if err := cmd.Start(); err != nil {
		return nil, penstock.Errorf(penstock.CodeUnavailable, "cannot start: %s", err)
	}
	_ = write.Close()
	p := &program{cmd: cmd, stdin: stdin, stdout: read, ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		_ = cmd.Wait()
		p.exit = harness.Exit{Code: cmd.ProcessState.ExitCode(), Text: cmd.ProcessState.String()}
	}()
	return p, nil
}

func (p *program) Stdin() io.WriteCloser { return p.stdin }
func (p *program) Stdout() io.ReadCloser { return p.stdout }

func (p *program) Wait() (harness.Exit, error) {
	<-p.ended
	return p.exit, nil
}

func (p *program) Kill() {
	_ = syscall.Kill(-p.cmd.Process.Pid, syscall.SIGKILL)
	<-p.ended
}

// within fails the test if f takes much longer than on an idle machine.
func within(t *testing.T, what string, f func()) {
	t.Helper()
	const limit = 2 * time.Minute
	begin := time.Now()
	f()
	if took := time.Since(begin); took > limit {
		t.Errorf("%s took %v, more than %v", what, took, limit)
	}
}
