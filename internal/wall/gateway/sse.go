package gateway

import "bytes"

// events reads server-sent events that arrive in pieces, cut at any byte, and passes the
// data of each to a scanner. Lines end with LF, CR or CRLF (HTML Living Standard §9.2.6).
type events struct {
	scan *scanner
	// data is called at the end of an event, and says whether it has data.
	data func(has bool)
	// ended is called after the blank line of an event, also of one without data, with the
	// offset behind it. It is called once more for the LF of a CRLF that ends the event.
	ended func(offset int)

	field   [5]byte // the first bytes of the line
	length  int     // of the line before its colon, at most len(field)+1
	inData  bool    // in the value of a data line
	other   bool    // in a line that is not data
	space   bool    // the next byte of the value may be a space to leave out
	lines   int     // data lines of this event
	afterCR bool
	blank   bool // the last byte ended an event

	head  [8]byte // the first bytes of the event's data
	headN int
}

var newline = []byte("\n")

// write reads a piece.
func (e *events) write(p []byte) {
	for i := 0; i < len(p); {
		c := p[i]
		if e.afterCR {
			e.afterCR = false
			if c == '\n' {
				i++
				if e.blank {
					e.ended(i)
				}
				continue
			}
		}
		switch {
		case e.inData && c != '\n' && c != '\r':
			if e.space {
				e.space = false
				if c == ' ' {
					i++
					continue
				}
			}
			n := lineLength(p[i:])
			e.payload(p[i : i+n])
			i += n
		case e.other && c != '\n' && c != '\r':
			i += lineLength(p[i:])
		case c == '\n' || c == '\r':
			e.afterCR = c == '\r'
			i++
			e.lineEnded(i)
		default:
			e.fieldByte(c)
			i++
		}
	}
}

func lineLength(p []byte) int {
	if n := bytes.IndexByte(p, '\n'); n >= 0 {
		p = p[:n]
	}
	if n := bytes.IndexByte(p, '\r'); n >= 0 {
		p = p[:n]
	}
	return len(p)
}

func (e *events) fieldByte(c byte) {
	if e.length < len(e.field) {
		e.field[e.length] = c
	}
	e.length++
	switch {
	case string(e.field[:min(e.length, len(e.field))]) == "data:":
		e.beginData()
		e.space = true
	case c == ':' || e.length >= len(e.field):
		e.other = true
	}
}

func (e *events) beginData() {
	e.inData = true
	if e.lines > 0 {
		e.payload(newline)
	}
	e.lines++
}

func (e *events) payload(p []byte) {
	if e.headN < len(e.head) {
		e.headN += copy(e.head[e.headN:], p)
	}
	e.scan.write(p)
}

func (e *events) lineEnded(offset int) {
	e.blank = !e.inData && !e.other && e.length == 0
	e.inData, e.other, e.space, e.length = false, false, false, 0
	if e.blank {
		e.finish()
		e.ended(offset)
	}
}

// finish ends an event, also one that the end of the stream cuts.
func (e *events) finish() {
	e.data(e.lines > 0)
	e.lines, e.headN = 0, 0
	e.scan.reset()
}

// isDone reports whether the data of the event is OpenAI's [DONE].
func (e *events) isDone() bool { return string(e.head[:e.headN]) == "[DONE]" }
