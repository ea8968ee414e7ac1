package agent

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/google/uuid"
)

// chatCallPiece is a piece of a tool call in a stream.
type chatCallPiece struct {
	Index    *int64 `json:"index"`
	ID       string `json:"id"`
	Function struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"` // a text, or an object
	} `json:"function"`
}

func (p chatCallPiece) input() string {
	var text string
	if !isSet(p.Function.Arguments) && string(p.Function.Arguments) != "{}" ||
		json.Unmarshal(p.Function.Arguments, &text) == nil {
		return text
	}
	return string(p.Function.Arguments)
}

// chatCalls assembles the tool calls of a response. By OpenAI's rules, the index says which call a piece
// belongs to, and only the first piece of a call has an id and a name. Other servers give all calls the
// same index, or none, repeat the name in each piece, and leave out or repeat ids.
type chatCalls struct {
	tools []string // that the model knows
	calls []*chatCall
}

type chatCall struct {
	index           *int64
	id, name, input string
}

func newChatCalls(tools []toolSpec) *chatCalls {
	c := &chatCalls{}
	for _, t := range tools {
		c.tools = append(c.tools, t.Name)
	}
	return c
}

func (c *chatCalls) add(p chatCallPiece) {
	name, input := p.Function.Name, p.input()
	call := c.find(p)
	switch {
	case call == nil || c.begins(call, p, input):
		if call != nil && call.name == name && call.input == input && call.whole() && input != "" &&
			(p.ID == "" || p.ID == call.id) {
			return // the server sends the whole call once more
		}
		c.calls = append(c.calls, &chatCall{index: p.Index, id: p.ID, name: name, input: input})
		return
	case call.name == "" || !c.known(call.name) && name != call.name:
		call.name += name
	}
	call.id = cmp.Or(call.id, p.ID)
	if call.input != "" && strings.HasPrefix(call.input, "{") && strings.HasPrefix(input, call.input) {
		call.input = input // the server repeats what it has sent
		return
	}
	call.input += input
}

// find returns the latest call that a piece can belong to.
func (c *chatCalls) find(p chatCallPiece) *chatCall {
	same := func(call *chatCall) bool {
		return p.Index == nil || call.index == nil || *p.Index == *call.index
	}
	for _, call := range slices.Backward(c.calls) {
		if p.ID != "" && call.id == p.ID && same(call) {
			return call
		}
	}
	for _, call := range slices.Backward(c.calls) {
		if same(call) {
			return call
		}
	}
	return nil
}

// begins reports whether a piece begins another call than the one with its index. Each call has a name.
func (c *chatCalls) begins(call *chatCall, p chatCallPiece, input string) bool {
	name := p.Function.Name
	if name == "" || call.name == "" {
		return false
	}
	switch {
	case p.ID != "" && call.id != "" && p.ID != call.id && (call.input == "" || call.whole()):
		return true
	case name != call.name && c.known(call.name) && c.known(name):
		return true
	}
	return call.whole() && strings.HasPrefix(strings.TrimSpace(input), "{")
}

func (c *chatCalls) known(name string) bool { return slices.Contains(c.tools, name) }

// whole reports whether the input of a call is complete. It has none before its first piece.
func (c *chatCall) whole() bool { return c.input != "" && json.Valid([]byte(c.input)) }

func (c *chatCalls) whole() bool {
	return !slices.ContainsFunc(c.calls, func(call *chatCall) bool { return call.input != "" && !call.whole() })
}

// parts returns the calls. Each has an id of its own.
func (c *chatCalls) parts() []part {
	var parts []part
	for _, call := range c.calls {
		parts = append(parts, part{
			Kind: partCall, CallID: call.id, Tool: call.name, Input: validInput(call.input),
		})
	}
	return parts
}

// ownIDs gives each call of a response an id that no other call of the session has: by it, results,
// the timeline and providers find the call.
func ownIDs(parts []part, history []message) {
	used := map[string]bool{"": true}
	for _, m := range history {
		for _, call := range m.calls() {
			used[call.CallID] = true
		}
	}
	for i := range parts {
		if parts[i].Kind != partCall {
			continue
		}
		if used[parts[i].CallID] {
			prefix := "call_"
			if parts[i].Provider == googleID {
				prefix = ownCallID
			}
			parts[i].CallID = prefix + uuid.NewString()
		}
		used[parts[i].CallID] = true
	}
}
