package agent

import (
	"encoding/json"
	"strings"

	"github.com/penstock-dev/penstock/internal/execution/acp"
)

// role is the sender of a message.
type role string

const (
	roleUser      role = "user"
	roleAssistant role = "assistant"
	roleTool      role = "tool" // the results of the previous message's calls
)

// partKind is the kind of a part of a message.
type partKind string

const (
	partText    partKind = "text"
	partThought partKind = "thought"
	partImage   partKind = "image"
	partCall    partKind = "tool_call"
	partResult  partKind = "tool_result"
)

// message is one entry of a session's history, independent of providers.
type message struct {
	Role  role   `json:"role"`
	Parts []part `json:"parts"`
}

// part is one piece of a message. Kind decides which fields it has.
type part struct {
	Kind partKind `json:"kind"`

	Text string `json:"text,omitempty"` // of a text, thought or result

	CallID string          `json:"call_id,omitempty"` // of a call and of its result
	Tool   string          `json:"tool,omitempty"`    // name, of a call and of its result
	Input  json.RawMessage `json:"input,omitempty"`   // of a call: a JSON object
	Failed bool            `json:"failed,omitempty"`  // of a result

	MimeType string `json:"mime_type,omitempty"` // of an image
	Data     string `json:"data,omitempty"`      // of an image, base64

	// Opaque is data that the provider wants back with this part and with no other: a signature, or
	// encrypted thoughts.
	Opaque   string `json:"opaque,omitempty"`
	Provider string `json:"provider,omitempty"`
}

func text(s string) part { return part{Kind: partText, Text: s} }

// calls returns the tool calls of a message.
func (m message) calls() []part {
	var calls []part
	for _, p := range m.Parts {
		if p.Kind == partCall {
			calls = append(calls, p)
		}
	}
	return calls
}

// text returns all text of a message.
func (m message) text() string {
	var texts []string
	for _, p := range m.Parts {
		if p.Kind == partText {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// userMessage returns a prompt as a message. It replaces unsupported content by a note, so that the
// model can mention it.
func userMessage(blocks []acp.ContentBlock) message {
	m := message{Role: roleUser}
	for _, b := range blocks {
		switch {
		case b.Type == "text":
			m.Parts = append(m.Parts, text(b.Text))
		case b.Type == "image" && b.Data != "":
			m.Parts = append(m.Parts, part{Kind: partImage, MimeType: b.MimeType, Data: b.Data})
		case b.Type == "resource_link":
			m.Parts = append(m.Parts, text("[Attached: "+b.Name+" at "+b.URI+"]"))
		case b.Type == "resource" && b.Resource != nil && b.Resource.Text != "":
			m.Parts = append(m.Parts, text("[Content of "+b.Resource.URI+"]\n"+b.Resource.Text))
		default:
			m.Parts = append(m.Parts, text("[An attachment of type "+b.Type+" was left out]"))
		}
	}
	return m
}

const (
	interrupted = "This did not finish, because the turn was cancelled or the agent was stopped. It may have changed " +
		"something."
	answered = "The user's answer follows."
)

// openCalls returns the calls at the end of the history without a result: the turn was cancelled,
// the process died, or the agent asked the user.
func openCalls(history []message) []part {
	last := len(history) - 1
	var results []part
	if last >= 0 && history[last].Role == roleTool {
		results = history[last].Parts
		last--
	}
	if last < 0 || history[last].Role != roleAssistant {
		return nil
	}
	var open []part
	for _, call := range history[last].calls() {
		done := false
		for _, r := range results {
			done = done || r.CallID == call.CallID
		}
		if !done {
			open = append(open, call)
		}
	}
	return open
}

// closeCalls adds a result for every open call, because providers reject a history with open calls.
// The next prompt is the answer to ask_user.
func closeCalls(history []message) []message {
	var results []part
	for _, call := range openCalls(history) {
		result := part{Kind: partResult, CallID: call.CallID, Tool: call.Tool, Text: interrupted, Failed: true}
		if call.Tool == toolAskUser {
			result.Text, result.Failed = answered, false
		}
		results = append(results, result)
	}
	return addResults(history, results...)
}

// addResults adds results after the message with their calls.
func addResults(history []message, results ...part) []message {
	if len(results) == 0 {
		return history
	}
	last := len(history) - 1
	if history[last].Role == roleTool {
		history[last].Parts = append(history[last].Parts, results...)
		return history
	}
	return append(history, message{Role: roleTool, Parts: results})
}

const (
	elided    = "[This output was removed to save space. Run the tool again if you need it.]"
	charToken = 4 // approximate characters of a token
)

// shrink removes the oldest tool outputs until about this many tokens are saved. It never touches
// the last keep messages. It returns approximately how many tokens it saved.
func shrink(history []message, keep int, tokens int64) (saved int64) {
	for i := range max(0, len(history)-keep) {
		for j := range history[i].Parts {
			if saved >= tokens {
				return saved
			}
			p := &history[i].Parts[j]
			if p.Kind == partResult && len(p.Text) > 2*len(elided) {
				saved += int64(len(p.Text)-len(elided)) / charToken
				p.Text = elided
			}
		}
	}
	return saved
}

// estimate returns the approximate number of tokens in a history.
func estimate(history []message) (tokens int64) {
	const image = 1500
	for _, m := range history {
		for _, p := range m.Parts {
			tokens += int64(len(p.Text)+len(p.Input)+len(p.Opaque)) / charToken
			if p.Kind == partImage {
				tokens += image
			}
		}
	}
	return tokens
}
