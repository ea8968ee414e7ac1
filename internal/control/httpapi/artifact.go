package httpapi

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"errors"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"path"
	"strings"
	"syscall"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/run"
)

// artifacts holds the handlers of artifacts.
type artifacts struct {
	rules       *run.Files
	idempotency *idempotency
	tempDir     string // for uploads in progress; "": the system's folder
}

// add takes a file as multipart/form-data, everything else as JSON.
func (h artifacts) add(c *call) error {
	up, err := h.readUpload(c)
	if err != nil {
		return err
	}
	defer up.discard()
	return h.idempotency.once(c, up.hash, func() error {
		item, err := h.rules.AddArtifact(c.ctx(), c.principal, c.param("runId"), up.meta, up.reader())
		if err != nil {
			return err
		}
		return c.respond(http.StatusCreated, item)
	})
}

func (h artifacts) read(c *call) error {
	return c.ok(h.rules.Artifact(c.ctx(), c.principal, c.param("uid")))
}

func (h artifacts) download(c *call) error {
	link, err := h.rules.ArtifactLink(c.ctx(), c.principal, c.param("uid"))
	if err != nil {
		return err
	}
	return c.redirect(link)
}

// upload is a received artifact.
type upload struct {
	meta run.ArtifactUpload
	file *os.File // rewound; nil without a file
	hash [sha256.Size]byte
}

func (u *upload) reader() io.Reader {
	if u.file == nil {
		return nil
	}
	return u.file
}

// discard closes the file, which deletes it: it has no name any more.
func (u *upload) discard() {
	if u.file != nil {
		_ = u.file.Close()
	}
}

// readUpload reads the whole request before anything is stored, so that a broken upload leaves
// nothing behind. It writes a file to disk.
func (h artifacts) readUpload(c *call) (*upload, error) {
	kind, params, _ := mime.ParseMediaType(c.r.Header.Get("Content-Type"))
	if kind != "multipart/form-data" {
		up := &upload{}
		if err := c.decode(&up.meta); err != nil {
			return nil, err
		}
		up.hash = hashBody(c.body, c.r.URL.RawQuery)
		return up, nil
	}
	up := &upload{meta: run.ArtifactUpload{Type: penstock.ArtifactFile}}
	const limit = run.MaxArtifactBytes + maxFormText
	body := &sentContent{
		Reader: http.MaxBytesReader(c.w, slowBody{c.r.Body, http.NewResponseController(c.w)}, limit),
	}
	if err := h.readForm(c, multipart.NewReader(wholeForm(body), params["boundary"]), up); err != nil {
		up.discard()
		if penstock.CodeOf(err) == "" {
			err = formError(err, body.err, limit)
		}
		return nil, err
	}
	return up, nil
}

// maxFormText limits the fields of a form, without its file.
const maxFormText = 64 << 10

// formError turns an error while a form was read into an error of the caller, unless it is of our own
// files. sent is the error of the body, if reading the body failed.
func formError(err, sent error, limit int64) error {
	if errors.Is(err, syscall.ENOSPC) {
		return &penstock.Error{Code: penstock.CodeUnavailable, Detail: "the server has no space for the file now", Cause: err}
	}
	if _, ours := errors.AsType[*os.PathError](err); ours {
		return err
	}
	if sent == nil || errors.Is(sent, io.ErrUnexpectedEOF) {
		return penstock.Errorf(penstock.CodeInvalidRequest, "the body is not a complete multipart/form-data form")
	}
	return bodyError(sent, limit)
}

// errFormEnds means that a body ended before the last boundary of its form.
var errFormEnds = errors.New("the form has no last boundary")

// wholeForm returns the body for a multipart.Reader that reports io.EOF after the last boundary only: the reader
// itself reports it also for a body that was cut off within a boundary or the headers of a part. The last boundary
// needs no line end.
func wholeForm(body io.Reader) io.Reader {
	return io.MultiReader(body, strings.NewReader("\r\n"), cutForm{})
}

type cutForm struct{}

func (cutForm) Read([]byte) (int, error) { return 0, errFormEnds }

// readForm reads the parts in any order. It hashes their content only, because a client that
// repeats the request chooses another boundary.
func (h artifacts) readForm(c *call, form *multipart.Reader, up *upload) error {
	digest, text := sha256.New(), 0
	var ignored []string
	for n := 0; ; n++ {
		part, err := form.NextPart()
		if n == 0 && (errors.Is(err, io.EOF) || errors.Is(err, errFormEnds)) {
			return penstock.Errorf(
				penstock.CodeInvalidRequest,
				"the body has no form part with the boundary that its Content-Type names; /file is required",
			)
		}
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err
		}
		if part.FormName() == "file" {
			if up.file != nil {
				return penstock.Invalid("/file", "must be given once")
			}
			if err := h.spool(part, up, digest); err != nil {
				return err
			}
			continue
		}
		value, err := readFormText(part, maxFormText-text)
		if err != nil {
			return err
		}
		text += len(value)
		if !up.set(part.FormName(), value) {
			ignored = append(ignored, "/"+penstock.EscapePointer(part.FormName()))
		}
	}
	if len(ignored) > 0 {
		c.w.Header().Set("X-Penstock-Ignored-Fields", ignoredHeader(ignored[:min(len(ignored), maxIgnored)]))
	}
	return up.complete(digest.Sum(nil))
}

// readFormText reads a part that has at most so many bytes of text.
func readFormText(part *multipart.Part, most int) (string, error) {
	value, err := io.ReadAll(io.LimitReader(part, int64(most)+1))
	switch {
	case err != nil:
		return "", err
	case len(value) > most:
		return "", penstock.Errorf(penstock.CodePayloadTooLarge, "the fields of the form exceed %d bytes", maxFormText)
	case !utf8.Valid(value), bytes.IndexByte(value, 0) >= 0:
		return "", penstock.Invalid("/"+penstock.EscapePointer(part.FormName()), "must be text in UTF-8 without NUL")
	}
	return string(value), nil
}

// set sets a field of the form. It returns false for an unknown field.
func (u *upload) set(name, value string) bool {
	d := &u.meta.Data
	switch name {
	case "artifact_type":
		u.meta.Type = penstock.ArtifactType(value)
	case "filename":
		d.Filename = value
	case "filepath":
		d.Filepath = value
	case "mime_type":
		d.MimeType = value
	case "title":
		d.Title = value
	case "description":
		d.Description = value
	default:
		return false
	}
	return true
}

// complete checks the form and computes its hash.
func (u *upload) complete(content []byte) error {
	if u.file == nil {
		return penstock.Invalid("/file", "is required: send the content as a part of the form")
	}
	if t := u.meta.Type; t != penstock.ArtifactFile && t != penstock.ArtifactScreenshot {
		return penstock.Invalid("/artifact_type", "must be FILE or SCREENSHOT in a form; send the other types as JSON")
	}
	meta, err := json.Marshal(u.meta)
	if err != nil {
		return err
	}
	u.hash = sha256.Sum256(append(meta, content...))
	return nil
}

// spool writes the part to a file without a name and keeps its headers.
func (h artifacts) spool(part *multipart.Part, up *upload, digest io.Writer) error {
	file, err := os.CreateTemp(h.tempDir, "upload-*")
	if err != nil {
		return err
	}
	up.file = file
	if err := os.Remove(file.Name()); err != nil {
		return err
	}
	size, err := io.Copy(io.MultiWriter(file, digest), io.LimitReader(part, run.MaxArtifactBytes+1))
	if err != nil {
		return err
	}
	if size > run.MaxArtifactBytes {
		return penstock.Errorf(
			penstock.CodePayloadTooLarge, "the file exceeds the limit of %d bytes for an artifact", run.MaxArtifactBytes,
		)
	}
	d := &up.meta.Data
	d.SizeBytes = size
	if name := path.Base(strings.ReplaceAll(part.FileName(), `\`, "/")); d.Filename == "" && name != "." && name != "/" {
		d.Filename = name
	}
	if d.MimeType == "" {
		d.MimeType = cmp.Or(part.Header.Get("Content-Type"), "application/octet-stream")
	}
	_, err = file.Seek(0, io.SeekStart)
	return err
}

// slowBody extends the deadline of a large body while it makes progress.
type slowBody struct {
	io.ReadCloser
	rc *http.ResponseController
}

const uploadPause = time.Minute // the longest pause of a sender

func (b slowBody) Read(p []byte) (int, error) {
	_ = b.rc.SetReadDeadline(time.Now().Add(uploadPause))
	_ = b.rc.SetWriteDeadline(time.Now().Add(2 * uploadPause))
	return b.ReadCloser.Read(p)
}
