package acp

import (
	"context"
	"encoding/json"
)

// ClientHandler is what a client does for its agent. What is nil is not offered
// to the agent, and asking for it all the same is answered "method not found".
//
// Update and Garbage are called from one goroutine in the order of arrival, and
// nothing further is handed out until they return: they may wait (the agent is
// then slowed down) but must not call the client and wait for its answer. All
// others run on goroutines of their own. Every ctx ends with the connection.
type ClientHandler struct {
	// Update is told of every session/update.
	Update func(ctx context.Context, n SessionNotification)

	// Permission answers session/request_permission. Once the turn is cancelled
	// ctx ends and the client answers "cancelled" by itself.
	Permission func(ctx context.Context, r PermissionRequest) (PermissionOutcome, error)

	ReadTextFile  func(ctx context.Context, r ReadTextFileRequest) (ReadTextFileResponse, error)
	WriteTextFile func(ctx context.Context, r WriteTextFileRequest) error
	Terminals     *TerminalHandler

	// Extension answers requests whose method begins with "_". An *Error is sent
	// as it is.
	Extension func(ctx context.Context, method string, params json.RawMessage) (any, error)

	// Garbage is told of lines that are no messages, and why.
	Garbage func(line []byte, reason error)
}

// TerminalHandler runs commands for the agent. All of its functions are needed.
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

// ReadTextFileResponse holds the lines asked for.
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

// TerminalOutput is what a command has printed; Exit is nil while it runs.
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
	return ClientCapabilities{
		FS: FSCapabilities{
			ReadTextFile:  h.ReadTextFile != nil,
			WriteTextFile: h.WriteTextFile != nil,
		},
		Terminal: h.Terminals != nil,
	}
}

// answer is what answers a request, to be run on a goroutine of its own.
type answer = func() (any, error)

// serve decodes the parameters for f. A nil f is not offered.
func serve[P, R any](
	ctx context.Context, method string, params json.RawMessage, f func(context.Context, P) (R, error),
) answer {
	if f == nil {
		return notFound(method)
	}
	var p P
	if err := json.Unmarshal(params, &p); err != nil {
		return fails(&Error{Code: CodeInvalidParams, Message: method + ": " + err.Error()})
	}
	return func() (any, error) { return f(ctx, p) }
}

// void makes a function without a result fit serve.
func void[P any](f func(context.Context, P) error) func(context.Context, P) (any, error) {
	if f == nil {
		return nil
	}
	return func(ctx context.Context, p P) (any, error) { return nil, f(ctx, p) }
}

func fails(err error) answer {
	return func() (any, error) { return nil, err }
}

func notFound(method string) answer {
	return fails(&Error{Code: CodeMethodNotFound, Message: "method not found: " + method})
}

// request routes what the agent asks for, except for permissions, which the
// client answers itself.
func (h *ClientHandler) request(ctx context.Context, method string, params json.RawMessage) answer {
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
) answer {
	if f == nil || len(method) < 2 || method[0] != '_' {
		return notFound(method)
	}
	return func() (any, error) { return f(ctx, method, params) }
}
