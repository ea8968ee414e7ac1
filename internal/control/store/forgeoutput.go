package store

import (
	"context"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
)

// OutputRow is an output with its internal fields.
type OutputRow struct {
	penstock.Output

	Team, Connection string // the uid of the forge
	Owner            string // the thread: see [BranchOwner]
	Repository       string // its URL, in lower case; only of an output that is added, and not stored
	QueuedAt         penstock.Time
	DueAt            penstock.Time // when it is tried, or when the lease of a try ends
	Lease            string        // of a try
	Tries            int64
	Refused          int64 // how often the forge has refused it, one after the other
}

var outputFields = newResource("outputs", "o",
	textColumn("uid", func(r *OutputRow) *string { return &r.UID }),
	textColumn("team", func(r *OutputRow) *string { return &r.Team }),
	textColumn("run_id", func(r *OutputRow) *string { return &r.RunID }),
	textColumn("owner", func(r *OutputRow) *string { return &r.Owner }),
	numberColumn("turn", func(r *OutputRow) *int64 { return &r.Turn }),
	textColumn("kind", func(r *OutputRow) *penstock.OutputKind { return &r.Kind }),
	textColumn("state", func(r *OutputRow) *penstock.OutputState { return &r.State }).editable(),
	textColumn("connection", func(r *OutputRow) *string { return &r.Connection }),
	jsonColumn("target", func(r *OutputRow) *penstock.OutputTarget { return &r.Target }).editable(),
	jsonColumn("payload", func(r *OutputRow) *penstock.OutputPayload { return &r.Payload }),
	textColumn("url", func(r *OutputRow) *string { return &r.URL }).editable(),
	textColumn("problem", func(r *OutputRow) *string { return &r.Problem }).editable(),
	numberColumn("queued_at", func(r *OutputRow) *penstock.Time { return &r.QueuedAt }).editable(),
	numberColumn("due_at", func(r *OutputRow) *penstock.Time { return &r.DueAt }).editable(),
	textColumn("lease", func(r *OutputRow) *string { return &r.Lease }).editable(),
	numberColumn("tries", func(r *OutputRow) *int64 { return &r.Tries }).editable(),
	numberColumn("refused", func(r *OutputRow) *int64 { return &r.Refused }).editable(),
	numberColumn("created_at", func(r *OutputRow) *penstock.Time { return &r.CreatedAt }),
	numberColumn("updated_at", func(r *OutputRow) *penstock.Time { return &r.UpdatedAt }).editable(),
)

var setOutput = outputFields.update("", "uid = ? AND state = ? AND lease = ?")

func readOutputs(ctx context.Context, q querier, where string, args ...any) ([]OutputRow, error) {
	rows, err := q.query(ctx, "SELECT "+outputFields.selected+" FROM outputs o "+where, args...)
	return collect(q.store(), rows, err, "outputs", func(r *OutputRow) []any { return outputFields.into(r) })
}

// OutputsOf lists the outputs of a run in the order in which they were declared.
func (fs Forges) OutputsOf(ctx context.Context, runID string) ([]OutputRow, error) {
	return readOutputs(ctx, fs.s, "WHERE o.run_id = $1 ORDER BY o.created_at, o.uid", runID)
}

// OutputsIn lists at most limit outputs of a team in a state, the oldest first.
func (fs Forges) OutputsIn(
	ctx context.Context, team string, state penstock.OutputState, limit int,
) ([]OutputRow, error) {
	return readOutputs(ctx, fs.s, `WHERE o.team = $1 AND o.state = $2
		ORDER BY o.created_at, o.uid
		LIMIT $3`, team, string(state), limit)
}

// Output reads one output of a team. Absence is penstock.CodeNotFound.
func (fs Forges) Output(ctx context.Context, team, uid string) (OutputRow, error) {
	list, err := readOutputs(ctx, fs.s, "WHERE o.uid = $1 AND o.team = $2", uid, team)
	return only(list, err, "output", uid)
}

// CountOutputs returns how many outputs of a kind a turn has declared, and how many of all kinds. Discarded ones do
// not count.
func (fs ForgesTx) CountOutputs(
	ctx context.Context, runID string, turn int64, kind penstock.OutputKind,
) (n, all int64, err error) {
	err = fs.tx.row(ctx, `SELECT count(CASE WHEN kind = $1 THEN 1 END), count(*)
		FROM outputs
		WHERE run_id = $2 AND turn = $3 AND state <> $4`,
		string(kind), runID, turn, string(penstock.OutputDiscarded)).Scan(&n, &all)
	return n, all, wrapf(err, "count the outputs of run %s", runID)
}

// AddOutput stores a new output.
func (fs ForgesTx) AddOutput(ctx context.Context, r OutputRow) error {
	return wrapf(outputFields.add(ctx, fs.tx, &r), "store an output of run %s", r.RunID)
}

// Undecided locks what the turn in progress of a run has declared, and lists it in order.
func (fs ForgesTx) Undecided(ctx context.Context, runID string) ([]OutputRow, error) {
	return readOutputs(ctx, fs.tx, "WHERE o.run_id = $1 AND o.state = $2 ORDER BY o.created_at, o.uid"+fs.tx.s.d.lock,
		runID, string(penstock.OutputDeclared))
}

// ChangeOutput stores an output that was read in the state from and with the lease. It returns false if the
// output has another state or lease by now.
func (fs ForgesTx) ChangeOutput(
	ctx context.Context, r OutputRow, from penstock.OutputState, lease string,
) (bool, error) {
	r.UpdatedAt = penstock.Now()
	n, err := fs.tx.exec(ctx, setOutput, outputFields.changes(&r, r.UID, string(from), lease)...)
	if n > 0 && r.State == penstock.OutputQueued {
		fs.tx.Nudge(TopicOutputs)
	}
	if err == nil && n > 0 && r.State != from {
		err = fs.tellThread(ctx, r.RunID, false, r.UpdatedAt)
	}
	return n > 0, wrapf(err, "store output %s", r.UID)
}

// DiscardOutputs discards what the turn in progress of a locked run has declared, since it does not end well, and for
// a run that is cancelled also what was not done yet. It returns the events.
func (fs ForgesTx) DiscardOutputs(
	ctx context.Context, runID string, cancelled bool, now penstock.Time,
) ([]penstock.Draft, error) {
	list, err := readOutputs(ctx, fs.tx, `WHERE o.run_id = $1
			AND (o.state = $2 OR $3 = 1 AND o.lease = '' AND o.state IN ('queued', 'held'))
		ORDER BY o.created_at, o.uid`+fs.tx.s.d.lock, runID, string(penstock.OutputDeclared), flag(cancelled))
	if err != nil {
		return nil, err
	}
	var drafts []penstock.Draft
	for _, r := range list {
		from := r.State
		r.State, r.Problem = penstock.OutputDiscarded, "The turn did not end well."
		if cancelled {
			r.Problem = "The run was cancelled."
		}
		changed, err := fs.ChangeOutput(ctx, r, from, "")
		if err != nil {
			return nil, err
		}
		if changed {
			drafts = append(drafts, r.Event(now))
		}
	}
	return drafts, nil
}

// Event is the event on the timeline that says how an output has changed.
func (r OutputRow) Event(now penstock.Time) penstock.Draft {
	payload := map[string]any{
		"output_uid": r.UID, "kind": r.Kind, "repository": r.Target.Repository, "connection": r.Target.Connection,
	}
	if r.Target.PullRequest != 0 {
		payload["pull_request"] = r.Target.PullRequest
	}
	if r.URL != "" {
		payload["url"] = r.URL
	}
	if r.Problem != "" {
		payload["problem"] = r.Problem
	}
	kind := "output_" + string(r.State)
	if r.State == penstock.OutputQueued {
		kind = TimelineOutputWaiting
	}
	return penstock.Timeline(now, kind, payload)
}

// first is the condition for the output of a thread that comes next.
const first = `o.state = 'queued' AND o.due_at <= $1 AND NOT EXISTS (
		SELECT 1
		FROM outputs e
		WHERE e.team = o.team AND e.owner = o.owner AND e.state = 'queued'
			AND (e.queued_at, e.uid) < (o.queued_at, o.uid)
	)`

// DueForges lists the connections with outputs that are due.
func (fs Forges) DueForges(ctx context.Context, now penstock.Time) ([]string, error) {
	return fs.s.strings(ctx, "SELECT DISTINCT o.connection FROM outputs o WHERE "+first, int64(now))
}

// ClaimOutput claims the next due output of a connection until a time: until then, no other server does it. The
// outputs of a thread come one after the other. found is false if nothing is due.
func (fs Forges) ClaimOutput(
	ctx context.Context, connection string, now, until penstock.Time,
) (row OutputRow, found bool, err error) {
	err = fs.s.Write(ctx, func(tx *Tx) error {
		found = false
		due, err := readOutputs(ctx, tx, "WHERE "+first+` AND o.connection = $2
			ORDER BY o.due_at, o.queued_at, o.uid
			LIMIT 1`, int64(now), connection)
		if err != nil || len(due) == 0 {
			return err
		}
		// All that wait in the thread are locked, so that no other server claims one that has come meanwhile.
		waiting, err := readOutputs(ctx, tx, `WHERE o.team = $1 AND o.owner = $2 AND o.state = 'queued'
			ORDER BY o.queued_at, o.uid`+tx.s.d.lock, due[0].Team, due[0].Owner)
		if err != nil || len(waiting) == 0 || waiting[0].UID != due[0].UID || waiting[0].DueAt > now {
			return err
		}
		// A clock that was set back can put one before another that is being done.
		if slices.ContainsFunc(waiting, func(r OutputRow) bool { return r.Lease != "" && r.DueAt > now }) {
			return nil
		}
		row = waiting[0]
		before := row.Lease
		row.Lease, row.DueAt, row.Tries = penstock.NewUID(), until, row.Tries+1
		found, err = tx.Forges().ChangeOutput(ctx, row, penstock.OutputQueued, before)
		return err
	})
	return row, found, err
}

// PullThread is a subject whose runs have opened a pull request.
type PullThread struct {
	Claim, Subject, AutomationUID, FactoryUID string

	rules penstock.SubjectRules
}

// Shared reports whether the subject is one of all automations of its factory.
func (t PullThread) Shared() bool { return t.rules.SubjectScope == penstock.SubjectScopeFactory }

// Threads returns the subjects to which a pull request of a repository belongs. repositories are its URLs, in lower
// case.
func (fs Forges) Threads(ctx context.Context, team string, repositories []string, number int64) ([]PullThread, error) {
	if len(repositories) == 0 {
		return nil, nil
	}
	args := []any{team, number}
	for _, url := range repositories {
		args = append(args, url)
	}
	rows, err := fs.s.query(ctx, `SELECT s.claim, s.subject, s.automation_uid, s.factory_uid, s.rules
		FROM pull_requests p
		JOIN subjects s ON 'subject:' || s.uid = p.owner
		WHERE p.team = $1 AND p.number = $2 AND p.repository IN (`+placeholders(3, len(repositories))+`)
		ORDER BY s.created_at`, args...)
	return collect(fs.s, rows, err, "threads of a pull request", func(t *PullThread) []any {
		return []any{&t.Claim, &t.Subject, &t.AutomationUID, &t.FactoryUID, &document{into: &t.rules}}
	})
}

// BranchesOf lists the branches that a thread has pushed to a repository, the newest first.
func (fs Forges) BranchesOf(ctx context.Context, o BranchOwner) ([]string, error) {
	return fs.s.strings(ctx, `SELECT name
		FROM pushed_branches
		WHERE team = $1 AND repository = $2 AND owner = $3
		ORDER BY updated_at DESC, name`, o.Team, strings.ToLower(o.Repository), o.Owner)
}
