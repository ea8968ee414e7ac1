package acp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxLine is the longest line that is read, without its line feed: 64 MiB.
const maxLine = 64 << 20

// ErrLineTooLong ends a connection whose peer sent a line of more than 64 MiB.
var ErrLineTooLong = errors.New("the peer sent a line of more than 64 MiB")

// Error codes of JSON-RPC 2.0 and of ACP.
const (
	CodeParse            = -32700
	CodeInvalidRequest   = -32600
	CodeMethodNotFound   = -32601
	CodeInvalidParams    = -32602
	CodeInternal         = -32603
	CodeAuthRequired     = -32000
	CodeResourceNotFound = -32002
	CodeRequestCancelled = -32800
)

// Error is a JSON-RPC error, received or sent.
type Error struct {
	Code    int             `json:"code"`
	Message string          `json:"message"`
	Data    json.RawMessage `json:"data,omitempty"`
}

// Error returns the message, the code and short data.
func (e *Error) Error() string {
	s := fmt.Sprintf("%s (code %d)", e.Message, e.Code)
	if len(e.Data) == 0 {
		return s
	}
	const most = 1000
	if len(e.Data) > most {
		return s + ": " + string(e.Data[:most]) + "…"
	}
	return s + ": " + string(e.Data)
}

// UnmarshalJSON never fails on JSON, because a malformed error of an agent must still end its call.
// Unreadable parts go into the message.
func (e *Error) UnmarshalJSON(data []byte) error {
	var wire struct {
		Code    json.RawMessage `json:"code"`
		Message json.RawMessage `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	*e = Error{Code: CodeInternal}
	if json.Unmarshal(data, &wire) != nil || wire.Message == nil {
		e.Message = string(data)
		return nil //nolint:nilerr // see above
	}
	if err := json.Unmarshal(wire.Message, &e.Message); err != nil {
		e.Message = string(wire.Message)
	}
	// A code that is not an integer leaves the default.
	_ = json.Unmarshal(wire.Code, &e.Code)
	e.Data = wire.Data
	return nil
}

// message is one line: a request (method and id), a notification (method), or a response (id, and
// result or error). The id stays as it was written, because the peer may use numbers, strings or
// null.
type message struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *Error          `json:"error,omitempty"`
}

func (m *message) isRequest() bool { return m.Method != "" && m.ID != nil }

func (m *message) isResponse() bool {
	return m.Method == "" && m.ID != nil && (m.Error != nil || m.Result != nil)
}

var errNoMessage = errors.New("not a JSON-RPC message")

// parseLine reads one line. It is strict about the kind of a message and lenient about the rest (a
// missing "jsonrpc", unknown members), like the agents. A batch is not a message, because ACP has
// no batches.
func parseLine(line []byte) (message, error) {
	var m message
	if len(line) == 0 || line[0] != '{' {
		return message{}, errNoMessage
	}
	if err := json.Unmarshal(line, &m); err != nil {
		return message{}, fmt.Errorf("%w: %w", errNoMessage, err)
	}
	if m.Method == "" && !m.isResponse() {
		return message{}, errNoMessage
	}
	return m, nil
}

// encodeLine writes v as one line. JSON strings never contain a raw line feed, and the encoder
// compacts raw values, so the only line feed is the last byte.
func encodeLine(m message) ([]byte, error) {
	m.Version = "2.0"
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(m); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// encodeValue writes v as JSON without escaping HTML.
func encodeValue(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimRight(b.Bytes(), "\n"), nil
}

// lineReader splits a stream into lines. It trims white space at their ends and skips empty lines.
// A last line without a line feed counts.
type lineReader struct {
	r   *bufio.Reader
	max int
}

func newLineReader(r io.Reader, most int) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 64<<10), max: most}
}

// next returns a line that the caller owns, ErrLineTooLong, or the reader's
// error (io.EOF at the end).
func (l *lineReader) next() ([]byte, error) {
	for {
		line, err := l.read()
		if err != nil && (errors.Is(err, ErrLineTooLong) || len(line) == 0) {
			return nil, err
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return line, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

func (l *lineReader) read() ([]byte, error) {
	var line []byte
	for {
		part, err := l.r.ReadSlice('\n')
		if len(line)+len(bytes.TrimRight(part, "\r\n")) > l.max {
			return nil, ErrLineTooLong
		}
		line = append(line, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}
