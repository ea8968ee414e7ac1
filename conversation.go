package penstock

import (
	"cmp"
	"encoding/json"
	"slices"
)

// Conversation holds the messages and actions of its runs, in the contract's form.
type Conversation struct {
	ID    string `json:"conversation_id"`
	Steps []Step `json:"steps"`
}

// Step is one turn: a prompt and everything that followed.
type Step struct {
	ID          string `json:"id"`
	Description string `json:"description,omitempty"`
	Summary     string `json:"summary,omitempty"`
	StartedAt   Time   `json:"started_at,omitzero"`
	CompletedAt Time   `json:"completed_at,omitzero"`
	// Superseded means that the run went back to an earlier turn.
	Superseded bool      `json:"superseded,omitzero"`
	Messages   []Message `json:"messages"`
	Steps      []Step    `json:"steps"`
}

// The roles of messages.
const (
	RoleUser      = "user"
	RoleAssistant = "assistant"
	RoleTool      = "tool"
)

// Message is one message. As the data of a message event it has an ID. In a conversation,
// MessageIDs lists the ids.
type Message struct {
	ID         string   `json:"message_id,omitempty"`
	Role       string   `json:"role"`
	Content    []Block  `json:"content"`
	Timestamp  Time     `json:"timestamp,omitzero"`
	MessageIDs []string `json:"message_ids,omitempty"`
	RequestID  string   `json:"request_id,omitempty"`
}

// The types of blocks.
const (
	BlockText         = "text"
	BlockAction       = "action"
	BlockActionResult = "action_result"
	BlockEvent        = "event"
)

// The states of an action's result.
const (
	ActionRunning   = "running"
	ActionCompleted = "completed"
	ActionFailed    = "failed"
	ActionDenied    = "denied"
)

// Block is one part of a message; Type says which fields it has. Input, Output and Data have a
// curated form with masked secrets, never the data of the harness.
type Block struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`      // text
	ID       string `json:"id,omitempty"`        // action
	ActionID string `json:"action_id,omitempty"` // action_result
	// Category of an action and its result: command, files, search, integration, documents, computer,
	// review or skill.
	Category  string          `json:"category,omitempty"`
	Name      string          `json:"name,omitempty"`   // action, action_result, event
	State     string          `json:"state,omitempty"`  // action_result
	Input     json.RawMessage `json:"input,omitempty"`  // action
	Output    json.RawMessage `json:"output,omitempty"` // action_result
	Data      json.RawMessage `json:"data,omitempty"`   // event
	MessageID string          `json:"message_id,omitempty"`

	// In an outline, Source is the number of the event that holds the block, counted from 1, and
	// Part is the index of the block in its message. With Source 0, the block itself has the
	// content.
	Source int `json:"-"`
	Part   int `json:"-"`
}

// MarshalJSON writes exactly the fields of the block's type, including empty ones.
func (b Block) MarshalJSON() ([]byte, error) {
	type optional struct {
		MessageID string `json:"message_id,omitempty"`
	}
	rest := optional{b.MessageID}
	switch b.Type {
	case BlockText:
		return json.Marshal(struct {
			Type string `json:"type"`
			Text string `json:"text"`
			optional
		}{b.Type, b.Text, rest})
	case BlockAction:
		return json.Marshal(struct {
			Type     string          `json:"type"`
			ID       string          `json:"id"`
			Category string          `json:"category"`
			Name     string          `json:"name"`
			Input    json.RawMessage `json:"input"`
			optional
		}{b.Type, b.ID, b.Category, b.Name, object(b.Input), rest})
	case BlockActionResult:
		return json.Marshal(struct {
			Type     string          `json:"type"`
			ActionID string          `json:"action_id"`
			Category string          `json:"category"`
			Name     string          `json:"name"`
			State    string          `json:"state"`
			Output   json.RawMessage `json:"output"`
			optional
		}{b.Type, b.ActionID, b.Category, b.Name, b.State, object(b.Output), rest})
	}
	return json.Marshal(struct {
		Type string          `json:"type"`
		Name string          `json:"name"`
		Data json.RawMessage `json:"data"`
		optional
	}{b.Type, b.Name, object(b.Data), rest})
}

// object returns raw, or {} if it is empty.
func object(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 || string(raw) == "null" {
		return json.RawMessage("{}")
	}
	return raw
}

// Text makes a text block.
func Text(s string) Block { return Block{Type: BlockText, Text: s} }

// blockUndelivered is the name of the event block that marks a follow-up that never reached the
// agent.
const blockUndelivered = "followup_undelivered"

// Undelivered makes the block that marks a follow-up that never reached the agent, because the run
// ended first.
func Undelivered(followupID string) Block {
	data, err := json.Marshal(map[string]string{"followup_id": followupID})
	if err != nil {
		panic("penstock: an id cannot be marshaled: " + err.Error())
	}
	return Block{Type: BlockEvent, Name: blockUndelivered, Data: data}
}

// blockRewound is the name of the event block that marks where a run went back to an earlier turn.
const blockRewound = "rewound"

// Rewound makes the message that marks where a run went back to the turn of a message.
func Rewound(messageID string, turn int64, at Time) Message {
	data, err := json.Marshal(map[string]any{"message_id": messageID, "turn": turn})
	if err != nil {
		panic("penstock: an id cannot be marshaled: " + err.Error())
	}
	return Message{
		ID: NewID(), Role: RoleAssistant, Timestamp: at, Content: []Block{{Type: BlockEvent, Name: blockRewound, Data: data}},
	}
}

// Rewinds reports whether m marks where a run went back to an earlier turn.
func (m Message) Rewinds() bool { return len(m.Content) == 1 && m.Content[0].Name == blockRewound }

// supersede marks the steps after the one to which the run went back, if m is the message of [Rewound].
// An id that no step has is of the run from which this one was forked.
func (c *Conversation) supersede(m Message) {
	if !m.Rewinds() {
		return
	}
	var to struct {
		MessageID string `json:"message_id"`
	}
	if json.Unmarshal(m.Content[0].Data, &to) != nil {
		return
	}
	after := slices.IndexFunc(c.Steps, func(s Step) bool { return s.ID == to.MessageID }) + 1
	for i := range c.Steps[after:] {
		c.Steps[after+i].Superseded = true
	}
}

// Undelivered reports whether m is a follow-up that never reached the agent.
func (m Message) Undelivered() bool {
	marks := func(b Block) bool { return b.Type == BlockEvent && b.Name == blockUndelivered }
	return m.Role == RoleUser && slices.ContainsFunc(m.Content, marks)
}

// Undelivered reports whether the step contains only a follow-up that never reached the agent.
func (s Step) Undelivered() bool { return len(s.Messages) == 1 && s.Messages[0].Undelivered() }

// Converse builds a conversation from the events of its runs, in order. A user message starts a
// step. Consecutive actions form one assistant message, and consecutive results one tool message. A
// result replaces an earlier result of the same action. An undelivered follow-up replaces its
// message that went to a worker that died.
func Converse(id string, events []Event) Conversation {
	c := Conversation{ID: id, Steps: []Step{}}
	for _, e := range events {
		c.add(e, 0)
	}
	return c
}

// Outline adds the next event, as [Converse] does, but keeps only the content that it needs to add
// later events. source is the number of the event, counted from 1.
func (c *Conversation) Outline(e Event, source int) { c.add(e, source) }

func (c *Conversation) add(e Event, source int) {
	switch e.Type {
	case EventMessage:
		var m Message
		if json.Unmarshal(e.Data, &m) == nil {
			c.message(m, e.At, source)
		}
	case EventAction, EventActionResult:
		var b Block
		if json.Unmarshal(e.Data, &b) == nil {
			c.action(b.outline(source, 0), e.At)
		}
	case EventState:
		var s StateData
		if json.Unmarshal(e.Data, &s) == nil && (s.State.Done() || s.State == StateBlocked) {
			c.complete(e.At)
		}
	}
}

// outline returns b without the content that adding later events does not need. Source 0 keeps b
// whole.
func (b Block) outline(source, part int) Block {
	if source == 0 {
		return b
	}
	short := Block{Type: b.Type, ActionID: b.ActionID, Source: source, Part: part}
	if b.Name == blockUndelivered {
		short.Name = b.Name
	}
	return short
}

func (m Message) outline(source int) Message {
	if source == 0 {
		return m
	}
	content := make([]Block, len(m.Content))
	for i, b := range m.Content {
		content[i] = b.outline(source, i)
	}
	m.Content = content
	return m
}

func (c *Conversation) message(m Message, at Time, source int) {
	if m.ID != "" {
		m.MessageIDs, m.ID = []string{m.ID}, ""
	}
	m.Timestamp = cmp.Or(m.Timestamp, at)
	c.supersede(m)
	title := textOf(m)
	m = m.outline(source)
	if m.Undelivered() && c.replace(m) {
		return
	}
	if m.Role == RoleUser {
		c.complete(at)
		c.Steps = append(
			c.Steps,
			Step{
				ID: firstOr(m.MessageIDs, "step"), StartedAt: at, Description: DeriveTitle(title), Messages: []Message{},
				Steps: []Step{},
			},
		)
	}
	if m.Undelivered() { // later events do not depend on it
		last := &c.Steps[len(c.Steps)-1]
		last.CompletedAt, last.Messages = at, append(last.Messages, m)
		return
	}
	step := c.step(at)
	step.Messages = append(step.Messages, m)
}

// replace replaces the message that has m's id by m. It returns false if no message has it.
func (c *Conversation) replace(m Message) bool {
	for i := range c.Steps {
		for j, old := range c.Steps[i].Messages {
			if slices.Equal(old.MessageIDs, m.MessageIDs) {
				m.Timestamp = old.Timestamp
				c.Steps[i].Messages[j] = m
				return true
			}
		}
	}
	return false
}

func (c *Conversation) action(b Block, at Time) {
	step := c.step(at)
	role := RoleAssistant
	if b.Type == BlockActionResult {
		role = RoleTool
		for i := range step.Messages {
			m := &step.Messages[i]
			same := func(o Block) bool { return o.Type == BlockActionResult && o.ActionID == b.ActionID }
			if at := slices.IndexFunc(m.Content, same); at >= 0 {
				m.Content[at] = b
				return
			}
		}
	}
	if last := len(step.Messages) - 1; last >= 0 && step.Messages[last].holdsOnly(role, b.Type) {
		step.Messages[last].Content = append(step.Messages[last].Content, b)
		return
	}
	step.Messages = append(step.Messages, Message{Role: role, Content: []Block{b}, Timestamp: at})
}

func (m Message) holdsOnly(role, blockType string) bool {
	other := func(b Block) bool { return b.Type != blockType }
	return m.Role == role && !slices.ContainsFunc(m.Content, other)
}

// step returns the last step that an agent has worked on. It adds a step if the conversation has none.
func (c *Conversation) step(at Time) *Step {
	for i := len(c.Steps) - 1; i >= 0; i-- {
		if !c.Steps[i].Undelivered() {
			return &c.Steps[i]
		}
	}
	c.Steps = append(c.Steps, Step{ID: "step", StartedAt: at, Messages: []Message{}, Steps: []Step{}})
	return &c.Steps[len(c.Steps)-1]
}

func (c *Conversation) complete(at Time) {
	if n := len(c.Steps); n > 0 && c.Steps[n-1].CompletedAt == 0 {
		c.Steps[n-1].CompletedAt = at
	}
}

func textOf(m Message) string {
	for _, b := range m.Content {
		if b.Type == BlockText {
			return b.Text
		}
	}
	return ""
}

func firstOr(list []string, otherwise string) string {
	if len(list) > 0 {
		return list[0]
	}
	return otherwise
}
