package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/penstock-dev/penstock"
)

// healthRow is what is stored about the health of an automation or schedule.
type healthRow struct {
	failures             int
	lastRunID            string
	degradedAt, pausedAt penstock.Time
}

// healthFields are the columns that automations and schedules show.
var healthFields = newResource("health", "h",
	numberColumn("failures", func(r *healthRow) *int { return &r.failures }),
	textColumn("last_run_id", func(r *healthRow) *string { return &r.lastRunID }),
	numberColumn("degraded_at", func(r *healthRow) *penstock.Time { return &r.degradedAt }),
	numberColumn("paused_at", func(r *healthRow) *penstock.Time { return &r.pausedAt }),
)

func (r healthRow) health() (h penstock.Health) {
	switch {
	case r.pausedAt != 0:
		h.Paused = penstock.NewFailures(r.pausedAt, r.failures, r.lastRunID)
	case r.degradedAt != 0:
		h.Degraded = penstock.NewFailures(r.degradedAt, r.failures, r.lastRunID)
	}
	return h
}

// teamVersion is the version of a team t: how often callers changed it, and failures paused something.
const teamVersion = "t.version + COALESCE((SELECT p.n FROM pauses p WHERE p.team = t.uid), 0)"

// HealthOf is an automation or schedule with its settings about health.
type HealthOf struct {
	Source  string
	Team    string
	Enabled bool
	Rules   penstock.HealthRules
	// Resume ends a pause by failures. Without it, only a change from disabled to enabled does, or of the
	// rule.
	Resume bool
}

// begun is the condition that the failures of the runs until now no longer count.
const begun = "($6 = 1 OR health.enabled < excluded.enabled OR health.pause_after <> excluded.pause_after)"

// SetHealth stores the settings of an automation or schedule. It locks the row, and comes last in the
// transaction.
func (a AutomationsTx) SetHealth(ctx context.Context, of HealthOf, now penstock.Time) error {
	if of.Rules == (penstock.HealthRules{}) {
		return a.DeleteHealth(ctx, of.Source)
	}
	_, err := a.tx.exec(ctx, `INSERT INTO health (source, team, enabled, pause_after, since, failures, last_run_id,
			degraded_at, paused_at)
		VALUES ($1, $2, $3, $4, $5, 0, '', 0, 0)
		ON CONFLICT (source) DO UPDATE
		SET enabled = excluded.enabled, pause_after = excluded.pause_after,
			since = CASE WHEN `+begun+` THEN excluded.since ELSE health.since END,
			failures = CASE WHEN `+begun+` THEN 0 ELSE health.failures END,
			degraded_at = CASE WHEN `+begun+` THEN 0 ELSE health.degraded_at END,
			paused_at = CASE WHEN `+begun+` THEN 0 ELSE health.paused_at END`,
		of.Source, of.Team, flag(of.Enabled), of.Rules.PauseAfterFailures, int64(now), flag(of.Resume))
	if err != nil {
		return fmt.Errorf("store the health of %s: %w", of.Source, err)
	}
	return nil
}

// DeleteHealth removes the settings of an automation or schedule, and what they have led to.
func (a AutomationsTx) DeleteHealth(ctx context.Context, source string) error {
	if _, err := a.tx.exec(ctx, "DELETE FROM health WHERE source = $1", source); err != nil {
		return fmt.Errorf("remove the health of %s: %w", source, err)
	}
	return nil
}

// countEnd counts the first end of a run that an automation or schedule has started, in the transaction
// that ends it, and pauses its source after too many failures. A run that its source started before it was
// enabled, or before the rule changed, does not count. It comes last in the transaction.
func (a AutomationsTx) countEnd(ctx context.Context, m Move, now penstock.Time) error {
	if m.Run.DeliveryID == "" && m.Run.Schedule == nil { // somebody started it by hand
		return nil
	}
	source := cmp.Or(m.Run.AutomationID, scheduleID(m.Run.Schedule))
	if source == "" || m.Run.ParentID != "" || m.Run.endedBefore || !m.To.Done() || m.To == penstock.StateCancelled {
		return nil
	}
	failed := m.To != penstock.StateSucceeded
	var paused penstock.Time
	err := a.tx.row(ctx, `UPDATE health
		SET failures = CASE WHEN $1 = 1 THEN failures + 1 ELSE 0 END,
			last_run_id = CASE WHEN $1 = 1 THEN $2 ELSE '' END,
			degraded_at = CASE
				WHEN $1 = 0 OR failures + 2 < pause_after OR pause_after < 2 THEN 0
				WHEN degraded_at > 0 THEN degraded_at
				ELSE $3
			END,
			paused_at = CASE WHEN $1 = 1 AND failures + 1 >= pause_after THEN $3 ELSE 0 END
		WHERE source = $4 AND pause_after > 0 AND paused_at = 0 AND since <= $5 AND ($1 = 1 OR failures > 0)
		RETURNING paused_at`,
		flag(failed), m.Run.ID, int64(now), source, int64(m.Run.CreatedAt)).Scan(&paused)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("count the end of run %s: %w", m.Run.ID, err)
	}
	if paused == 0 {
		return nil
	}
	if _, err := a.tx.exec(ctx, `INSERT INTO pauses (team, n)
		VALUES ($1, 1)
		ON CONFLICT (team) DO UPDATE
		SET n = pauses.n + 1`, m.Run.Team); err != nil {
		return fmt.Errorf("pause %s: %w", source, err)
	}
	return a.tx.Endpoints().announceFailures(ctx, m.Run, now)
}
