package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/penstock-dev/penstock"
)

// ScheduleRow is a schedule with what only the server sees of it.
type ScheduleRow struct {
	penstock.Schedule // with CreatedBy always, without History, Upcoming and Scope
	Team              string
	Personal          bool          // seen by its creator and admins only
	LastAt            penstock.Time // when it started a run last, 0: never
	NextAt            penstock.Time // 0 while it is paused
	Version           int64         // counts the changes of what a caller says
}

// scheduleData is what of a schedule has no column of its own.
type scheduleData struct {
	Prompt   string            `json:"prompt,omitempty"`
	Mode     penstock.Mode     `json:"mode,omitempty"`
	Config   *penstock.Config  `json:"config,omitempty"`
	AgentUID string            `json:"agent_uid,omitempty"`
	Metadata map[string]string `json:"metadata,omitempty"`
}

func (r ScheduleRow) data() string {
	return marshal(scheduleData{r.Prompt, r.Mode, r.Config, r.AgentUID, r.Metadata})
}

// EnvironmentID is the environment that the schedule names itself, "" for none.
func (r ScheduleRow) EnvironmentID() string {
	if r.Config == nil {
		return ""
	}
	return r.Config.EnvironmentID
}

const scheduleColumns = `SELECT s.id, s.team, s.name, s.cron, s.enabled, s.data, s.personal, s.version, s.created_at, s.updated_at, s.last_at, s.next_at, s.last_error, s.created_by,
	c.uid, c.type, c.display_name, c.email, c.photo_url, m.uid, m.type, m.display_name, m.email, m.photo_url, e.config
	FROM schedules s LEFT JOIN principals c ON c.uid = s.created_by LEFT JOIN principals m ON m.uid = s.updated_by
	LEFT JOIN environments e ON e.uid = s.environment_id AND e.team = s.team AND e.deleted_at = 0 `

func scanSchedule(scan func(...any) error) (ScheduleRow, error) {
	var r ScheduleRow
	var data, lastError, createdBy string
	var creator, editor actorColumns
	var environment sql.NullString
	err := scan(
		&r.ID, &r.Team, &r.Name, &r.Cron, &r.Enabled, &data, &r.Personal, &r.Version, &r.CreatedAt, &r.UpdatedAt, &r.LastAt, &r.NextAt, &lastError, &createdBy,
		&creator.uid, &creator.kind, &creator.name, &creator.email, &creator.photo, &editor.uid, &editor.kind, &editor.name, &editor.email, &editor.photo, &environment,
	)
	if err != nil {
		return r, err
	}
	r.CreatedBy, r.UpdatedBy = creator.actor(), editor.actor()
	if r.CreatedBy == nil { // a schedule always has one
		r.CreatedBy = &penstock.Actor{Type: "user", UID: createdBy}
	}
	if lastError != "" {
		r.LastSpawnError = &lastError
	}
	var d scheduleData
	if err := unmarshal(data, &d); err != nil {
		return r, fmt.Errorf("read schedule %s: %w", r.ID, err)
	}
	r.Prompt, r.Mode, r.Config, r.AgentUID, r.Metadata = d.Prompt, cmp.Or(d.Mode, penstock.ModeNormal), d.Config, d.AgentUID, d.Metadata
	if environment.Valid {
		r.Environment = &penstock.EnvironmentConfig{}
		err = unmarshal(environment.String, r.Environment)
	}
	return r, err
}

// secretNames are the secrets that the schedule names itself.
func (r ScheduleRow) secretNames() []string {
	if r.Config == nil {
		return nil
	}
	return r.Config.SecretNames()
}

// Schedules lists those that the viewer may see, by name.
func (s *Store) Schedules(ctx context.Context, v Viewer) ([]ScheduleRow, error) {
	return s.schedules(ctx, "WHERE s.team = $1 AND ($2 = 1 OR s.personal = 0 OR s.created_by = $3) ORDER BY s.folded, s.id", v.Team, flag(v.All), v.UID)
}

// DueSchedules lists schedules of all teams whose time has come, longest due
// first.
func (s *Store) DueSchedules(ctx context.Context, now penstock.Time, limit int) ([]ScheduleRow, error) {
	return s.schedules(ctx, "WHERE s.enabled = 1 AND s.next_at > 0 AND s.next_at <= $1 ORDER BY s.next_at, s.id LIMIT $2", int64(now), limit)
}

func (s *Store) schedules(ctx context.Context, where string, args ...any) ([]ScheduleRow, error) {
	rows, err := s.query(ctx, scheduleColumns+where, args...)
	if err != nil {
		return nil, s.d.mapError(fmt.Errorf("list schedules: %w", err))
	}
	defer rows.Close()
	out := []ScheduleRow{}
	for rows.Next() {
		r, err := scanSchedule(rows.Scan)
		if err != nil {
			return nil, fmt.Errorf("list schedules: %w", err)
		}
		out = append(out, r)
	}
	return out, s.d.mapError(rows.Err())
}

// Schedule reads one that the viewer may see; absence is penstock.CodeNotFound.
func (s *Store) Schedule(ctx context.Context, v Viewer, id string) (ScheduleRow, error) {
	return s.schedule(ctx, s, v, id)
}

// Schedule reads one that the viewer may see and keeps it from changing until
// the transaction ends.
func (tx *Tx) Schedule(ctx context.Context, v Viewer, id string) (ScheduleRow, error) {
	if tx.s.d.lock != "" { // SQLite has one writer
		if _, err := tx.exec(ctx, "SELECT 1 FROM schedules WHERE id = $1"+tx.s.d.lock, id); err != nil {
			return ScheduleRow{}, fmt.Errorf("lock schedule %s: %w", id, err)
		}
	}
	return tx.s.schedule(ctx, tx, v, id)
}

func (s *Store) schedule(ctx context.Context, q querier, v Viewer, id string) (ScheduleRow, error) {
	r, err := scanSchedule(q.row(ctx, scheduleColumns+"WHERE s.id = $1 AND s.team = $2 AND ($3 = 1 OR s.personal = 0 OR s.created_by = $4)", id, v.Team, flag(v.All), v.UID).Scan)
	if errors.Is(err, sql.ErrNoRows) {
		return r, penstock.NotFound("schedule", id)
	}
	if err != nil {
		return r, s.d.mapError(fmt.Errorf("read schedule %s: %w", id, err))
	}
	return r, nil
}

// AddSchedule stores a new schedule.
func (tx *Tx) AddSchedule(ctx context.Context, r ScheduleRow) error {
	if _, err := tx.exec(ctx, `INSERT INTO schedules (id, team, name, folded, cron, enabled, environment_id, data, personal, created_at, updated_at, created_by, updated_by, next_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
		r.ID, r.Team, r.Name, fold(r.Name), r.Cron, flag(r.Enabled), r.EnvironmentID(), r.data(), flag(r.Personal),
		int64(r.CreatedAt), int64(r.UpdatedAt), uidOf(r.CreatedBy), uidOf(r.UpdatedBy), int64(r.NextAt)); err != nil {
		return fmt.Errorf("store schedule %s: %w", r.ID, err)
	}
	tx.Nudge(TopicSchedules)
	return tx.SetSecretUses(ctx, r.Team, penstock.SecretOfSchedule, r.ID, r.secretNames())
}

// SetSchedule stores a schedule that was read and changed in the transaction.
func (tx *Tx) SetSchedule(ctx context.Context, r ScheduleRow) error {
	if _, err := tx.exec(ctx, `UPDATE schedules SET name = $1, folded = $2, cron = $3, enabled = $4, environment_id = $5, data = $6, personal = $7,
		updated_at = $8, updated_by = $9, next_at = $10, version = version + 1 WHERE id = $11`,
		r.Name, fold(r.Name), r.Cron, flag(r.Enabled), r.EnvironmentID(), r.data(), flag(r.Personal),
		int64(r.UpdatedAt), uidOf(r.UpdatedBy), int64(r.NextAt), r.ID); err != nil {
		return fmt.Errorf("store schedule %s: %w", r.ID, err)
	}
	tx.Nudge(TopicSchedules)
	return tx.SetSecretUses(ctx, r.Team, penstock.SecretOfSchedule, r.ID, r.secretNames())
}

// ScheduleSize is how many characters the schedules of a team hold together.
func (tx *Tx) ScheduleSize(ctx context.Context, team string) (size int64, err error) {
	err = tx.row(ctx, "SELECT CAST(COALESCE(sum(length(data)), 0) AS BIGINT) FROM schedules WHERE team = $1", team).Scan(&size)
	return size, err
}

// DeleteSchedule removes a schedule that was read in the transaction. Runs that
// it started keep its name.
func (tx *Tx) DeleteSchedule(ctx context.Context, id string) error {
	if _, err := tx.exec(ctx, "DELETE FROM schedules WHERE id = $1", id); err != nil {
		return fmt.Errorf("delete schedule %s: %w", id, err)
	}
	return tx.SetSecretUses(ctx, "", penstock.SecretOfSchedule, id, nil)
}

// Tick is what becomes of a schedule whose time has come.
type Tick struct {
	LastAt    penstock.Time // when it started a run last
	NextAt    penstock.Time
	LastError string // why this time started none
}

// AdvanceSchedule takes a schedule, as it was read when it was due, to its next
// time. False: another replica was first, or it was changed since.
func (tx *Tx) AdvanceSchedule(ctx context.Context, r ScheduleRow, t Tick) (bool, error) {
	n, err := tx.exec(ctx, "UPDATE schedules SET last_at = $1, next_at = $2, last_error = $3 WHERE id = $4 AND next_at = $5 AND version = $6 AND enabled = 1",
		int64(t.LastAt), int64(t.NextAt), t.LastError, r.ID, int64(r.NextAt), r.Version)
	if err != nil {
		return false, fmt.Errorf("advance schedule %s: %w", r.ID, err)
	}
	return n > 0, nil
}
