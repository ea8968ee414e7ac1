package penstock

// FollowupRequest steers a run: the contract's RunFollowupRequest.
type FollowupRequest struct {
	Message     string               `json:"message,omitempty"`
	Mode        Mode                 `json:"mode,omitempty"`
	Attachments []FollowupAttachment `json:"attachments,omitempty"`
}

// FollowupAttachment is a file that goes with a follow-up: either with its content,
// as in an [Attachment], or by the id under which it was uploaded.
type FollowupAttachment struct {
	ID       string `json:"attachment_id,omitempty"`
	FileName string `json:"file_name,omitempty"` // with an id: what to call it instead
	MimeType string `json:"mime_type,omitempty"`
	Data     []byte `json:"data,omitzero"` // base64 in JSON; an empty file has some, too
}

// Limits of the attachments of follow-ups.
const (
	MaxFollowupAttachments = 25        // of one follow-up; at most MaxAttachments with their content
	MaxRunAttachments      = 100       // of a run and all its follow-ups, those that were only prepared included
	MaxRunAttachmentBytes  = 256 << 20 // of a run and all its follow-ups
)

// The outcomes of a follow-up, by what its run did when it was sent.
const (
	FollowupQueued  = "queue_pending"     // it waits until the agent has started
	FollowupLive    = "live_session"      // the agent gets it at its next turn
	FollowupHandoff = "handoff_execution" // it starts another execution
)

// FollowupAccepted answers a FollowupRequest.
type FollowupAccepted struct {
	RunID      string `json:"run_id,omitempty"` // where the conversation was named
	FollowupID string `json:"followup_id"`
	Outcome    string `json:"outcome"`
}

// InterruptAccepted answers a request to end an agent's turn.
type InterruptAccepted struct {
	RunID string `json:"run_id,omitempty"` // where the conversation was named
}

// Interrupted explains a run that is BLOCKED because its agent's turn was interrupted.
const Interrupted = "The agent was interrupted. Send a follow-up to continue."

// PrepareRequest names files that are to be uploaded for follow-ups of a run.
type PrepareRequest struct {
	Files []PrepareFile `json:"files"`
}

// PrepareFile is one of them.
type PrepareFile struct {
	Filename string `json:"filename"`
	MimeType string `json:"mime_type"`
}

// PreparedAttachments answers a PrepareRequest, in its order.
type PreparedAttachments struct {
	Attachments []PreparedAttachment `json:"attachments"`
}

// PreparedAttachment is where a file is to be uploaded, and the id by which a
// follow-up then names it.
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
	Fields  []string          `json:"fields"` // of a form; always none: the file is the body
}

// UploadedAttachment answers an upload.
type UploadedAttachment struct {
	ID        string `json:"attachment_id"`
	Filename  string `json:"filename"`
	MimeType  string `json:"mime_type"`
	SizeBytes int64  `json:"size_bytes"`
}
