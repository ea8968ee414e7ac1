package penstock

// FollowupRequest steers a run: the contract's RunFollowupRequest.
type FollowupRequest struct {
	Message     string               `json:"message,omitempty"`
	Mode        Mode                 `json:"mode,omitempty"`
	Attachments []FollowupAttachment `json:"attachments,omitempty"`
}

// FollowupAttachment is a file of a follow-up. It has either its content, as an [Attachment] does,
// or the id of an uploaded file.
type FollowupAttachment struct {
	ID       string `json:"attachment_id,omitempty"`
	FileName string `json:"file_name,omitempty"` // with an id: the new name of the file
	MimeType string `json:"mime_type,omitempty"`
	Data     []byte `json:"data,omitzero"` // base64 in JSON; empty but not nil for an empty file
}

// Interrupted explains a run that is BLOCKED because its agent's turn was interrupted.
const Interrupted = "The agent was interrupted. Send a follow-up to continue."
