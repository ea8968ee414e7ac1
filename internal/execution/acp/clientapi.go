package acp

import (
	"context"
	"encoding/json"
)

// ClientHandler holds the functions of a client for its agent. A function that is nil is not
// offered to the agent, and a call of it gets "method not found".
//
// Update and Garbage are called from one goroutine in the order of arrival, and the next message
// waits until they return. They may wait, which slows the agent down, but must not wait for a call
// of the client. All other functions run in their own goroutines. Every ctx ends with the
// connection.
type ClientHandler struct {
	// Update is called for every session/update.
	Update func(ctx context.Context, n SessionNotification)

	// Permission handles session/request_permission. When the turn is cancelled, ctx ends, and the
	// client itself responds with "cancelled".
	Permission func(ctx context.Context, r PermissionRequest) (PermissionOutcome, error)

	// Elicit handles elicitation/create of the mode form. When the turn is cancelled, ctx ends, and
	// the client itself responds with "cancel".
	Elicit func(ctx context.Context, r ElicitationRequest) (ElicitationResponse, error)

	ReadTextFile  func(ctx context.Context, r ReadTextFileRequest) (ReadTextFileResponse, error)
	WriteTextFile func(ctx context.Context, r WriteTextFileRequest) error
	Terminals     *TerminalHandler

	// Extension handles requests whose method begins with "_". An *Error is sent unchanged.
	Extension func(ctx context.Context, method string, params json.RawMessage) (any, error)

	// Garbage is called with each line that is not a message, and the reason.
	Garbage func(line []byte, reason error)
}

// TerminalHandler runs commands for the agent. All functions are required.
type TerminalHandler struct {
	Create      func(ctx context.Context, r CreateTerminalRequest) (CreateTerminalResponse, error)
	Output      func(ctx context.Context, r TerminalRequest) (TerminalOutput, error)
	WaitForExit func(ctx context.Context, r TerminalRequest) (TerminalExit, error)
	Kill        func(ctx context.Context, r TerminalRequest) error
	Release     func(ctx context.Context, r TerminalRequest) error
}

// ReadTextFileRequest asks for a text file; Line counts from 1, nil means all.
type ReadTextFileRequest struct {
	SessionID string `json:"sessionId"`
	Path      string `json:"path"`
	Line      *int   `json:"line,omitempty"`
	Limit     *int   `json:"limit,omitempty"`
	Meta      Meta   `json:"_meta,omitempty"`
}

// ReadTextFileResponse contains the requested lines.
type ReadTextFileResponse struct {
	Content string `json:"content"`
}

// WriteTextFileRequest asks to write a whole text file.
type WriteTextFileRequest struct {
	SessionID string `json:"sessionId"`
	Path      string `json:"path"`
	Content   string `json:"content"`
	Meta      Meta   `json:"_meta,omitempty"`
}

// CreateTerminalRequest asks to run a command.
type CreateTerminalRequest struct {
	SessionID       string     `json:"sessionId"`
	Command         string     `json:"command"`
	Args            []string   `json:"args,omitempty"`
	Env             []Variable `json:"env,omitempty"`
	Cwd             string     `json:"cwd,omitempty"`
	OutputByteLimit *int64     `json:"outputByteLimit,omitempty"`
	Meta            Meta       `json:"_meta,omitempty"`
}

// CreateTerminalResponse names the terminal.
type CreateTerminalResponse struct {
	TerminalID string `json:"terminalId"`
}

// TerminalRequest is about one terminal.
type TerminalRequest struct {
	SessionID  string `json:"sessionId"`
	TerminalID string `json:"terminalId"`
	Meta       Meta   `json:"_meta,omitempty"`
}

// TerminalOutput is the output of a command. Exit is nil while it runs.
type TerminalOutput struct {
	Output    string        `json:"output"`
	Truncated bool          `json:"truncated"`
	Exit      *TerminalExit `json:"exitStatus,omitempty"`
}

// TerminalExit is how a command ended.
type TerminalExit struct {
	ExitCode *int    `json:"exitCode,omitempty"`
	Signal   *string `json:"signal,omitempty"`
}

func (h *ClientHandler) capabilities() ClientCapabilities {
	can := ClientCapabilities{
		FS: FSCapabilities{
			ReadTextFile:  h.ReadTextFile != nil,
			WriteTextFile: h.WriteTextFile != nil,
		},
		Terminal: h.Terminals != nil,
	}
	if h.Elicit != nil {
		can.Elicitation = &ElicitationCapabilities{Form: &struct{}{}}
	}
	return can
}

// responder computes the response to a request, in its own goroutine.
type responder = func() (any, error)

// serve decodes the parameters for f. A nil f is not offered.
func serve[P, R any](
	ctx context.Context, method string, params json.RawMessage, f func(context.Context, P) (R, error),
) responder {
	if f == nil {
		return notFound(method)
	}
	var p P
	if err := json.Unmarshal(params, &p); err != nil {
		return fails(&Error{Code: CodeInvalidParams, Message: method + ": " + err.Error()})
	}
	return func() (any, error) { return f(ctx, p) }
}

// void adapts a function without a result to serve.
func void[P any](f func(context.Context, P) error) func(context.Context, P) (any, error) {
	if f == nil {
		return nil
	}
	return func(ctx context.Context, p P) (any, error) { return nil, f(ctx, p) }
}

func fails(err error) responder {
	return func() (any, error) { return nil, err }
}

func notFound(method string) responder {
	return fails(&Error{Code: CodeMethodNotFound, Message: "method not found: " + method})
}

// request routes the agent's requests, except those for permission, which the client handles
// itself.
func (h *ClientHandler) request(ctx context.Context, method string, params json.RawMessage) responder {
	terminals := h.Terminals
	if terminals == nil {
		terminals = &TerminalHandler{}
	}
	switch method {
	case "fs/read_text_file":
		return serve(ctx, method, params, h.ReadTextFile)
	case "fs/write_text_file":
		return serve(ctx, method, params, void(h.WriteTextFile))
	case "terminal/create":
		return serve(ctx, method, params, terminals.Create)
	case "terminal/output":
		return serve(ctx, method, params, terminals.Output)
	case "terminal/wait_for_exit":
		return serve(ctx, method, params, terminals.WaitForExit)
	case "terminal/kill":
		return serve(ctx, method, params, void(terminals.Kill))
	case "terminal/release":
		return serve(ctx, method, params, void(terminals.Release))
	}
	return extension(ctx, method, params, h.Extension)
}

func extension(
	ctx context.Context, method string, params json.RawMessage,
	f func(context.Context, string, json.RawMessage) (any, error),
) responder {
	if f == nil || len(method) < 2 || method[0] != '_' {
		return notFound(method)
	}
	return func() (any, error) { return f(ctx, method, params) }
}
