package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/execution/acp"
)

// MaxArtifact is the largest file for an artifact: 100 MiB.
const MaxArtifact = 100 << 20

// keep stores an artifact for the agent. The error explains a problem to the agent. A path must be
// in the workspace. The control plane checks the required fields of each type.
func (s *Session) keep(ctx context.Context, r acp.ArtifactRequest) (uid string, err error) {
	data := penstock.ArtifactData{
		Title: r.Title, Description: r.Description, Branch: r.Branch, URL: r.URL, Content: r.Content,
		ReferenceType: r.ReferenceType,
	}
	if readRaw(r.Metadata) != nil {
		data.Metadata = r.Metadata
	}
	upload := penstock.Upload{ID: penstock.NewID(), Type: r.Type, Artifact: &data}
	if r.Type != penstock.ArtifactFile && r.Type != penstock.ArtifactScreenshot {
		return s.save(ctx, upload, nil)
	}
	file, err := s.openFile(r.Path)
	if err != nil {
		return "", &acp.Error{Code: acp.CodeInvalidParams, Message: r.Path + ": " + err.Error()}
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return "", fmt.Errorf("check an artifact: %w", err)
	}
	data.Filepath = s.within(r.Path)
	data.Filename = filepath.Base(data.Filepath)
	data.SizeBytes, upload.Size = info.Size(), info.Size()
	if data.MimeType, err = mimeType(file); err != nil {
		return "", err
	}
	return s.save(ctx, upload, file)
}

// save stores an artifact, and explains a rejection to the agent.
func (s *Session) save(ctx context.Context, u penstock.Upload, content io.ReadSeeker) (string, error) {
	uid, err := s.Save(ctx, u, content)
	var refused *penstock.Error
	switch {
	case errors.As(err, &refused):
		return "", &acp.Error{Code: acp.CodeInvalidParams, Message: s.Mask(refused.Explain())}
	case err != nil:
		s.Log.WarnContext(ctx, "artifact not saved", "error", err)
		return "", &acp.Error{Code: acp.CodeInternal, Message: "the artifact cannot be saved now"}
	}
	return uid, nil
}

// openFile opens a regular file of the workspace. The agent may change the path at any time. So
// os.Root opens it, which follows no link out of the workspace, and the check uses the open file
// and not the name. With O_NONBLOCK, opening a pipe does not wait for its other end.
func (s *Session) openFile(name string) (*os.File, error) {
	local := s.within(name)
	if !filepath.IsLocal(local) {
		return nil, errors.New("the path is outside the workspace")
	}
	file, err := s.Root.OpenFile(local, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, errors.New("the file does not exist")
	}
	if err != nil {
		return nil, errors.New("the file cannot be opened within the workspace")
	}
	info, err := file.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = errors.New("it is not a regular file")
	case info.Size() > MaxArtifact:
		err = fmt.Errorf("the file has %d bytes; the limit is %d", info.Size(), int64(MaxArtifact))
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}

// within returns a path of the agent, relative to the workspace.
func (s *Session) within(name string) string {
	if rest, ok := strings.CutPrefix(filepath.Clean(name), s.Dir+"/"); ok {
		return rest
	}
	return filepath.Clean(name)
}

// mimeType uses the name, and then the first bytes. It leaves the file at its beginning.
func mimeType(file *os.File) (string, error) {
	if t := mime.TypeByExtension(filepath.Ext(file.Name())); t != "" {
		return t, nil
	}
	head := make([]byte, 512)
	n, err := file.ReadAt(head, 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read an artifact: %w", err)
	}
	return http.DetectContentType(head[:n]), nil
}
