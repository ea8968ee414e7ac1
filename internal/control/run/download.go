package run

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/request"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/supply/blob"
)

// HandoffAttachment is a file that was sent with a run.
type HandoffAttachment struct {
	ID          string `json:"attachment_id"`
	Filename    string `json:"filename"`
	DownloadURL string `json:"download_url"`
	MimeType    string `json:"mime_type,omitempty"`
}

// LinkLifetime is how long a signed link is valid. A link to the object store, to which it can
// redirect, is valid for blobLinkLifetime.
const (
	LinkLifetime     = 15 * time.Minute
	blobLinkLifetime = 5 * time.Minute
)

// TranscriptLink returns a signed link to the transcript of a run.
func (s *Files) TranscriptLink(ctx context.Context, p penstock.Principal, runID string) (string, error) {
	r, err := s.runs.readableRun(ctx, p, runID)
	if err != nil {
		return "", err
	}
	u, _, err := s.link("transcript", r.ID)
	return u, err
}

// ConversationTranscriptLink returns a signed link to the transcript of all runs of a conversation
// that the caller may see.
func (s *Files) ConversationTranscriptLink(ctx context.Context, p penstock.Principal, id string) (string, error) {
	if err := s.runs.seesConversation(ctx, p, id); err != nil {
		return "", err
	}
	if v := viewer(p); !v.All {
		id += "/" + v.UID
	}
	u, _, err := s.link("conversation", id)
	return u, err
}

// HandoffAttachments lists the files that were sent with a run, with links to them.
func (s *Files) HandoffAttachments(
	ctx context.Context, p penstock.Principal, runID string,
) ([]HandoffAttachment, error) {
	if _, err := s.runs.readableRun(ctx, p, runID); err != nil {
		return nil, err
	}
	list, err := s.store.Files.Attachments(ctx, runID)
	if err != nil {
		return nil, err
	}
	out := make([]HandoffAttachment, 0, len(list))
	for _, a := range list {
		u, _, err := s.link("attachment", runID+"/"+a.ID)
		if err != nil {
			return nil, err
		}
		out = append(out, HandoffAttachment{ID: a.ID, Filename: a.Filename, DownloadURL: u, MimeType: a.MimeType})
	}
	return out, nil
}

// grant is the target of a signed link. It is encrypted and not only signed, so a link reveals
// nothing about its target.
type grant struct {
	Kind  string        `json:"k"`
	ID    string        `json:"i"`
	Until penstock.Time `json:"u"`
}

const grantContext = "download"

// link returns a signed link to a download, and when it expires.
func (s *Files) link(kind, id string) (string, penstock.Time, error) {
	return s.sign("downloads", kind, id)
}

func (s *Files) sign(path, kind, id string) (string, penstock.Time, error) {
	until := penstock.Now().Add(LinkLifetime)
	sealed, err := s.keyset.Seal(mustMarshal(grant{kind, id, until}), grantContext)
	if err != nil {
		return "", 0, fmt.Errorf("sign a link: %w", err)
	}
	return s.publicURL + "/api/v1/" + path + "/" + base64.RawURLEncoding.EncodeToString(sealed), until, nil
}

// Download is the file of a signed link.
type Download struct {
	Name     string
	MimeType string
	Size     int64         // -1: unknown
	Content  io.ReadCloser // also an io.Seeker if the size is known; nil: not opened
	ModTime  time.Time

	key string // of its blob; "" if it has none
}

// Download opens the file of a signed link. The caller closes the content.
func (s *Files) Download(ctx context.Context, token string) (Download, error) {
	d, err := s.find(ctx, token)
	if err != nil || d.key == "" {
		return d, err
	}
	d.Content, d.Size, err = s.blobs.Open(ctx, d.key)
	return d, StorageError(err)
}

// DownloadElsewhere returns a URL of the object store with the file of a signed link, or "" if the
// server sends the file itself. The store then sends the headers Content-Disposition and
// Content-Type, which disposition makes of the name and mediaType of the type.
func (s *Files) DownloadElsewhere(
	ctx context.Context, token string, disposition, mediaType func(string) string,
) (string, error) {
	if !s.presign {
		return "", nil
	}
	d, err := s.find(ctx, token)
	if err != nil || d.key == "" {
		return "", err
	}
	if _, err := s.blobs.Size(ctx, d.key); err != nil { // the caller gets our error, not the store's
		return "", StorageError(err)
	}
	link, err := s.blobs.Link(ctx, d.key, blob.Link{
		Disposition: disposition(d.Name), Type: mediaType(d.MimeType), Life: blobLinkLifetime,
	})
	return link, StorageError(err)
}

// find returns the file of a signed link. A file in the blob store is not opened.
func (s *Files) find(ctx context.Context, token string) (Download, error) {
	g, err := s.openLink(token)
	if err != nil {
		return Download{}, err
	}
	switch g.Kind {
	case "artifact":
		return s.findArtifact(ctx, g.ID)
	case "attachment":
		return s.findAttachment(ctx, g.ID)
	case "transcript":
		return s.downloadTranscript(ctx, g.ID, []string{g.ID}), nil
	case "conversation":
		id, viewer, one := strings.Cut(g.ID, "/")
		runs, err := s.store.Conversations.Runs(ctx, store.Viewer{UID: viewer, All: !one}, id)
		return s.downloadTranscript(ctx, id, runs), err
	}
	return Download{}, errLink
}

// errLink is returned for an invalid signed link.
var errLink = penstock.Errorf(penstock.CodeNotFound, "the link is not valid or has expired; ask for a new one")

// openLink decodes a signed link.
func (s *Files) openLink(token string) (g grant, err error) {
	sealed, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return g, errLink
	}
	content, err := s.keyset.Open(sealed, grantContext)
	if err != nil || json.Unmarshal(content, &g) != nil || g.Until < penstock.Now() {
		return g, errLink
	}
	return g, nil
}

func (s *Files) findArtifact(ctx context.Context, uid string) (Download, error) {
	a, err := s.store.Files.ArtifactByUID(ctx, uid)
	if err != nil {
		return Download{}, err
	}
	d := Download{Name: request.FileName(a.Data.Filename), MimeType: a.Data.MimeType, ModTime: a.CreatedAt.Std()}
	if a.Type == penstock.ArtifactPlan {
		d.Name, d.MimeType, d.Size, d.Content = "plan.md", "text/markdown", int64(len(a.Content)), readSeekNopCloser{
			strings.NewReader(a.Content),
		}
		return d, nil
	}
	d.Name = cmp.Or(d.Name, "screenshot")
	d.key = a.Blob
	return d, nil
}

type readSeekNopCloser struct{ io.ReadSeeker }

func (readSeekNopCloser) Close() error { return nil }

func (s *Files) findAttachment(ctx context.Context, id string) (Download, error) {
	runID, id, _ := strings.Cut(id, "/")
	list, err := s.store.Files.Attachments(ctx, runID)
	if err != nil {
		return Download{}, err
	}
	for _, a := range list {
		if a.ID == id {
			return Download{Name: request.FileName(a.Filename), MimeType: a.MimeType, key: a.Blob}, nil
		}
	}
	return Download{}, penstock.NotFound("attachment", id)
}

// downloadTranscript writes the transcript while the caller reads it, so that a long one needs
// little memory.
func (s *Files) downloadTranscript(ctx context.Context, name string, runs []string) Download {
	r, w := io.Pipe()
	go func() { w.CloseWithError(s.streams.writeTranscript(ctx, w, runs)) }()
	return Download{Name: "transcript-" + name + ".jsonl", MimeType: "application/jsonl", Size: -1, Content: r}
}
