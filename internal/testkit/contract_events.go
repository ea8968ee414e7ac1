package testkit

import (
	"bytes"
	"io"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// eventChecker checks server-sent events (HTML standard §9.2) as they are read: each against
// schema, as an object of its id, event and data; ids that grow; nothing after `done`. An
// incomplete last event is not checked.
type eventChecker struct {
	io.ReadCloser
	schema *openapi3.Schema
	fail   failer

	rest   []byte         // of an incomplete line
	event  map[string]any // being read
	data   []string
	lastID int64
	done   bool
}

func (c *eventChecker) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	c.rest = append(c.rest, p[:n]...)
	for {
		line, rest, found := bytes.Cut(c.rest, []byte("\n"))
		if !found {
			return n, err
		}
		c.rest = rest
		c.line(strings.TrimSuffix(string(line), "\r"))
	}
}

func (c *eventChecker) line(line string) {
	if line == "" {
		c.dispatch()
		return
	}
	field, value, _ := strings.Cut(line, ":")
	value = strings.TrimPrefix(value, " ")
	if c.event == nil {
		c.event = map[string]any{}
	}
	switch field {
	case "", "retry": // a comment; a hint for the browser
	case "event":
		c.event["event"] = value
	case "data":
		c.data = append(c.data, value)
	case "id":
		id, err := strconv.ParseInt(value, 10, 64)
		if err != nil {
			c.fail("the id %q of an event is no number", value)
			return
		}
		c.event["id"] = id
	default:
		c.fail("an event has the field %q", field)
	}
}

func (c *eventChecker) dispatch() {
	event, data := c.event, c.data
	c.event, c.data = nil, nil
	if len(event) == 0 && len(data) == 0 {
		return
	}
	if c.done {
		c.fail("there is an event after done: %v", event)
	}
	c.done = event["event"] == "done"
	if id, ok := event["id"].(int64); ok {
		if id <= c.lastID && !c.done {
			c.fail("event %d comes after event %d", id, c.lastID)
		}
		c.lastID = id
	}
	value, err := decodeJSON([]byte(strings.Join(data, "\n")))
	if err != nil {
		c.fail("event %v: %v", event, err)
		return
	}
	event["data"] = value
	if err := visit(c.schema, event); err != nil {
		c.fail("event %v: %v", event, err)
	}
}
