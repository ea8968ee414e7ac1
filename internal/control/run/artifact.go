package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/request"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/supply/blob"
	"github.com/penstock-dev/penstock/internal/supply/secret"
)

// ArtifactUpload describes an artifact that a caller adds.
type ArtifactUpload struct {
	Type penstock.ArtifactType `json:"artifact_type"`
	Data penstock.ArtifactData `json:"data"`
}

// pullRequestStatuses lists the statuses of a pull request.
func pullRequestStatuses() []string {
	return []string{"open", "draft", "merged", "closed", pullRequestUnknown}
}

// pullRequestUnknown is the default status of a pull request.
const pullRequestUnknown = "unknown"

// The largest size of a file, in bytes.
const (
	MaxArtifactBytes = 100 << 20
	MaxSessionBytes  = 256 << 20
	maxPlan          = 1 << 20
	maxMetadata      = 64 << 10
)

// maxArtifacts limits the artifacts of a run, because lists of runs show all of them.
const maxArtifacts = 500

// StorageError turns a full disk, and an object store that does not work, into an error that the
// caller may see.
func StorageError(err error) error {
	switch {
	case errors.Is(err, blob.ErrTooLarge):
		return penstock.Errorf(penstock.CodePayloadTooLarge, "the file is too large")
	case errors.Is(err, blob.ErrFull):
		return &penstock.Error{
			Code: penstock.CodeUnavailable, Detail: "the storage is full; nothing was stored", RetryAfter: 5 * time.Second,
			Cause: err,
		}
	case errors.Is(err, blob.ErrUnavailable):
		return &penstock.Error{
			Code: penstock.CodeUnavailable, Detail: "the object store does not work now", RetryAfter: 5 * time.Second,
			Cause: err,
		}
	}
	return err
}

// publicArtifact returns an artifact as a run shows it.
func publicArtifact(a store.Artifact) penstock.Artifact {
	return penstock.Artifact{Type: a.Type, CreatedAt: a.CreatedAt, Data: mustMarshal(publicData(a))}
}

// publicData keeps only the fields of the artifact's type.
func publicData(a store.Artifact) penstock.ArtifactData {
	d := a.Data
	switch a.Type {
	case penstock.ArtifactPlan:
		return penstock.ArtifactData{DocumentUID: a.UID, ArtifactUID: a.UID, Title: d.Title, URL: d.URL}
	case penstock.ArtifactPullRequest:
		observed := d.Observed != nil && *d.Observed
		return penstock.ArtifactData{
			Branch: d.Branch, URL: d.URL, Status: cmp.Or(d.Status, pullRequestUnknown), Observed: &observed,
		}
	case penstock.ArtifactFile, penstock.ArtifactScreenshot:
		return penstock.ArtifactData{
			ArtifactUID: a.UID, Filename: d.Filename, Filepath: d.Filepath, MimeType: d.MimeType, SizeBytes: d.SizeBytes,
			Title: d.Title, Description: d.Description,
		}
	}
	return penstock.ArtifactData{ReferenceType: d.ReferenceType, URL: d.URL, Title: d.Title, Metadata: d.Metadata}
}

func mustMarshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("service: a value of ours cannot be marshaled: " + err.Error())
	}
	return b
}

// AddArtifact stores an artifact of a run. It masks the run's secrets, because no worker did.
// The agent's key may add artifacts to its own run.
func (s *Files) AddArtifact(
	ctx context.Context, p penstock.Principal, runID string, u ArtifactUpload, content io.Reader,
) (ArtifactItem, error) {
	if p.RunID == "" {
		if err := access.Require(p, penstock.ScopeRunsWrite); err != nil {
			return ArtifactItem{}, err
		}
	}
	if u.Data.Observed != nil {
		return ArtifactItem{}, penstock.Invalid("/data/observed", "cannot be set: only the proxy of a run observes")
	}
	run, err := s.runs.visibleRun(ctx, p, runID)
	if err != nil {
		return ArtifactItem{}, err
	}
	mask, err := s.secrets.MaskOf(ctx, run)
	if err != nil {
		return ArtifactItem{}, err
	}
	maskArtifact(mask, &u.Data)
	if content != nil {
		content = mask.Blank(content)
	}
	a, err := s.PutArtifact(ctx, run, penstock.NewID(), u, content)
	if err != nil {
		return ArtifactItem{}, err
	}
	item := ArtifactItem{
		UID: a.UID, Type: a.Type, CreatedAt: a.CreatedAt, RunID: a.RunID, Data: mustMarshal(publicData(a)),
	}
	item, err = access.Act(ctx, s.responses, p, func(tx *store.Tx) (ArtifactItem, error) {
		if _, err := tx.Runs().Lock(ctx, run.ID); err != nil {
			return item, err
		}
		return item, s.RecordArtifact(ctx, tx, a)
	})
	if err != nil {
		s.DropRejected(ctx, err, a.Blob)
	}
	return item, err
}

// maskArtifact masks the metadata of an artifact.
func maskArtifact(mask *secret.Masker, d *penstock.ArtifactData) {
	for _, text := range []*string{
		&d.Branch, &d.URL, &d.Filename, &d.Filepath, &d.Title, &d.Description, &d.ReferenceType, &d.Content,
	} {
		*text = mask.String(*text)
	}
	if len(d.Metadata) == 0 {
		return
	}
	d.Metadata = []byte(mask.String(string(d.Metadata)))
	if !jsontext.Value(d.Metadata).IsValid() { // masking replaced a number, or made two keys equal
		d.Metadata = nil
	}
}

// PutArtifact checks an artifact and stores its content. The caller writes the row.
func (s *Files) PutArtifact(
	ctx context.Context, run store.RunRow, uid string, u ArtifactUpload, content io.Reader,
) (store.Artifact, error) {
	a := store.Artifact{UID: uid, RunID: run.ID, Team: run.Team, Type: u.Type, CreatedAt: penstock.Now(), Data: u.Data}
	if errs := checkArtifact(u, content != nil); errs != nil {
		return a, penstock.InvalidFields(errs...)
	}
	switch u.Type {
	case penstock.ArtifactPlan:
		if content != nil {
			text, err := io.ReadAll(io.LimitReader(content, maxPlan+1))
			if err != nil {
				return a, err
			}
			a.Data.Content = string(text)
		}
		if len(a.Data.Content) > maxPlan {
			return a, penstock.Errorf(penstock.CodePayloadTooLarge, "a plan holds at most %d bytes", maxPlan)
		}
		a.Content, a.Data.Content = strings.ReplaceAll(strings.ToValidUTF8(a.Data.Content, "\uFFFD"), "\x00", "\uFFFD"), ""
	case penstock.ArtifactFile, penstock.ArtifactScreenshot:
		a.Data.Filepath = request.FilePath(cmp.Or(a.Data.Filepath, a.Data.Filename))
		a.Data.Filename = request.FileName(a.Data.Filename)
		if a.Data.Filename == "" && u.Type == penstock.ArtifactFile {
			a.Data.Filename = cmp.Or(request.FileName(a.Data.Filepath), "file")
		}
		key := artifactKey(run.ID, uid)
		room, err := s.roomForArtifact(ctx, run.ID, uid)
		if err != nil {
			return a, err
		}
		size, _, err := s.blobs.Put(ctx, key, content, room)
		if errors.Is(err, blob.ErrExists) { // an earlier attempt stored it, and did not get to its row
			size, err = s.blobs.Size(ctx, key)
		}
		if errors.Is(err, blob.ErrTooLarge) && room < MaxArtifactBytes {
			return a, tooManyBytes(s.maxArtifactBytes)
		}
		if err != nil {
			return a, StorageError(err)
		}
		a.Blob, a.Data.SizeBytes = key, size
	}
	return a, nil
}

func checkArtifact(u ArtifactUpload, file bool) []penstock.FieldError {
	var errs []penstock.FieldError
	bad := func(pointer, format string, args ...any) {
		errs = append(errs, penstock.FieldError{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
	}
	d := u.Data
	for pointer, text := range map[string]string{
		"/data/filename": d.Filename, "/data/filepath": d.Filepath, "/data/title": d.Title,
		"/data/description": d.Description,
		"/data/branch":      d.Branch, "/data/reference_type": d.ReferenceType,
	} {
		request.Text(bad, pointer, text, 4096)
	}
	request.Text(bad, "/data/url", d.URL, request.MaxURL)
	if d.URL != "" || u.Type == penstock.ArtifactPullRequest || u.Type == penstock.ArtifactReference {
		if link, err := url.Parse(d.URL); err != nil || link.Host == "" || link.Scheme != "https" && link.Scheme != "http" {
			bad("/data/url", "must be an http or https URL")
		}
	}
	switch metadata := jsontext.Value(d.Metadata); {
	case len(metadata) == 0:
	case len(metadata) > maxMetadata:
		bad("/data/metadata", "has %d bytes; at most %d are allowed", len(metadata), maxMetadata)
	case metadata.Kind() != '{' || !metadata.IsValid():
		bad("/data/metadata", "must be a JSON object without duplicate keys")
	}
	checkArtifactType(bad, u, file)
	return errs
}

// checkArtifactType checks what an artifact of a type needs.
func checkArtifactType(bad func(pointer, format string, args ...any), u ArtifactUpload, file bool) {
	d := u.Data
	switch u.Type {
	case penstock.ArtifactFile, penstock.ArtifactScreenshot:
		if !file {
			bad("/file", "is required for %s", u.Type)
		}
		if d.Filename == "" && d.Filepath == "" && u.Type == penstock.ArtifactFile {
			bad("/data/filename", "is required for FILE")
		}
		if _, _, err := mime.ParseMediaType(d.MimeType); err != nil {
			bad("/data/mime_type", "must be a media type, such as text/plain")
		}
	case penstock.ArtifactPullRequest, penstock.ArtifactReference:
		if u.Type == penstock.ArtifactPullRequest && d.Branch == "" {
			bad("/data/branch", "is required for PULL_REQUEST")
		}
		if d.Status != "" && !slices.Contains(pullRequestStatuses(), d.Status) {
			bad("/data/status", "must be one of %s", request.Enumerated(pullRequestStatuses()))
		}
		if u.Type == penstock.ArtifactReference && d.ReferenceType == "" {
			bad("/data/reference_type", "is required for EXTERNAL_REFERENCE")
		}
	case penstock.ArtifactPlan:
		if !file && d.Content == "" {
			bad("/data/content", "is required for PLAN")
		}
	default:
		bad("/artifact_type", "must be one of %s", request.Enumerated(penstock.ArtifactTypes()))
	}
}

// roomForArtifact returns how many bytes an artifact of a run may have. The server receives no
// more than that. The write of the row decides whether the artifact fits. The artifact may
// already be stored.
func (s *Files) roomForArtifact(ctx context.Context, runID, uid string) (int64, error) {
	most := s.maxArtifactBytes
	if most <= 0 {
		return MaxArtifactBytes, nil
	}
	taken, err := s.store.Files.BesideArtifact(ctx, runID, uid)
	if err != nil {
		return 0, err
	}
	room := most - taken
	if room <= 0 {
		return 0, tooManyBytes(most)
	}
	return min(room, MaxArtifactBytes), nil
}

func tooManyBytes(most int64) error {
	return penstock.Errorf(penstock.CodePayloadTooLarge,
		"the artifacts of the run would have more than the %d bytes together that this server allows (--limit-artifacts)",
		most)
}

// RecordArtifact writes the row and the event. A repeated call writes nothing. Too many
// artifacts are a conflict.
func (s *Files) RecordArtifact(ctx context.Context, tx *store.Tx, a store.Artifact) error {
	added, err := recordArtifact(ctx, tx, a)
	if err != nil || !added {
		return err
	}
	n, size, err := tx.Files().ArtifactTotals(ctx, a.RunID) // the run's row is locked, so no two calls count at once
	if err != nil {
		return err
	}
	if most := s.maxArtifactBytes; most > 0 && size > most {
		return tooManyBytes(most)
	}
	if n > maxArtifacts {
		return penstock.Errorf(penstock.CodeConflict, "the run has %d artifacts, the maximum", maxArtifacts)
	}
	return nil
}

// recordArtifact is [Files.RecordArtifact] without limits. It returns false if the artifact exists already.
func recordArtifact(ctx context.Context, tx *store.Tx, a store.Artifact) (added bool, err error) {
	added, err = tx.Files().AddArtifact(ctx, a)
	if err != nil || !added {
		return false, err
	}
	if err := tx.Events().Append(
		ctx, a.RunID, penstock.NewDraft(penstock.EventArtifact, a.CreatedAt, publicArtifact(a)),
	); err != nil {
		return false, err
	}
	return true, tx.Runs().Touch(ctx, a.RunID)
}

// visibleArtifact returns an artifact of a run that the caller can see.
func (s *Files) visibleArtifact(ctx context.Context, p penstock.Principal, uid string) (store.Artifact, error) {
	a, err := s.store.Files.Artifact(ctx, p.Team, uid)
	if err != nil {
		return a, err
	}
	if _, err := s.runs.readableRun(ctx, p, a.RunID); err != nil {
		if penstock.CodeOf(err) == penstock.CodeNotFound {
			err = penstock.NotFound("artifact", uid)
		}
		return a, err
	}
	return a, nil
}

// Artifact returns one artifact with a link to its content. A plan has the content itself.
func (s *Files) Artifact(ctx context.Context, p penstock.Principal, uid string) (ArtifactItem, error) {
	a, err := s.visibleArtifact(ctx, p, uid)
	if err != nil {
		return ArtifactItem{}, err
	}
	data := struct {
		penstock.ArtifactData
		DownloadURL string        `json:"download_url,omitempty"`
		ExpiresAt   penstock.Time `json:"expires_at,omitzero"`
		ContentType string        `json:"content_type,omitempty"`
		NotebookUID string        `json:"notebook_uid,omitempty"`
	}{ArtifactData: publicData(a), ContentType: a.Data.MimeType}
	data.Content = a.Content
	if a.Blob != "" || a.Content != "" {
		if data.DownloadURL, data.ExpiresAt, err = s.link("artifact", a.UID); err != nil {
			return ArtifactItem{}, err
		}
	}
	if a.Type == penstock.ArtifactPlan {
		data.ContentType, data.NotebookUID = "text/markdown", a.UID
	}
	return ArtifactItem{
		UID: a.UID, Type: a.Type, CreatedAt: a.CreatedAt, RunID: a.RunID, Data: mustMarshal(data),
	}, nil
}

// ScreenshotLink returns a signed link to a screenshot of a conversation's run.
func (s *Files) ScreenshotLink(ctx context.Context, p penstock.Principal, conversationID, uid string) (string, error) {
	a, err := s.visibleArtifact(ctx, p, uid)
	if err != nil {
		return "", err
	}
	run, err := s.runs.readableRun(ctx, p, a.RunID)
	if err != nil {
		return "", err
	}
	if a.Type != penstock.ArtifactScreenshot || run.ConversationID != conversationID {
		return "", penstock.NotFound("screenshot", uid)
	}
	u, _, err := s.link("artifact", uid)
	return u, err
}

// ArtifactLink returns a signed link to an artifact's content.
func (s *Files) ArtifactLink(ctx context.Context, p penstock.Principal, uid string) (string, error) {
	a, err := s.visibleArtifact(ctx, p, uid)
	if err != nil {
		return "", err
	}
	if a.Blob == "" && a.Content == "" {
		return "", penstock.Errorf(penstock.CodeNotSupported, "artifacts of type %s have no content to download", a.Type)
	}
	u, _, err := s.link("artifact", uid)
	return u, err
}
