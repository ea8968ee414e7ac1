package store

import (
	"context"
	"fmt"
	"time"

	"github.com/penstock-dev/penstock"
)

// BranchOwner is the thread that pushes to a repository.
type BranchOwner struct {
	Team, Repository string // the URL, in lower case
	Owner            string // of all runs of a thread
	RunID            string
}

type branchRow struct {
	owner, wanted string
	seen          bool
}

// maxBranches bounds the branches of a thread in one repository.
const maxBranches = 20

// keepBranches is how long the owner of a branch is known after the last push. Later, the branch belongs
// to nobody, so no run may push to it.
const keepBranches = 365 * 24 * time.Hour

// ClaimBranch records that a thread is about to push to a branch. It returns why it may not, or "": another
// thread has the branch, or the forge has it and no push of this thread made it.
func (fs ForgesTx) ClaimBranch(
	ctx context.Context, o BranchOwner, b penstock.PushedBranch,
) (refusal string, err error) {
	now := int64(penstock.Now())
	if b.Current == "" {
		var others int
		if err := fs.tx.row(ctx, `SELECT count(*)
			FROM pushed_branches
			WHERE team = $1 AND repository = $2 AND owner = $3 AND name <> $4`,
			o.Team, o.Repository, o.Owner, b.Name).Scan(&others); err != nil {
			return "", wrapf(err, "claim branch %s", b.Name)
		}
		if others >= maxBranches {
			return fmt.Sprintf("the run has pushed %d branches already, and more are not allowed", maxBranches), nil
		}
		n, err := fs.tx.exec(ctx, `INSERT INTO pushed_branches
			(team, repository, name, owner, run_id, wanted, seen, created_at, updated_at)
			VALUES ($1, $2, $3, $4, $5, $6, 0, $7, $7)
			ON CONFLICT DO NOTHING`, o.Team, o.Repository, b.Name, o.Owner, o.RunID, b.New, now)
		if err != nil || n > 0 {
			return "", wrapf(err, "claim branch %s", b.Name)
		}
	}
	rows, err := fs.tx.query(ctx, `SELECT owner, wanted, seen
		FROM pushed_branches
		WHERE team = $1 AND repository = $2 AND name = $3`+fs.tx.s.d.lock, o.Team, o.Repository, b.Name)
	list, err := collect(fs.tx.s, rows, err, "branches", func(r *branchRow) []any {
		return []any{&r.owner, &r.wanted, &r.seen}
	})
	if err != nil {
		return "", err
	}
	switch {
	case len(list) == 0:
		return "the branch exists, and no run of Penstock has made it. Push another one", nil
	case list[0].owner != o.Owner:
		return "the branch belongs to another run. Push another one", nil
	case b.Current != "" && !list[0].seen && b.Current != list[0].wanted:
		return "the branch exists, and somebody else has made it. Push another one", nil
	}
	_, err = fs.tx.exec(ctx, `UPDATE pushed_branches
		SET run_id = $1, wanted = $2, seen = $3, updated_at = $4
		WHERE team = $5 AND repository = $6 AND name = $7`,
		o.RunID, b.New, flag(b.Current != ""), now, o.Team, o.Repository, b.Name)
	return "", wrapf(err, "claim branch %s", b.Name)
}

// ClearBranches forgets branches that no run has pushed for a year, and pull requests that no output has changed.
func (fs Forges) ClearBranches(ctx context.Context, now penstock.Time) error {
	return fs.s.Write(ctx, func(tx *Tx) error {
		for _, table := range []string{"pushed_branches", "pull_requests"} {
			if _, err := tx.exec(ctx, "DELETE FROM "+table+" WHERE updated_at < $1", int64(now.Add(-keepBranches))); err != nil {
				return wrapf(err, "clear %s", table)
			}
		}
		return nil
	})
}
