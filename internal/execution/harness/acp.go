package harness

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/acp"
)

const (
	// startTime limits the time until an agent is ready for its first prompt. Loading a long
	// session and starting MCP servers takes time.
	startTime = 2 * time.Minute
	// cancelTime limits the time in which an agent must end a cancelled turn.
	cancelTime = 5 * time.Second
	// cancelledTime is that limit if the run was cancelled, so that nothing of the turn is stored.
	cancelledTime = 300 * time.Millisecond
	// cancelEvery is the interval for repeating the cancel.
	cancelEvery = time.Second
	// exitTime limits the time in which a program must end after its connection.
	exitTime = time.Second
	// maxSessionID is the longest stored id of a session, in bytes.
	maxSessionID = 1 << 10
)

// acpHarness drives programs that speak the Agent Client Protocol.
type acpHarness struct{ program Program }

// acpAgent is one such program with one session.
type acpAgent struct {
	program    Program
	session    Session
	process    Process
	client     *acp.Client
	capable    acp.AgentCapabilities
	id         string
	knows      bool // the session has the conversation: it was loaded, or begun
	said       transcript
	did        actions
	lastWords  Tail
	disconnect context.CancelFunc
	served     chan struct{} // closed when the connection is over
	fronts     bool          // the agent's stdio MCP servers are behind our front
	reported   int64         // bytes of the reports of the fronts that were read
	notices    []string      // for the next prompt
	unusable   []string      // MCP servers over HTTP that the agent does not get

	mu       sync.Mutex
	listens  bool // updates are new: the agent is not replaying an old session
	usage    turnUsage
	failures int           // reports of MCP servers that do not work
	question chan question // of the active turn to the user; room for one
}

// Start implements Harness.
func (h acpHarness) Start(ctx context.Context, s Session) (Agent, error) {
	a := &acpAgent{program: h.program, session: s, served: make(chan struct{}), question: make(chan question, 1)}
	a.said = transcript{record: s.Record}
	a.did = actions{add: a.said.add, session: &a.session, numbers: h.program.Numbers, open: map[string]*action{}}
	a.fronts = !h.program.EnvForTools && s.Home != nil
	if err := a.forgetReports(); err != nil {
		return nil, err
	}
	err := a.tryRemote(ctx)
	if err != nil {
		return nil, err
	}
	a.process, err = s.Start(ctx, Command{
		Argv: h.program.Argv, Env: h.program.environment(s.Env), Protocol: true, Stderr: &a.lastWords,
	})
	if err != nil {
		return nil, err
	}
	a.client = acp.NewClient(acp.Join(a.process.Stdout(), a.process.Stdin()), acp.ClientHandler{
		Update:     a.update,
		Permission: a.permission,
		Elicit:     a.elicit,
		Extension:  a.extension,
		Garbage:    a.garbage,
	})
	serving, disconnect := context.WithCancel(context.WithoutCancel(ctx))
	a.disconnect = disconnect
	go func() {
		defer close(a.served)
		_ = a.client.Run(serving) // waiting calls get the error
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

// open opens the connection and the session.
func (a *acpAgent) open(ctx context.Context, p Program) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startTime, fmt.Errorf("the agent was not ready within %s", startTime))
	defer cancel()
	hello, err := a.client.Initialize(ctx, acp.Implementation{Name: "penstock", Title: "Penstock", Version: "1"})
	if err != nil {
		return err
	}
	a.capable = hello.Capabilities
	servers, err := a.mcpServers(hello.Capabilities.MCP)
	if err != nil {
		return err
	}
	err = a.begin(ctx, p, servers)
	if needed := a.checkServers(); needed != "" { // it may be the reason of err
		return penstock.Errorf(penstock.CodeAgentProcessFailed, "%s", needed)
	}
	if err != nil {
		return err
	}
	if a.capable.Session.Title != nil { // otherwise some agents ask a model for one that is not the run's
		if err := a.client.SetTitle(ctx, a.id, "Penstock"); err != nil {
			a.session.Log.WarnContext(ctx, "cannot set the title of the session", "error", a.explain(err))
		}
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

// begin loads the earlier session, if it exists and the agent supports that. Otherwise it starts a
// new one.
func (a *acpAgent) begin(ctx context.Context, p Program, servers []acp.MCPServer) error {
	s := a.session
	meta := acp.Meta{}
	if len(s.Skills) > 0 {
		meta = meta.With(acp.MetaSkills, acpSkills(s.Skills))
	}
	if p.EnvForTools {
		meta = meta.With(acp.MetaEnvironment, s.Env)
		var required []string
		for name, server := range s.MCPServers {
			if server.Required {
				required = append(required, name)
			}
		}
		meta = meta.With(acp.MetaRequiredServers, required)
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
	_ = a.forgetReports() // the next Start fails if it is not possible
}

// explain converts an error of the connection to one that is safe to show.
func (a *acpAgent) explain(err error) error {
	if ours, ok := errors.AsType[*penstock.Error](err); ok {
		return ours
	}
	result := a.failure(err)
	return &penstock.Error{Code: result.Message.ErrorCode, Detail: result.Message.Message, Cause: err}
}

// failure returns the result of a turn that the agent did not complete: it returned an error, or
// has ended.
func (a *acpAgent) failure(err error) penstock.Result {
	var refused *acp.Error
	switch {
	case errors.As(err, &refused) && refused.Code == acp.CodeAuthRequired:
		return failed(
			penstock.CodeExternalAuthRequired, "The agent is not signed in to its provider: %s", refused.Message,
		)
	case errors.As(err, &refused):
		return failed(penstock.CodeAgentProcessFailed, "The agent returned an error: %s%s", refused, a.stderr())
	case errors.Is(err, acp.ErrLineTooLong): // the program's reaction to that is not the reason
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

// exit returns how the program ended, if it has ended or ends soon.
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

// stderr returns the end of the program's standard error, to append to a reason. It ends the
// program first, so that the output is complete.
func (a *acpAgent) stderr() string {
	a.process.Kill()
	_, _ = a.process.Wait()
	if text := a.lastWords.Text(a.session.Mask); text != "" {
		return "\n\n" + text
	}
	return ""
}

// garbage keeps output between the agent's messages, which often explains a later failure.
func (a *acpAgent) garbage(line []byte, reason error) {
	a.session.Log.Debug("the agent sent an invalid message", "bytes", len(line), "error", reason)
	_, _ = a.lastWords.Write(append(slices.Clip(line), '\n'))
}

// permission allows the agent's calls, because it runs in a sandbox. If a call only offers
// rejection, it is rejected.
func (a *acpAgent) permission(ctx context.Context, r acp.PermissionRequest) (outcome acp.PermissionOutcome, err error) {
	defer a.contain(ctx, "permission", &err)
	if text := questions(r.ToolCall.RawInput); text != "" { // some agents ask their user in this way
		a.ask(r.ToolCall, question{text: text, refused: true})
		return acp.Choose(r.Options, acp.RejectOnce, acp.RejectAlways), nil
	}
	outcome = acp.Allow(r.Options)
	allowed := slices.ContainsFunc(r.Options, func(o acp.PermissionOption) bool {
		return o.ID == outcome.OptionID && (o.Kind == acp.AllowOnce || o.Kind == acp.AllowAlways)
	})
	a.did.ask(r.ToolCall, allowed)
	return outcome, nil
}

// extension handles our own requests.
func (a *acpAgent) extension(ctx context.Context, method string, params json.RawMessage) (result any, err error) {
	defer a.contain(ctx, method, &err)
	switch method {
	case acp.MethodArtifact:
	case acp.MethodServerFailed:
		var r acp.ServerFailure
		if err := json.Unmarshal(params, &r); err != nil {
			return nil, &acp.Error{Code: acp.CodeInvalidParams, Message: err.Error()}
		}
		a.serverFailed(r.Name, r.Reason)
		return struct{}{}, nil
	default:
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

// contain is deferred around the handling of messages from the agent. It turns a panic there into
// the response, if there is one, so that it does not end the worker with all its runs.
func (a *acpAgent) contain(ctx context.Context, what string, response *error) {
	p := recover()
	if p == nil {
		return
	}
	a.session.Log.ErrorContext(
		ctx, "a message from the agent caused a panic", "method", what, "panic", fmt.Sprint(p), "stack",
		string(debug.Stack()),
	)
	if response != nil {
		*response = &acp.Error{Code: acp.CodeInternal, Message: "the request failed"}
	}
}
