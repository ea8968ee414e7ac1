package acp

import (
	"bytes"
	"encoding/json"
)

// UpdateKind is the kind of a session/update.
type UpdateKind string

// The kinds of protocol version 1 that are decoded.
const (
	UpdateUserMessage    UpdateKind = "user_message_chunk"
	UpdateAgentMessage   UpdateKind = "agent_message_chunk"
	UpdateAgentThought   UpdateKind = "agent_thought_chunk"
	UpdateToolCall       UpdateKind = "tool_call"
	UpdateToolCallUpdate UpdateKind = "tool_call_update"
	UpdatePlan           UpdateKind = "plan"
	UpdateCommands       UpdateKind = "available_commands_update"
	UpdateMode           UpdateKind = "current_mode_update"
	UpdateConfigOptions  UpdateKind = "config_option_update"
	UpdateSessionInfo    UpdateKind = "session_info_update"
	UpdateUsage          UpdateKind = "usage_update"
)

// SessionNotification is a session/update.
type SessionNotification struct {
	SessionID string `json:"sessionId"`
	Update    Update `json:"update"`
	Meta      Meta   `json:"_meta,omitempty"`
}

// Update is one update of a session. Kind says which pointer is set. All pointers are nil for an
// unknown kind, and for content of another form; then only Raw is set. Every received update has
// Raw.
type Update struct {
	Kind UpdateKind
	Raw  json.RawMessage

	Chunk         *Chunk         // user_message_chunk, agent_message_chunk, agent_thought_chunk
	ToolCall      *ToolCall      // tool_call, tool_call_update
	Plan          *Plan          // plan
	Commands      *Commands      // available_commands_update
	Mode          *ModeUpdate    // current_mode_update
	ConfigOptions *ConfigOptions // config_option_update
	Info          *SessionInfo   // session_info_update
	Usage         *UsageUpdate   // usage_update
}

// Chunk is a piece of a message. A change of MessageID starts a new message.
type Chunk struct {
	Content   ContentBlock `json:"content"`
	MessageID string       `json:"messageId,omitempty"`
	Meta      Meta         `json:"_meta,omitempty"`
}

// ToolKind is the kind of a tool.
type ToolKind string

// The kinds of tools.
const (
	ToolRead       ToolKind = "read"
	ToolEdit       ToolKind = "edit"
	ToolDelete     ToolKind = "delete"
	ToolMove       ToolKind = "move"
	ToolSearch     ToolKind = "search"
	ToolExecute    ToolKind = "execute"
	ToolThink      ToolKind = "think"
	ToolFetch      ToolKind = "fetch"
	ToolSwitchMode ToolKind = "switch_mode"
	ToolOther      ToolKind = "other"
)

// ToolStatus is the state of a tool call.
type ToolStatus string

// The states of a tool call.
const (
	ToolPending    ToolStatus = "pending"
	ToolInProgress ToolStatus = "in_progress"
	ToolCompleted  ToolStatus = "completed"
	ToolFailed     ToolStatus = "failed"
)

// ToolCall is a tool call, or a change of one. In a change, only the set fields count, and Content
// and Locations replace the previous ones.
type ToolCall struct {
	ID        string            `json:"toolCallId"`
	Title     string            `json:"title,omitempty"`
	Name      string            `json:"name,omitempty"` // of the tool
	Kind      ToolKind          `json:"kind,omitempty"`
	Status    ToolStatus        `json:"status,omitempty"`
	Content   []ToolCallContent `json:"content,omitempty"`
	Locations []Location        `json:"locations,omitempty"`
	RawInput  json.RawMessage   `json:"rawInput,omitempty"`
	RawOutput json.RawMessage   `json:"rawOutput,omitempty"`
	Meta      Meta              `json:"_meta,omitempty"`
}

// Location is a place in a file; Line counts from 1, 0 is the whole file.
type Location struct {
	Path string `json:"path"`
	Line int    `json:"line,omitempty"`
}

// Plan is the agent's whole plan. It replaces the previous one.
type Plan struct {
	Entries []PlanEntry `json:"entries"`
	Meta    Meta        `json:"_meta,omitempty"`
}

// PlanEntry is one step. Priority is high, medium or low; Status is pending,
// in_progress or completed.
type PlanEntry struct {
	Content  string `json:"content"`
	Priority string `json:"priority"`
	Status   string `json:"status"`
}

// Commands are the slash commands of an agent.
type Commands struct {
	Available []Command `json:"availableCommands"`
}

// Command is one slash command.
type Command struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// ModeUpdate holds the current mode of the session.
type ModeUpdate struct {
	Current string `json:"currentModeId"`
}

// ConfigOptions are all options of the session with their values.
type ConfigOptions struct {
	Options []ConfigOption `json:"configOptions"`
}

// SessionInfo describes a session. Empty fields have not changed.
type SessionInfo struct {
	Title     string `json:"title,omitempty"`
	UpdatedAt string `json:"updatedAt,omitempty"`
}

// UsageUpdate holds the used part of the model's context, in tokens, and the session's costs so
// far, if the agent knows them.
type UsageUpdate struct {
	Used int64  `json:"used"`
	Size int64  `json:"size"`
	Cost *Price `json:"cost,omitempty"`
	Meta Meta   `json:"_meta,omitempty"`
}

// Price is an amount in Currency.
type Price struct {
	Amount   float64 `json:"amount"`
	Currency string  `json:"currency"`
}

// body returns the part of u for its kind, and creates it if necessary. It returns nil for a kind
// that is not decoded.
func body(u *Update) any {
	switch u.Kind {
	case UpdateUserMessage, UpdateAgentMessage, UpdateAgentThought:
		return part(&u.Chunk)
	case UpdateToolCall, UpdateToolCallUpdate:
		return part(&u.ToolCall)
	case UpdatePlan:
		return part(&u.Plan)
	case UpdateCommands:
		return part(&u.Commands)
	case UpdateMode:
		return part(&u.Mode)
	case UpdateConfigOptions:
		return part(&u.ConfigOptions)
	case UpdateSessionInfo:
		return part(&u.Info)
	case UpdateUsage:
		return part(&u.Usage)
	}
	return nil
}

func part[T any](p **T) *T {
	if *p == nil {
		*p = new(T)
	}
	return *p
}

// UnmarshalJSON decodes known kinds and keeps everything in Raw. It fails only if the value is not
// an object with a kind.
func (u *Update) UnmarshalJSON(data []byte) error {
	var kind struct {
		Kind UpdateKind `json:"sessionUpdate"`
	}
	if err := json.Unmarshal(data, &kind); err != nil {
		return err
	}
	*u = Update{Kind: kind.Kind, Raw: bytes.Clone(data)}
	if part := body(u); part != nil && json.Unmarshal(data, part) != nil {
		*u = Update{Kind: u.Kind, Raw: u.Raw}
	}
	return nil
}

// MarshalJSON writes the kind and its part, or Raw for an update without a part.
func (u Update) MarshalJSON() ([]byte, error) {
	if bare(&u) {
		return u.Raw, nil
	}
	rest := []byte("{}")
	if known := body(&u); known != nil {
		var err error
		if rest, err = encodeValue(known); err != nil {
			return nil, err
		}
	}
	kind, err := encodeValue(u.Kind)
	if err != nil {
		return nil, err
	}
	out := append([]byte(`{"sessionUpdate":`), kind...)
	if len(rest) > len(`{}`) {
		out = append(out, ',')
	}
	return append(out, rest[1:]...), nil
}

// bare reports whether u has only Raw.
func bare(u *Update) bool {
	return len(u.Raw) > 0 && u.Chunk == nil && u.ToolCall == nil && u.Plan == nil && u.Commands == nil &&
		u.Mode == nil && u.ConfigOptions == nil && u.Info == nil && u.Usage == nil
}
