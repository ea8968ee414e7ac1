package store

import "context"

// CreateRuns creates runs like one batch of the group commit.
func (tx *Tx) CreateRuns(ctx context.Context, runs ...*NewRun) error {
	var members []*createRun
	for _, run := range runs {
		members = append(members, newCreateRun(run))
	}
	return tx.Runs().createAll(ctx, members)
}

// Setting returns a PostgreSQL setting as it applies to the next statement of the transaction.
func (tx *Tx) Setting(ctx context.Context, name string) (value string, err error) {
	err = tx.row(ctx, "SELECT current_setting($1)", name).Scan(&value)
	return value, err
}

// LimitLog sets the lengths of SQLite's write-ahead log, in pages, at which a checkpoint begins and
// at which commits wait.
func (s *Store) LimitLog(long, full int) { s.checkpoints.long, s.checkpoints.full = long, full }

// BreakMoves makes each checkpoint fail.
func (s *Store) BreakMoves() error { return s.checkpoints.db.Close() }
