package penstock

// RepositoryChanges compares the files of one repository with the commit that was checked out.
type RepositoryChanges struct {
	Name   string `json:"name"` // its directory in the workspace
	URL    string `json:"url"`
	Base   string `json:"base,omitempty"`   // id of the commit that was checked out
	Branch string `json:"branch,omitempty"` // that the repository is on
	// Error says why the changes could not be computed, "" if they were.
	Error string       `json:"error,omitempty"`
	Files []FileChange `json:"files"`
	// FilesOmitted is how many more files have changed.
	FilesOmitted int `json:"files_omitted,omitzero"`
	// Truncated means that the patch lacks files, which are marked or omitted.
	Truncated bool   `json:"truncated,omitzero"`
	PatchURL  string `json:"patch_url,omitempty"` // only in responses; empty without a patch
}

// ChangeStatus says what happened to a file.
type ChangeStatus string

// FileChange is one changed file.
type FileChange struct {
	Path         string       `json:"path"`
	PreviousPath string       `json:"previous_path,omitempty"` // of a renamed file
	Status       ChangeStatus `json:"status"`
	Additions    int          `json:"additions"` // lines
	Deletions    int          `json:"deletions"`
	Binary       bool         `json:"binary"`
	Truncated    bool         `json:"truncated,omitzero"` // the patch does not have the file
}

// MaxPatchBytes limits the patch of one repository.
const MaxPatchBytes = 1 << 20

// SavedChanges is the form in which a worker saves Changes. The content has the patches of all
// repositories, one after the other.
type SavedChanges struct {
	Repositories []SavedRepository `json:"repositories"`
}

// SavedRepository says how much of the content is the patch of this repository.
type SavedRepository struct {
	RepositoryChanges
	PatchBytes int64 `json:"patch_bytes"`
}
