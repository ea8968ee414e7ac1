package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/penstock-dev/penstock"
)

// Changes is what a run has changed in its repositories, and says where the patches are.
type Changes struct {
	RunID     string
	UpdatedAt penstock.Time
	Upload    string // id of the call that saved them
	Saved     penstock.SavedChanges
	Blob      string // "" without a patch
}

// changesFields are the columns of changes.
var (
	changesFields = newResource("changes", "c",
		textColumn("run_id", func(v *Changes) *string { return &v.RunID }),
		numberColumn("updated_at", func(v *Changes) *penstock.Time { return &v.UpdatedAt }).editable(),
		textColumn("upload", func(v *Changes) *string { return &v.Upload }).editable(),
		jsonColumn("repositories", func(v *Changes) *penstock.SavedChanges { return &v.Saved }).editable(),
		textColumn("blob", func(v *Changes) *string { return &v.Blob }).editable(),
	)
	saveChanges = changesFields.upsert("run_id")
)

// SaveChanges replaces the changes of a run. It returns the old ones, to whose blob nothing refers
// any more. It does nothing for an upload that is already saved.
func (f FilesTx) SaveChanges(ctx context.Context, v Changes) (old Changes, err error) {
	err = f.tx.row(ctx, "SELECT "+changesFields.selected+`
		FROM changes c
		WHERE c.run_id = $1`, v.RunID).Scan(changesFields.into(&old)...)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return old, fmt.Errorf("read the changes of run %s: %w", v.RunID, err)
	}
	if old.Upload == v.Upload {
		return old, nil
	}
	if _, err = f.tx.exec(ctx, saveChanges, changesFields.row(&v)...); err != nil {
		return old, fmt.Errorf("save the changes of run %s: %w", v.RunID, err)
	}
	return old, nil
}

// Changes reads the changes of a run. They are empty if none were saved.
func (f Files) Changes(ctx context.Context, runID string) (Changes, error) {
	v := Changes{RunID: runID}
	err := f.s.row(ctx, "SELECT "+changesFields.selected+`
		FROM changes c
		WHERE c.run_id = $1`, runID).Scan(changesFields.into(&v)...)
	if errors.Is(err, sql.ErrNoRows) {
		return v, nil
	}
	return v, f.s.d.mapError(err)
}
