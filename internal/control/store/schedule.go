package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/penstock-dev/penstock"
)

// ScheduleRow is a schedule with its internal fields.
type ScheduleRow struct {
	penstock.Schedule // always with CreatedBy, but without History, Upcoming and Scope
	Team              string
	Personal          bool          // seen by its creator and admins only
	LastAt            penstock.Time // when it last started a run, 0: never
	NextAt            penstock.Time // 0 while it is paused
	Version           int64         // counts the changes by callers
	// PaidBy are the key that made it and the keys that made that one, ChangedBy the keys of the
	// callers that gave it its present form. They pay for its runs.
	PaidBy, ChangedBy []string
	Orphaned          penstock.Time // when its creator was disabled or deleted, or 0
}

// defaultZone is the time zone of a schedule that names none.
const defaultZone = "UTC"

// scheduleData holds the fields of a schedule without a column of their own. Defaults are left out.
type scheduleData struct {
	Prompt   string            `json:"prompt,omitempty"`
	Mode     penstock.Mode     `json:"mode,omitempty"`
	Config   *penstock.Config  `json:"config,omitempty"`
	AgentUID string            `json:"agent_uid,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
	TimeZone string            `json:"time_zone,omitempty"`
	CatchUp  penstock.CatchUp  `json:"catch_up,omitempty"`
	Overlap  penstock.Overlap  `json:"overlap,omitempty"`
	penstock.HealthRules
}

// EnvironmentID returns the environment that the schedule itself names, or "".
func (r ScheduleRow) EnvironmentID() string {
	if r.Config == nil {
		return ""
	}
	return r.Config.EnvironmentID
}

// scheduleFields are the columns of a schedule.
var scheduleFields = newResource("schedules", "s",
	textColumn("id", func(r *scheduleRecord) *string { return &r.ID }),
	textColumn("team", func(r *scheduleRecord) *string { return &r.Team }),
	textColumn("name", func(r *scheduleRecord) *string { return &r.Name }).editable(),
	storedText("folded", func(r *scheduleRecord) string { return fold(r.Name) }).editable(),
	textColumn("cron", func(r *scheduleRecord) *string { return &r.Cron }).editable(),
	flagColumn("enabled", func(r *scheduleRecord) *bool { return &r.Enabled }).editable(),
	storedText("environment_id", func(r *scheduleRecord) string { return r.EnvironmentID() }).editable(),
	jsonColumn("data", func(r *scheduleRecord) *scheduleData { return &r.data }).editable(),
	flagColumn("personal", func(r *scheduleRecord) *bool { return &r.Personal }).editable(),
	numberColumn("version", func(r *scheduleRecord) *int64 { return &r.Version }).unset(),
	numberColumn("created_at", func(r *scheduleRecord) *penstock.Time { return &r.CreatedAt }),
	numberColumn("updated_at", func(r *scheduleRecord) *penstock.Time { return &r.UpdatedAt }).editable(),
	storedText("created_by", func(r *scheduleRecord) string { return uidOf(r.CreatedBy) }),
	storedText("updated_by", func(r *scheduleRecord) string { return uidOf(r.UpdatedBy) }).editable(),
	numberColumn("last_at", func(r *scheduleRecord) *penstock.Time { return &r.LastAt }).unset(),
	numberColumn("next_at", func(r *scheduleRecord) *penstock.Time { return &r.NextAt }).editable(),
	textColumn("last_error", func(r *scheduleRecord) *string { return &r.lastError }).unset(),
	listColumn("paid_by", func(r *scheduleRecord) *[]string { return &r.PaidBy }),
	listColumn("changed_by", func(r *scheduleRecord) *[]string { return &r.ChangedBy }).editable(),
)

var (
	scheduleColumns = "SELECT " + scheduleFields.selected + ", " +
		selectActor("s.created_by", "c") + ", " + selectActor("m.uid", "m") + ", " + healthFields.orZero + `,
			e.config, COALESCE(c.disabled_at, 0)
		FROM schedules s` + joinActor("c", "s.created_by") + joinActor("m", "s.updated_by") + `
		LEFT JOIN health h ON h.source = s.id
		LEFT JOIN environments e ON e.uid = s.environment_id AND e.team = s.team AND e.deleted_at = 0 `
	setSchedule = scheduleFields.update("version = version + 1", "id = ?")
)

// scheduleRecord is the row of a schedule.
type scheduleRecord struct {
	ScheduleRow
	data      scheduleData
	lastError string
}

func (r ScheduleRow) record() *scheduleRecord {
	data := scheduleData{
		r.Prompt, r.Mode, r.Config, r.AgentUID, r.Metadata, r.TimeZone, r.CatchUp, r.Overlap, r.HealthRules,
	}
	if data.TimeZone == defaultZone {
		data.TimeZone = ""
	}
	if data.CatchUp == penstock.CatchUpOnce {
		data.CatchUp = ""
	}
	if data.Overlap == penstock.OverlapAllow {
		data.Overlap = ""
	}
	return &scheduleRecord{ScheduleRow: r, data: data}
}

func scanSchedule(row scanner) (ScheduleRow, error) {
	var r scheduleRecord
	var creator, editor actorColumns
	var environment sql.NullString
	var h healthRow
	actors := append(append(creator.into(), editor.into()...), healthFields.into(&h)...)
	if err := row.Scan(scheduleFields.into(&r, append(actors, &environment, &r.Orphaned)...)...); err != nil {
		return r.ScheduleRow, err
	}
	if !creator.kind.Valid { // a schedule always has one
		creator.kind.String = "user"
	}
	r.CreatedBy, r.UpdatedBy = creator.actor(), editor.actor()
	if r.lastError != "" {
		r.LastSpawnError = new(r.lastError)
	}
	d := r.data
	r.Prompt, r.Mode, r.Config, r.AgentUID, r.Metadata = d.Prompt, cmp.Or(
		d.Mode, penstock.ModeNormal,
	), d.Config, d.AgentUID, d.Metadata
	r.TimeZone, r.CatchUp = cmp.Or(d.TimeZone, defaultZone), cmp.Or(d.CatchUp, penstock.CatchUpOnce)
	r.HealthRules, r.Health = d.HealthRules, h.health(d.HealthRules)
	r.Overlap = cmp.Or(d.Overlap, penstock.OverlapAllow)
	if environment.Valid {
		r.Environment = &penstock.EnvironmentConfig{}
		if err := unmarshal(environment.String, r.Environment); err != nil {
			return r.ScheduleRow, fmt.Errorf("read the environment of schedule %s: %w", r.ID, err)
		}
	}
	return r.ScheduleRow, nil
}

// secretNames returns the secrets that the schedule itself names.
func (r ScheduleRow) secretNames() []string {
	if r.Config == nil {
		return nil
	}
	return r.Config.SecretNames()
}

// List returns the schedules that the viewer may see, by name.
func (ss Schedules) List(ctx context.Context, v Viewer) ([]ScheduleRow, error) {
	return ss.read(ctx, `WHERE s.team = $1 AND ($2 = 1 OR s.personal = 0 OR s.created_by = $3)
		ORDER BY s.folded, s.id`, v.Team, flag(v.All), v.UID)
}

// Due lists due schedules of all teams, longest due first, that follow one in this order.
func (ss Schedules) Due(ctx context.Context, now penstock.Time, after ScheduleRow, limit int) ([]ScheduleRow, error) {
	return ss.read(ctx, `WHERE s.enabled = 1 AND s.next_at > 0 AND s.next_at <= $1 AND (s.next_at, s.id) > ($2, $3)
		ORDER BY s.next_at, s.id
		LIMIT $4`, int64(now), int64(after.NextAt), after.ID, limit)
}

func (ss Schedules) read(ctx context.Context, where string, args ...any) ([]ScheduleRow, error) {
	rows, err := ss.s.query(ctx, scheduleColumns+where, args...)
	if err != nil {
		return nil, ss.s.d.mapError(fmt.Errorf("list schedules: %w", err))
	}
	defer rows.Close()
	out := []ScheduleRow{}
	for rows.Next() {
		r, err := scanSchedule(rows)
		if err != nil {
			return nil, fmt.Errorf("list schedules: %w", err)
		}
		out = append(out, r)
	}
	return out, ss.s.d.mapError(rows.Err())
}

// Find reads a schedule that the viewer may see; absence is penstock.CodeNotFound.
func (ss Schedules) Find(ctx context.Context, v Viewer, id string) (ScheduleRow, error) {
	return readSchedule(ctx, ss.s, v, id)
}

// Lock reads a schedule that the viewer may see and locks it until the transaction ends.
func (ss SchedulesTx) Lock(ctx context.Context, v Viewer, id string) (ScheduleRow, error) {
	if ss.tx.s.d.lock != "" { // SQLite has one writer
		if _, err := ss.tx.exec(ctx, "SELECT 1 FROM schedules WHERE id = $1"+ss.tx.s.d.lock, id); err != nil {
			return ScheduleRow{}, fmt.Errorf("lock schedule %s: %w", id, err)
		}
	}
	return readSchedule(ctx, ss.tx, v, id)
}

// LockOf reads the enabled schedules of a creator and locks them until the transaction ends.
func (ss SchedulesTx) LockOf(ctx context.Context, team, creator string) ([]ScheduleRow, error) {
	rows, err := ss.tx.query(ctx, `SELECT s.id
		FROM schedules s
		WHERE s.team = $1 AND s.created_by = $2 AND s.enabled = 1
		ORDER BY s.id`+ss.tx.s.d.lock, team, creator)
	ids, err := collect(ss.tx.s, rows, err, "schedules", one[*string])
	if err != nil {
		return nil, err
	}
	list := make([]ScheduleRow, len(ids))
	for i, id := range ids {
		if list[i], err = readSchedule(ctx, ss.tx, Viewer{Team: team, All: true}, id); err != nil {
			return nil, err
		}
	}
	return list, nil
}

func readSchedule(ctx context.Context, q querier, v Viewer, id string) (ScheduleRow, error) {
	const one = "WHERE s.id = $1 AND s.team = $2 AND ($3 = 1 OR s.personal = 0 OR s.created_by = $4)"
	r, err := scanSchedule(q.row(ctx, scheduleColumns+one, id, v.Team, flag(v.All), v.UID))
	if errors.Is(err, sql.ErrNoRows) {
		return r, penstock.NotFound("schedule", id)
	}
	if err != nil {
		return r, q.store().d.mapError(fmt.Errorf("read schedule %s: %w", id, err))
	}
	return r, nil
}

// Add stores a new schedule.
func (ss SchedulesTx) Add(ctx context.Context, r ScheduleRow) error {
	if err := scheduleFields.add(ctx, ss.tx, r.record()); err != nil {
		return fmt.Errorf("store schedule %s: %w", r.ID, err)
	}
	ss.tx.Nudge(TopicSchedules)
	return ss.tx.Secrets().SetUses(ctx, r.Team, SecretOfSchedule, r.ID, r.secretNames())
}

// Set stores a schedule that was read and changed in the transaction.
func (ss SchedulesTx) Set(ctx context.Context, r ScheduleRow) error {
	if _, err := ss.tx.exec(ctx, setSchedule, scheduleFields.changes(r.record(), r.ID)...); err != nil {
		return fmt.Errorf("store schedule %s: %w", r.ID, err)
	}
	ss.tx.Nudge(TopicSchedules)
	return ss.tx.Secrets().SetUses(ctx, r.Team, SecretOfSchedule, r.ID, r.secretNames())
}

// Delete removes a schedule that was read in the transaction. Runs that
// it started keep its name.
func (ss SchedulesTx) Delete(ctx context.Context, id string) error {
	if _, err := ss.tx.exec(ctx, "DELETE FROM schedules WHERE id = $1", id); err != nil {
		return fmt.Errorf("delete schedule %s: %w", id, err)
	}
	if err := ss.tx.Secrets().SetUses(ctx, "", SecretOfSchedule, id, nil); err != nil {
		return err
	}
	return ss.tx.Automations().DeleteHealth(ctx, id)
}

// Advance sets a due schedule to its next time. It returns false if another replica was
// first, or if the schedule has changed since it was read.
func (ss SchedulesTx) Advance(ctx context.Context, r ScheduleRow, next penstock.Time) (bool, error) {
	n, err := ss.tx.exec(ctx, `UPDATE schedules
		SET next_at = $1
		WHERE id = $2 AND next_at = $3 AND version = $4 AND enabled = 1`,
		int64(next), r.ID, int64(r.NextAt), r.Version)
	return n > 0, wrapf(err, "advance schedule %s", r.ID)
}

// Ticked records when a schedule last started a run, and why its last time started none.
func (ss SchedulesTx) Ticked(ctx context.Context, id string, lastAt penstock.Time, problem string) error {
	const set = `UPDATE schedules
		SET last_at = CASE WHEN $1 > last_at THEN $1 ELSE last_at END, last_error = $2
		WHERE id = $3`
	_, err := ss.tx.exec(ctx, set, int64(lastAt), problem, id)
	return wrapf(err, "record a time of schedule %s", id)
}

// Enabled lists enabled schedules of all teams after an id, at most limit.
func (ss Schedules) Enabled(ctx context.Context, after string, limit int) ([]ScheduleRow, error) {
	return ss.read(ctx, "WHERE s.enabled = 1 AND s.next_at > 0 AND s.id > $1 ORDER BY s.id LIMIT $2", after, limit)
}

// Replan gives a schedule another next time, if it is still the one that was read.
func (ss Schedules) Replan(ctx context.Context, r ScheduleRow, next penstock.Time) error {
	return ss.s.Write(ctx, func(tx *Tx) error {
		_, err := tx.exec(ctx, `UPDATE schedules
			SET next_at = $1
			WHERE id = $2 AND next_at = $3 AND version = $4 AND enabled = 1`,
			int64(next), r.ID, int64(r.NextAt), r.Version)
		return err
	})
}
