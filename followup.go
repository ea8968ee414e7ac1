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

// Limits of the attachments of follow-ups.
const (
	MaxFollowupAttachments = 25        // of one follow-up; at most MaxAttachments of them with content
	MaxRunAttachments      = 100       // of a run and all its follow-ups, including prepared ones
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

// Interrupted explains a run that is BLOCKED because its agent's turn was interrupted.
const Interrupted = "The agent was interrupted. Send a follow-up to continue."

// PrepareRequest announces files that will be uploaded for follow-ups of a run.
type PrepareRequest struct {
	Files []PrepareFile `json:"files"`
}

// PrepareFile is a file of a PrepareRequest.
type PrepareFile struct {
	Filename string `json:"filename"`
	MimeType string `json:"mime_type"`
}

// PreparedAttachments is the response to a PrepareRequest, in the same order.
type PreparedAttachments struct {
	Attachments []PreparedAttachment `json:"attachments"`
}

// PreparedAttachment says where to upload a file. A follow-up refers to the file by the id.
type PreparedAttachment struct {
	ID        string       `json:"attachment_id"`
	UploadURL string       `json:"upload_url"`
	Target    UploadTarget `json:"upload_target"`
	ExpiresAt Time         `json:"expires_at"` // of the URL
}

// UploadTarget is a request that uploads a file as its body.
type UploadTarget struct {
	URL     string            `json:"url"`
	Method  string            `json:"method"`
	Headers map[string]string `json:"headers"`
	Fields  []string          `json:"fields"` // of a form; always empty, because the file is the body
}

// UploadedAttachment is the response to an upload.
type UploadedAttachment struct {
	ID        string `json:"attachment_id"`
	Filename  string `json:"filename"`
	MimeType  string `json:"mime_type"`
	SizeBytes int64  `json:"size_bytes"`
}
