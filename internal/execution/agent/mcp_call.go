package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/penstock-dev/penstock/internal/execution/acp"
)

// objectSchema returns a tool's schema. Providers require the schema of an object.
func objectSchema(schema any) json.RawMessage {
	object, ok := schema.(map[string]any)
	if !ok || object["type"] != "object" {
		return json.RawMessage(`{"type":"object"}`)
	}
	return mustJSON(object)
}

// mcpToolName returns the name of a tool for the model, with characters and a length that every
// provider accepts.
func mcpToolName(server, tool string) string {
	const most = 64
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, "mcp__"+server+"__"+tool)
	if len(name) <= most {
		return name
	}
	h := fnv.New32a()
	h.Write([]byte(name))
	return fmt.Sprintf("%s_%08x", name[:most-9], h.Sum32())
}

// shownCall is the report of a call to the client.
type shownCall struct {
	Server    string          `json:"server"`
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
}

func (m *mcpServer) prepare(name string) func(*session, json.RawMessage) (prepared, error) {
	return func(_ *session, input json.RawMessage) (prepared, error) {
		return prepared{
			title: m.described.Name + ": " + name,
			shown: mustJSON(shownCall{m.described.Name, name, input}),
			run: func(ctx context.Context, _ *call) (result, error) {
				return m.call(ctx, name, input)
			},
		}, nil
	}
}

// call calls a tool. If the connection is lost, it connects again, but only repeats a call that the
// server has certainly not executed.
func (m *mcpServer) call(ctx context.Context, name string, input json.RawMessage) (result, error) {
	if m.client == nil {
		if err := m.connect(ctx); err != nil {
			return result{}, m.broken(ctx, err)
		}
	}
	response, err := m.callOnce(ctx, name, input)
	if errors.Is(err, mcp.ErrSessionMissing) { // Streamable HTTP, Session Management, rule 4
		m.owner.agent.cfg.Log.Info("an MCP server has lost the session; a new one begins", "server", m.described.Name)
		if err = m.connect(ctx); err != nil {
			return result{}, m.broken(ctx, err)
		}
		response, err = m.callOnce(ctx, name, input)
	}
	var answered *jsonrpc.Error
	switch {
	case err == nil:
		m.connects = 0
		return result{text: cut(contentText(response), maxReadBytes), failed: response.IsError}, nil
	case ctx.Err() != nil:
		return result{}, err
	case errors.Is(err, context.DeadlineExceeded):
		return result{}, fmt.Errorf("the MCP server did not respond within %s", callTime)
	case m.remote != nil && m.remote.passing():
		return result{}, m.remote.explain(err)
	case errors.As(err, &answered) && !m.lost():
		return result{}, err
	}
	ended, p, printed := m.ended(), m.process, m.printed
	m.disconnect()
	if m.remote != nil {
		err = m.remote.explain(err)
	}
	return result{}, m.broken(ctx, withOutput(err, ended, p, printed))
}

func (m *mcpServer) callOnce(ctx context.Context, name string, input json.RawMessage) (*mcp.CallToolResult, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	if m.process != nil { // a child of a server that has ended may keep its output open
		defer m.cancelAtExit(ctx, cancel)()
	}
	return m.client.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: input})
}

// cancelAtExit calls cancel soon after the server's process has ended, until stop is called.
func (m *mcpServer) cancelAtExit(ctx context.Context, cancel func()) (stop func()) {
	ctx, over := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-m.process.exited:
		case <-ctx.Done():
			return
		}
		select {
		case <-time.After(drainFor):
			cancel()
		case <-ctx.Done():
		}
	})
	return func() {
		over()
		watching.Wait()
	}
}

// lost reports whether a local server has ended.
func (m *mcpServer) lost() bool {
	if m.process == nil {
		return false
	}
	select {
	case <-m.process.exited:
		return true
	default:
		return false
	}
}

// broken reports that a server does not work, to the client and in the error for the model. If the
// run needs the server, the error ends the turn.
func (m *mcpServer) broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	m.problem = err.Error()
	m.owner.reportServer(ctx, m)
	err = fmt.Errorf("the MCP server %q does not work: %w", m.described.Name, err)
	if m.required {
		return &requiredError{err}
	}
	return err
}

// requiredError ends a turn because an MCP server that the run needs does not work.
type requiredError struct{ error }

func (e *requiredError) Unwrap() error { return e.error }

func (e *requiredError) forClient() error {
	return &acp.Error{Code: acp.CodeInternal, Message: e.Error() + ". The run needs it (required: true)."}
}

// contentText returns a result as text. It names parts that are not text.
func contentText(response *mcp.CallToolResult) string {
	var texts []string
	for _, c := range response.Content {
		switch c := c.(type) {
		case *mcp.TextContent:
			texts = append(texts, c.Text)
		case *mcp.EmbeddedResource:
			if c.Resource != nil && c.Resource.Text != "" {
				texts = append(texts, c.Resource.Text)
			} else {
				texts = append(texts, "[a binary resource was left out]")
			}
		case *mcp.ResourceLink:
			texts = append(texts, "[resource "+c.URI+"]")
		default:
			texts = append(texts, fmt.Sprintf("[%T was left out]", c))
		}
	}
	if len(texts) == 0 && response.StructuredContent != nil {
		if raw, err := json.Marshal(response.StructuredContent); err == nil {
			texts = append(texts, string(raw))
		}
	}
	return strings.Join(texts, "\n")
}
