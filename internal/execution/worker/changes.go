package worker

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/supply/git"
)

// saveChanges saves what the run has changed in its repositories. It is called at the end of a turn,
// before the turn is reported. ctx ends with the work of the execution; the changes are saved
// anyway, unless the worker is stopping, or the lease is lost.
func (c *conversation) saveChanges(ctx context.Context) {
	if len(c.prepared.repos) == 0 || c.lease.Err() != nil || errors.Is(context.Cause(ctx), errHandBack) {
		return
	}
	saved, patches := penstock.SavedChanges{}, []byte{}
	for _, r := range c.prepared.repos {
		found, patch := c.changesOf(r)
		saved.Repositories = append(
			saved.Repositories, penstock.SavedRepository{RepositoryChanges: found, PatchBytes: int64(len(patch))},
		)
		patches = append(patches, patch...)
	}
	if c.lease.Err() != nil {
		return
	}
	boundFiles(&saved)
	description, err := json.Marshal(saved)
	if err != nil {
		panic("worker: changes cannot be marshalled: " + err.Error())
	}
	sum := fmt.Sprintf("%x", sha256.Sum256(append(description, patches...)))
	if sum == c.changes {
		return
	}
	err = c.events.Flush()
	if err == nil {
		_, err = c.save(c.lease, penstock.Upload{
			ID: penstock.NewID(), Size: int64(len(patches)), Changes: &saved,
		}, bytes.NewReader(patches))
	}
	if err == nil {
		c.changes = sum
		return
	}
	if c.lease.Err() == nil && !errors.Is(err, penstock.ErrLeaseLost) {
		c.log.Warn("cannot save the changes of a turn", "error", err)
		c.timeline(penstock.TimelineChangesSaved, map[string]any{"errors": []string{"The changes could not be stored."}})
	}
}

// changesOf computes the changes of one repository. It returns an error as text, for users.
func (c *conversation) changesOf(r repository) (penstock.RepositoryChanges, []byte) {
	found, patch, err := c.compare(r)
	if err != nil {
		c.log.Warn("cannot compute the changes of a repository", "repository", r.dir, "error", err)
		found.Error = shorten(c.mask.String(cleanText(err.Error())), maxMessage)
		found.Files, patch = []penstock.FileChange{}, nil
	}
	found.Name, found.URL = r.dir, c.mask.String(git.PublicURL(r.source.URL))
	return found, patch
}

func (c *conversation) compare(r repository) (penstock.RepositoryChanges, []byte, error) {
	const scratch = "scratch"
	remove := func() error { return c.w.spaces.removeIn(c.Lease.RunID, scratch) }
	if err := remove(); err != nil { // the rest of a killed worker
		return penstock.RepositoryChanges{}, nil, err
	}
	dir, err := c.box.space.root.OpenRoot(r.dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = git.ErrNoWorkTree
	}
	if err != nil {
		return penstock.RepositoryChanges{}, nil, err
	}
	defer dir.Close()
	found, patch, err := c.w.Repositories.Changes(c.lease, git.Comparison{
		Base: c.box.space.base(r.dir), Dir: dir, Scratch: filepath.Join(c.box.space.dir, scratch), Mask: c.mask.String,
	})
	return found, patch, errors.Join(err, remove())
}

// maxListed limits the files in one report, in all repositories.
const maxListed = 5000

// boundFiles shortens the lists of files, so that the report fits into one request. The patches of
// omitted files remain.
func boundFiles(saved *penstock.SavedChanges) {
	left := maxListed
	for i := range saved.Repositories {
		r := &saved.Repositories[i]
		if over := len(r.Files) - left; over > 0 {
			r.Files, r.FilesOmitted = r.Files[:left], r.FilesOmitted+over
		}
		left -= len(r.Files)
	}
}
