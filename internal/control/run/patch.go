package run

import (
	"context"
	"errors"
	"io"
	"net/url"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/supply/blob"
)

// Changes returns what a run has changed in its repositories, as of its latest turn.
func (s *Files) Changes(ctx context.Context, p penstock.Principal, runID string) (Changes, error) {
	if _, err := s.runs.readableRun(ctx, p, runID); err != nil {
		return Changes{}, err
	}
	saved, err := s.store.Files.Changes(ctx, runID)
	if err != nil {
		return Changes{}, err
	}
	out := Changes{UpdatedAt: saved.UpdatedAt, Repositories: []penstock.RepositoryChanges{}}
	for _, r := range saved.Saved.Repositories {
		if r.PatchBytes > 0 {
			r.PatchURL = s.publicURL + "/api/v1/agent/runs/" + runID + "/changes/" + url.PathEscape(r.Name) + "/patch"
		}
		out.Repositories = append(out.Repositories, r.RepositoryChanges)
	}
	return out, nil
}

// Patch reads the patch of one repository of a run.
func (s *Files) Patch(ctx context.Context, p penstock.Principal, runID, name string) ([]byte, error) {
	if _, err := s.runs.readableRun(ctx, p, runID); err != nil {
		return nil, err
	}
	for attempt := 1; ; attempt++ {
		patch, err := s.readPatch(ctx, runID, name)
		if errors.Is(err, blob.ErrNotFound) && attempt < 3 {
			continue // the next turn has already replaced it
		}
		return patch, StorageError(err)
	}
}

func (s *Files) readPatch(ctx context.Context, runID, name string) ([]byte, error) {
	saved, err := s.store.Files.Changes(ctx, runID)
	if err != nil {
		return nil, err
	}
	offset := int64(0)
	for _, r := range saved.Saved.Repositories {
		if r.Name == name && r.PatchBytes > 0 {
			return s.readPart(ctx, saved.Blob, offset, r.PatchBytes)
		}
		offset += r.PatchBytes
	}
	return nil, penstock.NotFound("patch of the repository", name)
}

func (s *Files) readPart(ctx context.Context, key string, offset, size int64) ([]byte, error) {
	content, _, err := s.blobs.Open(ctx, key)
	if err != nil {
		return nil, err
	}
	defer content.Close()
	if _, err := content.Seek(offset, io.SeekStart); err != nil {
		return nil, err
	}
	part := make([]byte, size)
	_, err = io.ReadFull(content, part)
	return part, err
}
