package run

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/supply/blob"
)

// Changes are what a run has changed in its repositories, as of the end of its latest turn.
type Changes struct {
	UpdatedAt    penstock.Time                `json:"updated_at,omitzero"` // zero: no turn with a repository has ended
	Repositories []penstock.RepositoryChanges `json:"repositories"`
}

// maxChangedRepositories limits the repositories of one run.
const maxChangedRepositories = 200

// saveChanges replaces the changes of the turn before.
func (s *Executions) saveChanges(ctx context.Context, l penstock.Lease, u penstock.Upload, content io.Reader) error {
	if err := checkChanges(u); err != nil {
		return err
	}
	saved := store.Changes{RunID: l.RunID, UpdatedAt: penstock.Now(), Upload: u.ID, Saved: *u.Changes}
	if u.Size > 0 {
		saved.Blob = ChangesKey(l.RunID, u.ID)
		if err := s.putPatches(ctx, saved.Blob, u.Size, content); err != nil {
			return err
		}
	}
	var old store.Changes
	err := s.store.Write(ctx, func(tx *store.Tx) error {
		if _, err := tx.Executions().Held(ctx, l); err != nil {
			return err
		}
		var err error
		if old, err = tx.Files().SaveChanges(ctx, saved); err != nil || old.Upload == u.ID {
			return err
		}
		return tx.Events().Append(ctx, l.RunID, changesEvent(saved))
	})
	if err != nil {
		s.files.DropRejected(ctx, err, saved.Blob)
		return err
	}
	if old.Upload != u.ID { // otherwise the worker repeated the call
		s.files.DropBlob(ctx, old.Blob)
	}
	return nil
}

func (s *Executions) putPatches(ctx context.Context, key string, size int64, content io.Reader) error {
	data, err := io.ReadAll(io.LimitReader(content, size+1))
	if err != nil {
		return err
	}
	if int64(len(data)) != size {
		return penstock.Invalid("/size", "must be the size of the content, %d", len(data))
	}
	_, _, err = s.blobs.Put(ctx, key, bytes.NewReader(data), size)
	if errors.Is(err, blob.ErrExists) { // an earlier attempt stored it
		return nil
	}
	return StorageError(err)
}

func checkChanges(u penstock.Upload) error {
	if n := len(u.Changes.Repositories); n > maxChangedRepositories {
		return penstock.Invalid("/changes/repositories", "has %d items; at most %d are allowed", n, maxChangedRepositories)
	}
	sum := int64(0)
	for i, r := range u.Changes.Repositories {
		if r.PatchBytes < 0 || r.PatchBytes > penstock.MaxPatchBytes {
			pointer := fmt.Sprintf("/changes/repositories/%d/patch_bytes", i)
			return penstock.Invalid(pointer, "must be from 0 to %d", penstock.MaxPatchBytes)
		}
		sum += r.PatchBytes
	}
	if sum != u.Size {
		return penstock.Invalid("/size", "must be the sum of all patch_bytes, %d", sum)
	}
	return nil
}

// sumChanges sums up what a run has changed.
func sumChanges(saved penstock.SavedChanges) (sums ChangeSums) {
	sums.Repositories = len(saved.Repositories)
	for _, r := range saved.Repositories {
		sums.Files += len(r.Files) + r.FilesOmitted
		for _, f := range r.Files {
			sums.Additions, sums.Deletions = sums.Additions+f.Additions, sums.Deletions+f.Deletions
		}
	}
	return sums
}

// changesEvent sums up the changes for the timeline.
func changesEvent(saved store.Changes) penstock.Draft {
	sums := sumChanges(saved.Saved)
	payload := map[string]any{
		"repositories": sums.Repositories, "files": sums.Files, "additions": sums.Additions, "deletions": sums.Deletions,
	}
	var failed []string
	for _, r := range saved.Saved.Repositories {
		if r.Error != "" {
			failed = append(failed, r.Name+": "+r.Error)
		}
	}
	if failed != nil {
		payload["errors"] = failed
	}
	return penstock.Timeline(saved.UpdatedAt, penstock.TimelineChangesSaved, payload)
}
