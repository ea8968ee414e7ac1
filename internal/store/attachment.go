package store

import (
	"context"
	"fmt"

	"github.com/penstock-dev/penstock"
)

// Attachment is a file that was sent along with a run or one of its follow-ups, or
// that is to be.
type Attachment struct {
	ID, Filename, MimeType string
	Path                   string // in the workspace; "": no follow-up has named it yet
	Blob                   string // "": it has not been uploaded yet
	Size                   int64
	ExpiresAt              penstock.Time // when it is removed unless a follow-up names it; 0: never before its run
}

// File is the attachment as a worker finds it.
func (a Attachment) File() penstock.File {
	return penstock.File{ID: a.ID, Path: a.Path, MimeType: a.MimeType, Size: a.Size}
}

// FilesOf are attachments as a worker finds them.
func FilesOf(list []Attachment) (files []penstock.File) {
	for _, a := range list {
		files = append(files, a.File())
	}
	return files
}

const attachmentColumns = "id, path, filename, mime_type, size, blob, expires_at"

func attachmentFields(a *Attachment) []any {
	return []any{&a.ID, &a.Path, &a.Filename, &a.MimeType, &a.Size, &a.Blob, &a.ExpiresAt}
}

// Attachments lists the files that were sent along with a run and its follow-ups.
func (s *Store) Attachments(ctx context.Context, runID string) ([]Attachment, error) {
	rows, err := s.query(
		ctx, "SELECT "+attachmentColumns+`
			FROM attachments
			WHERE run_id = $1 AND expires_at = 0
			ORDER BY n`, runID,
	)
	return collect(s, rows, err, "attachments", attachmentFields)
}

// Attachments lists the files of a run, with those that were only prepared. They
// stay as they are while the run is locked, but for those that expire.
func (tx *Tx) Attachments(ctx context.Context, runID string) ([]Attachment, error) {
	rows, err := tx.query(ctx, "SELECT "+attachmentColumns+`
		FROM attachments
		WHERE run_id = $1
		ORDER BY n`, runID)
	return collect(tx.s, rows, err, "attachments", attachmentFields)
}

// AddAttachments adds files to a run that is locked.
func (tx *Tx) AddAttachments(ctx context.Context, runID string, list []Attachment) error {
	for _, a := range list {
		_, err := tx.exec(ctx, `INSERT INTO attachments (id, run_id, n, path, filename, mime_type, size, blob, expires_at)
			SELECT $1, $2, COALESCE(max(n), -1) + 1, $3, $4, $5, $6, $7, $8
			FROM attachments
			WHERE run_id = $2`,
			a.ID, runID, a.Path, a.Filename, a.MimeType, a.Size, a.Blob, int64(a.ExpiresAt))
		if err != nil {
			return fmt.Errorf("store an attachment of run %s: %w", runID, err)
		}
	}
	return nil
}

// SetUpload records the content of a prepared attachment that no follow-up has
// named yet; false: there is none such, or no longer.
func (tx *Tx) SetUpload(ctx context.Context, id, blob string, size int64) (bool, error) {
	n, err := tx.exec(ctx, `UPDATE attachments
		SET blob = $1, size = $2
		WHERE id = $3 AND expires_at > $4`, blob, size, id, int64(penstock.Now()))
	if err != nil {
		return false, fmt.Errorf("record the upload of attachment %s: %w", id, err)
	}
	return n > 0, nil
}

// KeepUpload makes an uploaded attachment one of its run, for good; false: it has
// expired.
func (tx *Tx) KeepUpload(ctx context.Context, id, path string) (bool, error) {
	n, err := tx.exec(ctx, `UPDATE attachments
		SET path = $1, expires_at = 0
		WHERE id = $2 AND blob <> '' AND expires_at > 0`, path, id)
	if err != nil {
		return false, fmt.Errorf("keep attachment %s: %w", id, err)
	}
	return n > 0, nil
}

// ExpireAttachments removes up to limit prepared attachments that no follow-up has
// named in time. blobs are their files, which nothing refers to any more.
func (s *Store) ExpireAttachments(ctx context.Context, limit int) (removed int, blobs []string, err error) {
	now := int64(penstock.Now())
	ids, err := s.strings(ctx, `SELECT id
		FROM attachments
		WHERE expires_at > 0 AND expires_at <= $1
		ORDER BY expires_at
		LIMIT $2`, now, limit)
	if err != nil || len(ids) == 0 {
		return 0, nil, err
	}
	err = s.Write(ctx, func(tx *Tx) error {
		blobs = nil
		for _, id := range ids {
			rows, err := tx.query(ctx, `DELETE FROM attachments
				WHERE id = $1 AND expires_at > 0 AND expires_at <= $2
				RETURNING blob`, id, now)
			gone, err := collect(tx.s, rows, err, "expired attachments", func(v *string) []any { return []any{v} })
			if err != nil {
				return err
			}
			blobs = append(blobs, gone...)
		}
		return nil
	})
	return len(ids), blobs, err
}
