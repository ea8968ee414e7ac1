package run

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/share"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// preparedLifetime is how long a prepared attachment is kept before a follow-up names it.
const preparedLifetime = 24 * time.Hour

// PrepareAttachments prepares uploads for follow-ups of a run. It returns a signed upload link
// for each file.
func (s *Files) PrepareAttachments(
	ctx context.Context, p penstock.Principal, id string, req penstock.PrepareRequest,
) (penstock.PreparedAttachments, error) {
	run, err := s.runs.writableRun(ctx, p, id)
	if err != nil {
		return penstock.PreparedAttachments{}, err
	}
	return s.prepare(ctx, p, run, req)
}

// PrepareConversationAttachments is PrepareAttachments for the steered run of a conversation.
func (s *Files) PrepareConversationAttachments(
	ctx context.Context, p penstock.Principal, id string, req penstock.PrepareRequest,
) (penstock.PreparedAttachments, error) {
	run, err := s.runs.steeredRun(ctx, p, id)
	if err != nil {
		return penstock.PreparedAttachments{}, err
	}
	return s.prepare(ctx, p, run, req)
}

func (s *Files) prepare(
	ctx context.Context, p penstock.Principal, run store.RunRow, req penstock.PrepareRequest,
) (penstock.PreparedAttachments, error) {
	var none penstock.PreparedAttachments
	if errs := checkPrepare(req); errs != nil {
		return none, penstock.InvalidFields(errs...)
	}
	var list []store.Attachment
	prepared := penstock.PreparedAttachments{Attachments: []penstock.PreparedAttachment{}}
	for _, f := range req.Files {
		a := store.Attachment{
			ID: penstock.NewID(), Filename: f.Filename, MimeType: f.MimeType, ExpiresAt: penstock.Now().Add(preparedLifetime),
		}
		link, until, err := s.sign("uploads", "upload", run.ID+"/"+a.ID)
		if err != nil {
			return none, err
		}
		list = append(list, a)
		prepared.Attachments = append(prepared.Attachments, penstock.PreparedAttachment{
			ID: a.ID, UploadURL: link, ExpiresAt: until,
			Target: penstock.UploadTarget{
				URL: link, Method: "PUT", Headers: map[string]string{"Content-Type": f.MimeType}, Fields: []string{},
			},
		})
	}
	return access.Act(ctx, s.responses, p, func(tx *store.Tx) (penstock.PreparedAttachments, error) {
		if _, err := tx.Conversations().Enter(ctx, run.ConversationID, speaks(p)); err != nil {
			return none, err
		}
		if _, err := tx.Runs().Lock(ctx, run.ID); err != nil {
			return none, err
		}
		have, err := tx.Files().Attachments(ctx, run.ID)
		if err != nil {
			return none, err
		}
		if err := checkRoom(have, list); err != nil {
			return none, err
		}
		return prepared, tx.Files().AddAttachments(ctx, run.ID, list)
	})
}

func checkPrepare(req penstock.PrepareRequest) []penstock.FieldError {
	var errs []penstock.FieldError
	bad := func(pointer, format string, args ...any) {
		errs = append(errs, penstock.FieldError{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
	}
	if n := len(req.Files); n == 0 || n > penstock.MaxFollowupAttachments {
		bad("/files", "has %d files; 1 to %d are allowed", n, penstock.MaxFollowupAttachments)
	}
	for i, f := range req.Files {
		at := fmt.Sprintf("/files/%d", i)
		checkFile(bad, at+"/filename", f.Filename, at+"/mime_type", f.MimeType)
	}
	return errs
}

// Upload stores the content of a prepared attachment. The caller may repeat it until a
// follow-up names the attachment; the last upload counts.
func (s *Files) Upload(ctx context.Context, token string, content io.Reader) (penstock.UploadedAttachment, error) {
	var none penstock.UploadedAttachment
	g, err := s.openLink(token)
	if err != nil || g.Kind != "upload" {
		return none, errLink
	}
	runID, id, _ := strings.Cut(g.ID, "/")
	key := uploadKey(runID, penstock.NewID())
	size, _, err := s.blobs.Put(ctx, key, content, penstock.MaxAttachmentBytes)
	if err != nil {
		return none, StorageError(err)
	}
	var old string
	var done penstock.UploadedAttachment
	err = s.store.Write(ctx, func(tx *store.Tx) error {
		var err error
		done, old, err = recordUpload(ctx, tx, runID, store.Attachment{ID: id, Blob: key, Size: size})
		return err
	})
	if err != nil {
		s.DropRejected(ctx, err, key)
		return none, err
	}
	s.DropBlob(ctx, old)
	return done, nil
}

// recordUpload sets the content of a prepared attachment. old is its previous file, or "".
func recordUpload(
	ctx context.Context, tx *store.Tx, runID string, up store.Attachment,
) (done penstock.UploadedAttachment, old string, err error) {
	if _, err := tx.Runs().Lock(ctx, runID); err != nil {
		return done, "", err
	}
	have, err := tx.Files().Attachments(ctx, runID)
	if err != nil {
		return done, "", err
	}
	found := false
	for i, a := range have {
		if a.ID == up.ID {
			found, old = true, a.Blob
			done = penstock.UploadedAttachment{ID: a.ID, Filename: a.Filename, MimeType: a.MimeType, SizeBytes: up.Size}
			have[i].Size = up.Size
		}
	}
	if !found {
		return done, "", errLink
	}
	if err := checkRoom(have, nil); err != nil {
		return done, "", err
	}
	ok, err := tx.Files().SetUpload(ctx, up.ID, up.Blob, up.Size)
	if err == nil && !ok {
		err = penstock.Errorf(
			penstock.CodeConflict, "the attachment already belongs to a follow-up and cannot be uploaded again",
		)
	}
	return done, old, err
}

// ExpireAttachments removes prepared attachments that no follow-up has named in time.
func (s *Files) ExpireAttachments(ctx context.Context) error {
	return share.Clear(ctx, func() (int, error) {
		n, blobs, err := s.store.Files.ExpireAttachments(ctx, share.Size)
		for _, key := range blobs {
			s.DropBlob(ctx, key)
		}
		return n, err
	})
}
