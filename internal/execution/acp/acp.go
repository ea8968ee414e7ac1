// Package acp speaks the Agent Client Protocol, version 1: JSON-RPC 2.0, one message per line, over
// an agent's standard streams. [Client] drives an agent, and [Agent] is the agent's end. Both ends
// deliver messages in order, so updates always come before the result of their prompt. Both limit
// the memory that a peer can make them use.
//
// The peer is not trusted. Lines that are not messages are reported and skipped, and unknown
// updates are passed on unchanged. A peer can at most end its own connection.
package acp

import (
	"errors"
	"io"
)

// ProtocolVersion is the version of ACP that both ends speak.
const ProtocolVersion = 1

// ErrClosed is returned by calls after the end of the connection. It is joined with the reason.
var ErrClosed = errors.New("the connection is closed")

var errPeerGone = errors.New("the peer closed its end")

// Join returns one stream for a process: reads come from its standard output, and writes go to its
// standard input. Close closes both.
func Join(r io.Reader, w io.Writer) io.ReadWriteCloser { return joined{r, w} }

type joined struct {
	io.Reader
	io.Writer
}

func (j joined) Close() error {
	var errs []error
	for _, end := range []any{j.Writer, j.Reader} {
		if c, ok := end.(io.Closer); ok {
			errs = append(errs, c.Close())
		}
	}
	return errors.Join(errs...)
}
