package run

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/share"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// A file's key names its owner. The rows of a run or conversation refer only to its own files,
// so that they can be removed together.
func attachmentKey(runID string, n int) string { return fmt.Sprintf("attachments/%s/%d", runID, n) }

func uploadKey(runID, uid string) string { return "attachments/" + runID + "/" + uid }

func artifactKey(runID, uid string) string { return "artifacts/" + runID + "/" + uid }

// ChangesKey returns the key of the patches of a run in the blob store.
func ChangesKey(runID, uid string) string { return "changes/" + runID + "/" + uid }

// SessionKey returns the key of a saved session in the blob store.
func SessionKey(conversationID, uid string) string {
	return "sessions/" + conversationID + "/" + uid
}

// ownerOf returns the run or conversation that owns a key. It returns false for any other key.
func ownerOf(key string) (id string, ok bool) {
	parts := strings.Split(key, "/")
	kinds := []string{"attachments", "artifacts", "changes", "sessions", "packs"}
	if len(parts) != 3 || !slices.Contains(kinds, parts[0]) {
		return "", false
	}
	return parts[1], penstock.ValidID(parts[1])
}

// DropBlob removes a file that nothing refers to. It does nothing for "".
func (s *Files) DropBlob(ctx context.Context, key string) {
	if key == "" {
		return
	}
	if err := s.blobs.Delete(context.WithoutCancel(ctx), key); err != nil {
		s.log.Warn("cannot remove an unused file; trying again later", "blob", key, "error", err)
	}
}

// DropRejected removes files whose rows were rejected; why is the error. It keeps them if the rows
// may have been written, or if an earlier attempt has written them.
func (s *Files) DropRejected(ctx context.Context, why error, keys ...string) {
	if code := penstock.CodeOf(why); !errors.Is(why, penstock.ErrLeaseLost) && (code == "" ||
		code == penstock.CodeUnavailable) {
		return
	}
	lost, err := s.unreferred(context.WithoutCancel(ctx), keys)
	if err != nil {
		s.log.Warn("cannot clean up the files of a rejected request; trying again later", "blobs", keys, "error", err)
	}
	for _, key := range lost {
		s.DropBlob(ctx, key)
	}
}

// orphanedAfter is the age at which a file without a row is removed. It is much longer than the
// longest upload, whose row comes after its file, and than all retries of an upload.
const orphanedAfter = 24 * time.Hour

// RemoveOrphans removes files without a row, and what is left of unfinished uploads. They remain if
// a process was killed, or the database became unavailable, during an upload, or between the write
// or removal of a file and of its row. It does not touch files from before this database, because
// they may belong to another database whose rows are not restored yet.
func (s *Files) RemoveOrphans(ctx context.Context) error {
	since, err := s.store.Files.Since(ctx, penstock.Now())
	if err != nil {
		return err
	}
	before, removed := time.Now().Add(-orphanedAfter), 0
	if err := s.blobs.Sweep(ctx, before); err != nil {
		return err
	}
	defer func() {
		if removed > 0 {
			s.log.Info("unused files removed", "files", removed, "put_before", before)
		}
	}()
	next, stop := iter.Pull2(s.blobs.Between(ctx, since.Std(), before))
	defer stop()
	return share.ClearInBatches(ctx, func() (int, error) {
		var keys []string
		for len(keys) < share.BatchSize {
			key, err, ok := next()
			if err != nil {
				return 0, err
			}
			if !ok {
				break
			}
			keys = append(keys, key)
		}
		lost, err := s.unreferred(ctx, keys)
		if err != nil {
			return 0, err
		}
		for _, key := range lost {
			gone, err := s.blobs.DeleteOlder(ctx, key, before)
			if err != nil {
				return 0, err
			}
			if gone {
				removed++
			}
		}
		return len(keys), nil
	})
}

// unreferred lists the keys to which no row refers. It ignores keys that are not ours.
func (s *Files) unreferred(ctx context.Context, keys []string) (lost []string, err error) {
	for some := range slices.Chunk(keys, store.ReferredAtOnce) {
		var owners, ours []string
		for _, key := range some {
			if owner, ok := ownerOf(key); ok {
				owners, ours = append(owners, owner), append(ours, key)
			}
		}
		referred, err := s.store.Files.Referred(ctx, owners, ours)
		if err != nil {
			return nil, err
		}
		lost = append(lost, slices.DeleteFunc(ours, func(key string) bool { return slices.Contains(referred, key) })...)
	}
	return lost, nil
}
