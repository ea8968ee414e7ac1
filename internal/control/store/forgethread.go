package store

import (
	"context"

	"github.com/penstock-dev/penstock"
)

// ForgeThread is the issue or the pull request whose event has started a run. A comment there says how the run is.
type ForgeThread struct {
	RunID, Team string
	Connection  string // the uid of the forge
	Repository  string // owner/name
	// RepositoryID tells it from another one that has its name later.
	RepositoryID int64
	Number       int64
	Cause        int64 // the comment that has started the run; 0: another event

	Comment int64  // which says how the run is; 0: none yet; NoComment: there must be none
	Shown   string // SHA-256 of its text
	Tries   int64  // since it was written last
	Refused int64  // by the forge, one after the other

	changes     int64 // how often the run has changed its state
	dueAt       penstock.Time
	lease       string // of a try
	leasedUntil penstock.Time
}

// NoComment is the id of a status comment that somebody has deleted, or that the settings of the run do not want.
const NoComment = -1

var threadFields = newResource("forge_threads", "t",
	textColumn("run_id", func(r *ForgeThread) *string { return &r.RunID }),
	textColumn("team", func(r *ForgeThread) *string { return &r.Team }),
	textColumn("connection", func(r *ForgeThread) *string { return &r.Connection }),
	textColumn("repository", func(r *ForgeThread) *string { return &r.Repository }),
	numberColumn("repository_id", func(r *ForgeThread) *int64 { return &r.RepositoryID }),
	numberColumn("number", func(r *ForgeThread) *int64 { return &r.Number }),
	numberColumn("cause", func(r *ForgeThread) *int64 { return &r.Cause }),
	numberColumn("comment", func(r *ForgeThread) *int64 { return &r.Comment }),
	textColumn("shown", func(r *ForgeThread) *string { return &r.Shown }),
	numberColumn("changes", func(r *ForgeThread) *int64 { return &r.changes }),
	numberColumn("due_at", func(r *ForgeThread) *penstock.Time { return &r.dueAt }),
	textColumn("lease", func(r *ForgeThread) *string { return &r.lease }),
	numberColumn("leased_until", func(r *ForgeThread) *penstock.Time { return &r.leasedUntil }),
	numberColumn("tries", func(r *ForgeThread) *int64 { return &r.Tries }),
	numberColumn("refused", func(r *ForgeThread) *int64 { return &r.Refused }),
)

// threadRows returns the row of the thread of a new run, if it has one.
func threadRows(r *NewRun) [][]any {
	if r.Thread == nil {
		return nil
	}
	t := *r.Thread
	t.RunID, t.Team = r.ID, r.Team
	if t.Comment != NoComment {
		t.dueAt = max(1, r.CreatedAt)
	}
	return [][]any{threadFields.row(&t)}
}

func readThreads(ctx context.Context, q querier, where string, args ...any) ([]ForgeThread, error) {
	rows, err := q.query(ctx, "SELECT "+threadFields.selected+" FROM forge_threads t "+where, args...)
	return collect(q.store(), rows, err, "threads of forges", func(r *ForgeThread) []any { return threadFields.into(r) })
}

// ThreadOf returns the thread whose event has started a run.
func (fs Forges) ThreadOf(ctx context.Context, runID string) (t ForgeThread, has bool, err error) {
	list, err := readThreads(ctx, fs.s, "WHERE t.run_id = $1", runID)
	if err != nil || len(list) == 0 {
		return t, false, err
	}
	return list[0], true, nil
}

// tellThread notes that what a thread says about its run may have changed. A try that waits for the forge goes on
// waiting. When a run has ended, its thread is tried as often as a new one.
func (fs ForgesTx) tellThread(ctx context.Context, runID string, ended bool, now penstock.Time) error {
	n, err := fs.tx.exec(ctx, `UPDATE forge_threads
		SET due_at = CASE WHEN due_at > $1 THEN due_at ELSE $1 END, changes = changes + 1,
			refused = CASE WHEN $2 = 1 THEN 0 ELSE refused END,
			tries = CASE WHEN $2 = 1 AND tries > 1 THEN 1 ELSE tries END
		WHERE run_id = $3 AND comment <> $4`, int64(now), flag(ended), runID, NoComment)
	if n > 0 {
		fs.tx.Nudge(TopicOutputs)
	}
	return wrapf(err, "note that run %s has changed", runID)
}

// Postpone lets a forge that wants no requests have none about outputs, threads and answers before a time.
func (fs Forges) Postpone(ctx context.Context, connection string, until penstock.Time) error {
	return fs.s.Write(ctx, func(tx *Tx) error {
		for _, waiting := range []string{
			"outputs SET due_at = $1 WHERE connection = $2 AND state = 'queued' AND lease = '' AND due_at < $1",
			"forge_threads SET due_at = $1 WHERE connection = $2 AND due_at > 0 AND due_at < $1",
			"forge_commands SET due_at = $1 WHERE connection = $2 AND done_at > 0 AND due_at > 0 AND due_at < $1",
		} {
			if _, err := tx.exec(ctx, "UPDATE "+waiting, int64(until), connection); err != nil {
				return wrapf(err, "postpone the requests of connection %s", connection)
			}
		}
		return nil
	})
}

const dueThreads = "t.due_at > 0 AND t.due_at <= $1 AND t.leased_until <= $1"

// ThreadForges lists the connections with threads or answers that are due.
func (fs Forges) ThreadForges(ctx context.Context, now penstock.Time) ([]string, error) {
	return fs.s.strings(ctx, "SELECT t.connection FROM forge_threads t WHERE "+dueThreads+`
		UNION
		SELECT c.connection FROM forge_commands c WHERE `+dueAnswers, int64(now))
}

// ClaimThread claims the next due thread of a connection until a time: until then, no other server writes there. found
// is false if nothing is due.
func (fs Forges) ClaimThread(
	ctx context.Context, connection string, now, until penstock.Time,
) (t ForgeThread, found bool, err error) {
	err = fs.s.Write(ctx, func(tx *Tx) error {
		found = false
		due, err := readThreads(ctx, tx, "WHERE "+dueThreads+` AND t.connection = $2
			ORDER BY t.due_at, t.run_id
			LIMIT 1`+tx.s.d.lock, int64(now), connection)
		if err != nil || len(due) == 0 {
			return err
		}
		t = due[0]
		before := t.lease
		t.lease, t.leasedUntil, t.Tries = penstock.NewUID(), until, t.Tries+1
		n, err := tx.exec(ctx, `UPDATE forge_threads
			SET lease = $1, leased_until = $2, tries = $3
			WHERE run_id = $4 AND lease = $5`, t.lease, int64(until), t.Tries, t.RunID, before)
		found = n > 0
		return wrapf(err, "claim the thread of run %s", t.RunID)
	})
	return t, found, err
}

// KeepThread stores what has come of a claimed try. It is tried again at a time, and not before the run changes if
// that is 0. It returns false if another try was begun since.
func (fs ForgesTx) KeepThread(ctx context.Context, t ForgeThread, again, now penstock.Time) (bool, error) {
	n, err := fs.tx.exec(ctx, `UPDATE forge_threads
		SET comment = $1, shown = $2, tries = $3, refused = $4, lease = '', leased_until = 0,
			due_at = CASE WHEN changes = $5 THEN CAST($6 AS BIGINT) ELSE CAST($7 AS BIGINT) END
		WHERE run_id = $8 AND lease = $9`,
		t.Comment, t.Shown, t.Tries, t.Refused, t.changes, int64(again), int64(max(again, now)), t.RunID, t.lease)
	return n > 0, wrapf(err, "store the thread of run %s", t.RunID)
}
