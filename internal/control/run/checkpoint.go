package run

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/share"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// maxPackBytes bounds one pack; the worker's own limit for a whole checkpoint is much lower.
const maxPackBytes = 64 << 30

// packFile begins the id under which a worker opens a pack.
const packFile = "pack-"

func packKey(runID, uid string) string { return "packs/" + runID + "/" + uid }

// saveCheckpoint stores what a worker has saved of the workspace after a turn.
func (s *Executions) saveCheckpoint(ctx context.Context, l penstock.Lease, u penstock.Upload, content io.Reader) error {
	c := *u.Checkpoint
	if err := checkCheckpoint(u); err != nil {
		return err
	}
	pack := store.Pack{UID: u.ID, Blob: packKey(l.RunID, penstock.NewID()), CreatedAt: penstock.Now()}
	var err error
	pack.Size, pack.SealedKey, err = s.putSealed(ctx, pack.Blob, access.PackContext(pack.Blob), content, maxPackBytes)
	if err != nil {
		return StorageError(err)
	}
	if pack.Size != u.Size {
		s.files.DropBlob(ctx, pack.Blob)
		return penstock.Invalid("/size", "must be the size of the content, %d", pack.Size)
	}
	var unused []string
	err = s.store.Write(ctx, func(tx *store.Tx) error {
		run, err := tx.Executions().Held(ctx, l)
		if err != nil {
			return err
		}
		saved := store.Checkpoint{
			Checkpoint: penstock.Checkpoint{
				UID: u.ID, MessageID: c.PromptID, Harness: c.Harness, CreatedAt: pack.CreatedAt, Files: c.Files, Bytes: c.Bytes,
			},
			RunID: run.ID, SessionID: c.SessionID, Prepared: c.Prepared,
		}
		if saved.Turn, err = tx.Files().Turn(ctx, run.ID, c.PromptID); err != nil {
			return err
		}
		if unused, err = tx.Files().SaveCheckpoint(ctx, saved, pack, c.Packs); err != nil || c.SessionID == "" {
			return err
		}
		return tx.Runs().SetResumable(ctx, run.ID, true)
	})
	if err != nil {
		s.files.DropRejected(ctx, err, pack.Blob)
		return err
	}
	for _, key := range unused {
		s.files.DropBlob(ctx, key)
	}
	return nil
}

func checkCheckpoint(u penstock.Upload) error {
	c := u.Checkpoint
	switch n := len(c.Packs); {
	case n == 0 || n > MaxPacks:
		return penstock.Invalid("/checkpoint/packs", "has %d items; 1 to %d are allowed", n, MaxPacks)
	case c.Packs[n-1] != u.ID || slices.Index(c.Packs, u.ID) < n-1:
		return penstock.Invalid("/checkpoint/packs", "must end with the id of the upload")
	case !penstock.ValidID(c.PromptID):
		return penstock.Invalid("/checkpoint/prompt_id", "is not the id of a message")
	}
	return nil
}

// giveCheckpoint adds the checkpoint from which a run continues.
func (s *Executions) giveCheckpoint(ctx context.Context, a *penstock.Assignment, row store.RunRow) error {
	saved, err := s.store.Files.Latest(ctx, row.ID)
	if penstock.CodeOf(err) == penstock.CodeNotFound {
		return nil
	}
	if err != nil {
		return err
	}
	runs, err := s.store.Conversations.Runs(ctx, store.Viewer{All: true}, row.ConversationID)
	if err != nil {
		return err
	}
	ended, err := s.store.Followups.LastEnded(ctx, row.ID, max(saved.Turn, saved.Restore))
	if err != nil {
		return err
	}
	if ended == "" && saved.Turn == 0 && saved.Restore == 0 && row.PromptState == store.PromptDelivered {
		ended = row.ID
	}
	packs, err := s.store.Files.Packs(ctx, saved.UID)
	if err != nil {
		return err
	}
	continued := len(runs) > 0 && runs[len(runs)-1] != row.ID // by another run, whose session is newer
	given := &penstock.AssignedCheckpoint{
		SavedCheckpoint: penstock.SavedCheckpoint{
			PromptID: saved.MessageID, SessionID: saved.SessionID, Harness: saved.Harness, Bytes: saved.Bytes,
			Files: saved.Files, Prepared: saved.Prepared,
		},
		UID: saved.UID, Turn: saved.Turn, Ended: ended, Restore: saved.Restore > 0 && ended == "",
	}
	given.Behind = !given.Restore && (ended != "" || continued)
	for _, p := range packs {
		given.Packs = append(given.Packs, p.UID)
		given.Content = append(given.Content, penstock.File{ID: packFile + p.UID, Size: p.Size})
	}
	a.Checkpoint = given
	return nil
}

// pack opens a pack that a checkpoint of a run needs.
func (c control) pack(ctx context.Context, runID string, f penstock.File) (io.ReadCloser, error) {
	p, err := c.s.store.Files.PackOf(ctx, runID, strings.TrimPrefix(f.ID, packFile))
	if err != nil {
		return nil, err
	}
	return c.sealed(ctx, f, p.Blob, access.PackContext(p.Blob), p.SealedKey)
}

// ClearPacks removes packs that no checkpoint needs.
func (s *Files) ClearPacks(ctx context.Context) error {
	return share.ClearInBatches(ctx, func() (int, error) {
		blobs, err := s.store.Files.ClearPacks(ctx, penstock.Now().Add(-orphanedAfter), share.BatchSize)
		for _, key := range blobs {
			s.DropBlob(ctx, key)
		}
		return len(blobs), err
	})
}

// Checkpoints lists the turns of a run whose workspace is kept.
func (s *Turns) Checkpoints(ctx context.Context, p penstock.Principal, id string) ([]penstock.Checkpoint, error) {
	run, err := s.runs.readableRun(ctx, p, id)
	if err != nil {
		return nil, err
	}
	saved, err := s.runs.store.Files.Checkpoints(ctx, run.ID)
	list := make([]penstock.Checkpoint, len(saved))
	for i, c := range saved {
		list[i] = c.Checkpoint
	}
	return list, err
}

// MaxPacks is how many packs a checkpoint may need.
const MaxPacks = 32
