package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
)

// fold returns the form in which names are compared and sorted: "App" equals "app".
func fold(name string) string { return strings.ToLower(name) }

// environmentRecord is the row of an environment.
type environmentRecord struct {
	penstock.Environment
	team      string
	createdAt penstock.Time
}

// environmentFields are the columns of an environment.
var environmentFields = newResource("environments", "e",
	textColumn("uid", func(e *environmentRecord) *string { return &e.UID }),
	textColumn("team", func(e *environmentRecord) *string { return &e.team }),
	storedText("name", func(e *environmentRecord) string { return e.Config.Name }).editable(),
	storedText("folded", func(e *environmentRecord) string { return fold(e.Config.Name) }).editable(),
	jsonColumn("config", func(e *environmentRecord) *penstock.EnvironmentConfig { return &e.Config }).editable(),
	numberColumn("created_at", func(e *environmentRecord) *penstock.Time { return &e.createdAt }),
	numberColumn("updated_at", func(e *environmentRecord) *penstock.Time { return &e.LastUpdated }).editable(),
	flagColumn("setup_failed", func(e *environmentRecord) *bool { return &e.SetupFailed }).unset(),
	storedText("creator", func(e *environmentRecord) string { return uidOf(e.Creator) }),
	storedText("editor", func(e *environmentRecord) string { return uidOf(e.LastEditor) }).editable(),
)

// The latest run that the viewer may see, and when a worker last claimed one of them. Both are at
// the end of an index.
var environmentColumns = "SELECT " + environmentFields.selected + ", " + selectActor("c.uid", "c") + ", " +
	selectActor("m.uid", "m") + `,
	l.id, l.title, l.state, l.created_at, l.updated_at, l.started_at,
	(
		SELECT r.started_at
		FROM runs r
		WHERE r.environment_id = e.uid AND r.environment_id <> '' AND r.started_at > 0
			AND ($1 = 1 OR r.personal = 0 OR r.creator = $2)
		ORDER BY r.created_at DESC
		LIMIT 1
	)
	FROM environments e` + joinActor("c", "e.creator") + joinActor("m", "e.editor") + `
	LEFT JOIN runs l ON l.id = (
		SELECT r.id
		FROM runs r
		WHERE r.environment_id = e.uid AND r.environment_id <> '' AND ($1 = 1 OR r.personal = 0 OR r.creator = $2)
		ORDER BY r.created_at DESC, r.id DESC
		LIMIT 1
	) `

var setEnvironment = environmentFields.update("setup_failed = 0", "uid = ? AND team = ? AND deleted_at = 0")

func scanEnvironment(row scanner) (penstock.Environment, error) {
	var e environmentRecord
	var creator, editor actorColumns
	var id, title, state sql.NullString
	var createdAt, updatedAt, startedAt, ranAt sql.NullInt64
	latest := []any{&id, &title, &state, &createdAt, &updatedAt, &startedAt, &ranAt}
	if err := row.Scan(
		environmentFields.into(&e, slices.Concat(creator.into(), editor.into(), latest)...)...,
	); err != nil {
		return e.Environment, err
	}
	e.Creator, e.LastEditor = creator.actor(), editor.actor()
	e.Scope = &penstock.Scoped{Type: "Team", UID: e.team}
	e.LastTaskRunAt = penstock.Time(ranAt.Int64)
	if id.Valid {
		e.LastTask = &penstock.EnvironmentTask{
			ID: id.String, Title: title.String, State: penstock.State(state.String), CreatedAt: penstock.Time(createdAt.Int64),
			UpdatedAt: penstock.Time(updatedAt.Int64), StartedAt: penstock.Time(startedAt.Int64),
		}
	}
	return e.Environment, nil
}

// List returns the environments of the viewer's team by name, or by time with the latest
// change first. It does not show personal runs of others.
func (es Environments) List(ctx context.Context, v Viewer, byName bool) ([]penstock.Environment, error) {
	order := "e.updated_at DESC, e.uid"
	if byName {
		order = "e.folded, e.uid"
	}
	rows, err := es.s.query(ctx, environmentColumns+`WHERE e.team = $3 AND e.deleted_at = 0
		ORDER BY `+order, flag(v.All), v.UID, v.Team)
	if err != nil {
		return nil, es.s.d.mapError(fmt.Errorf("list environments: %w", err))
	}
	defer rows.Close()
	out := []penstock.Environment{}
	for rows.Next() {
		e, err := scanEnvironment(rows)
		if err != nil {
			return nil, fmt.Errorf("list environments: %w", err)
		}
		out = append(out, e)
	}
	return out, es.s.d.mapError(rows.Err())
}

// Find reads an environment as the viewer may see it; absence is penstock.CodeNotFound.
func (es environmentReads) Find(ctx context.Context, v Viewer, uid string) (penstock.Environment, error) {
	const one = "WHERE e.uid = $3 AND e.team = $4 AND e.deleted_at = 0"
	e, err := scanEnvironment(es.q.row(ctx, environmentColumns+one, flag(v.All), v.UID, uid, v.Team))
	if errors.Is(err, sql.ErrNoRows) {
		return e, penstock.NotFound("environment", uid)
	}
	if err != nil {
		return e, es.q.store().d.mapError(fmt.Errorf("read environment %s: %w", uid, err))
	}
	return e, nil
}

// Spec reads the configuration of an environment; absence is penstock.CodeNotFound.
func (es Environments) Spec(ctx context.Context, team, uid string) (penstock.EnvironmentSpec, error) {
	return es.readSpec(ctx, "uid = $1 AND team = $2 AND deleted_at = 0", uid, team)
}

// KeptSpec reads the configuration of an environment, even of a deleted one: runs that were
// created before still use it.
func (es Environments) KeptSpec(ctx context.Context, team, uid string) (penstock.EnvironmentSpec, error) {
	return es.readSpec(ctx, "uid = $1 AND team = $2", uid, team)
}

func (es Environments) readSpec(ctx context.Context, where string, args ...any) (penstock.EnvironmentSpec, error) {
	var e penstock.EnvironmentSpec
	var config string
	err := es.s.row(ctx, `SELECT uid, config
		FROM environments WHERE `+where, args...).Scan(&e.UID, &config)
	if errors.Is(err, sql.ErrNoRows) {
		return e, penstock.NotFound("environment", fmt.Sprint(args[0]))
	}
	if err != nil {
		return e, es.s.d.mapError(fmt.Errorf("read environment %v: %w", args[0], err))
	}
	return e, unmarshal(config, &e.Config)
}

// Add stores a new environment. A name that the team uses already is a conflict,
// ignoring case.
func (es EnvironmentsTx) Add(ctx context.Context, team string, e penstock.Environment) error {
	record := environmentRecord{e, team, e.LastUpdated}
	record.LastEditor = e.Creator
	if err := environmentFields.add(ctx, es.tx, &record); err != nil {
		return es.tx.nameTaken(err, "an environment", e.Config.Name)
	}
	return es.useSecrets(ctx, team, e)
}

// Replace changes the configuration of an environment. The next run reports again
// whether its setup failed.
func (es EnvironmentsTx) Replace(ctx context.Context, team string, e penstock.Environment) error {
	record := environmentRecord{Environment: e, team: team}
	n, err := es.tx.exec(ctx, setEnvironment, environmentFields.changes(&record, e.UID, team)...)
	if err == nil && n == 0 {
		return penstock.NotFound("environment", e.UID)
	}
	if err != nil {
		return es.tx.nameTaken(err, "an environment", e.Config.Name)
	}
	return es.useSecrets(ctx, team, e)
}

// useSecrets records the secrets that an environment names.
func (es EnvironmentsTx) useSecrets(ctx context.Context, team string, e penstock.Environment) error {
	return es.tx.Secrets().SetUses(ctx, team, SecretOfEnvironment, e.UID, e.Config.SecretNames())
}

func (tx *Tx) nameTaken(err error, kind, name string) error {
	if err != nil && tx.s.d.unique(err) {
		return penstock.Errorf(penstock.CodeConflict, "%s named %q already exists", kind, name)
	}
	return err
}

// Delete removes an environment from every list. It locks the row, so that nothing can
// start to use the environment meanwhile.
func (es EnvironmentsTx) Delete(ctx context.Context, team, uid string) error {
	n, err := es.tx.exec(ctx, `UPDATE environments
		SET deleted_at = $1
		WHERE uid = $2 AND team = $3 AND deleted_at = 0`, int64(penstock.Now()), uid, team)
	if err == nil && n == 0 {
		return penstock.NotFound("environment", uid)
	}
	if err != nil {
		return err
	}
	return es.tx.Secrets().SetUses(ctx, team, SecretOfEnvironment, uid, nil)
}

// Use makes sure that an environment exists until the transaction
// ends; absence is penstock.CodeNotFound.
func (es EnvironmentsTx) Use(ctx context.Context, team, uid string) error {
	var one int
	err := es.tx.row(
		ctx, `SELECT 1
			FROM environments
			WHERE uid = $1 AND team = $2 AND deleted_at = 0`+es.tx.s.d.lock, uid, team,
	).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return penstock.NotFound("environment", uid)
	}
	return err
}

// EnvironmentUser is a resource that uses an environment.
type EnvironmentUser struct {
	Kind     string // agent, automation or schedule
	Name     string
	Personal bool // seen by its creator and admins only
	Creator  string
}

// Users returns the agents, and the enabled automations and schedules, that name an
// environment. It sorts them by name.
func (es EnvironmentsTx) Users(ctx context.Context, uid string) ([]EnvironmentUser, error) {
	rows, err := es.tx.query(ctx, `SELECT 'agent' AS kind, name, folded, 0 AS personal, '' AS creator
		FROM identities
		WHERE environment_id = $1 AND environment_id <> '' AND deleted_at = 0
		UNION ALL SELECT 'automation', name, name, 0, ''
		FROM automations
		WHERE environment_id = $1 AND environment_id <> '' AND enabled = 1
		UNION ALL SELECT 'schedule', name, folded, personal, created_by
		FROM schedules
		WHERE environment_id = $1 AND environment_id <> '' AND enabled = 1
		ORDER BY kind, folded`, uid)
	return collect(es.tx.s, rows, err, "users of an environment", func(u *EnvironmentUser) []any {
		return []any{&u.Kind, &u.Name, new(string), &u.Personal, &u.Creator}
	})
}

// SetSetup records whether the setup of the latest run that used an environment failed.
func (es EnvironmentsTx) SetSetup(ctx context.Context, uid string, failed bool) error {
	_, err := es.tx.exec(ctx, `UPDATE environments
		SET setup_failed = $1
		WHERE uid = $2 AND setup_failed <> $1`, flag(failed), uid)
	return wrapf(err, "record the set-up of environment %s", uid)
}
