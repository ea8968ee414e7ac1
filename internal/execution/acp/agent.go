package acp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"sync"
)

// AgentHandler holds the functions of an agent. Initialize, NewSession and Prompt are required. A
// call of another function that is nil gets "method not found". Each call runs in its own
// goroutine, and its ctx ends with the connection.
type AgentHandler struct {
	Initialize      func(ctx context.Context, r InitializeRequest) (InitializeResponse, error)
	Authenticate    func(ctx context.Context, r AuthenticateRequest) error
	NewSession      func(ctx context.Context, r NewSessionRequest) (Session, error)
	LoadSession     func(ctx context.Context, r LoadSessionRequest) (Session, error)
	CloseSession    func(ctx context.Context, r CloseSessionRequest) error
	SetMode         func(ctx context.Context, r SetModeRequest) error
	SetConfigOption func(ctx context.Context, r SetConfigOptionRequest) (ConfigOptions, error)

	// Prompt does one turn. Each session has at most one at a time. ctx ends when the client
	// cancels the turn. Then the response is always "cancelled", with the result's Meta.
	Prompt func(ctx context.Context, r PromptRequest) (PromptResponse, error)

	// Extension handles requests whose method begins with "_".
	Extension func(ctx context.Context, method string, params json.RawMessage) (any, error)

	// Garbage is called with each line that is not a message, by the goroutine that delivers
	// messages. It must not wait for the client.
	Garbage func(line []byte, reason error)
}

// Agent is the agent's end of a connection.
type Agent struct {
	conn    *conn
	handler AgentHandler

	mu    sync.Mutex
	turns map[string]context.CancelCauseFunc // by session
}

// NewAgent creates an agent on rw. Run does the work and closes rw at its end.
func NewAgent(rw io.ReadWriteCloser, h AgentHandler) *Agent {
	a := &Agent{conn: newConn(rw), handler: h, turns: map[string]context.CancelCauseFunc{}}
	a.conn.side = side{request: a.request, notify: a.notify, garbage: a.garbage}
	return a
}

// Run serves the client until it closes its end or ctx ends. It waits for the handlers, whose ctx
// has ended by then. It returns nil if the client closed its end, and otherwise the cause.
func (a *Agent) Run(ctx context.Context) error { return a.conn.run(ctx) }

// Update sends an update about a session to the client. It waits if the client reads too slowly.
// Send the updates of a turn before Prompt returns.
func (a *Agent) Update(ctx context.Context, sessionID string, u Update) error {
	return a.conn.notify(ctx, "session/update", SessionNotification{SessionID: sessionID, Update: u})
}

// Call calls a method of the client: one of the protocol, or an extension. It decodes the response
// into result unless that is nil.
func (a *Agent) Call(ctx context.Context, method string, params, result any) error {
	return a.conn.call(ctx, method, params, result)
}

func (a *Agent) notify(_ context.Context, method string, params json.RawMessage) {
	if method != "session/cancel" {
		return
	}
	var n cancelNotification
	if json.Unmarshal(params, &n) != nil {
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if cancel := a.turns[n.SessionID]; cancel != nil {
		cancel(errTurnCancelled)
	}
}

// garbage responds with a null id, as JSON-RPC 2.0 §5.1 requires of a server.
func (a *Agent) garbage(line []byte, reason error) {
	if a.handler.Garbage != nil {
		a.handler.Garbage(line, reason)
	}
	a.conn.respond(context.Background(), json.RawMessage("null"), nil, &Error{Code: CodeParse, Message: reason.Error()})
}

func (a *Agent) request(ctx context.Context, method string, params json.RawMessage) responder {
	h := &a.handler
	switch method {
	case "initialize":
		return serve(ctx, method, params, h.Initialize)
	case "authenticate":
		return serve(ctx, method, params, void(h.Authenticate))
	case "session/new":
		return serve(ctx, method, params, h.NewSession)
	case "session/load":
		return serve(ctx, method, params, h.LoadSession)
	case "session/close":
		return serve(ctx, method, params, void(h.CloseSession))
	case "session/set_mode":
		return serve(ctx, method, params, void(h.SetMode))
	case "session/set_config_option":
		return serve(ctx, method, params, h.SetConfigOption)
	case "session/prompt":
		return a.prompt(ctx, params)
	}
	return extension(ctx, method, params, h.Extension)
}

// prompt registers the turn before its goroutine starts, so that an immediate cancel finds it.
func (a *Agent) prompt(ctx context.Context, params json.RawMessage) responder {
	var r PromptRequest
	if err := json.Unmarshal(params, &r); err != nil {
		return fails(&Error{Code: CodeInvalidParams, Message: "session/prompt: " + err.Error()})
	}
	ctx, cancel := context.WithCancelCause(ctx)
	a.mu.Lock()
	_, busy := a.turns[r.SessionID]
	if !busy {
		a.turns[r.SessionID] = cancel
	}
	a.mu.Unlock()
	if busy {
		cancel(nil)
		return fails(&Error{Code: CodeInvalidRequest, Message: "session/prompt: a turn of this session is already running"})
	}
	return func() (any, error) {
		response, err := a.handler.Prompt(ctx, r)
		a.mu.Lock()
		delete(a.turns, r.SessionID)
		cause := context.Cause(ctx)
		a.mu.Unlock()
		cancel(nil)
		if errors.Is(cause, errTurnCancelled) {
			response.StopReason = StopCancelled
			return response, nil
		}
		return response, err
	}
}
