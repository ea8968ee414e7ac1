package penstock

import (
	"fmt"
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

// MaxRunRepositories is how many repositories one configuration may name.
const MaxRunRepositories = 20

// CheckRepositories returns the errors of a list of repositories, with pointers below at. No error repeats a URL,
// which may hold a password. url and ref check an address that git clones and the name of a branch, tag or commit;
// nil: not checked here.
func CheckRepositories(at string, list []RunRepository, url, ref func(string) error) []FieldError {
	var errs []FieldError
	bad := func(pointer, format string, args ...any) {
		errs = append(errs, FieldError{Pointer: at + pointer, Detail: fmt.Sprintf(format, args...)})
	}
	if n := len(list); n > MaxRunRepositories {
		bad("", "has %d repositories; at most %d are allowed", n, MaxRunRepositories)
		return errs
	}
	for i, r := range list {
		at := fmt.Sprintf("/%d", i)
		switch {
		case r.Connection == "" && r.Path == "":
			if r.URL == "" {
				bad(at+"/url", "is required, unless connection and path are given")
			} else if url == nil {
				break
			} else if err := url(r.URL); err != nil {
				bad(at+"/url", "%s", err)
			}
		case r.Connection == "":
			bad(at+"/connection", "is required with a path: it names a connection to a forge")
		default:
			if wrong := CheckForgePath(r.Path); wrong != "" {
				bad(at+"/path", "%s", wrong)
			}
		}
		if ref == nil {
			continue
		}
		if err := ref(r.Ref); err != nil {
			bad(at+"/ref", "%s", err)
		}
	}
	return errs
}
