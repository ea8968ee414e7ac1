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
	firedAt, silentAt    penstock.Time
}

// healthFields are the columns that automations and schedules show.
var healthFields = newResource("health", "h",
	numberColumn("failures", func(r *healthRow) *int { return &r.failures }),
	textColumn("last_run_id", func(r *healthRow) *string { return &r.lastRunID }),
	numberColumn("degraded_at", func(r *healthRow) *penstock.Time { return &r.degradedAt }),
	numberColumn("paused_at", func(r *healthRow) *penstock.Time { return &r.pausedAt }),
	numberColumn("fired_at", func(r *healthRow) *penstock.Time { return &r.firedAt }),
	numberColumn("silent_at", func(r *healthRow) *penstock.Time { return &r.silentAt }),
)

// health returns what is stored, by rules that come from the row of the automation or schedule.
func (r healthRow) health(rules penstock.HealthRules) (h penstock.Health) {
	if r.pausedAt != 0 {
		h.Paused = newFailures(r.pausedAt, r.failures, r.lastRunID)
		return h
	}
	if r.degradedAt != 0 {
		h.Degraded = newFailures(r.degradedAt, r.failures, r.lastRunID)
	}
	if r.silentAt != 0 {
		h.Silent = newSilence(r.silentAt, r.firedAt, rules.ExpectEvery)
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

const (
	// begun is the condition that the failures of the runs until now no longer count.
	begun = "($6 = 1 OR health.enabled < excluded.enabled OR health.pause_after <> excluded.pause_after)"
	// expected is the condition that a start is expected only from now on. A file that changes resumes what was
	// paused, and no more.
	expected = "($6 = 1 AND health.paused_at > 0 OR health.enabled < excluded.enabled OR health.expect_ms = 0)"
)

// SetHealth stores the settings of an automation or schedule. It locks the row, and comes last in the
// transaction.
func (a AutomationsTx) SetHealth(ctx context.Context, of HealthOf, now penstock.Time) error {
	if of.Rules.PauseAfterFailures == 0 && of.Rules.Expected() == 0 {
		return a.DeleteHealth(ctx, of.Source)
	}
	_, err := a.tx.exec(ctx, `INSERT INTO health (source, team, enabled, pause_after, since, failures, last_run_id,
			degraded_at, paused_at, expect_ms, fired_at, look_at, silent_at)
		VALUES ($1, $2, $3, $4, $5, 0, '', 0, 0, $7, $5, 0, 0)
		ON CONFLICT (source) DO UPDATE
		SET enabled = excluded.enabled, pause_after = excluded.pause_after,
			since = CASE WHEN `+begun+` THEN excluded.since ELSE health.since END,
			failures = CASE WHEN `+begun+` THEN 0 ELSE health.failures END,
			degraded_at = CASE WHEN `+begun+` THEN 0 ELSE health.degraded_at END,
			paused_at = CASE WHEN `+begun+` THEN 0 ELSE health.paused_at END,
			expect_ms = excluded.expect_ms, look_at = 0,
			fired_at = CASE WHEN `+expected+` THEN excluded.fired_at ELSE health.fired_at END,
			silent_at = CASE
				WHEN `+expected+` OR excluded.enabled = 0 OR health.expect_ms <> excluded.expect_ms THEN 0
				ELSE health.silent_at
			END`,
		of.Source, of.Team, flag(of.Enabled), of.Rules.PauseAfterFailures, int64(now), flag(of.Resume),
		of.Rules.Expected().Milliseconds())
	return wrapf(err, "store the health of %s", of.Source)
}

// DeleteHealth removes the settings of an automation or schedule, and what they have led to.
func (a AutomationsTx) DeleteHealth(ctx context.Context, source string) error {
	_, err := a.tx.exec(ctx, "DELETE FROM health WHERE source = $1", source)
	return wrapf(err, "remove the health of %s", source)
}

// countEnd counts the end of a run that an automation or schedule has started or continued, in the transaction
// that ends it, and pauses its source after too many failures. It announces that, and the failure before. What
// its source started or continued before it was enabled, or before the rule changed, does not count. It comes last
// in the transaction.
func (a AutomationsTx) countEnd(ctx context.Context, m Move, now penstock.Time) error {
	if m.Run.ParentID != "" || !m.To.Done() || m.To == penstock.StateCancelled {
		return nil
	}
	source, begun, err := a.beginner(ctx, m.Run)
	if err != nil || source == "" {
		return err
	}
	if source != scheduleID(m.Run.Schedule) {
		m.Run.AutomationID = source
	}
	failed := m.To != penstock.StateSucceeded
	var degraded, paused penstock.Time
	err = a.tx.row(ctx, `UPDATE health
		SET failures = CASE WHEN $1 = 1 THEN failures + 1 ELSE 0 END,
			last_run_id = CASE WHEN $1 = 1 THEN $2 ELSE '' END,
			degraded_at = CASE
				WHEN $1 = 0 OR failures + 2 < pause_after OR pause_after < 2 THEN 0
				WHEN degraded_at > 0 THEN degraded_at
				ELSE $3
			END,
			paused_at = CASE WHEN $1 = 1 AND failures + 1 >= pause_after THEN $3 ELSE 0 END
		WHERE source = $4 AND pause_after > 0 AND paused_at = 0 AND since <= $5 AND ($1 = 1 OR failures > 0)
		RETURNING degraded_at, paused_at`,
		flag(failed), m.Run.ID, int64(now), source, int64(begun)).Scan(&degraded, &paused)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("count the end of run %s: %w", m.Run.ID, err)
	}
	if paused == 0 {
		if degraded != 0 { // once, because the next failure pauses it, and a success ends it
			return a.tx.Endpoints().announceFailures(ctx, EventAutomationDegraded, m.Run, now)
		}
		return nil
	}
	if _, err := a.tx.exec(ctx, `INSERT INTO pauses (team, n)
		VALUES ($1, 1)
		ON CONFLICT (team) DO UPDATE
		SET n = pauses.n + 1`, m.Run.Team); err != nil {
		return fmt.Errorf("pause %s: %w", source, err)
	}
	return a.tx.Endpoints().announceFailures(ctx, EventAutomationPaused, m.Run, now)
}

// beginner returns the automation or schedule that began what a run did until its end, and when: it started the
// run, or has sent the newest follow-up if the run has ended before. Source is "" or a person's if somebody did.
func (a AutomationsTx) beginner(ctx context.Context, run RunRow) (source string, begun penstock.Time, err error) {
	if !run.endedBefore {
		if run.DeliveryID == "" && run.Schedule == nil {
			return "", 0, nil
		}
		return cmp.Or(run.AutomationID, scheduleID(run.Schedule)), run.CreatedAt, nil
	}
	err = a.tx.row(ctx, `SELECT creator, created_at
		FROM followups
		WHERE run_id = $1 AND state <> 'waiting'
		ORDER BY id DESC
		LIMIT 1`, run.ID).Scan(&source, &begun)
	if errors.Is(err, sql.ErrNoRows) {
		return "", 0, nil
	}
	if err != nil {
		return "", 0, fmt.Errorf("read the newest follow-up of run %s: %w", run.ID, err)
	}
	return source, begun, nil
}

// Expectation is an automation or schedule that is expected to start something every so often.
type Expectation struct {
	Source     string
	Team       string
	FactoryUID string // of an automation; "": a schedule
	Personal   bool   // a schedule of one person
	EveryMs    int64
	FiredAt    penstock.Time // the last start that was seen, or since when one is expected
	SilentAt   penstock.Time // 0: it is not silent
	Newer      penstock.Time // the last start after FiredAt; 0: none
}

// lookEvery is after how long at the latest a newer start is looked for. Runs are kept for longer than that.
const lookEvery = penstock.Time(60 * 60 * 1000)

// Expectations reads at most limit that are silent, or whose newest start is to be looked for,
// and whose sources come after one. A start is a run by an event or a time, or an event that reached a run. One that
// a person asked for is none.
func (a Automations) Expectations(
	ctx context.Context, now penstock.Time, after string, limit int,
) ([]Expectation, error) {
	rows, err := a.s.query(ctx, `SELECT h.source, h.team, COALESCE(a.factory_uid, ''), COALESCE(s.personal, 0),
			h.expect_ms, h.fired_at, h.silent_at, COALESCE((
				SELECT max(f.at)
				FROM (
					SELECT r.created_at AS at
					FROM runs r
					WHERE r.automation_id = h.source AND r.automation_id <> '' AND r.updated_at > h.fired_at
						AND r.parent_id = '' AND (r.delivery_id <> '' OR r.schedule_id <> '')
					UNION ALL
					SELECT r.created_at
					FROM runs r
					WHERE r.schedule_id = h.source AND r.schedule_id <> '' AND r.created_at > h.fired_at AND r.parent_id = ''
					UNION ALL
					SELECT e.decided_at
					FROM subjects b
					JOIN subject_events e ON e.subject_uid = b.uid
					WHERE b.automation_uid = h.source AND b.updated_at > h.fired_at
						AND e.kind = 'delivery' AND e.automation_uid = '' AND e.fate IN ('started', 'continued', 'merged_into')
					UNION ALL
					SELECT e.decided_at
					FROM subject_events e
					WHERE e.automation_uid = h.source AND e.automation_uid <> '' AND e.decided_at > h.fired_at
						AND e.fate IN ('started', 'continued', 'merged_into')
				) f
				WHERE f.at > h.fired_at AND f.at <= $1
			), 0)
		FROM health h
		LEFT JOIN automations a ON a.uid = h.source
		LEFT JOIN schedules s ON s.id = h.source
		WHERE h.expect_ms > 0 AND h.enabled = 1 AND h.paused_at = 0 AND h.source > $2
			AND (h.silent_at > 0 OR h.look_at <= $1 OR h.look_at > $3)
		ORDER BY h.source
		LIMIT $4`, int64(now), after, int64(now+2*lookEvery), limit)
	return collect(a.s, rows, err, "expected starts", func(e *Expectation) []any {
		return []any{
			&e.Source, &e.Team, &e.FactoryUID, &e.Personal, &e.EveryMs, &e.FiredAt, &e.SilentAt, &e.Newer,
		}
	})
}

// found returns the last start, and since when it is silent, or 0.
func (e Expectation) found(now penstock.Time) (fired, silent penstock.Time) {
	fired = min(max(e.FiredAt, e.Newer), now)
	if deadline := fired + penstock.Time(e.EveryMs); now >= deadline {
		silent = deadline
	}
	return fired, silent
}

// StillSilent reports whether it is silent, as it was. Only a start ends a silence: for a server whose clock is
// behind, it has not begun yet.
func (e Expectation) StillSilent() bool { return e.SilentAt != 0 && e.Newer == 0 }

// Looked stores what was found about an expectation, and writes the message if it is silent from now on, or no
// longer. It stores nothing if the expectation has changed meanwhile.
func (a AutomationsTx) Looked(ctx context.Context, e Expectation, now penstock.Time) error {
	fired, silent := e.found(now)
	look := min(fired+penstock.Time(e.EveryMs), now+lookEvery)
	n, err := a.tx.exec(ctx, `UPDATE health
		SET fired_at = $1, silent_at = $2, look_at = $3
		WHERE source = $4 AND expect_ms = $5 AND fired_at = $6 AND silent_at = $7 AND enabled = 1 AND paused_at = 0`,
		int64(fired), int64(silent), int64(look), e.Source, e.EveryMs, int64(e.FiredAt), int64(e.SilentAt))
	if err != nil {
		return fmt.Errorf("store when %s started something: %w", e.Source, err)
	}
	if n == 0 || (silent == 0) == (e.SilentAt == 0) {
		return nil
	}
	return a.tx.Endpoints().announceSilence(ctx, e, silent != 0)
}

// newSilence returns a silence with its reason in words. last is the last start, or since when one is expected.
func newSilence(since, last penstock.Time, every penstock.Period) *penstock.Silence {
	reason := fmt.Sprintf("It has started nothing since %s; a start is expected every %s.", last, every)
	return &penstock.Silence{Since: since, Reason: reason}
}

// newFailures returns failures with their reason in words.
func newFailures(since penstock.Time, n int, lastRunID string) *penstock.Failures {
	f := penstock.Failures{Since: since, Failures: n, LastRunID: lastRunID}
	f.Reason = fmt.Sprintf("%d runs in a row failed; the last one is run %s.", n, lastRunID)
	if n == 1 {
		f.Reason = fmt.Sprintf("Run %s failed.", lastRunID)
	}
	return &f
}
