package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"
)

type mcpServeCmd struct{}

func (cmd *mcpServeCmd) Help() string {
	return "Reads MCP messages from standard input, one per line, sends each to the server's endpoint with your key, " +
		"and writes what comes back to standard output. For clients that cannot send a header, or that run where only this " +
		"program has the key."
}

func (cmd *mcpServeCmd) Run(ctx context.Context, std *stdio, in *mcpCmds) error {
	c, err := in.dial(ctx, std)
	if err != nil {
		return err
	}
	b := &mcpBridge{client: c, out: std.out, calls: map[string]context.CancelFunc{}}
	return b.run(ctx, std.in)
}

// maxMCPLine limits a message in either direction, in bytes.
const maxMCPLine = 4 << 20

// mcpBridge passes messages of an MCP client on to the server.
type mcpBridge struct {
	client *client

	mu      sync.Mutex // guards the fields below
	out     io.Writer
	version string                        // that was negotiated by initialize; empty before
	calls   map[string]context.CancelFunc // in progress, by id
}

// mcpMessage is the part of a message that the bridge reads.
type mcpMessage struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Name      string          `json:"name"`
		URI       string          `json:"uri"`
		RequestID json.RawMessage `json:"requestId"`
		Meta      struct {
			Version string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	} `json:"params"`
	Result struct {
		Version string `json:"protocolVersion"`
	} `json:"result"`
}

// closing is how long calls in progress may take once the client has closed its end.
const closing = 5 * time.Second

// run passes messages on until the client closes its end.
func (b *mcpBridge) run(ctx context.Context, in io.Reader) error {
	ctx, cancel := context.WithCancel(ctx)
	var calls sync.WaitGroup
	defer cancel()
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, maxMCPLine)
	for lines.Scan() {
		line := bytes.Clone(bytes.TrimSpace(lines.Bytes()))
		if len(line) == 0 {
			continue
		}
		var m mcpMessage
		if err := json.Unmarshal(line, &m); err != nil {
			b.fail(nil, -32700, "this is not a JSON-RPC message")
			continue
		}
		if m.Method == "notifications/cancelled" {
			b.cancel(string(m.Params.RequestID))
			continue
		}
		if m.Method == "initialize" { // what follows needs the version
			b.pass(ctx, line, &m)
			continue
		}
		calls.Go(func() { b.pass(ctx, line, &m) })
	}
	defer time.AfterFunc(closing, cancel).Stop()
	calls.Wait()
	return lines.Err()
}

// cancel ends a call by closing its request, which is how the server learns it.
func (b *mcpBridge) cancel(id string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if end := b.calls[id]; end != nil {
		end()
	}
}

// pass sends a message and writes the messages of the response.
func (b *mcpBridge) pass(ctx context.Context, line []byte, m *mcpMessage) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	id := string(m.ID)
	b.mu.Lock()
	header := b.header(m)
	if id != "" {
		b.calls[id] = end
	}
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		delete(b.calls, id)
	}()
	err := b.exchange(ctx, header, line, m)
	switch {
	case err == nil, ctx.Err() != nil:
	case id == "":
		b.client.std.notef("%s", err)
	default:
		b.fail(m.ID, -32000, err.Error())
	}
}

// header returns the headers of a message (MCP 2026-07-28, Streamable HTTP).
func (b *mcpBridge) header(m *mcpMessage) http.Header {
	h := http.Header{"Accept": {"application/json, text/event-stream"}}
	version := b.version
	if m.Params.Meta.Version != "" {
		version = m.Params.Meta.Version
	}
	if version == "" {
		return h
	}
	h.Set("Mcp-Protocol-Version", version)
	h.Set("Mcp-Method", m.Method)
	if name := m.Params.Name + m.Params.URI; name != "" {
		h.Set("Mcp-Name", name)
	}
	return h
}

func (b *mcpBridge) exchange(ctx context.Context, header http.Header, line []byte, m *mcpMessage) error {
	response, err := b.client.send(ctx, http.MethodPost, "mcp/factory", header, line)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if strings.HasPrefix(response.Header.Get("Content-Type"), "text/event-stream") {
		return b.events(response.Body)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxMCPLine+1))
	if err != nil || len(text) > maxMCPLine {
		return errors.Join(errMCPResponse, err)
	}
	if m.Method == "initialize" {
		var answer mcpMessage
		_ = json.Unmarshal(text, &answer)
		b.mu.Lock()
		b.version = answer.Result.Version
		b.mu.Unlock()
	}
	return b.write(text)
}

var errMCPResponse = errors.New("the response of the server is not complete, or too large")

// events writes the message of each event (HTML standard §9.2).
func (b *mcpBridge) events(body io.Reader) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, maxMCPLine)
	for lines.Scan() {
		data, found := bytes.CutPrefix(lines.Bytes(), []byte("data:"))
		if !found {
			continue
		}
		if err := b.write(data); err != nil {
			return err
		}
	}
	return lines.Err()
}

// write writes a message as a line.
func (b *mcpBridge) write(text []byte) error {
	var line bytes.Buffer
	if len(bytes.TrimSpace(text)) == 0 { // the response to a notification
		return nil
	}
	if err := json.Compact(&line, text); err != nil {
		return fmt.Errorf("the server did not respond with JSON: %w", err)
	}
	line.WriteByte('\n')
	b.mu.Lock()
	defer b.mu.Unlock()
	_, err := b.out.Write(line.Bytes())
	return err
}

// fail writes an error (JSON-RPC 2.0 §5.1).
func (b *mcpBridge) fail(id json.RawMessage, code int, text string) {
	type problem struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	if len(id) == 0 {
		id = json.RawMessage("null")
	}
	message, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "error": problem{code, cleanText(text)}})
	if err == nil {
		err = b.write(message)
	}
	if err != nil {
		b.client.std.notef("%s", err)
	}
}
