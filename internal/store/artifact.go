package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/penstock-dev/penstock"
)

// Artifact is a result of a run, and says where its content is.
type Artifact struct {
	UID, RunID, Team string
	Type             penstock.ArtifactType
	CreatedAt        penstock.Time
	Data             penstock.ArtifactData
	Content          string // of a PLAN
	Blob             string // of a FILE or SCREENSHOT
}

// artifactFields are the columns of an artifact.
var (
	artifactFields = newResource("artifacts", "a",
		textColumn("uid", func(a *Artifact) *string { return &a.UID }),
		textColumn("run_id", func(a *Artifact) *string { return &a.RunID }),
		textColumn("team", func(a *Artifact) *string { return &a.Team }),
		textColumn("type", func(a *Artifact) *penstock.ArtifactType { return &a.Type }),
		numberColumn("created_at", func(a *Artifact) *penstock.Time { return &a.CreatedAt }),
		jsonColumn("data", func(a *Artifact) *penstock.ArtifactData { return &a.Data }),
		storedText("url", func(a *Artifact) string { return a.Data.URL }),
		storedNumber("size", func(a *Artifact) int64 { return a.Data.SizeBytes + int64(len(a.Content)) }),
		textColumn("content", func(a *Artifact) *string { return &a.Content }),
		textColumn("blob", func(a *Artifact) *string { return &a.Blob }),
	)
	artifactListing = artifactFields.without("content")
)

// AddArtifact stores an artifact, and indexes it by its URL. It returns false if the uid exists
// already.
func (f FilesTx) AddArtifact(ctx context.Context, a Artifact) (bool, error) {
	n, err := f.tx.exec(ctx, artifactFields.insert+" ON CONFLICT (uid) DO NOTHING", artifactFields.row(&a)...)
	if err != nil {
		return false, fmt.Errorf("store an artifact of run %s: %w", a.RunID, err)
	}
	return n > 0, nil
}

// ArtifactTotals returns how many artifacts a run has, and the total size of their contents in
// bytes.
func (f FilesTx) ArtifactTotals(ctx context.Context, runID string) (n int, size int64, err error) {
	return f.tx.s.Files.artifactTotals(ctx, f.tx, runID, "")
}

// BesideArtifact returns the total size in bytes of a run's artifacts other than uid.
func (f Files) BesideArtifact(ctx context.Context, runID, uid string) (int64, error) {
	_, size, err := f.artifactTotals(ctx, f.s, runID, uid)
	return size, f.s.d.mapError(err)
}

func (f Files) artifactTotals(ctx context.Context, q querier, runID, except string) (n int, size int64, err error) {
	err = q.row(ctx, `SELECT count(*), CAST(COALESCE(sum(size), 0) AS BIGINT)
		FROM artifacts
		WHERE run_id = $1 AND uid <> $2`, runID, except).Scan(&n, &size)
	if err != nil {
		return 0, 0, fmt.Errorf("count the artifacts of run %s: %w", runID, err)
	}
	return n, size, nil
}

// Touch marks a run as changed, because lists show something new of it.
func (rs RunsTx) Touch(ctx context.Context, runID string) error {
	_, err := rs.tx.exec(ctx, `UPDATE runs
		SET updated_at = $1
		WHERE id = $2`, int64(penstock.Now()), runID)
	return err
}

// Artifact reads an artifact of a team; absence is penstock.CodeNotFound.
func (f Files) Artifact(ctx context.Context, team, uid string) (Artifact, error) {
	a, err := f.ArtifactByUID(ctx, uid)
	if err == nil && a.Team != team {
		return Artifact{}, penstock.NotFound("artifact", uid)
	}
	return a, err
}

// ArtifactByUID reads an artifact of any team, for a caller with a signed link.
func (f Files) ArtifactByUID(ctx context.Context, uid string) (Artifact, error) {
	var a Artifact
	err := f.s.row(ctx, "SELECT "+artifactFields.selected+`
		FROM artifacts a
		WHERE a.uid = $1`, uid).Scan(artifactFields.into(&a)...)
	if errors.Is(err, sql.ErrNoRows) {
		return a, penstock.NotFound("artifact", uid)
	}
	return a, f.s.d.mapError(err)
}

// Artifacts lists the artifacts of several runs, oldest first. It omits the content of plans, which
// may be megabytes.
func (f Files) Artifacts(ctx context.Context, runIDs []string) ([]Artifact, error) {
	if len(runIDs) == 0 {
		return nil, nil
	}
	rows, err := f.s.query(ctx, "SELECT "+artifactListing.selected+`
		FROM artifacts a
		WHERE a.run_id IN (`+placeholders(1, len(runIDs))+`)
		ORDER BY a.created_at, a.uid`, anys(runIDs)...)
	return collect(f.s, rows, err, "artifacts", func(a *Artifact) []any { return artifactListing.into(a) })
}

// ByReference lists the runs that made an artifact with this URL, newest
// first.
func (rs Runs) ByReference(ctx context.Context, team, url string) ([]string, error) {
	return rs.s.strings(ctx, `SELECT run_id
		FROM artifacts
		WHERE team = $1 AND url = $2 AND url <> ''
		ORDER BY created_at DESC, run_id DESC`, team, url)
}

// Session is the agent's HOME that was saved after a turn of a conversation.
type Session struct {
	ConversationID, Team, Harness, SessionID, Blob string
	Size                                           int64  // before encryption
	SealedKey                                      []byte // of the blob; empty: not encrypted
}

// savedFields are the columns of a saved session.
var (
	savedFields = newResource("conversations", "c",
		textColumn("id", func(v *Session) *string { return &v.ConversationID }),
		textColumn("team", func(v *Session) *string { return &v.Team }),
		textColumn("harness", func(v *Session) *string { return &v.Harness }).editable(),
		textColumn("session_id", func(v *Session) *string { return &v.SessionID }).editable(),
		textColumn("blob", func(v *Session) *string { return &v.Blob }).editable(),
		numberColumn("size", func(v *Session) *int64 { return &v.Size }).editable(),
		bytesColumn("sealed_key", func(v *Session) *[]byte { return &v.SealedKey }).editable(),
		storedNumber("updated_at", func(*Session) penstock.Time { return penstock.Now() }).editable(),
	)
	saveSession = savedFields.upsert("id")
)

// SaveSession replaces a conversation's session and returns its old blob, which nothing refers to
// any more, or "".
func (c ConversationsTx) SaveSession(ctx context.Context, v Session) (old string, err error) {
	err = c.tx.row(ctx, "SELECT blob FROM conversations WHERE id = $1", v.ConversationID).Scan(&old)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", err
	}
	_, err = c.tx.exec(ctx, saveSession, savedFields.row(&v)...)
	return old, err
}

// Session reads the saved session of a conversation; absence is penstock.CodeNotFound.
func (c Conversations) Session(ctx context.Context, conversationID string) (Session, error) {
	v := Session{ConversationID: conversationID}
	err := c.s.row(ctx, "SELECT "+savedFields.selected+`
		FROM conversations c
		WHERE c.id = $1`, conversationID).Scan(savedFields.into(&v)...)
	if errors.Is(err, sql.ErrNoRows) {
		return v, penstock.NotFound("saved session of conversation", conversationID)
	}
	return v, c.s.d.mapError(err)
}

// LiveSession returns the session of a conversation's active run, or "".
func (c Conversations) LiveSession(ctx context.Context, conversationID string) (string, error) {
	ids, err := c.s.strings(ctx, `SELECT session_id
		FROM executions
		WHERE conversation_id = $1 AND ended_at = 0
		ORDER BY started_at DESC
		LIMIT 1`, conversationID)
	if err != nil || len(ids) == 0 {
		return "", err
	}
	return ids[0], nil
}

// EndedSession returns the conversation of a session whose sandbox has ended. It returns "" if the
// sandbox still exists, or if the session does not.
func (c Conversations) EndedSession(ctx context.Context, sessionID string) (string, error) {
	ids, err := c.s.strings(ctx, `SELECT conversation_id
		FROM executions
		WHERE session_id = $1 AND ended_at <> 0`, sessionID)
	if err != nil || len(ids) == 0 {
		return "", err
	}
	return ids[0], nil
}
