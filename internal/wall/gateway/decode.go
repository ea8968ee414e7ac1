package gateway

import (
	"bufio"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"io"
	"iter"
	"net/http"
	"strings"
)

// compressed reports whether a response has an encoding that [plain] reads. The gateway asks for
// identity, but some servers and the proxies before them compress nevertheless.
func compressed(res *http.Response) bool {
	switch strings.ToLower(strings.Join(res.Header.Values("Content-Encoding"), ",")) {
	case "gzip", "x-gzip", "deflate":
		return true
	}
	return false
}

// plain decodes gzip (RFC 1952), zlib (RFC 1950) and the raw deflate data (RFC 1951) that some servers
// send as deflate. The first bytes decide, because a header can be wrong. It returns what was flushed
// without waiting for more.
func plain(in *bufio.Reader) (io.Reader, error) {
	head, _ := in.Peek(2) // an error comes again
	switch {
	case len(head) < 2: // too short to be compressed
		return in, nil
	case head[0] == 0x1f && head[1] == 0x8b:
		return gzip.NewReader(in)
	case head[0]&0x0f == 8 && (int(head[0])<<8|int(head[1]))%31 == 0:
		return zlib.NewReader(in)
	case strings.IndexByte("{[<de: \r\n", head[0]) >= 0: // JSON, a page or an event
		return in, nil
	}
	return flate.NewReader(in), nil
}

// decode makes a compressed response plain.
func decode(res *http.Response) error {
	body, err := plain(bufio.NewReader(res.Body))
	if err != nil {
		return err
	}
	res.Body = struct {
		io.Reader
		io.Closer
	}{body, res.Body}
	res.Header.Del("Content-Encoding")
	res.Header.Del("Content-Length")
	res.ContentLength = -1
	return nil
}

// unpacker decodes pieces as they pass.
type unpacker struct {
	piece []byte
	ended bool
	next  func() (struct{}, bool)
	stop  func()
}

// newUnpacker calls out with what the pieces decode to.
func newUnpacker(out func([]byte)) *unpacker {
	u := &unpacker{}
	u.next, u.stop = iter.Pull(func(yield func(struct{}) bool) {
		in, err := plain(bufio.NewReader(&pulled{u, yield}))
		piece := make([]byte, 4<<10)
		for err == nil {
			var n int
			n, err = in.Read(piece)
			out(piece[:n])
		}
		for yield(struct{}{}) { // what follows cannot be read
			u.piece = nil
		}
	})
	return u
}

// write decodes a piece, and returns once all that it completes was passed on.
func (u *unpacker) write(p []byte) {
	u.piece = p
	u.next()
}

// close decodes what is left.
func (u *unpacker) close() {
	u.ended = true
	u.next()
	u.stop()
}

// pulled reads the pieces of an unpacker, and gives the control back for each.
type pulled struct {
	*unpacker

	yield func(struct{}) bool
}

// Read implements io.Reader.
func (p *pulled) Read(b []byte) (int, error) {
	for len(p.piece) == 0 {
		if p.ended || !p.yield(struct{}{}) {
			return 0, io.EOF
		}
	}
	n := copy(b, p.piece)
	p.piece = p.piece[n:]
	return n, nil
}
