package store

import (
	"context"
	"fmt"

	"github.com/penstock-dev/penstock"
)

// Attachment is a file of a run or of one of its follow-ups. It may not be uploaded yet.
type Attachment struct {
	ID, Filename, MimeType string
	Path                   string // in the workspace; "": no follow-up has named it yet
	Blob                   string // "": it has not been uploaded yet
	Size                   int64
	ExpiresAt              penstock.Time // when it is removed unless a follow-up names it; 0: never before its run
}

// File returns the attachment as a worker sees it.
func (a Attachment) File() penstock.File {
	return penstock.File{ID: a.ID, Path: a.Path, MimeType: a.MimeType, Size: a.Size}
}

// FilesOf returns attachments as a worker sees them.
func FilesOf(list []Attachment) (files []penstock.File) {
	for _, a := range list {
		files = append(files, a.File())
	}
	return files
}

// attachmentRecord is the row of an attachment, the n-th of its run.
type attachmentRecord struct {
	Attachment
	runID string
	n     int
}

// attachmentFields are the columns of an attachment.
var attachmentFields = newResource("attachments", "a",
	textColumn("id", func(a *attachmentRecord) *string { return &a.ID }),
	storedText("run_id", func(a *attachmentRecord) string { return a.runID }),
	storedNumber("n", func(a *attachmentRecord) int { return a.n }),
	textColumn("path", func(a *attachmentRecord) *string { return &a.Path }),
	textColumn("filename", func(a *attachmentRecord) *string { return &a.Filename }),
	textColumn("mime_type", func(a *attachmentRecord) *string { return &a.MimeType }),
	numberColumn("size", func(a *attachmentRecord) *int64 { return &a.Size }),
	textColumn("blob", func(a *attachmentRecord) *string { return &a.Blob }),
	numberColumn("expires_at", func(a *attachmentRecord) *penstock.Time { return &a.ExpiresAt }),
)

// Attachments lists the files of a run and its follow-ups.
func (f Files) Attachments(ctx context.Context, runID string) ([]Attachment, error) {
	return readAttachments(ctx, f.s, "a.run_id = $1 AND a.expires_at = 0", runID)
}

func readAttachments(ctx context.Context, q querier, where, runID string) ([]Attachment, error) {
	rows, err := q.query(ctx, "SELECT "+attachmentFields.selected+`
		FROM attachments a
		WHERE `+where+`
		ORDER BY a.n`, runID)
	records, err := collect(
		q.store(), rows, err, "attachments", func(a *attachmentRecord) []any { return attachmentFields.into(a) },
	)
	list := make([]Attachment, len(records))
	for i, a := range records {
		list[i] = a.Attachment
	}
	return list, err
}

// Attachments lists the files of a run, including prepared ones. While the run is locked they do
// not change, except that prepared ones may expire.
func (f FilesTx) Attachments(ctx context.Context, runID string) ([]Attachment, error) {
	return readAttachments(ctx, f.tx, "a.run_id = $1", runID)
}

// AddAttachments adds files to a run that is locked.
func (f FilesTx) AddAttachments(ctx context.Context, runID string, list []Attachment) error {
	var n int
	if err := f.tx.row(ctx, `SELECT COALESCE(max(n), -1) + 1
		FROM attachments
		WHERE run_id = $1`, runID).Scan(&n); err != nil {
		return fmt.Errorf("count the attachments of run %s: %w", runID, err)
	}
	for i, a := range list {
		if err := attachmentFields.add(ctx, f.tx, &attachmentRecord{a, runID, n + i}); err != nil {
			return fmt.Errorf("store an attachment of run %s: %w", runID, err)
		}
	}
	return nil
}

// SetUpload records the content of a prepared attachment that no follow-up has named yet. It
// returns false if such an attachment does not exist.
func (f FilesTx) SetUpload(ctx context.Context, id, blob string, size int64) (bool, error) {
	n, err := f.tx.exec(ctx, `UPDATE attachments
		SET blob = $1, size = $2
		WHERE id = $3 AND expires_at > $4`, blob, size, id, int64(penstock.Now()))
	return n > 0, wrapf(err, "record the upload of attachment %s", id)
}

// KeepUpload adds an uploaded attachment to its run permanently. It returns false if the attachment
// has expired.
func (f FilesTx) KeepUpload(ctx context.Context, id, path string) (bool, error) {
	n, err := f.tx.exec(ctx, `UPDATE attachments
		SET path = $1, expires_at = 0
		WHERE id = $2 AND blob <> '' AND expires_at > 0`, path, id)
	return n > 0, wrapf(err, "keep attachment %s", id)
}

// ExpireAttachments removes up to limit prepared attachments that no follow-up has named in time.
// blobs are their files, to which no row refers any more.
func (f Files) ExpireAttachments(ctx context.Context, limit int) (removed int, blobs []string, err error) {
	now := int64(penstock.Now())
	ids, err := f.s.strings(ctx, `SELECT id
		FROM attachments
		WHERE expires_at > 0 AND expires_at <= $1
		ORDER BY expires_at
		LIMIT $2`, now, limit)
	if err != nil || len(ids) == 0 {
		return 0, nil, err
	}
	err = f.s.Write(ctx, func(tx *Tx) error {
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
