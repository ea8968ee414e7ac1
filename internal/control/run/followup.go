package run

import (
	"github.com/penstock-dev/penstock"
)

// FollowupRequest steers a run: the contract's RunFollowupRequest.
type FollowupRequest struct {
	Message     string               `json:"message,omitempty"`
	Mode        penstock.Mode        `json:"mode,omitempty"`
	Attachments []FollowupAttachment `json:"attachments,omitempty"`

	question int // the execution whose question it answers; 0: it answers none in particular
}

// FollowupAttachment is a file of a follow-up. It has either its content, as a [penstock.Attachment] has,
// or the id of an uploaded file.
type FollowupAttachment struct {
	ID       string `json:"attachment_id,omitempty"`
	FileName string `json:"file_name,omitempty"` // with an id: the new name of the file
	MimeType string `json:"mime_type,omitempty"`
	Data     []byte `json:"data,omitzero"` // base64 in JSON; empty but not nil for an empty file
}

// Limits of the attachments of follow-ups.
const (
	maxFollowupAttachments = 25        // of one follow-up; at most MaxAttachments of them with content
	maxRunAttachments      = 100       // of a run and all its follow-ups, including prepared ones
	MaxRunAttachmentBytes  = 256 << 20 // of a run and all its follow-ups
)

// The outcomes of a follow-up. They depend on the state of its run.
const (
	FollowupQueued  = "queue_pending"     // it waits until the agent has started
	FollowupLive    = "live_session"      // it becomes the agent's next turn
	FollowupHandoff = "handoff_execution" // it starts another execution
)

// FollowupAccepted is the response to a FollowupRequest.
type FollowupAccepted struct {
	RunID      string `json:"run_id,omitempty"` // if the request named the conversation
	FollowupID string `json:"followup_id"`
	Outcome    string `json:"outcome"`
}

// InterruptAccepted is the response to a request to end an agent's turn.
type InterruptAccepted struct {
	RunID string `json:"run_id,omitempty"` // if the request named the conversation
}
