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

// PrepareRequest announces files that will be uploaded for follow-ups of a run.
type PrepareRequest struct {
	Files []PrepareFile `json:"files"`
}

// PrepareFile is a file of a PrepareRequest.
type PrepareFile struct {
	Filename string `json:"filename"`
	MimeType string `json:"mime_type"`
}

// PreparedAttachments is the response to a PrepareRequest, in the same order.
type PreparedAttachments struct {
	Attachments []PreparedAttachment `json:"attachments"`
}

// PreparedAttachment says where to upload a file. A follow-up refers to the file by the id.
type PreparedAttachment struct {
	ID        string        `json:"attachment_id"`
	UploadURL string        `json:"upload_url"`
	Target    UploadTarget  `json:"upload_target"`
	ExpiresAt penstock.Time `json:"expires_at"` // of the URL
}

// UploadTarget is a request that uploads a file as its body.
type UploadTarget struct {
	URL     string            `json:"url"`
	Method  string            `json:"method"`
	Headers map[string]string `json:"headers"`
	Fields  []string          `json:"fields"` // of a form; always empty, because the file is the body
}

// UploadedAttachment is the response to an upload.
type UploadedAttachment struct {
	ID        string `json:"attachment_id"`
	Filename  string `json:"filename"`
	MimeType  string `json:"mime_type"`
	SizeBytes int64  `json:"size_bytes"`
}

// preparedLifetime is how long a prepared attachment is kept before a follow-up names it.
const preparedLifetime = 24 * time.Hour

// PrepareAttachments prepares uploads for follow-ups of a run. It returns a signed upload link
// for each file.
func (s *Files) PrepareAttachments(
	ctx context.Context, p penstock.Principal, id string, req PrepareRequest,
) (PreparedAttachments, error) {
	run, err := s.runs.writableRun(ctx, p, id)
	if err != nil {
		return PreparedAttachments{}, err
	}
	return s.prepare(ctx, p, run, req)
}

// PrepareConversationAttachments is PrepareAttachments for the steered run of a conversation.
func (s *Files) PrepareConversationAttachments(
	ctx context.Context, p penstock.Principal, id string, req PrepareRequest,
) (PreparedAttachments, error) {
	run, err := s.runs.steeredRun(ctx, p, id)
	if err != nil {
		return PreparedAttachments{}, err
	}
	return s.prepare(ctx, p, run, req)
}

func (s *Files) prepare(
	ctx context.Context, p penstock.Principal, run store.RunRow, req PrepareRequest,
) (PreparedAttachments, error) {
	var none PreparedAttachments
	if errs := checkPrepare(req); errs != nil {
		return none, penstock.InvalidFields(errs...)
	}
	var list []store.Attachment
	prepared := PreparedAttachments{Attachments: []PreparedAttachment{}}
	for _, f := range req.Files {
		a := store.Attachment{
			ID: penstock.NewID(), Filename: f.Filename, MimeType: f.MimeType, ExpiresAt: penstock.Now().Add(preparedLifetime),
		}
		link, until, err := s.sign("uploads", "upload", run.ID+"/"+a.ID)
		if err != nil {
			return none, err
		}
		list = append(list, a)
		prepared.Attachments = append(prepared.Attachments, PreparedAttachment{
			ID: a.ID, UploadURL: link, ExpiresAt: until,
			Target: UploadTarget{
				URL: link, Method: "PUT", Headers: map[string]string{"Content-Type": f.MimeType}, Fields: []string{},
			},
		})
	}
	return access.Act(ctx, s.responses, p, func(tx *store.Tx) (PreparedAttachments, error) {
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

func checkPrepare(req PrepareRequest) []penstock.FieldError {
	var errs []penstock.FieldError
	bad := func(pointer, format string, args ...any) {
		errs = append(errs, penstock.FieldError{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
	}
	if n := len(req.Files); n == 0 || n > maxFollowupAttachments {
		bad("/files", "has %d files; 1 to %d are allowed", n, maxFollowupAttachments)
	}
	for i, f := range req.Files {
		at := fmt.Sprintf("/files/%d", i)
		checkFile(bad, at+"/filename", f.Filename, at+"/mime_type", f.MimeType)
	}
	return errs
}

// Upload stores the content of a prepared attachment. The caller may repeat it until a
// follow-up names the attachment; the last upload counts.
func (s *Files) Upload(ctx context.Context, token string, content io.Reader) (UploadedAttachment, error) {
	var none UploadedAttachment
	g, err := s.openLink(token)
	if err != nil || g.Kind != "upload" {
		return none, errLink
	}
	runID, id, _ := strings.Cut(g.ID, "/")
	key := uploadKey(runID, penstock.NewID())
	size, _, err := s.blobs.Put(ctx, key, content, MaxAttachmentBytes)
	if err != nil {
		return none, StorageError(err)
	}
	var old string
	var done UploadedAttachment
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
) (done UploadedAttachment, old string, err error) {
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
			done = UploadedAttachment{ID: a.ID, Filename: a.Filename, MimeType: a.MimeType, SizeBytes: up.Size}
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
	return share.ClearInBatches(ctx, func() (int, error) {
		n, blobs, err := s.store.Files.ExpireAttachments(ctx, share.BatchSize)
		for _, key := range blobs {
			s.DropBlob(ctx, key)
		}
		return n, err
	})
}
