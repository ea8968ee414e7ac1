package run

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/supply/blob"
)

// sessionFile is the id under which a worker opens the saved session.
const sessionFile = "session"

// Open implements penstock.Control.
func (c control) Open(ctx context.Context, l penstock.Lease, f penstock.File) (io.ReadCloser, error) {
	if _, err := c.s.store.Executions.Holds(ctx, l); err != nil {
		return nil, err
	}
	row, err := c.s.store.Executions.HeldRun(ctx, l)
	if err != nil {
		return nil, err
	}
	if f.ID == sessionFile {
		saved, err := c.s.store.Conversations.Session(ctx, row.ConversationID)
		if err != nil {
			return nil, err
		}
		return c.session(ctx, f, saved)
	}
	if strings.HasPrefix(f.ID, packFile) {
		return c.pack(ctx, row.ID, f)
	}
	if f.ID == PayloadFile && row.DeliveryID != "" {
		body, err := c.s.store.Deliveries.Payload(ctx, row.DeliveryID)
		return io.NopCloser(bytes.NewReader(body)), err
	}
	if f.ID == RawPayloadFile && row.DeliveryID != "" {
		raw, err := c.s.store.Deliveries.RawPayload(ctx, row.DeliveryID)
		return io.NopCloser(bytes.NewReader(raw)), err
	}
	if row.SubjectUID != "" {
		if has, err := c.s.store.Subjects.HasEvent(ctx, row.ID, f.ID); err != nil {
			return nil, err
		} else if has {
			body, err := c.s.store.Deliveries.Payload(ctx, f.ID)
			return io.NopCloser(bytes.NewReader(body)), err
		}
	}
	list, err := c.s.store.Files.Attachments(ctx, l.RunID)
	if err != nil {
		return nil, err
	}
	for _, a := range list {
		if a.ID == f.ID {
			return c.blob(ctx, f, a.Blob)
		}
	}
	return nil, penstock.NotFound("file", f.ID)
}

// blob opens the file of a row. A missing file is not retryable: a backup may lack a session
// that is saved every 30 seconds.
func (c control) blob(ctx context.Context, f penstock.File, key string) (io.ReadSeekCloser, error) {
	content, _, err := c.s.blobs.Open(ctx, key)
	if errors.Is(err, blob.ErrNotFound) {
		c.s.log.Error(
			"stored file not found; servers of one database must have the same --blobs", "blob", key, "error",
			err,
		)
		return nil, penstock.NotFound("file", f.ID)
	}
	return content, StorageError(err)
}

// Save implements penstock.Control.
func (c control) Save(ctx context.Context, l penstock.Lease, u penstock.Upload, content io.Reader) (string, error) {
	run, err := c.s.store.Executions.HeldRun(ctx, l)
	if err != nil {
		return "", err
	}
	if !penstock.ValidID(u.ID) {
		return "", penstock.Invalid("/id", "must be a UUID that is new for each upload")
	}
	if u.Session != nil {
		return u.ID, c.s.saveSession(ctx, l, run, u, content)
	}
	if u.Changes != nil {
		return u.ID, c.s.saveChanges(ctx, l, u, content)
	}
	if u.Checkpoint != nil {
		return u.ID, c.s.saveCheckpoint(ctx, l, u, content)
	}
	if u.Artifact == nil {
		return "", penstock.Invalid("/artifact", "is required unless session, changes or checkpoint is given")
	}
	if u.Type != penstock.ArtifactFile && u.Type != penstock.ArtifactScreenshot && u.Type != penstock.ArtifactPlan {
		content = nil
	}
	a, err := c.s.files.PutArtifact(ctx, run, u.ID, ArtifactUpload{Type: u.Type, Data: *u.Artifact}, content)
	if err != nil {
		return "", err
	}
	err = c.s.store.Write(ctx, func(tx *store.Tx) error {
		if _, err := tx.Executions().Held(ctx, l); err != nil {
			return err
		}
		return c.s.files.RecordArtifact(ctx, tx, a)
	})
	if err != nil {
		c.s.files.DropRejected(ctx, err, a.Blob)
	}
	return a.UID, err
}
