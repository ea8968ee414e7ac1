package store

import (
	"context"
	"fmt"

	"github.com/penstock-dev/penstock"
)

// FactoryStats are the runs of a factory and their known costs.
type FactoryStats struct {
	UID     string  `json:"factory_uid,omitempty"`
	Name    string  `json:"factory_name,omitempty"`
	Runs    int64   `json:"runs"`
	CostUSD float64 `json:"cost_usd"`
}

const millisPerHour = 3_600_000

// RunSum sums up the runs that were created in one hour and are in one state.
type RunSum struct {
	Hour    int // since the first
	State   penstock.State
	Runs    int64
	Started int64 // by a worker; the next two fields are about these
	WaitMS  int64 // total
	MaxMS   int64
}

// Sum adds up the runs that the viewer sees and that were created since from.
// It reads as many rows of the index by time as there are such runs.
func (rs Runs) Sum(ctx context.Context, v Viewer, from penstock.Time) ([]RunSum, error) {
	where, args := sinceFilter(v, from)
	rows, err := rs.s.query(ctx, fmt.Sprintf(`SELECT (r.created_at - $1) / %d AS hour, r.state, count(*),
			CAST(sum(CASE WHEN r.started_at > 0 THEN 1 ELSE 0 END) AS BIGINT),
			CAST(sum(CASE WHEN r.started_at > 0 THEN r.started_at - r.created_at ELSE 0 END) AS BIGINT),
			max(CASE WHEN r.started_at > 0 THEN r.started_at - r.created_at ELSE 0 END)
		FROM runs r
		WHERE %s
		GROUP BY 1, 2`, millisPerHour, where), args...)
	return collect(rs.s, rows, err, "sums of runs", func(r *RunSum) []any {
		return []any{&r.Hour, &r.State, &r.Runs, &r.Started, &r.WaitMS, &r.MaxMS}
	})
}

// SumCosts sums up the same runs by factory, for the limit factories with the highest costs.
func (rs Runs) SumCosts(
	ctx context.Context, v Viewer, from penstock.Time, limit int,
) ([]FactoryStats, error) {
	where, args := sinceFilter(v, from)
	rows, err := rs.s.query(ctx, fmt.Sprintf(`SELECT r.factory_uid, COALESCE(max(f.name), ''), count(*) AS runs,
			COALESCE(sum(%s), 0) / 1e9 AS cost
		FROM runs r
		LEFT JOIN factories f ON f.uid = r.factory_uid
		WHERE %s
		GROUP BY r.factory_uid
		ORDER BY cost DESC, runs DESC, r.factory_uid
		LIMIT %d`, rs.s.d.number("r.usage", "cost"), where, limit), args...)
	return collect(
		rs.s, rows, err, "costs", func(f *FactoryStats) []any { return []any{&f.UID, &f.Name, &f.Runs, &f.CostUSD} },
	)
}

// sinceFilter selects the runs that a viewer may see. Its first argument is the time.
func sinceFilter(v Viewer, from penstock.Time) (text string, args []any) {
	text, args = "r.created_at >= $1 AND r.team = $2", []any{int64(from), v.Team}
	if !v.All {
		text, args = text+" AND (r.personal = 0 OR r.creator = $3)", append(args, v.UID)
	}
	return text, args
}

// Count counts all runs by state.
func (rs Runs) Count(ctx context.Context) (map[penstock.State]int64, error) {
	rows, err := rs.s.query(ctx, "SELECT state, count(*) FROM runs GROUP BY state")
	type count struct {
		state penstock.State
		n     int64
	}
	counts, err := collect(rs.s, rows, err, "counts of runs", func(c *count) []any { return []any{&c.state, &c.n} })
	out := map[penstock.State]int64{}
	for _, c := range counts {
		out[c.state] = c.n
	}
	return out, err
}
