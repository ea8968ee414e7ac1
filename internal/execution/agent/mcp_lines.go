package agent

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// maxMessage is the longest message of an MCP server, in bytes. The SDK has the same limit.
const maxMessage = 16 << 20

var errLongMessage = errors.New("it wrote a message of more than 16 MiB")

// MessageLines reads the standard output of an MCP server, and returns only its messages, one a line.
// Many servers also print to it: a banner, logs, warnings of a package manager. The MCP client would
// take such a line for the end of the connection.
type MessageLines struct {
	// Noise is called with each line, or part of one, that is no message.
	Noise func(line []byte)

	in   *bufio.Reader
	out  io.Closer
	rest []byte // of a message
	err  error
}

// NewMessageLines reads from out, which Close closes.
func NewMessageLines(out io.ReadCloser, noise func(line []byte)) *MessageLines {
	return &MessageLines{Noise: noise, in: bufio.NewReaderSize(out, 64<<10), out: out}
}

// Read implements io.Reader.
func (m *MessageLines) Read(p []byte) (int, error) {
	for len(m.rest) == 0 {
		if m.err != nil {
			return 0, m.err
		}
		var line []byte
		line, m.err = m.line()
		m.rest = m.messages(line)
	}
	n := copy(p, m.rest)
	m.rest = m.rest[n:]
	return n, nil
}

// Close implements io.Closer.
func (m *MessageLines) Close() error { return m.out.Close() }

// line reads the next line. Of a longer one that cannot be a message, it returns the beginning.
func (m *MessageLines) line() ([]byte, error) {
	var line []byte
	for {
		part, err := m.in.ReadSlice('\n')
		if len(line)+len(part) <= maxMessage {
			line = append(line, part...)
		} else if bytes.Contains(line[:min(len(line), 1<<10)], []byte(`"jsonrpc"`)) {
			return nil, errLongMessage
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, err
		}
	}
}

// messages returns the messages in a line, each with a line end: one, or the messages of a batch.
// If a server printed something without a line end, the message follows it.
func (m *MessageLines) messages(line []byte) []byte {
	line = bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\xef\xbb\xbf")))
	if len(line) == 0 {
		return nil
	}
	if isMessage(line) {
		return append(line, '\n')
	}
	var batch []json.RawMessage
	if line[0] == '[' && json.Unmarshal(line, &batch) == nil {
		var all []byte
		for _, one := range batch {
			if isMessage(one) {
				all = append(append(all, one...), '\n')
			}
		}
		if all != nil {
			return all
		}
	}
	if at := bytes.Index(line, []byte(`{"jsonrpc"`)); at > 0 && isMessage(line[at:]) {
		m.Noise(slices.Clip(line[:at]))
		return append(line[at:], '\n')
	}
	m.Noise(line)
	return nil
}

func isMessage(line []byte) bool {
	if line[0] != '{' {
		return false
	}
	_, err := jsonrpc.DecodeMessage(line)
	return err == nil
}
