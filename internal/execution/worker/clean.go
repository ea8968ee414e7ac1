package worker

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/supply/secret"
)

// Limits of the data of one event: bytes, and levels of arrays and objects. A response must be able
// to contain it.
const (
	maxEvent  = 256 << 10
	maxLevels = 100
)

// A cut says how much of an event's data is kept. An event that is too large is cut in several
// steps.
type cut struct {
	text  int // bytes of each string
	items int // elements of each array, members of each object
}

var cuts = []cut{{128 << 10, 1 << 20}, {16 << 10, 4000}, {2 << 10, 400}, {256, 40}}

// clean prepares the data of an event for the log. It removes control characters, masks known
// secrets, and cuts long texts with a note. It masks a text before it cuts it, so no cut splits a
// secret. It omits values that are nested too deeply. It returns nil if data is not JSON, or cannot
// be cut to size.
func clean(data []byte, mask *secret.Masker) []byte {
	for _, c := range cuts {
		var out bytes.Buffer
		w := rewriter{
			in: jsontext.NewDecoder(
				bytes.NewReader(data), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true),
			),
			out:  jsontext.NewEncoder(&out, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)),
			mask: mask, cut: c,
		}
		switch err := w.value(); {
		case errors.Is(err, errTooLarge), err == nil && out.Len() > maxEvent:
		case err != nil:
			return nil
		default:
			return bytes.TrimSpace(out.Bytes())
		}
	}
	return nil
}

var errTooLarge = errors.New("the event is too large")

// rewriter copies JSON with every string cleaned.
type rewriter struct {
	in   *jsontext.Decoder
	out  *jsontext.Encoder
	mask *secret.Masker
	cut  cut
}

func (w *rewriter) value() error {
	if kind := w.in.PeekKind(); (kind == '{' || kind == '[') && w.in.StackDepth() >= maxLevels {
		return errors.Join(w.in.SkipValue(), w.out.WriteToken(jsontext.String("[… nested too deeply …]")))
	}
	token, err := w.in.ReadToken()
	if err != nil {
		return err
	}
	if w.out.OutputOffset() > maxEvent {
		return errTooLarge
	}
	switch token.Kind() {
	case '{', '[':
		return w.container(token)
	case '"':
		token = jsontext.String(shorten(w.mask.String(cleanText(token.String())), w.cut.text))
	case '0':
		if number := token.String(); w.mask.String(number) != number {
			token = jsontext.String(secret.Masked)
		}
	}
	return w.out.WriteToken(token)
}

// container copies an array or object, whose opening token has been read.
func (w *rewriter) container(open jsontext.Token) error {
	values := 1 // per element
	if open.Kind() == '{' {
		values = 2
	}
	if err := w.out.WriteToken(open); err != nil {
		return err
	}
	for n := 0; w.in.PeekKind() != ']' && w.in.PeekKind() != '}'; n++ {
		for range values {
			do := w.value
			if n >= w.cut.items {
				do = w.in.SkipValue
			}
			if err := do(); err != nil {
				return err
			}
		}
	}
	end, err := w.in.ReadToken()
	if err != nil {
		return err
	}
	return w.out.WriteToken(end)
}

// shorten cuts the middle out of a text that is longer than limit.
func shorten(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	head, tail := limit/2, len(text)-limit/2
	for head > 0 && !utf8.RuneStart(text[head]) {
		head--
	}
	for tail < len(text) && !utf8.RuneStart(text[tail]) {
		tail++
	}
	return fmt.Sprintf("%s\n[… %d bytes or more left out …]\n%s", text[:head], tail-head, text[tail:])
}

func cleanText(text string) string {
	var c cleaner
	return c.write(text)
}

// cleaner removes escape sequences and control characters from a text. Lines end with a line feed.
// A text may come in pieces.
type cleaner struct {
	state    byte // of an escape sequence: 0, or one of the constants below
	returned bool // the last character was a carriage return
}

const (
	afterEscape = 'e'
	inControl   = '[' // ESC [ … up to a letter
	inString    = ']' // ESC ] … up to BEL or ESC
)

func (c *cleaner) write(text string) string {
	if c.state == 0 && !c.returned && !strings.ContainsFunc(text, special) {
		return text
	}
	var out strings.Builder
	for _, r := range text {
		if c.state != 0 && c.within(r) {
			continue
		}
		if c.returned && r != '\n' {
			out.WriteByte('\n')
		}
		c.returned = r == '\r'
		switch {
		case r == 0x1b:
			c.state = afterEscape
		case !special(r):
			out.WriteRune(r)
		}
	}
	return out.String()
}

// within follows an escape sequence. It is false for a character that is not
// part of it.
func (c *cleaner) within(r rune) bool {
	switch state := c.state; {
	case r == 0x1b:
		c.state = afterEscape
	case state == afterEscape && (r == '[' || r == ']'):
		c.state = byte(r)
	case state == afterEscape:
		c.state = 0
	case state == inControl && r >= 0x20 && r < 0x40:
	case state == inControl:
		c.state = 0
		return r >= 0x40 && r < 0x7f
	case r == 0x07: // of inString
		c.state = 0
	case r == '\n': // an unterminated sequence hides no lines
		c.state = 0
		return false
	}
	return true
}

// special reports whether a character is not text.
func special(r rune) bool {
	return r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r < 0xa0
}

// leftOut returns the replacement for an event whose data cannot be cut to size. It returns false
// for events that are useless without their data.
func leftOut(d penstock.Draft) (penstock.Draft, bool) {
	note := fmt.Sprintf("[… %d bytes left out …]", len(d.Data))
	switch d.Type {
	case penstock.EventAction, penstock.EventActionResult:
		var b penstock.Block
		if json.Unmarshal(d.Data, &b) != nil {
			return d, false
		}
		output, _ := json.Marshal(map[string]string{"output": note})
		if b.Input, b.Output = nil, output; d.Type == penstock.EventAction {
			b.Input, b.Output = output, nil
		}
		return penstock.NewDraft(d.Type, d.At, b), true
	case penstock.EventMessage:
		var m penstock.Message
		if json.Unmarshal(d.Data, &m) != nil {
			return d, false
		}
		m.Content = []penstock.Block{penstock.Text(note)}
		return penstock.NewDraft(d.Type, d.At, m), true
	}
	return d, false
}
