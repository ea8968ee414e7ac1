package penstock

import (
	"strings"
)

// RunRepository is a repository that a run works on, in addition to the repositories of its
// environment. An empty Ref stands for the default branch, or for what the environment says about the
// same repository.
type RunRepository struct {
	URL string `json:"url,omitempty"`
	Ref string `json:"ref,omitempty"`
	// Connection and Path name a repository of a forge, instead of its URL. The server sets all three.
	Connection string `json:"connection,omitempty"`
	Path       string `json:"path,omitempty"`
}

// ReadByWorker reports whether the worker reads the repository with rights of its own: its ssh key, or
// what its user may read. An https URL is read without them.
func (r RunRepository) ReadByWorker() bool {
	scheme, _, _ := strings.Cut(r.URL, "://")
	return r.URL != "" && !strings.EqualFold(scheme, "https")
}
