package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
)

var (
	// ErrNotOffered is returned if the agent does not offer the setting: it has no modes, or no
	// choice of models.
	ErrNotOffered = errors.New("the agent does not support it")

	errTurnCancelled = errors.New("the turn was cancelled")
)

// Client drives an agent. It is safe for concurrent use. Calls return once Run runs. The ctx of a
// call only ends the wait; to stop the agent's work, use Cancel.
type Client struct {
	conn    *conn
	handler ClientHandler

	mu       sync.Mutex
	sessions map[string]*clientSession
}

// clientSession is the client's state of a session.
type clientSession struct {
	offered   Session
	cancelled bool // the active turn, until the next prompt
	asking    map[int]context.CancelCauseFunc
	lastAsked int
}

// NewClient creates a client on rw. Run does the work and closes rw at its end.
func NewClient(rw io.ReadWriteCloser, h ClientHandler) *Client {
	c := &Client{conn: newConn(rw), handler: h, sessions: map[string]*clientSession{}}
	c.conn.side = side{request: c.request, notify: c.notify, garbage: c.garbage}
	return c
}

// Run serves the connection until the agent closes its end, ctx ends or Close is called. It returns
// nil if the agent closed its end, ErrClosed after Close, and otherwise the cause. All calls have
// failed when it returns.
func (c *Client) Run(ctx context.Context) error { return c.conn.run(ctx) }

// Close ends the connection at once; Run then returns.
func (c *Client) Close() { c.conn.stop(ErrClosed) }

// Initialize opens the connection. An agent of another protocol version is an
// error.
func (c *Client) Initialize(ctx context.Context, me Implementation) (InitializeResponse, error) {
	var r InitializeResponse
	req := InitializeRequest{
		ProtocolVersion: ProtocolVersion,
		Capabilities:    c.handler.capabilities(),
		Client:          &me,
	}
	if err := c.conn.call(ctx, "initialize", req, &r); err != nil {
		return r, err
	}
	if r.ProtocolVersion != ProtocolVersion {
		return r, fmt.Errorf("initialize: the agent speaks version %d of ACP, not %d", r.ProtocolVersion, ProtocolVersion)
	}
	return r, nil
}

// Authenticate signs in with one of the methods from Initialize.
func (c *Client) Authenticate(ctx context.Context, methodID string) error {
	return c.conn.call(ctx, "authenticate", AuthenticateRequest{MethodID: methodID}, nil)
}

// NewSession starts a session.
func (c *Client) NewSession(ctx context.Context, r NewSessionRequest) (Session, error) {
	var s Session
	r.MCPServers = some(r.MCPServers)
	if err := c.conn.call(ctx, "session/new", r, &s); err != nil {
		return s, err
	}
	if s.ID == "" {
		return s, errors.New("session/new: the agent returned no session ID")
	}
	c.session(s.ID, func(known *clientSession) { known.offered = s })
	return s, nil
}

// LoadSession continues an earlier session. The agent sends its history as updates, all before
// LoadSession returns.
func (c *Client) LoadSession(ctx context.Context, r LoadSessionRequest) (Session, error) {
	var s Session
	r.MCPServers = some(r.MCPServers)
	if err := c.conn.call(ctx, "session/load", r, &s); err != nil {
		return s, err
	}
	s.ID = r.SessionID
	c.session(s.ID, func(known *clientSession) { known.offered = s })
	return s, nil
}

// CloseSession releases a session of the agent, if the agent supports it.
func (c *Client) CloseSession(ctx context.Context, sessionID string) error {
	return c.conn.call(ctx, "session/close", CloseSessionRequest{SessionID: sessionID}, nil)
}

// SetTitle gives a session its title, if the agent supports it.
func (c *Client) SetTitle(ctx context.Context, sessionID, title string) error {
	return c.conn.call(ctx, "session/set_title", setTitleRequest{SessionID: sessionID, Title: title}, nil)
}

type setTitleRequest struct {
	SessionID string `json:"sessionId"`
	Title     string `json:"title"`
}

// SetMode changes the session's mode, either as a mode or as a config option, whichever the agent
// offers. If it offers neither, the error is ErrNotOffered.
func (c *Client) SetMode(ctx context.Context, sessionID, modeID string) error {
	offered := c.offered(sessionID)
	if offered.Modes != nil {
		return c.conn.call(ctx, "session/set_mode", SetModeRequest{SessionID: sessionID, ModeID: modeID}, nil)
	}
	return c.setOption(ctx, offered, "mode", modeID)
}

// SetModel changes the session's model, either as a config option or with the older
// session/set_model, whichever the agent offers. If it offers neither, the error is ErrNotOffered.
func (c *Client) SetModel(ctx context.Context, sessionID, modelID string) error {
	offered := c.offered(sessionID)
	err := c.setOption(ctx, offered, "model", modelID)
	if errors.Is(err, ErrNotOffered) && offered.Models != nil {
		return c.conn.call(ctx, "session/set_model", setModelRequest{sessionID, modelID}, nil)
	}
	return err
}

type setModelRequest struct {
	SessionID string `json:"sessionId"`
	ModelID   string `json:"modelId"`
}

// setOption sets the select option of a category.
func (c *Client) setOption(ctx context.Context, offered Session, category, value string) error {
	i := slices.IndexFunc(offered.ConfigOptions, func(o ConfigOption) bool {
		return o.Type == "select" && (o.Category == category || o.Category == "" && o.ID == category)
	})
	if i < 0 {
		return fmt.Errorf("set the %s: %w", category, ErrNotOffered)
	}
	return c.SetConfigOption(ctx, offered.ID, offered.ConfigOptions[i].ID, value)
}

// SetConfigOption sets one of the session's options, of type select.
func (c *Client) SetConfigOption(ctx context.Context, sessionID, optionID, value string) error {
	req := SetConfigOptionRequest{SessionID: sessionID, ConfigID: optionID, Value: value}
	return c.conn.call(ctx, "session/set_config_option", req, nil)
}

// Prompt gives the agent a turn and returns when the turn has ended. By then, Update was called for
// all its updates.
func (c *Client) Prompt(ctx context.Context, sessionID string, prompt ...ContentBlock) (PromptResponse, error) {
	c.session(sessionID, func(s *clientSession) { s.cancelled = false })
	var r PromptResponse
	err := c.conn.call(ctx, "session/prompt", PromptRequest{SessionID: sessionID, Prompt: some(prompt)}, &r)
	return r, err
}

// Cancel asks the agent to end the session's turn, which then ends with the stop reason cancelled.
// Permission requests in the meantime get "cancelled". ctx limits the wait for an agent that does
// not read.
func (c *Client) Cancel(ctx context.Context, sessionID string) error {
	c.session(sessionID, func(s *clientSession) {
		s.cancelled = true
		for _, cancel := range s.asking {
			cancel(errTurnCancelled)
		}
	})
	return c.conn.notify(ctx, "session/cancel", cancelNotification{sessionID})
}

type cancelNotification struct {
	SessionID string `json:"sessionId"`
}

// Call sends an extension request, whose method begins with "_".
func (c *Client) Call(ctx context.Context, method string, params, result any) error {
	return c.conn.call(ctx, method, params, result)
}

// session changes the state of one of our sessions. It ignores ids that only the agent has named,
// because their number is not limited.
func (c *Client) session(id string, change func(*clientSession)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sessions[id]
	if s == nil {
		s = &clientSession{offered: Session{ID: id}, asking: map[int]context.CancelCauseFunc{}}
		c.sessions[id] = s
	}
	change(s)
}

func (c *Client) offered(sessionID string) (s Session) {
	c.session(sessionID, func(known *clientSession) { s = known.offered })
	return s
}

func (c *Client) notify(ctx context.Context, method string, params json.RawMessage) {
	if method != "session/update" {
		return
	}
	var n SessionNotification
	if err := json.Unmarshal(params, &n); err != nil {
		c.garbage(params, fmt.Errorf("session/update: %w", err))
		return
	}
	if n.Update.Kind == UpdateConfigOptions && n.Update.ConfigOptions != nil {
		c.mu.Lock()
		if s := c.sessions[n.SessionID]; s != nil {
			s.offered.ConfigOptions = n.Update.ConfigOptions.Options
		}
		c.mu.Unlock()
	}
	if c.handler.Update != nil {
		c.handler.Update(ctx, n)
	}
}

func (c *Client) garbage(line []byte, reason error) {
	if c.handler.Garbage != nil {
		c.handler.Garbage(line, reason)
	}
}

func (c *Client) request(ctx context.Context, method string, params json.RawMessage) responder {
	if method == "session/request_permission" {
		return serve(ctx, method, params, c.permission())
	}
	if method == "elicitation/create" {
		return serve(ctx, method, params, c.elicit())
	}
	return c.handler.request(ctx, method, params)
}

// permission asks the handler until the turn is cancelled.
func (c *Client) permission() func(context.Context, PermissionRequest) (permissionResponse, error) {
	if c.handler.Permission == nil {
		return nil
	}
	return func(ctx context.Context, r PermissionRequest) (permissionResponse, error) {
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)
		forget := c.asks(r.SessionID, cancel)
		defer forget()
		if errors.Is(context.Cause(ctx), errTurnCancelled) {
			return PermissionOutcome{}.response(), nil
		}
		outcome, err := c.handler.Permission(ctx, r)
		if errors.Is(context.Cause(ctx), errTurnCancelled) {
			return PermissionOutcome{}.response(), nil
		}
		return outcome.response(), err
	}
}

// asks registers a permission request, so that Cancel finds it.
func (c *Client) asks(sessionID string, cancel context.CancelCauseFunc) (forget func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sessions[sessionID]
	if s == nil {
		return func() {}
	}
	if s.cancelled {
		cancel(errTurnCancelled)
		return func() {}
	}
	s.lastAsked++
	id := s.lastAsked
	s.asking[id] = cancel
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		delete(s.asking, id)
	}
}
