package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
)

// The resources that can use a managed secret.
const (
	SecretOfAgent      penstock.SecretUserType = "agent"
	SecretOfSchedule   penstock.SecretUserType = "schedule"
	SecretOfAutomation penstock.SecretUserType = "automation"
	SecretOfWebhook    penstock.SecretUserType = "webhook"
	// Its network has a rule with the secret as credential, or its image needs it.
	SecretOfEnvironment penstock.SecretUserType = "environment"
	SecretOfFactory     penstock.SecretUserType = "factory" // for all its agents, the image of a runner, or its repository
)

// SecretRow is a managed secret with its internal fields.
type SecretRow struct {
	penstock.ManagedSecret // without UsedBy
	Team                   string
	Sealed                 []byte // the encrypted value, bound to team, name and version; nil without a value
}

// secretFields are the columns of a managed secret.
var secretFields = newResource("secrets", "s",
	textColumn("team", func(r *SecretRow) *string { return &r.Team }),
	textColumn("name", func(r *SecretRow) *string { return &r.Name }),
	numberColumn("version", func(r *SecretRow) *int64 { return &r.Version }).editable(),
	bytesColumn("sealed", func(r *SecretRow) *[]byte { return &r.Sealed }).editable(),
	numberColumn("created_at", func(r *SecretRow) *penstock.Time { return &r.CreatedAt }),
	numberColumn("updated_at", func(r *SecretRow) *penstock.Time { return &r.UpdatedAt }).editable(),
	storedText("created_by", func(r *SecretRow) string { return uidOf(r.CreatedBy) }),
	storedText("updated_by", func(r *SecretRow) string { return uidOf(r.UpdatedBy) }).editable(),
	numberColumn("last_used_at", func(r *SecretRow) *penstock.Time { return &r.LastUsedAt }).unset(),
	textColumn("webhook_uid", func(r *SecretRow) *string { return &r.WebhookUID }),
	jsonColumn("hosts", func(r *SecretRow) *[]string { return &r.Hosts }).editable(),
)

var (
	secretColumns = "SELECT " + secretFields.selected + ", " + selectActor("c.uid", "c") + ", " +
		selectActor("m.uid", "m") + `
	FROM secrets s` + joinActor("c", "s.created_by") + joinActor("m", "s.updated_by") + " "
	setSecret = secretFields.update("", "team = ? AND name = ?")
)

func (ss secretReads) read(ctx context.Context, where string, args ...any) ([]SecretRow, error) {
	rows, err := ss.q.query(ctx, secretColumns+where+" ORDER BY s.name", args...)
	var actors [][2]actorColumns
	list, err := collect(ss.q.store(), rows, err, "secrets", func(r *SecretRow) []any {
		actors = append(actors, [2]actorColumns{})
		a := &actors[len(actors)-1]
		return secretFields.into(r, slices.Concat(a[0].into(), a[1].into())...)
	})
	for i := range list {
		if list[i].Pending = list[i].Version == 0; list[i].Pending {
			list[i].Sealed = nil
		}
		list[i].CreatedBy, list[i].UpdatedBy = actors[i][0].actor(), actors[i][1].actor()
	}
	return list, err
}

// List returns a team's secrets by name.
func (ss Secrets) List(ctx context.Context, team string) ([]SecretRow, error) {
	return ss.read(ctx, "WHERE s.team = $1", team)
}

// Named reads the existing secrets among names, by name.
func (ss Secrets) Named(ctx context.Context, team string, names []string) ([]SecretRow, error) {
	if len(names) == 0 { // as for most new runs
		return nil, nil
	}
	where, args := namedSecrets(team, names)
	return ss.read(ctx, where, args...)
}

func namedSecrets(team string, names []string) (where string, args []any) {
	args = []any{team}
	for _, name := range names {
		args = append(args, name)
	}
	return "WHERE s.team = $1 AND s.name IN (" + placeholders(2, len(names)) + ")", args
}

// SecretName is the name of a secret with the facts that decide who may use it.
type SecretName struct {
	Name, WebhookUID string   // the webhook that it was created for, or ""
	Hosts            []string // the hosts that may get it
}

// Names lists the names of a team's secrets.
func (ss secretReads) Names(ctx context.Context, team string) ([]SecretName, error) {
	rows, err := ss.q.query(ctx, `SELECT name, webhook_uid, hosts
		FROM secrets
		WHERE team = $1
		ORDER BY name`, team)
	return collect(ss.q.store(), rows, err, "names of secrets", func(n *SecretName) []any {
		return []any{&n.Name, &n.WebhookUID, &document{into: &n.Hosts}}
	})
}

// Find reads one secret; absence is penstock.CodeNotFound.
func (ss Secrets) Find(ctx context.Context, team, name string) (SecretRow, error) {
	return ss.readOne(ctx, team, name)
}

// Lock reads one secret and locks it until the transaction ends; absence is
// penstock.CodeNotFound.
func (ss SecretsTx) Lock(ctx context.Context, team, name string) (SecretRow, error) {
	if err := ss.lockNamed(ctx, team, []string{name}); err != nil {
		return SecretRow{}, err
	}
	return ss.readOne(ctx, team, name)
}

func (ss secretReads) readOne(ctx context.Context, team, name string) (SecretRow, error) {
	list, err := ss.read(ctx, "WHERE s.team = $1 AND s.name = $2", team, name)
	return only(list, err, "secret", name)
}

// Use reads the existing secrets among names, and prevents their change or deletion until
// the transaction ends.
func (ss SecretsTx) Use(ctx context.Context, team string, names []string) ([]SecretRow, error) {
	if len(names) == 0 {
		return nil, nil
	}
	if err := ss.lockNamed(ctx, team, names); err != nil {
		return nil, err
	}
	where, args := namedSecrets(team, names)
	return ss.read(ctx, where, args...)
}

// lockNamed is a statement of its own, so that later statements see everything that was committed
// while it waited. It locks rows in one order to avoid deadlocks.
func (ss SecretsTx) lockNamed(ctx context.Context, team string, names []string) error {
	if ss.tx.s.d.lock == "" || len(names) == 0 { // SQLite has one writer
		return nil
	}
	where, args := namedSecrets(team, names)
	_, err := ss.tx.exec(ctx, `SELECT 1
		FROM secrets s `+where+" ORDER BY s.name"+ss.tx.s.d.lock, args...)
	return wrapf(err, "lock secrets")
}

// Count returns the number of a team's secrets. Other transactions that count them wait
// until this one ends.
func (ss SecretsTx) Count(ctx context.Context, team string) (n int, err error) {
	if ss.tx.s.d.lock != "" { // SQLite has one writer
		if _, err := ss.tx.exec(ctx, "SELECT 1 FROM teams WHERE uid = $1"+ss.tx.s.d.lock, team); err != nil {
			return 0, fmt.Errorf("lock team %s: %w", team, err)
		}
	}
	if err := ss.tx.row(ctx, "SELECT count(*) FROM secrets WHERE team = $1", team).Scan(&n); err != nil {
		return 0, fmt.Errorf("count the secrets: %w", err)
	}
	return n, nil
}

// notNull returns b, or an empty slice for nil.
func notNull(b []byte) []byte { return append([]byte{}, b...) }

// Add stores a new secret, in the version that r has. A name that the
// team uses already is a conflict.
func (ss SecretsTx) Add(ctx context.Context, r SecretRow) error {
	return ss.tx.nameTaken(secretFields.add(ctx, ss.tx, &r), "a secret", r.Name)
}

// Set stores the value of a secret that was read in the transaction. The previous value is
// not kept.
func (ss SecretsTx) Set(ctx context.Context, r SecretRow) error {
	n, err := ss.tx.exec(ctx, setSecret, secretFields.changes(&r, r.Team, r.Name)...)
	if err == nil && n == 0 {
		return penstock.NotFound("secret", r.Name)
	}
	return wrapf(err, "store secret %s", r.Name)
}

// Delete removes a secret and its value. It locks the row, so that nothing can start to use
// the secret meanwhile. Absence is penstock.CodeNotFound.
func (ss SecretsTx) Delete(ctx context.Context, team, name string) error {
	n, err := ss.tx.exec(ctx, "DELETE FROM secrets WHERE team = $1 AND name = $2", team, name)
	if err == nil && n == 0 {
		return penstock.NotFound("secret", name)
	}
	return wrapf(err, "delete secret %s", name)
}

// SetUses records the secrets that a resource names. Without names, it removes the record.
// Webhooks are found by their own rows.
func (ss SecretsTx) SetUses(
	ctx context.Context, team string, kind penstock.SecretUserType, uid string, names []string,
) error {
	if _, err := ss.tx.exec(ctx, `DELETE FROM secret_uses
		WHERE kind = $1 AND uid = $2`, string(kind), uid); err != nil {
		return fmt.Errorf("record the secrets of %s %s: %w", kind, uid, err)
	}
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		if _, err := ss.tx.exec(ctx, `INSERT INTO secret_uses (team, secret, kind, uid)
			VALUES ($1, $2, $3, $4)`, team, name, string(kind), uid); err != nil {
			return fmt.Errorf("record the secrets of %s %s: %w", kind, uid, err)
		}
	}
	return nil
}

// SecretUser is a resource that names a secret.
type SecretUser struct {
	penstock.SecretUser
	Secret   string
	Personal bool // seen by its creator and admins only
	Creator  string
}

// readSecretUsers has one SELECT for each kind of user; the condition on u is
// filled in.
const secretUsers = `SELECT u.secret, 'agent' AS kind, i.uid, i.name, i.factory_uid,
		COALESCE(f.name, '') AS factory, 0 AS personal, '' AS creator
	FROM secret_uses u
	JOIN identities i ON u.kind = 'agent' AND i.uid = u.uid AND i.deleted_at = 0
	LEFT JOIN factories f ON f.uid = i.factory_uid
	WHERE %[1]s
UNION ALL
	SELECT u.secret, 'schedule', s.id, s.name, '', '', s.personal, s.created_by
	FROM secret_uses u
	JOIN schedules s ON u.kind = 'schedule' AND s.id = u.uid AND s.enabled = 1
	WHERE %[1]s
UNION ALL
	SELECT u.secret, 'automation', a.uid, a.name, a.factory_uid, COALESCE(f.name, ''), 0, ''
	FROM secret_uses u
	JOIN automations a ON u.kind = 'automation' AND a.uid = u.uid
	LEFT JOIN factories f ON f.uid = a.factory_uid
	WHERE %[1]s
UNION ALL
	SELECT u.secret, 'environment', e.uid, COALESCE(NULLIF(e.name, ''), e.uid), '', '', 0, ''
	FROM secret_uses u
	JOIN environments e ON u.kind = 'environment' AND e.uid = u.uid AND e.deleted_at = 0
	WHERE %[1]s
UNION ALL
	SELECT u.secret, 'factory', f.uid, f.name, '', '', 0, ''
	FROM (
		SELECT team, secret, uid
		FROM secret_uses
		WHERE kind = 'factory'
		UNION
		SELECT team, secret, factory_uid
		FROM repositories
		WHERE secret <> ''
	) u
	JOIN factories f ON f.uid = u.uid AND f.deleted_at = 0
	WHERE %[1]s
UNION ALL
	SELECT u.secret_name, 'webhook', u.uid, u.name, u.factory_uid, COALESCE(f.name, ''), 0, ''
	FROM webhooks u
	LEFT JOIN factories f ON f.uid = u.factory_uid
	WHERE u.deleted_at = 0 AND %[2]s
ORDER BY 2, 6, 4, 3, 1`

var (
	secretUsersOfTeam = fmt.Sprintf(secretUsers, "u.team = $1", "u.team = $1")
	secretUsersOfOne  = fmt.Sprintf(secretUsers, "u.team = $1 AND u.secret = $2", "u.team = $1 AND u.secret_name = $2")
)

// Users returns the resources that name a secret, or any of the team's secrets if name is "".
// They are factories, environments, agents, automations, webhooks and active schedules.
func (ss secretReads) Users(ctx context.Context, team, name string) ([]SecretUser, error) {
	text, args := secretUsersOfTeam, []any{team}
	if name != "" {
		text, args = secretUsersOfOne, []any{team, name}
	}
	rows, err := ss.q.query(ctx, text, args...)
	return collect(ss.q.store(), rows, err, "users of secrets", func(u *SecretUser) []any {
		return []any{&u.Secret, &u.Type, &u.UID, &u.Name, &u.FactoryUID, &u.FactoryName, &u.Personal, &u.Creator}
	})
}

// SecretKey identifies a secret among the secrets of all teams.
type SecretKey struct{ Team, Name string }

// Touch records when runs last received secrets.
func (ss Secrets) Touch(ctx context.Context, used map[SecretKey]penstock.Time) error {
	keys := make([]SecretKey, 0, len(used))
	for key := range used {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b SecretKey) int { // in one order, so that replicas cannot deadlock
		return strings.Compare(a.Team+"\x00"+a.Name, b.Team+"\x00"+b.Name)
	})
	return ss.s.Write(ctx, func(tx *Tx) error {
		for _, k := range keys {
			if _, err := tx.exec(ctx, `UPDATE secrets
				SET last_used_at = $1
				WHERE team = $2 AND name = $3 AND last_used_at < $1`, int64(used[k]), k.Team, k.Name); err != nil {
				return fmt.Errorf("record when secret %s was used: %w", k.Name, err)
			}
		}
		return nil
	})
}
