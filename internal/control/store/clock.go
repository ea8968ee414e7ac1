package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/penstock-dev/penstock"
)

// Clock is a trigger of an automation that fires on a schedule.
type Clock struct {
	AutomationUID string
	N             int // of the trigger among the automation's, from 0
	NextAt        penstock.Time
	LastAt        penstock.Time // when it last started a run, 0: never
	LastError     string
	version       int64 // of the team when it was set
}

const clockColumns = `SELECT c.automation_uid, c.n, c.next_at, c.last_at, c.last_error, c.version
	FROM automation_clocks c `

func (a automationReads) readClocks(ctx context.Context, where string, args ...any) ([]Clock, error) {
	rows, err := a.q.query(ctx, clockColumns+where, args...)
	return collect(a.q.store(), rows, err, "clocks of automations", func(c *Clock) []any {
		return []any{&c.AutomationUID, &c.N, &c.NextAt, &c.LastAt, &c.LastError, &c.version}
	})
}

// FactoryClocks lists the clocks of a factory's automations, in no order.
func (a Automations) FactoryClocks(ctx context.Context, factoryUID string) ([]Clock, error) {
	return a.readClocks(ctx, `WHERE c.automation_uid IN (
			SELECT a.uid
			FROM automations a
			WHERE a.factory_uid = $1
		)`, factoryUID)
}

// Clocks lists the clocks of an automation in the order of its triggers.
func (a automationReads) Clocks(ctx context.Context, automationUID string) ([]Clock, error) {
	return a.readClocks(ctx, "WHERE c.automation_uid = $1 ORDER BY c.n", automationUID)
}

// SetClocks replaces the clocks of an automation, in a transaction that has called [Tx.Changed]. A
// caller that read one before can no longer advance it.
func (a AutomationsTx) SetClocks(ctx context.Context, team, automationUID string, clocks []Clock) error {
	if _, err := a.tx.exec(ctx, `DELETE FROM automation_clocks
		WHERE automation_uid = $1`, automationUID); err != nil {
		return fmt.Errorf("set the clocks of automation %s: %w", automationUID, err)
	}
	for _, c := range clocks {
		if _, err := a.tx.exec(ctx, `INSERT INTO automation_clocks (automation_uid, n, next_at, last_at, last_error, version)
			VALUES ($1, $2, $3, $4, $5, (SELECT version FROM teams WHERE uid = $6))`,
			automationUID, c.N, int64(c.NextAt), int64(c.LastAt), c.LastError, team); err != nil {
			return fmt.Errorf("set the clocks of automation %s: %w", automationUID, err)
		}
	}
	a.tx.Nudge(TopicSchedules)
	return nil
}

// Due is an automation with its clocks that are due, in the order of its triggers.
type Due struct {
	AutomationRow
	Clocks []Clock
}

// Due lists the automations of all teams that have a due clock, after a uid, at most limit, with these
// clocks. One that is deleted meanwhile is not in the list.
func (a Automations) Due(ctx context.Context, now penstock.Time, after string, limit int) ([]Due, error) {
	uids, err := a.s.strings(ctx, `SELECT DISTINCT c.automation_uid
		FROM automation_clocks c
		WHERE c.next_at > 0 AND c.next_at <= $1 AND c.automation_uid > $2
		ORDER BY c.automation_uid
		LIMIT $3`, int64(now), after, limit)
	if err != nil {
		return nil, err
	}
	return a.withClocks(ctx, uids, func(c Clock) bool { return c.NextAt > 0 && c.NextAt <= now })
}

// WithClocks lists the automations of all teams that have clocks, after a uid, at most limit. One that is
// deleted meanwhile is not in the list.
func (a Automations) WithClocks(ctx context.Context, after string, limit int) ([]Due, error) {
	uids, err := a.s.strings(ctx, `SELECT DISTINCT c.automation_uid
		FROM automation_clocks c
		WHERE c.automation_uid > $1
		ORDER BY c.automation_uid
		LIMIT $2`, after, limit)
	if err != nil {
		return nil, err
	}
	return a.withClocks(ctx, uids, func(Clock) bool { return true })
}

// withClocks reads automations with the clocks that wanted accepts.
func (a Automations) withClocks(ctx context.Context, uids []string, wanted func(Clock) bool) ([]Due, error) {
	if len(uids) == 0 {
		return nil, nil
	}
	in := "IN (" + placeholders(1, len(uids)) + ")"
	rows, err := a.read(ctx, "WHERE a.uid "+in, anys(uids)...)
	if err != nil {
		return nil, err
	}
	clocks, err := a.readClocks(ctx, "WHERE c.automation_uid "+in+" ORDER BY c.n", anys(uids)...)
	if err != nil {
		return nil, err
	}
	at := make(map[string]int, len(uids))
	due := make([]Due, len(uids))
	for i, uid := range uids {
		at[uid] = i
	}
	for _, r := range rows {
		due[at[r.UID]].AutomationRow = r
	}
	for _, c := range clocks {
		if wanted(c) {
			d := &due[at[c.AutomationUID]]
			d.Clocks = append(d.Clocks, c)
		}
	}
	return slices.DeleteFunc(due, func(d Due) bool { return d.UID == "" }), nil
}

// AdvanceClock sets a due clock to its next time. It returns false if another replica was first, or
// if the automation has changed since the clock was read.
func (a AutomationsTx) AdvanceClock(ctx context.Context, c Clock, next penstock.Time) (bool, error) {
	n, err := a.tx.exec(ctx, `UPDATE automation_clocks
		SET next_at = $1
		WHERE automation_uid = $2 AND n = $3 AND next_at = $4 AND version = $5`,
		int64(next), c.AutomationUID, c.N, int64(c.NextAt), c.version)
	return n > 0, wrapf(err, "advance clock %d of automation %s", c.N, c.AutomationUID)
}

// LockClocks locks the clocks of an automation, so that one writer at a time decides what waits, and lists
// them in the order of its triggers.
func (a AutomationsTx) LockClocks(ctx context.Context, automationUID string) ([]Clock, error) {
	return a.readClocks(ctx, "WHERE c.automation_uid = $1 ORDER BY c.n"+a.tx.s.d.lock, automationUID)
}

// TickedClock records when a clock last started a run, and why its last time started none.
func (a AutomationsTx) TickedClock(ctx context.Context, c Clock, lastAt penstock.Time, problem string) error {
	_, err := a.tx.exec(ctx, `UPDATE automation_clocks
		SET last_at = CASE WHEN $1 > last_at THEN $1 ELSE last_at END, last_error = $2
		WHERE automation_uid = $3 AND n = $4 AND version = $5`,
		int64(lastAt), problem, c.AutomationUID, c.N, c.version)
	return wrapf(err, "record the time of clock %d of automation %s", c.N, c.AutomationUID)
}

// ReplanClock gives a clock another next time, if it is still the one that was read.
func (a Automations) ReplanClock(ctx context.Context, c Clock, next penstock.Time) error {
	return a.s.Write(ctx, func(tx *Tx) error {
		_, err := tx.exec(ctx, `UPDATE automation_clocks
			SET next_at = $1
			WHERE automation_uid = $2 AND n = $3 AND next_at = $4 AND version = $5`,
			int64(next), c.AutomationUID, c.N, int64(c.NextAt), c.version)
		return err
	})
}
