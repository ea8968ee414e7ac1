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
	return n > 0, wrapf(err, "store an artifact of run %s", a.RunID)
}

// ArtifactTotals returns how many artifacts a run has, and the total size of their contents in
// bytes.
func (f FilesTx) ArtifactTotals(ctx context.Context, runID string) (n int, size int64, err error) {
	return artifactTotals(ctx, f.tx, runID, "")
}

// BesideArtifact returns the total size in bytes of a run's artifacts other than uid.
func (f Files) BesideArtifact(ctx context.Context, runID, uid string) (int64, error) {
	_, size, err := artifactTotals(ctx, f.s, runID, uid)
	return size, f.s.d.mapError(err)
}

func artifactTotals(ctx context.Context, q querier, runID, except string) (n int, size int64, err error) {
	err = q.row(ctx, `SELECT count(*), CAST(COALESCE(sum(size), 0) AS BIGINT)
		FROM artifacts
		WHERE run_id = $1 AND uid <> $2`, runID, except).Scan(&n, &size)
	if err != nil {
		return 0, 0, fmt.Errorf("count the artifacts of run %s: %w", runID, err)
	}
	return n, size, nil
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
