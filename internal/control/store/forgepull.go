package store

import (
	"context"

	"github.com/penstock-dev/penstock"
)

// PullRequest is the pull request of a thread in a repository for a base branch.
type PullRequest struct {
	BranchOwner

	Factory      string // "": the run has none
	Connection   string // the uid of the forge
	Base, Branch string
	URL          string
	Number       int64
	RepositoryID int64  // 0: unknown
	Written      string // SHA-256 of the title and the text that the forge had after the last change
}

// PullRequests lists the pull requests of a thread in a repository.
func (fs Forges) PullRequests(ctx context.Context, o BranchOwner) ([]PullRequest, error) {
	rows, err := fs.s.query(ctx, `SELECT base, branch, number, written
		FROM pull_requests
		WHERE team = $1 AND repository = $2 AND owner = $3
		ORDER BY updated_at DESC`, o.Team, o.Repository, o.Owner)
	return collect(fs.s, rows, err, "pull requests", func(r *PullRequest) []any {
		r.BranchOwner = o
		return []any{&r.Base, &r.Branch, &r.Number, &r.Written}
	})
}

// SetPullRequest stores what an output has opened or changed. It is open.
func (fs ForgesTx) SetPullRequest(ctx context.Context, r PullRequest) error {
	_, err := fs.tx.exec(ctx, `INSERT INTO pull_requests
		(team, repository, owner, base, branch, url, number, written, run_id, factory_uid, connection, is_open, seen_at,
			created_at, updated_at, repository_id)
		VALUES ($1, $2, $3, $4, $5, $12, $6, $7, $8, $9, $10, 1, $11, $11, $11, $13)
		ON CONFLICT (team, repository, owner, base) DO UPDATE SET
			branch = excluded.branch, url = excluded.url, number = excluded.number, written = excluded.written,
			run_id = excluded.run_id, factory_uid = excluded.factory_uid, connection = excluded.connection, is_open = 1,
			seen_at = excluded.seen_at, updated_at = excluded.updated_at, repository_id = excluded.repository_id`,
		r.Team, r.Repository, r.Owner, r.Base, r.Branch, r.Number, r.Written, r.RunID, r.Factory, r.Connection,
		int64(penstock.Now()), r.URL, r.RepositoryID)
	return wrapf(err, "store pull request %d", r.Number)
}

// CountOpen returns how many pull requests of a factory are open, as far as the forges were asked, or wait to be
// opened. A thread counts once for what waits, and not at all if it has an open one, which it changes.
func (fs Forges) CountOpen(ctx context.Context, team, factoryUID string) (int64, error) {
	return countOpen(ctx, fs.s, team, factoryUID)
}

// CountOpen is [Forges.CountOpen] within the transaction.
func (fs ForgesTx) CountOpen(ctx context.Context, team, factoryUID string) (int64, error) {
	return countOpen(ctx, fs.tx, team, factoryUID)
}

func countOpen(ctx context.Context, q querier, team, factoryUID string) (n int64, err error) {
	err = q.row(ctx, `SELECT (
			SELECT count(*)
			FROM pull_requests
			WHERE factory_uid = $1 AND is_open = 1 AND team = $2
		) + (
			SELECT count(DISTINCT o.owner)
			FROM outputs o
			JOIN runs r ON r.id = o.run_id
			WHERE o.team = $2 AND o.state IN ('declared', 'held', 'queued') AND o.kind = 'pr' AND r.factory_uid = $1
				AND NOT EXISTS (
					SELECT 1
					FROM pull_requests p
					WHERE p.factory_uid = $1 AND p.is_open = 1 AND p.team = $2 AND p.owner = o.owner
				)
		)`, factoryUID, team).Scan(&n)
	return n, wrapf(q.store().d.mapError(err), "count the pull requests of factory %s", factoryUID)
}

// HasOpen reports whether the thread about a subject of a factory has an open pull request. The subject is given by
// its uid, or by the key of a claim.
func (fs Forges) HasOpen(ctx context.Context, team, factoryUID, subjectUID, claim string) (bool, error) {
	var n int
	err := fs.s.row(ctx, `SELECT count(*)
		FROM pull_requests p
		JOIN subjects s ON p.owner = 'subject:' || s.uid
		WHERE p.factory_uid = $1 AND p.is_open = 1 AND p.team = $2 AND s.team = $2 AND (s.uid = $3 OR s.claim = $4)`,
		factoryUID, team, subjectUID, claim).Scan(&n)
	return n > 0, wrapf(fs.s.d.mapError(err), "look for a pull request of subject %s", subjectUID)
}

// ThreadHasOpen reports whether a thread has an open pull request in a repository, for a base branch or, with "",
// for any.
func (fs ForgesTx) ThreadHasOpen(ctx context.Context, o BranchOwner, base string) (bool, error) {
	var n int
	err := fs.tx.row(ctx, `SELECT count(*)
		FROM pull_requests
		WHERE team = $1 AND repository = $2 AND owner = $3 AND is_open = 1 AND ($4 = '' OR base = $4)`,
		o.Team, o.Repository, o.Owner, base).Scan(&n)
	return n > 0, wrapf(err, "look for a pull request of %s", o.Owner)
}

// SeenPull is a pull request that was open when the forge was last asked.
type SeenPull struct {
	PullRequest

	SeenAt  penstock.Time
	Checked string // the last commit whose failed checks the run was told of
}

// UnseenPulls lists, of each connection, at most limit open pull requests about which its forge was not asked since a
// time, the longest ago first.
func (fs Forges) UnseenPulls(ctx context.Context, before penstock.Time, limit int) ([]SeenPull, error) {
	rows, err := fs.s.query(ctx, `SELECT team, repository, owner, base, branch, number, connection, seen_at, checked
		FROM (
			SELECT *, row_number() OVER (PARTITION BY connection ORDER BY seen_at, repository, number) AS place
			FROM pull_requests
			WHERE is_open = 1 AND seen_at < $1
		) p
		WHERE place <= $2
		ORDER BY seen_at, repository, number`, int64(before), limit)
	return collect(fs.s, rows, err, "pull requests", func(r *SeenPull) []any {
		return []any{
			&r.Team, &r.Repository, &r.Owner, &r.Base, &r.Branch, &r.Number, &r.Connection, (*int64)(&r.SeenAt), &r.Checked,
		}
	})
}

const thisPull = " WHERE team = $2 AND repository = $3 AND owner = $4 AND base = $5 AND number = $6 AND seen_at = $7"

// ClaimPull records that the forge is asked about a pull request now. It returns false if another server does it, or
// an output has changed it.
func (fs Forges) ClaimPull(ctx context.Context, r SeenPull, now penstock.Time) (claimed bool, err error) {
	err = fs.s.Write(ctx, func(tx *Tx) error {
		n, err := tx.exec(ctx, "UPDATE pull_requests SET seen_at = $1"+thisPull+" AND is_open = 1",
			int64(now), r.Team, r.Repository, r.Owner, r.Base, r.Number, int64(r.SeenAt))
		claimed = n > 0
		return wrapf(err, "claim pull request %d", r.Number)
	})
	return claimed, err
}

// ClosePull records that a pull request is no longer open, unless an output has changed it since it was claimed.
func (fs Forges) ClosePull(ctx context.Context, r SeenPull) error {
	return fs.s.Write(ctx, func(tx *Tx) error {
		_, err := tx.exec(ctx, "UPDATE pull_requests SET is_open = $1"+thisPull,
			0, r.Team, r.Repository, r.Owner, r.Base, r.Number, int64(r.SeenAt))
		return wrapf(err, "close pull request %d", r.Number)
	})
}

// PostponePulls lets a forge that wants no requests be asked later about its pull requests: they count as seen at a
// time.
func (fs Forges) PostponePulls(ctx context.Context, connection string, at penstock.Time) error {
	return fs.s.Write(ctx, func(tx *Tx) error {
		_, err := tx.exec(ctx, "UPDATE pull_requests SET seen_at = $1 WHERE connection = $2 AND is_open = 1 AND seen_at < $1",
			int64(at), connection)
		return wrapf(err, "postpone the pull requests of connection %s", connection)
	})
}

// HasPushed reports whether the last push of a thread to a branch was a commit.
func (fs Forges) HasPushed(ctx context.Context, o BranchOwner, branch, commit string) (bool, error) {
	var n int
	err := fs.s.row(ctx, `SELECT count(*)
		FROM pushed_branches
		WHERE team = $1 AND repository = $2 AND name = $3 AND owner = $4 AND wanted = $5`,
		o.Team, o.Repository, branch, o.Owner, commit).Scan(&n)
	return n > 0, wrapf(fs.s.d.mapError(err), "look for a push to %s", branch)
}

// HastenPulls lets the forge be asked at once about the pull requests whose last commit a run has pushed, because
// something has happened to its checks. repository is its URL, in lower case.
func (fs Forges) HastenPulls(ctx context.Context, team, repository, commit string, now penstock.Time) error {
	const which = `team = $1 AND repository = $2 AND is_open = 1 AND seen_at > 0 AND seen_at <= $4 AND EXISTS (
		SELECT 1
		FROM pushed_branches b
		WHERE b.team = pull_requests.team AND b.repository = pull_requests.repository AND b.name = pull_requests.branch
			AND b.wanted = $3
	)`
	args := []any{team, repository, commit, int64(now)}
	var n int
	err := fs.s.row(ctx, "SELECT count(*) FROM pull_requests WHERE "+which, args...).Scan(&n)
	if err != nil || n == 0 { // as for most events
		return wrapf(fs.s.d.mapError(err), "look for pull requests of %s", commit)
	}
	return fs.s.Write(ctx, func(tx *Tx) error {
		_, err := tx.exec(ctx, "UPDATE pull_requests SET seen_at = 0 WHERE "+which, args...)
		return wrapf(err, "hasten pull requests of %s", commit)
	})
}

// Red returns of how many commits whose checks have failed the runs of a thread were told since a person spoke to them.
func (fs ForgesTx) Red(ctx context.Context, team, owner string) (n int64, err error) {
	err = fs.tx.row(ctx, "SELECT COALESCE(sum(red), 0) FROM pull_requests WHERE team = $1 AND owner = $2", team, owner).
		Scan(&n)
	return n, wrapf(err, "count the checks of %s", owner)
}

// TellChecks records that the run of a pull request is told of the failed checks of a commit. It returns false if that
// has happened already, also for another pull request of the thread, or this one is another one by now.
func (fs ForgesTx) TellChecks(ctx context.Context, r SeenPull, commit string) (bool, error) {
	n, err := fs.tx.exec(ctx, `UPDATE pull_requests
		SET checked = $1, red = red + 1
		WHERE team = $2 AND repository = $3 AND owner = $4 AND base = $5 AND number = $6 AND is_open = 1 AND NOT EXISTS (
			SELECT 1
			FROM pull_requests other
			WHERE other.team = $2 AND other.repository = $3 AND other.owner = $4 AND other.checked = $1
		)`,
		commit, r.Team, r.Repository, r.Owner, r.Base, r.Number)
	return n > 0, wrapf(err, "store the checks of pull request %d", r.Number)
}

// ForgetRed records that a person has spoken to the runs of a thread.
func (fs ForgesTx) ForgetRed(ctx context.Context, team, owner string) error {
	_, err := fs.tx.exec(ctx, "UPDATE pull_requests SET red = 0 WHERE team = $1 AND owner = $2 AND red > 0", team, owner)
	return wrapf(err, "forget the checks of %s", owner)
}
