// Package harness drives one agent program. It starts the program in the run's sandbox, gives it
// prompts, and turns its output into events of the contract. One driver is for all agents with the
// Agent Client Protocol. The other runs any program once per prompt.
//
// A program is not trusted. Its paths are resolved in the workspace, its reports are converted to a
// curated form, and the result of a turn comes from the protocol, never from text.
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
	"strings"

	"github.com/penstock-dev/penstock"
)

// The protocols of programs.
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
	// Mode is an ACP agent's own mode for the run, such as one that asks for no permissions. Empty:
	// the agent's choice.
	Mode string
	// State lists the paths in HOME that form a session. Empty means all of HOME except known
	// caches.
	State []string
	// Skills is the folder in HOME where the program looks for skills; "": it does not.
	Skills string
	// Noise lists prefixes of messages that the program writes about itself. They are not recorded.
	Noise []string
	// Numbers means that the program numbers the lines of a file that it read. The numbers are not
	// recorded.
	Numbers bool
	// Version is the version of an installed agent, "" for any other program.
	Version string
	// Installed and Node are folders of the worker's machine that the sandbox shows,
	// read-only, at InstalledDir and NodeDir; "" shows nothing.
	Installed, Node string
	// ReadOnly are further such folders, at the same paths.
	ReadOnly []string
	// API is the program's API for models: anthropic, openai or gemini. With "", ACP selects the
	// model.
	API string
	// NeedsModel means that the program has no default model.
	NeedsModel bool
	// Provider names the provider whose address {provider} stands for in Argv and Env.
	Provider string
	// Setup returns additional settings of the program for a run. It may be nil, and is called only
	// if API is set.
	Setup func(Setting) Setup
}

// Where a sandbox shows an installed agent and its Node.js. In Argv and in a Setup, {agent}
// and {node} stand for them.
const (
	InstalledDir = "/opt/penstock/agent"
	NodeDir      = "/opt/penstock/node"
)

// Setting is the input of an agent's setup.
type Setting struct {
	// URL is the base URL of the model provider, in the form for its own SDK.
	URL string
	// Model is the provider's name of the model, or "" if the run names none.
	Model string
	// Reasoning is the run's reasoning_level, "" if it names none.
	Reasoning string
	// Home is the path of HOME in the sandbox.
	Home string
}

// Setup holds the files and variables of an agent.
type Setup struct {
	Env map[string]string
	// Files are the contents of files by their paths in HOME.
	Files map[string]string
}

// Harness starts one agent program.
type Harness interface {
	// Start starts the program and its session. The error is the cause of ctx, or a *penstock.Error
	// with the reason. After an error, nothing is left behind.
	Start(ctx context.Context, s Session) (Agent, error)
}

// Agent is a session of a program. Its methods are called by one goroutine.
type Agent interface {
	// SessionID returns the program's id of the session for loading it later, or "" if it cannot be
	// loaded.
	SessionID() string

	// Fresh reports whether the session is new, so that the next prompt must contain the
	// conversation.
	Fresh() bool

	// Prompt gives the agent a turn and returns how it ended: SUCCEEDED, FAILED or BLOCKED, with
	// what it consumed. If the agent asks its user, the turn ends with BLOCKED, and the next prompt
	// is the answer. If the agent then does not stop, the error is ErrInterruptIgnored. When ctx
	// ends, the agent is asked to stop within a few seconds. Then the error is ctx's cause, and the
	// result has only the usage. When interrupt is closed before that, the agent is also asked to
	// stop. Then the error is ErrInterrupted, after which the agent can take another turn, or
	// ErrInterruptIgnored. Any other error comes from Session.Start. After every other turn that was
	// not SUCCEEDED or BLOCKED, only Close may be called.
	Prompt(ctx context.Context, m Message, interrupt <-chan struct{}) (penstock.Result, error)

	// Close ends the program, and returns when all its processes have ended.
	Close()
}

// Message is a prompt. Images are the paths of pictures in the workspace, for an agent that can see
// them.
type Message struct {
	Text   string
	Images []string
}

// Own lists the variables that the operator gives to the program, and that may be keys. ok is false
// if there are none, or if the program does not get variables of the run.
func (p Program) Own() (names []string, ok bool) {
	return slices.Sorted(maps.Keys(p.Env)), len(p.Env) > 0 && !p.EnvForTools
}

// noise reports whether a piece of a message is only about the program itself.
func (p Program) noise(text string) bool {
	return slices.ContainsFunc(p.Noise, func(prefix string) bool { return strings.HasPrefix(text, prefix) })
}

// environment returns the environment of the program: the run's, and then its own.
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

// The errors of an interrupted turn.
var (
	ErrInterrupted = errors.New("the turn was interrupted")
	// ErrInterruptIgnored is returned if the agent did not stop in time, or ended.
	ErrInterruptIgnored = errors.New("the turn was interrupted and the agent did not stop")
)

// New creates the harness of a program.
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

// Session configures the start of an agent.
type Session struct {
	// Start starts a program in the run's sandbox.
	Start func(ctx context.Context, c Command) (Process, error)
	// Env is the run's environment, KEY=value. It contains the run's secrets.
	Env []string
	// Dir is the workspace's path for the program, and Root the workspace for the worker.
	Dir  string
	Root *os.Root
	// Home is HOME for the worker, HomeDir its path for the program, and Exe the path of this program.
	// With them, an agent that is not ours starts stdio MCP servers through FrontCommand.
	Home         *os.Root
	HomeDir, Exe string
	// Load is the id of the session to continue; "": a new one.
	Load string
	// Model is the model in the run's configuration; "": the program's choice.
	Model string
	// MCPServers have their secrets resolved.
	MCPServers map[string]penstock.MCPServer
	Skills     []Skill
	// Record records an event. Events keep their order. It waits while the log is behind, which
	// slows the agent down.
	Record func(penstock.Draft)
	// Save stores an artifact and returns its uid.
	Save func(ctx context.Context, u penstock.Upload, content io.ReadSeeker) (uid string, err error)
	// Consumed is called with the usage of the active turn so far.
	Consumed func(penstock.TurnUsage)
	// Mask replaces known secrets in a text.
	Mask func(string) string
	Log  *slog.Logger
}

// Command is a program to start.
type Command struct {
	Argv []string
	Env  []string // KEY=value
	// Protocol means that standard input and output carry a protocol, so only the program itself
	// may open them.
	Protocol bool
	// Stderr gets the standard error; nil sends it to the standard output.
	Stderr io.Writer
}

// Process is a started program with all its child processes.
type Process interface {
	Stdin() io.WriteCloser
	Stdout() io.ReadCloser
	// Wait returns how the program ended, in words and as a code, when no
	// process of its tree exists any more.
	Wait() (Exit, error)
	// Kill ends the process tree, and returns when no process of it exists.
	Kill()
}

// Exit is how a program ended.
type Exit struct {
	Code int
	Text string // such as "exit code 1"
}

// failed returns the result of a turn that failed for a reason that the user can fix.
func failed(code penstock.Code, format string, args ...any) penstock.Result {
	return penstock.Result{
		State:   penstock.StateFailed,
		Message: &penstock.StatusMessage{Message: fmt.Sprintf(format, args...), ErrorCode: code},
	}
}
