// Package harness drives one agent program: it starts the program in the run's
// sandbox, gives it prompts, and turns what it says into the events of the
// contract. One driver speaks the Agent Client Protocol and serves every agent
// that does; the other runs any program once per prompt.
//
// Nothing that a program says is believed beyond its own turn: what it names is
// looked up within the workspace, what it reports is put into a curated form,
// and how a turn ended is read from the protocol, never from text.
package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"slices"

	"github.com/penstock-dev/penstock"
)

// The ways in which programs are driven.
const (
	ProtocolACP     = "acp"
	ProtocolCommand = "command"
)

// Program is an agent program as the operator configures it.
type Program struct {
	// Protocol is ProtocolACP, the default, or ProtocolCommand.
	Protocol string
	// Argv is the program and its arguments.
	Argv []string
	// Env is set for this program alone, and wins over the run's environment.
	Env map[string]string
	// EnvForTools keeps the run's environment out of the program's own: an ACP agent
	// gets it for its tools, as acp.MetaEnvironment.
	EnvForTools bool
	// Mode is the mode of its own in which an ACP agent is to work, such as one
	// that asks for no permissions. Empty leaves the agent's choice.
	Mode string
	// State lists what of HOME makes up a session, as paths relative to it. Empty
	// means all of HOME but what is known to be a cache.
	State []string
}

// Harness starts one agent program.
type Harness interface {
	// Start starts the program and its session. The error is the cause of ctx,
	// or a *penstock.Error that says why there is no agent; nothing is left
	// behind then.
	Start(ctx context.Context, s Session) (Agent, error)
}

// Agent is a session of a program. Its methods are called by one goroutine.
type Agent interface {
	// SessionID is the program's own name of the session, by which it can be
	// loaded later; "" where it cannot.
	SessionID() string

	// Fresh tells whether the session knows nothing of the conversation: the next
	// prompt has to tell of it.
	Fresh() bool

	// Prompt gives the agent a turn and returns how it ended: SUCCEEDED, FAILED
	// or BLOCKED, with what it consumed. When ctx ends the agent is asked to
	// stop and given a few seconds for it; the error is then ctx's cause, and
	// the result holds the usage alone. When interrupt is closed before that, the
	// agent is asked to stop as well: the error is ErrInterrupted, after which it
	// can take another turn, or ErrInterruptIgnored. Any other error is that of
	// Session.Start. After every other turn that was not SUCCEEDED or BLOCKED the
	// agent is only good for Close.
	Prompt(ctx context.Context, text string, interrupt <-chan struct{}) (penstock.Result, error)

	// Close ends the program and returns when nothing of it is left.
	Close()
}

// Own lists the variables that the operator gives the program, and that may be keys.
// ok is false where there are none, or where nothing of a run's is beside them.
func (p Program) Own() (names []string, ok bool) {
	return slices.Sorted(maps.Keys(p.Env)), len(p.Env) > 0 && !p.EnvForTools
}

// environment is that of the program itself: the run's, and then its own.
func (p Program) environment(run []string) []string {
	if p.EnvForTools {
		run = nil
	}
	var own []string
	for name, value := range p.Env {
		own = append(own, name+"="+value)
	}
	slices.Sort(own)
	return slices.Concat(run, own)
}

// How a turn ends that was interrupted.
var (
	ErrInterrupted = errors.New("the turn was interrupted")
	// ErrInterruptIgnored is of an agent that did not stop in time, or ended.
	ErrInterruptIgnored = errors.New("the turn was interrupted and the agent did not stop")
)

// New makes the harness of a program.
func New(p Program) (Harness, error) {
	if len(p.Argv) == 0 {
		return nil, fmt.Errorf("the harness has no command")
	}
	switch p.Protocol {
	case "", ProtocolACP:
		return acpHarness{p}, nil
	case ProtocolCommand:
		return commandHarness{p}, nil
	}
	return nil, fmt.Errorf("unknown harness protocol %q: use %s or %s", p.Protocol, ProtocolACP, ProtocolCommand)
}

// Session is what an agent is started with.
type Session struct {
	// Start starts a program in the run's sandbox.
	Start func(ctx context.Context, c Command) (Process, error)
	// Env is the run's environment, KEY=value. It holds the run's secrets.
	Env []string
	// Dir is the workspace as the program sees it, Root as the worker does.
	Dir  string
	Root *os.Root
	// Load is the id of the session to go on with, "" for a new one.
	Load string
	// Model is what the run's configuration names, "" for the program's choice.
	Model string
	// MCPServers have their secrets resolved.
	MCPServers map[string]penstock.MCPServer
	Skills     []Skill
	// Record takes what happened, in order. It waits while the log cannot keep
	// up, which in turn slows the agent down.
	Record func(penstock.Draft)
	// Save keeps an artifact and returns its uid.
	Save func(ctx context.Context, u penstock.Upload, content io.ReadSeeker) (uid string, err error)
	// Consumed is told what the turn under way has consumed so far.
	Consumed func(penstock.TurnUsage)
	// Mask replaces known secrets in a text.
	Mask func(string) string
	Log  *slog.Logger
}

// Command is a program to be started.
type Command struct {
	Argv []string
	Env  []string // KEY=value
	// Protocol says that standard input and output carry a protocol: nothing but the
	// program itself may be able to open them.
	Protocol bool
	// Stderr gets the standard error; nil sends it to the standard output.
	Stderr io.Writer
}

// Process is a started program with all that it starts in turn.
type Process interface {
	Stdin() io.WriteCloser
	Stdout() io.ReadCloser
	// Wait returns how the program ended, in words and as a code, when no
	// process of its tree exists any more.
	Wait() (Exit, error)
	// Kill ends the tree and returns when none of it exists.
	Kill()
}

// Exit is how a program ended.
type Exit struct {
	Code int
	Text string // such as "exit code 1"
}

// failed is the result of a turn that ended for a reason that the user can mend.
func failed(code penstock.Code, format string, args ...any) penstock.Result {
	return penstock.Result{
		State:   penstock.StateFailed,
		Message: &penstock.StatusMessage{Message: fmt.Sprintf(format, args...), ErrorCode: code},
	}
}
