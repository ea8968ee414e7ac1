package run

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"mime"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/request"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// The limits of a request with attachments.
const (
	MaxAttachments     = 5
	MaxAttachmentBytes = 25 << 20 // of all attachments of a request, decoded, or of one uploaded attachment
	MaxBodyBytes       = 10 << 20 // of a JSON body without attachments
)

// AttachmentDir is the folder of attachments in the workspace.
const AttachmentDir = ".penstock/attachments/"

func checkAttachments(list []penstock.Attachment) []penstock.FieldError {
	var errs []penstock.FieldError
	bad := func(pointer, format string, args ...any) {
		errs = append(errs, penstock.FieldError{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
	}
	if len(list) > MaxAttachments {
		bad("/attachments", "has %d files; at most %d are allowed", len(list), MaxAttachments)
	}
	names := map[string]bool{}
	for i, a := range list {
		checkAttachment(bad, fmt.Sprintf("/attachments/%d", i), a, names)
	}
	return errs
}

// checkAttachment checks a file that contains its content. names has the names of the earlier
// files.
func checkAttachment(
	bad func(pointer, format string, args ...any), at string, a penstock.Attachment, names map[string]bool,
) {
	checkFile(bad, at+"/file_name", a.FileName, at+"/mime_type", a.MimeType)
	if a.FileName != "" && names[a.FileName] {
		bad(at+"/file_name", "is used by two attachments")
	}
	names[a.FileName] = true
	if a.Data == nil { // an empty file has data, an empty string
		bad(at+"/data", "is required: the content in base64")
	}
}

func checkFile(bad func(pointer, format string, args ...any), nameAt, name, typeAt, mimeType string) {
	checkFileName(bad, nameAt, name)
	if _, _, err := mime.ParseMediaType(mimeType); err != nil {
		bad(typeAt, "must be a media type, such as text/plain")
	}
}

func checkFileName(bad func(pointer, format string, args ...any), at, name string) {
	if !plainName(name) {
		bad(at, "must be a plain file name of at most 200 bytes, without control characters")
	}
}

// plainName reports whether name is a valid file name without folders.
func plainName(name string) bool {
	return name != "" && len(name) <= 200 && name != "." && name != ".." && utf8.ValidString(name) &&
		!strings.ContainsAny(name, `/\`) && !strings.ContainsFunc(name, request.Hidden)
}

func (s *Files) putAttachments(ctx context.Context, run *store.NewRun, list []penstock.Attachment) error {
	for i, a := range list {
		key := attachmentKey(run.ID, i)
		if _, _, err := s.blobs.Put(ctx, key, bytes.NewReader(a.Data), MaxAttachmentBytes); err != nil {
			for _, key := range attached(run.Attachments) {
				s.DropBlob(ctx, key)
			}
			return StorageError(err)
		}
		run.Attachments = append(run.Attachments, store.Attachment{
			ID: penstock.NewID(), Path: AttachmentDir + a.FileName, Filename: a.FileName, MimeType: a.MimeType, Blob: key,
			Size: int64(len(a.Data)),
		})
	}
	return nil
}

func attached(list []store.Attachment) (keys []string) {
	for _, a := range list {
		keys = append(keys, a.Blob)
	}
	return keys
}

// checkFollowupAttachments checks the files of a follow-up. Each has either its content or the
// id of an uploaded file.
func checkFollowupAttachments(bad func(pointer, format string, args ...any), list []FollowupAttachment) {
	if len(list) > maxFollowupAttachments {
		bad("/attachments", "has %d files; at most %d are allowed", len(list), maxFollowupAttachments)
	}
	names, ids, contents := map[string]bool{}, map[string]bool{}, 0
	for i, a := range list {
		at := fmt.Sprintf("/attachments/%d", i)
		if a.ID == "" {
			contents++
			checkAttachment(bad, at, penstock.Attachment{FileName: a.FileName, MimeType: a.MimeType, Data: a.Data}, names)
			continue
		}
		switch {
		case !penstock.ValidID(a.ID):
			bad(at+"/attachment_id", "is not a valid attachment id")
		case ids[a.ID]:
			bad(at+"/attachment_id", "is named twice")
		}
		ids[a.ID] = true
		if a.FileName != "" {
			checkFileName(bad, at+"/file_name", a.FileName)
		}
		if a.Data != nil {
			bad(at+"/data", "must not be given together with attachment_id")
		}
	}
	if contents > MaxAttachments {
		bad("/attachments", "contains %d files; at most %d are allowed: upload the others and name them by "+
			"their ids",
			contents, MaxAttachments)
	}
}

// putFollowupAttachments stores the files of a follow-up that contain their content. It keeps
// their positions in the list.
func (s *Files) putFollowupAttachments(
	ctx context.Context, runID string, list []FollowupAttachment,
) ([]store.Attachment, error) {
	files := make([]store.Attachment, len(list))
	for i, a := range list {
		files[i] = store.Attachment{ID: a.ID, Filename: a.FileName}
		if a.ID != "" {
			continue
		}
		id := penstock.NewID()
		key := uploadKey(runID, id)
		if _, _, err := s.blobs.Put(ctx, key, bytes.NewReader(a.Data), MaxAttachmentBytes); err != nil {
			for _, key := range attached(files) {
				s.DropBlob(ctx, key)
			}
			return nil, StorageError(err)
		}
		files[i] = store.Attachment{ID: id, Filename: a.FileName, MimeType: a.MimeType, Blob: key, Size: int64(len(a.Data))}
	}
	return files, nil
}

// attach adds files to a locked run: the files that contained their content, and the uploaded
// files named by id.
func attach(ctx context.Context, tx *store.Tx, runID string, files []store.Attachment) ([]store.Attachment, error) {
	if len(files) == 0 {
		return nil, nil
	}
	have, err := tx.Files().Attachments(ctx, runID)
	if err != nil {
		return nil, err
	}
	known, taken := map[string]store.Attachment{}, map[string]bool{}
	for _, a := range have {
		known[a.ID], taken[a.Path] = a, true
	}
	out := make([]store.Attachment, 0, len(files))
	var added []store.Attachment
	for i, f := range files {
		if f.Blob != "" {
			f.Path = freePath(taken, f.Filename)
			added = append(added, f)
			out = append(out, f)
			continue
		}
		a, ok := known[f.ID]
		if ok {
			a, ok, err = takeUpload(ctx, tx, a, f.Filename, taken)
		}
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, unknownAttachment(i, f.ID)
		}
		out = append(out, a)
	}
	if err := checkRoom(have, added); err != nil {
		return nil, err
	}
	return out, tx.Files().AddAttachments(ctx, runID, added)
}

// takeUpload adds a prepared attachment to the run. If name is not "", it replaces the
// attachment's name. It returns false if the file was not uploaded or has expired. An
// attachment that an earlier follow-up named does not change.
func takeUpload(
	ctx context.Context, tx *store.Tx, a store.Attachment, name string, taken map[string]bool,
) (store.Attachment, bool, error) {
	if a.ExpiresAt == 0 {
		return a, true, nil
	}
	name = cmp.Or(name, a.Filename)
	a.Path, a.ExpiresAt = freePath(taken, name), 0
	ok, err := tx.Files().KeepUpload(ctx, a.ID, a.Path)
	return a, ok, err
}

func unknownAttachment(i int, id string) error {
	return &penstock.Error{Code: penstock.CodeNotSupported, Fields: []penstock.FieldError{{
		Pointer: fmt.Sprintf("/attachments/%d/attachment_id", i),
		Detail:  fmt.Sprintf("names the attachment %q, which was not uploaded for this run; prepare and upload it first", id),
	}}}
}

// freePath returns an unused path for a file with this name.
func freePath(taken map[string]bool, name string) string {
	ext := path.Ext(name)
	stem := strings.TrimSuffix(name, ext)
	if stem == "" {
		stem, ext = name, ""
	}
	at := AttachmentDir + name
	for n := 2; taken[at]; n++ {
		at = fmt.Sprintf("%s%s-%d%s", AttachmentDir, stem, n, ext)
	}
	taken[at] = true
	return at
}

// checkRoom returns an error if the run would have too many files.
func checkRoom(have, more []store.Attachment) error {
	n, size := len(have)+len(more), int64(0)
	for _, list := range [][]store.Attachment{have, more} {
		for _, a := range list {
			size += a.Size
		}
	}
	if n > maxRunAttachments {
		return penstock.Errorf(
			penstock.CodeConflict, "the run would have %d attachments; at most %d are allowed", n, maxRunAttachments,
		)
	}
	if size > MaxRunAttachmentBytes {
		return penstock.Errorf(penstock.CodeConflict, "the attachments of the run would have %d bytes; at most %d are "+
			"allowed",
			size, MaxRunAttachmentBytes)
	}
	return nil
}
