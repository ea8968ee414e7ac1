package store

import (
	"context"

	"github.com/penstock-dev/penstock"
)

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

// ExplainLedger returns how SQLite reads the logs of the ledger: of all webhooks, of one, of calls, and of runs.
func (s *Store) ExplainLedger(ctx context.Context) (plans [][]string, err error) {
	l := ledger{s: s, v: Viewer{Team: DefaultTeam}, after: position{at: newestPosition}}
	all, allArgs, _ := l.selectLog(penstock.Outcomes(), ledgerWindow)
	l.q.WebhookUID = "w"
	one, oneArgs, _ := l.selectLog(penstock.Outcomes(), ledgerWindow)
	for _, statement := range []struct {
		text string
		args []any
	}{
		{all, allArgs},
		{one, oneArgs},
		{selectCalls, []any{l.v.Team, newestPosition}},
		{selectCalled, []any{l.v.Team, "u", 0, newestPosition}},
	} {
		rows, err := s.read.QueryContext(ctx, "EXPLAIN QUERY PLAN "+statement.text, statement.args...)
		var skip any
		plan, err := collect(s, rows, err, "plan", func(detail *string) []any { return []any{&skip, &skip, &skip, detail} })
		if err != nil {
			return nil, err
		}
		plans = append(plans, plan)
	}
	return plans, nil
}
