package penstock

// SavedCheckpoint describes what is saved of a workspace after a turn. The files themselves are in
// packs, each with what changed between two checkpoints.
type SavedCheckpoint struct {
	PromptID  string `json:"prompt_id"`            // of the turn that ended
	SessionID string `json:"session_id,omitempty"` // the harness's own; "": it has none
	Harness   string `json:"harness"`
	// Packs are the ids of all packs that restore the workspace. The last one comes with the
	// checkpoint, and has its id; the others came with earlier checkpoints.
	Packs []string `json:"packs"`
	Bytes int64    `json:"bytes"` // of all files that changed since the preparation
	Files int64    `json:"files"` // how many
	// Prepared says how the workspace was prepared, which a checkpoint does not have.
	Prepared Prepared `json:"prepared"`
}

// Prepared says how a workspace was prepared.
type Prepared struct {
	Setup string               `json:"setup"`           // identifies repositories, commands and image
	Layer string               `json:"layer,omitempty"` // of the worker, with the same files
	Heads []PreparedRepository `json:"heads,omitempty"`
}

// PreparedRepository is a repository of a workspace as it was checked out.
type PreparedRepository struct {
	Dir    string `json:"dir"`
	URL    string `json:"url"` // without credentials
	Commit string `json:"commit"`
	Branch string `json:"branch,omitempty"` // "": none
}

// AssignedCheckpoint is the checkpoint from which an execution continues if its worker does not have
// the workspace.
type AssignedCheckpoint struct {
	SavedCheckpoint

	UID  string `json:"uid"`
	Turn int64  `json:"turn"`
	// Restore means that a workspace that the worker has is out of date: the run goes back to this
	// checkpoint.
	Restore bool `json:"restore,omitzero"`
	// Ended is the message of the last turn that has ended since, whose files could not be saved; "": none.
	Ended string `json:"ended,omitempty"`
	// Behind means that the session of the conversation is newer: such a turn has ended, or another run
	// has continued the conversation.
	Behind  bool   `json:"behind,omitzero"`
	Content []File `json:"content"` // the packs, in the order of Packs
}

// Checkpoint is a saved turn of a run, as callers see it. Turns are numbered from 1 by their message;
// turn 0 is what a run was forked from.
type Checkpoint struct {
	UID       string `json:"uid"`
	Turn      int64  `json:"turn"`
	MessageID string `json:"message_id"`
	Harness   string `json:"harness"`
	CreatedAt Time   `json:"created_at"`
	Files     int64  `json:"files"` // that changed since the preparation of the workspace
	Bytes     int64  `json:"bytes"` // of them
	// Superseded means that the run went back to an earlier turn.
	Superseded bool `json:"superseded,omitzero"`
}

// ForkedFrom is the turn of another run from which a run began.
type ForkedFrom struct {
	RunID string `json:"run_id"`
	Turn  int64  `json:"turn"`
}
