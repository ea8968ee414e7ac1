package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/acp"
)

const (
	// startTime is what an agent gets until it is ready for its first prompt.
	// Loading a long session and starting MCP servers take their time.
	startTime = 2 * time.Minute
	// cancelTime is what an agent gets to end a turn that it was asked to end.
	cancelTime = 5 * time.Second
	// cancelEvery is how often it is asked meanwhile.
	cancelEvery = time.Second
	// exitTime is what a program gets to end once its connection has.
	exitTime = time.Second
	// maxSessionID is the longest id of a session, in bytes, that is kept.
	maxSessionID = 1 << 10
)

// acpHarness drives programs that speak the Agent Client Protocol.
type acpHarness struct{ program Program }

// acpAgent is one such program with one session.
type acpAgent struct {
	session    Session
	process    Process
	client     *acp.Client
	capable    acp.AgentCapabilities
	id         string
	knows      bool // the conversation: it was loaded, or begun
	said       transcript
	did        actions
	lastWords  Tail
	disconnect context.CancelFunc
	served     chan struct{} // closed when the connection is over

	mu      sync.Mutex
	listens bool // what the agent tells is news: it does not replay an old session
	usage   turnUsage
}

// Start implements Harness.
func (h acpHarness) Start(ctx context.Context, s Session) (Agent, error) {
	a := &acpAgent{session: s, served: make(chan struct{})}
	a.said = transcript{record: s.Record}
	a.did = actions{add: a.said.add, session: &a.session, open: map[string]*action{}}
	var err error
	a.process, err = s.Start(ctx, Command{
		Argv: h.program.Argv, Env: h.program.environment(s.Env), Protocol: true, Stderr: &a.lastWords,
	})
	if err != nil {
		return nil, err
	}
	a.client = acp.NewClient(acp.Join(a.process.Stdout(), a.process.Stdin()), acp.ClientHandler{
		Update:     a.update,
		Permission: a.permission,
		Extension:  a.extension,
		Garbage:    a.garbage,
	})
	serving, disconnect := context.WithCancel(context.WithoutCancel(ctx))
	a.disconnect = disconnect
	go func() {
		defer close(a.served)
		_ = a.client.Run(serving) // the calls that wait are told why
	}()
	if err := a.open(ctx, h.program); err != nil {
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		} else {
			err = a.explain(err)
		}
		a.Close()
		return nil, err
	}
	return a, nil
}

// open makes the connection and the session.
func (a *acpAgent) open(ctx context.Context, p Program) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTime, fmt.Errorf("the agent was not ready within %s", startTime))
	defer cancel()
	hello, err := a.client.Initialize(ctx, acp.Implementation{Name: "penstock", Title: "Penstock", Version: "1"})
	if err != nil {
		return err
	}
	a.capable = hello.Capabilities
	servers, err := mcpServers(a.session.MCPServers, hello.Capabilities.MCP)
	if err != nil {
		return err
	}
	if err := a.begin(ctx, p, servers); err != nil {
		return err
	}
	if p.Mode != "" {
		if err := a.client.SetMode(ctx, a.id, p.Mode); err != nil {
			return fmt.Errorf("set the mode %s: %w", p.Mode, err)
		}
	}
	if a.session.Model != "" {
		err := a.client.SetModel(ctx, a.id, a.session.Model)
		if errors.Is(err, acp.ErrNotOffered) {
			return penstock.Errorf(
				penstock.CodeAgentProcessFailed, "the agent does not support other models, so it cannot use %s", a.session.Model,
			)
		}
		if err != nil {
			return fmt.Errorf("use the model %s: %w", a.session.Model, err)
		}
	}
	a.mu.Lock()
	a.listens = true
	a.mu.Unlock()
	return nil
}

// begin loads the session of before where there is one and the agent can, and
// starts a new one otherwise.
func (a *acpAgent) begin(ctx context.Context, p Program, servers []acp.MCPServer) error {
	s := a.session
	meta := acp.Meta{}
	if len(s.Skills) > 0 {
		meta = meta.With(acp.MetaSkills, acpSkills(s.Skills))
	}
	if p.EnvForTools {
		meta = meta.With(acp.MetaEnvironment, s.Env)
	}
	if s.Load != "" && a.capable.LoadSession {
		loaded, err := a.client.LoadSession(
			ctx, acp.LoadSessionRequest{SessionID: s.Load, Cwd: s.Dir, MCPServers: servers, Meta: meta},
		)
		if err == nil {
			a.id, a.knows = loaded.ID, true
			return nil
		}
		var refused *acp.Error
		if !errors.As(err, &refused) {
			return err
		}
		s.Log.WarnContext(ctx, "cannot load the saved session; starting a new one", "error", refused)
	}
	fresh, err := a.client.NewSession(ctx, acp.NewSessionRequest{Cwd: s.Dir, MCPServers: servers, Meta: meta})
	if err != nil {
		return err
	}
	a.id = fresh.ID
	return nil
}

// mcpServers puts the servers of the configuration into the protocol's form.
func mcpServers(servers map[string]penstock.MCPServer, can acp.MCPCapabilities) ([]acp.MCPServer, error) {
	var list []acp.MCPServer
	for name, s := range servers {
		switch {
		case s.Command != "":
			list = append(list, acp.MCPServer{Name: name, Command: s.Command, Args: s.Args, Env: variables(s.Env)})
		case !can.HTTP:
			return nil, penstock.Errorf(
				penstock.CodeAgentProcessFailed, "the agent does not support MCP servers over HTTP, such as %s", name,
			)
		default:
			list = append(list, acp.MCPServer{Name: name, Type: "http", URL: s.URL, Headers: variables(s.Headers)})
		}
	}
	slices.SortFunc(list, func(a, b acp.MCPServer) int { return strings.Compare(a.Name, b.Name) })
	return list, nil
}

func variables(values map[string]string) []acp.Variable {
	var list []acp.Variable
	for name, value := range values {
		list = append(list, acp.Variable{Name: name, Value: value})
	}
	slices.SortFunc(list, func(a, b acp.Variable) int { return strings.Compare(a.Name, b.Name) })
	return list
}

// SessionID implements Agent.
func (a *acpAgent) SessionID() string {
	if a.capable.LoadSession && len(a.id) <= maxSessionID {
		return a.id
	}
	return ""
}

// Fresh implements Agent.
func (a *acpAgent) Fresh() bool { return !a.knows }

// Close implements Agent.
func (a *acpAgent) Close() {
	a.process.Kill()
	a.disconnect()
	<-a.served
	a.said.end()
}

// explain makes an error that may be shown of one from the connection.
func (a *acpAgent) explain(err error) error {
	if ours, ok := errors.AsType[*penstock.Error](err); ok {
		return ours
	}
	result := a.failure(err)
	return &penstock.Error{Code: result.Message.ErrorCode, Detail: result.Message.Message, Cause: err}
}

// failure is the result of a turn that the agent did not end: it answered with
// an error, or it is gone.
func (a *acpAgent) failure(err error) penstock.Result {
	var refused *acp.Error
	switch {
	case errors.As(err, &refused) && refused.Code == acp.CodeAuthRequired:
		return failed(
			penstock.CodeExternalAuthRequired, "The agent is not signed in to its provider: %s", refused.Message,
		)
	case errors.As(err, &refused):
		return failed(penstock.CodeAgentProcessFailed, "The agent returned an error: %s%s", refused, a.stderr())
	case errors.Is(err, acp.ErrLineTooLong): // and what the program says to that is no reason
		return failed(
			penstock.CodeAgentProcessFailed, "The agent was stopped because it wrote a line of more than 64 MiB.%s", a.stderr(),
		)
	case errors.Is(err, acp.ErrClosed):
		reason := err.Error()
		if exit, ok := a.exit(); ok {
			reason = exit.Text
		}
		return failed(
			penstock.CodeAgentProcessFailed, "The agent ended before its turn was complete: %s%s", reason, a.stderr(),
		)
	}
	return failed(penstock.CodeAgentProcessFailed, "The worker cannot communicate with the agent: %s%s", err, a.stderr())
}

// exit is how the program ended, if it has by now or does so soon.
func (a *acpAgent) exit() (Exit, bool) {
	type end struct {
		exit Exit
		err  error
	}
	ended := make(chan end, 1)
	go func() {
		exit, err := a.process.Wait() // ends with Close at the latest
		ended <- end{exit, err}
	}()
	select {
	case e := <-ended:
		return e.exit, e.err == nil
	case <-time.After(exitTime):
		return Exit{}, false
	}
}

// stderr is what the program said last, to be put behind a reason. The program
// ends with it: only then has it said all.
func (a *acpAgent) stderr() string {
	a.process.Kill()
	_, _ = a.process.Wait()
	if text := a.lastWords.Text(a.session.Mask); text != "" {
		return "\n\n" + text
	}
	return ""
}

// garbage keeps what the agent prints among its messages: often it is the
// reason for what comes next.
func (a *acpAgent) garbage(line []byte, reason error) {
	a.session.Log.Debug("the agent sent an invalid message", "bytes", len(line), "error", reason)
	_, _ = a.lastWords.Write(append(slices.Clip(line), '\n'))
}

// permission lets the agent go on: it works in a sandbox of its own. A call
// that offers nothing but to be rejected is.
func (a *acpAgent) permission(ctx context.Context, r acp.PermissionRequest) (outcome acp.PermissionOutcome, err error) {
	defer a.contain(ctx, "permission", &err)
	outcome = acp.Allow(r.Options)
	allowed := slices.ContainsFunc(r.Options, func(o acp.PermissionOption) bool {
		return o.ID == outcome.OptionID && (o.Kind == acp.AllowOnce || o.Kind == acp.AllowAlways)
	})
	a.did.ask(r.ToolCall, allowed)
	return outcome, nil
}

// extension answers the requests that are ours.
func (a *acpAgent) extension(ctx context.Context, method string, params json.RawMessage) (result any, err error) {
	defer a.contain(ctx, method, &err)
	if method != acp.MethodArtifact {
		return nil, &acp.Error{Code: acp.CodeMethodNotFound, Message: "method not found: " + method}
	}
	var r acp.ArtifactRequest
	if err := json.Unmarshal(params, &r); err != nil {
		return nil, &acp.Error{Code: acp.CodeInvalidParams, Message: err.Error()}
	}
	uid, err := a.session.keep(ctx, r)
	if err != nil {
		return nil, err
	}
	return acp.ArtifactResponse{ArtifactUID: uid}, nil
}

// contain is deferred where something that the agent has sent is worked on: a
// failure of ours there is the answer, if there is one, and does not end the
// worker with all its runs.
func (a *acpAgent) contain(ctx context.Context, what string, answer *error) {
	p := recover()
	if p == nil {
		return
	}
	a.session.Log.ErrorContext(
		ctx, "a message from the agent caused a panic", "method", what, "panic", fmt.Sprint(p), "stack",
		string(debug.Stack()),
	)
	if answer != nil {
		*answer = &acp.Error{Code: acp.CodeInternal, Message: "the request failed"}
	}
}
