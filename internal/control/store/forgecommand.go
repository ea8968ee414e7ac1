package store

import (
	"context"

	"github.com/penstock-dev/penstock"
)

// ForgeCommand is what a person has told the runs of a thread in a comment.
type ForgeCommand struct {
	Team, Place string // the forge and the id of the repository
	Comment     int64
	Connection  string // the uid of the forge
	Repository  string // owner/name
	Number      int64  // of the issue or pull request
	Author      string
	Command     string // "": Message is for the agent
	Message     string
	CreatedAt   penstock.Time
	DoneAt      penstock.Time // 0: not yet

	Reaction string // to the comment; "": none
	Answer   string // a comment; "": none
	DueAt    penstock.Time
	Tries    int64

	lease       string
	leasedUntil penstock.Time
}

var commandFields = newResource("forge_commands", "c",
	textColumn("team", func(r *ForgeCommand) *string { return &r.Team }),
	textColumn("place", func(r *ForgeCommand) *string { return &r.Place }),
	numberColumn("comment", func(r *ForgeCommand) *int64 { return &r.Comment }),
	textColumn("connection", func(r *ForgeCommand) *string { return &r.Connection }),
	textColumn("repository", func(r *ForgeCommand) *string { return &r.Repository }),
	numberColumn("number", func(r *ForgeCommand) *int64 { return &r.Number }),
	textColumn("author", func(r *ForgeCommand) *string { return &r.Author }),
	textColumn("command", func(r *ForgeCommand) *string { return &r.Command }),
	textColumn("message", func(r *ForgeCommand) *string { return &r.Message }),
	numberColumn("created_at", func(r *ForgeCommand) *penstock.Time { return &r.CreatedAt }),
	numberColumn("done_at", func(r *ForgeCommand) *penstock.Time { return &r.DoneAt }),
	textColumn("reaction", func(r *ForgeCommand) *string { return &r.Reaction }),
	textColumn("answer", func(r *ForgeCommand) *string { return &r.Answer }),
	numberColumn("due_at", func(r *ForgeCommand) *penstock.Time { return &r.DueAt }),
	textColumn("lease", func(r *ForgeCommand) *string { return &r.lease }),
	numberColumn("leased_until", func(r *ForgeCommand) *penstock.Time { return &r.leasedUntil }),
	numberColumn("tries", func(r *ForgeCommand) *int64 { return &r.Tries }),
)

// commandsTable takes a comment once, whatever brings it.
var commandsTable = table{
	name: commandFields.name, columns: commandFields.columns, conflict: "ON CONFLICT (team, place, comment) DO NOTHING",
}

func readCommands(ctx context.Context, q querier, where string, args ...any) ([]ForgeCommand, error) {
	rows, err := q.query(ctx, "SELECT "+commandFields.selected+" FROM forge_commands c "+where, args...)
	return collect(q.store(), rows, err, "commands", func(r *ForgeCommand) []any { return commandFields.into(r) })
}

// Commands lists at most limit commands that are due and that nobody has followed: the ones to stop runs first, and
// then the oldest of each thread.
func (fs Forges) Commands(ctx context.Context, now penstock.Time, limit int) ([]ForgeCommand, error) {
	return readCommands(ctx, fs.s, `WHERE c.done_at = 0 AND c.due_at <= $1 AND (c.command = 'stop' OR NOT EXISTS (
			SELECT 1
			FROM forge_commands e
			WHERE e.done_at = 0 AND e.team = c.team AND e.place = c.place AND e.number = c.number
				AND (e.created_at, e.comment) < (c.created_at, c.comment)
		))
		ORDER BY CASE WHEN c.command = 'stop' THEN 0 ELSE 1 END, c.created_at, c.comment
		LIMIT $2`, int64(now), limit)
}

// DoCommand records that a command is followed, and how it is answered. It returns false if another server has followed
// it.
func (fs ForgesTx) DoCommand(ctx context.Context, c ForgeCommand) (bool, error) {
	n, err := fs.tx.exec(ctx, `UPDATE forge_commands
		SET done_at = $1, reaction = $2, answer = $3, due_at = $1, tries = 0
		WHERE team = $4 AND place = $5 AND comment = $6 AND done_at = 0`,
		int64(c.DoneAt), c.Reaction, c.Answer, c.Team, c.Place, c.Comment)
	fs.tx.Nudge(TopicOutputs)
	return n > 0, wrapf(err, "store the command in comment %d", c.Comment)
}

// PostponeCommand lets a command that could not be followed be tried again at a time.
func (fs Forges) PostponeCommand(ctx context.Context, c ForgeCommand, at penstock.Time) error {
	return fs.s.Write(ctx, func(tx *Tx) error {
		_, err := tx.exec(ctx, `UPDATE forge_commands
			SET due_at = $1, tries = tries + 1
			WHERE team = $2 AND place = $3 AND comment = $4 AND done_at = 0`, int64(at), c.Team, c.Place, c.Comment)
		return wrapf(err, "postpone the command in comment %d", c.Comment)
	})
}

// CountAnswers returns how many comments have answered commands in a thread since a time.
func (fs Forges) CountAnswers(ctx context.Context, c ForgeCommand, since penstock.Time) (n int, err error) {
	err = fs.s.row(ctx, `SELECT count(*)
		FROM forge_commands
		WHERE team = $1 AND place = $2 AND number = $3 AND answer <> '' AND done_at >= $4`,
		c.Team, c.Place, c.Number, int64(since)).Scan(&n)
	return n, wrapf(fs.s.d.mapError(err), "count the answers in a thread")
}

const dueAnswers = "c.done_at > 0 AND c.due_at > 0 AND c.due_at <= $1 AND c.leased_until <= $1"

// ClaimAnswer claims the next due answer of a connection until a time: until then, no other server gives it. found is
// false if none is due.
func (fs Forges) ClaimAnswer(
	ctx context.Context, connection string, now, until penstock.Time,
) (c ForgeCommand, found bool, err error) {
	err = fs.s.Write(ctx, func(tx *Tx) error {
		found = false
		due, err := readCommands(ctx, tx, "WHERE "+dueAnswers+` AND c.connection = $2
			ORDER BY c.due_at, c.comment
			LIMIT 1`+tx.s.d.lock, int64(now), connection)
		if err != nil || len(due) == 0 {
			return err
		}
		c = due[0]
		before := c.lease
		c.lease, c.leasedUntil, c.Tries = penstock.NewUID(), until, c.Tries+1
		n, err := tx.exec(ctx, `UPDATE forge_commands
			SET lease = $1, leased_until = $2, tries = $3
			WHERE team = $4 AND place = $5 AND comment = $6 AND lease = $7`,
			c.lease, int64(until), c.Tries, c.Team, c.Place, c.Comment, before)
		found = n > 0
		return wrapf(err, "claim the answer to comment %d", c.Comment)
	})
	return c, found, err
}

// KeepAnswer stores what has come of a claimed try: it is tried again at a time, or not if that is 0.
func (fs Forges) KeepAnswer(ctx context.Context, c ForgeCommand, again penstock.Time) error {
	return fs.s.Write(ctx, func(tx *Tx) error {
		_, err := tx.exec(ctx, `UPDATE forge_commands
			SET due_at = $1, lease = '', leased_until = 0
			WHERE team = $2 AND place = $3 AND comment = $4 AND lease = $5`,
			int64(again), c.Team, c.Place, c.Comment, c.lease)
		return wrapf(err, "store the answer to comment %d", c.Comment)
	})
}

// ClearCommands forgets at most limit commands that were followed before a time.
func (fs Forges) ClearCommands(ctx context.Context, before penstock.Time, limit int) error {
	return fs.s.Write(ctx, func(tx *Tx) error {
		_, err := tx.exec(ctx, `DELETE FROM forge_commands
			WHERE (team, place, comment) IN (
				SELECT team, place, comment
				FROM forge_commands
				WHERE done_at > 0 AND done_at < $1
				ORDER BY done_at
				LIMIT $2
			)`, int64(before), limit)
		return wrapf(err, "forget commands")
	})
}

// ThreadRun is a run that works on an issue or a pull request, or has ended.
type ThreadRun struct {
	ID, Factory string
	Repository  string // as it was called then: owner/name, or its URL
}

// ThreadRuns lists the runs of an issue or a pull request, the newest first: what an event of it has started, what has
// opened it, or the run of their subject. Personal ones are left out: who can write comments may be anybody.
func (fs Forges) ThreadRuns(
	ctx context.Context, team, connection string, repository, number int64,
) ([]ThreadRun, error) {
	rows, err := fs.s.query(ctx, `SELECT r.id, r.factory_uid, max(w.repository)
		FROM (
			SELECT t.run_id, t.repository
			FROM forge_threads t
			WHERE t.team = $1 AND t.connection = $2 AND t.number = $3 AND t.repository_id = $4
			UNION
			SELECT p.run_id, p.repository
			FROM pull_requests p
			WHERE p.team = $1 AND p.connection = $2 AND p.number = $3 AND p.repository_id = $4
		) w
		JOIN runs o ON o.id = w.run_id
		LEFT JOIN subjects s ON s.uid = o.subject_uid AND s.run_id <> ''
		JOIN runs r ON r.id = COALESCE(s.run_id, o.id)
		WHERE $4 > 0 AND r.personal = 0 AND o.personal = 0
		GROUP BY r.id, r.factory_uid, r.created_at
		ORDER BY r.created_at DESC, r.id DESC`, team, connection, number, repository)
	return collect(fs.s, rows, err, "runs of a thread", func(r *ThreadRun) []any {
		return []any{&r.ID, &r.Factory, &r.Repository}
	})
}
