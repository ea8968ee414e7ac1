package store

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
)

// forgeNone is the host of a factory without repositories.
const forgeNone penstock.CodeForge = "NONE"

// SettingsOf returns the settings of a factory with these defaults, repositories, and hosts of
// repositories that its files name.
func SettingsOf(
	defaults penstock.Overrides, repositories []penstock.WorkRepository, forges []penstock.CodeForge,
) penstock.FactorySettings {
	settings := penstock.FactorySettings{
		Repositories: []penstock.WorkRepository{}, CodeForge: forgeNone,
		CredentialStrategy: cmp.Or(defaults.CredentialStrategy, "EXECUTOR"),
		DefaultModel:       defaults.Model, DefaultEnvironment: defaults.EnvironmentID,
		AgentDefaults: penstock.AgentDefaults{
			Secrets: []penstock.NamedSecret{},
		},
	}
	penstock.CarryKeys(&settings.AgentDefaults, defaults)
	if settings.AgentDefaults.MCPServers == nil {
		settings.AgentDefaults.MCPServers = map[string]penstock.MCPServer{}
	}
	if h := defaults.Harness; settings.DefaultModel == "" && h != nil && h.Kind() == penstock.HarnessBuiltin {
		settings.DefaultModel = h.ModelID
	}
	for _, name := range defaults.Secrets {
		settings.AgentDefaults.Secrets = append(settings.AgentDefaults.Secrets, penstock.NamedSecret{Name: name})
	}
	if len(repositories) > 0 {
		settings.CodeForge = penstock.ForgeGitHub
	}
	if len(forges) > 0 && !slices.Contains(forges, settings.CodeForge) {
		settings.CodeForge = forges[0]
	}
	for _, r := range repositories {
		if len(forges) <= 1 { // otherwise the files do not say where it is
			r.CodeForge = settings.CodeForge
		}
		settings.Repositories = append(settings.Repositories, r)
	}
	if settings.CodeForges = forges; len(forges) == 0 {
		settings.CodeForges = []penstock.CodeForge{settings.CodeForge}
	}
	return settings
}

// FactoryRow is a factory with its internal fields.
type FactoryRow struct {
	penstock.Factory // without Agents and counts if it was read in a transaction
	Team             string
	Origin           RepositoryRow // of a factory that comes from a repository
	FactoryConfig
}

// FactoryConfig is the configuration that a factory gives to the runs of its agents.
type FactoryConfig struct {
	Defaults penstock.Overrides        `json:"defaults,omitzero"`
	WorksOn  []penstock.WorkRepository `json:"works_on,omitempty"` // without their forges
	// ByAgent lists what the key of an agent has added to WorksOn, as owner/name in lower case. It brings no events.
	ByAgent []string `json:"by_agent,omitempty"`
	// CodeForges are the hosts that the files name.
	CodeForges []penstock.CodeForge `json:"code_forges,omitempty"`
	// Every run gets these, in addition to what stronger layers add.
	Secrets    []string                      `json:"secrets,omitempty"`
	MCPServers map[string]penstock.MCPServer `json:"mcp_servers,omitempty"`
	// ImageSecrets are the credentials for pulling the images of its runners.
	ImageSecrets []string `json:"image_secrets,omitempty"`
	// Network and Models are a layer of every run's network and models.
	Network *penstock.Network     `json:"network,omitempty"`
	Models  *penstock.ModelPolicy `json:"models,omitempty"`
	// Forge is weaker than Defaults.
	Forge *penstock.ForgeSettings `json:"forge,omitempty"`
	// RunnerSecrets are the credentials in the networks of its runners.
	RunnerSecrets []string `json:"runner_secrets,omitempty"`
}

// ForgeDefaults returns what agents of the factory inherit.
func (c FactoryConfig) ForgeDefaults() *penstock.ForgeSettings { return c.Defaults.Forge.Over(c.Forge) }

// SecretNames lists every secret that the configuration names.
func (c FactoryConfig) SecretNames() []string {
	every := penstock.Config{Secrets: c.Secrets, MCPServers: c.MCPServers}
	return slices.Concat(
		c.Defaults.Config().SecretNames(), every.SecretNames(), c.ImageSecrets, c.Network.SecretNames(), c.RunnerSecrets,
	)
}

// factoryRecord is the row of a factory.
type factoryRecord struct {
	FactoryRow
	revision int64
}

// factoryFields are the columns of a factory.
var factoryFields = newResource("factories", "f",
	textColumn("uid", func(r *factoryRecord) *string { return &r.UID }),
	textColumn("team", func(r *factoryRecord) *string { return &r.Team }),
	textColumn("name", func(r *factoryRecord) *string { return &r.Name }).editable(),
	storedText("folded", func(r *factoryRecord) string { return fold(r.Name) }).editable(),
	textColumn("alias", func(r *factoryRecord) *string { return &r.Alias }).editable(),
	storedText("folded_alias", func(r *factoryRecord) string { return fold(r.Alias) }).editable(),
	textColumn("description", func(r *factoryRecord) *string { return &r.Description }).editable(),
	textColumn("source", func(r *factoryRecord) *penstock.FactorySource { return &r.Source }),
	textColumn("foreman_uid", func(r *factoryRecord) *string { return &r.ForemanUID }).editable(),
	jsonColumn("data", func(r *factoryRecord) *FactoryConfig { return &r.FactoryConfig }).editable(),
	numberColumn("revision", func(r *factoryRecord) *int64 { return &r.revision }),
	numberColumn("created_at", func(r *factoryRecord) *penstock.Time { return &r.CreatedAt }),
	numberColumn("updated_at", func(r *factoryRecord) *penstock.Time { return &r.UpdatedAt }).editable(),
)

var (
	factoryColumns = "SELECT " + factoryFields.selected + ", " + repositoryOrZero + `,
	(SELECT count(*) FROM webhooks w WHERE w.factory_uid = f.uid AND w.deleted_at = 0),
	(SELECT count(*) FROM automations a WHERE a.factory_uid = f.uid)
	FROM factories f
	LEFT JOIN repositories r ON r.factory_uid = f.uid `
	setFactory = factoryFields.update("", "uid = ? AND deleted_at = 0")
)

func scanFactory(row scanner) (FactoryRow, error) {
	var record factoryRecord
	r := &record.FactoryRow
	repository := r.Origin.into(&r.WebhookCount, &r.AutomationCount)
	if err := row.Scan(factoryFields.into(&record, repository...)...); err != nil {
		return *r, err
	}
	revision := record.revision
	r.Definition = penstock.FactoryDefinition{Revision: revision, Status: penstock.DefinitionApplied}
	if r.Source == FactoryRepository {
		r.Repository, r.Definition = &r.Origin.Repository, r.Origin.definition(revision)
	}
	r.TeamUID, r.FactorySettings = r.Team, SettingsOf(r.Defaults, r.WorksOn, r.CodeForges)
	r.FactorySettings.Network, r.FactorySettings.Models, r.FactorySettings.Forge = r.Network, r.Models, r.Forge
	return *r, nil
}

// Changed gives the team its next version. Call it before a change that affects the evaluation of
// deliveries, first in the transaction: the lock on the team's row orders such changes.
func (tx *Tx) Changed(ctx context.Context, team string) error {
	_, err := tx.exec(ctx, `UPDATE teams
		SET version = version + 1
		WHERE uid = $1`, team)
	return wrapf(err, "give team %s its next version", team)
}

// TeamVersion grows with each call of [Tx.Changed], and with each pause by failures. A caller that caches
// rows reads the version before the rows, so that the rows are never older than their version.
func (s *Store) TeamVersion(ctx context.Context, team string) (version int64, err error) {
	err = s.row(ctx, "SELECT "+teamVersion+" FROM teams t WHERE t.uid = $1", team).Scan(&version)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, penstock.NotFound("team", team)
	}
	return version, s.d.mapError(err)
}

// List returns one page of a team's factories, by name. It ends before penstock.MaxPageBytes
// of JSON, but has at least one factory.
func (fs Factories) List(
	ctx context.Context, team string, q penstock.FactoryQuery,
) (list []FactoryRow, next string, err error) {
	limit := cmp.Or(q.Limit, penstock.DefaultLimit)
	w := &where{}
	w.add("f.team = ? AND f.deleted_at = 0", team)
	if search := strings.TrimSpace(q.Search); search != "" {
		pattern := "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(fold(search)) + "%"
		w.add(`(f.folded LIKE ? ESCAPE '\' OR f.folded_alias LIKE ? ESCAPE '\')`, pattern, pattern)
	}
	filter := "factories:" + team + ":" + q.Search
	if q.Cursor != "" {
		c, err := decodeCursor(q.Cursor, filter)
		if err != nil {
			return nil, "", err
		}
		w.add("(f.folded, f.uid) > (?, ?)", c.Value, c.ID)
	}
	text, args := w.numbered(1)
	rows, err := fs.s.query(ctx, factoryColumns+"WHERE "+text+fmt.Sprintf(`
		ORDER BY f.folded, f.uid
		LIMIT %d`, limit+1), args...)
	if err != nil {
		return nil, "", fs.s.d.mapError(fmt.Errorf("list factories: %w", err))
	}
	defer rows.Close()
	list = []FactoryRow{}
	bytes, more := 0, false
	for rows.Next() {
		r, err := scanFactory(rows)
		if err != nil {
			return nil, "", fmt.Errorf("list factories: %w", err)
		}
		bytes += len(marshal(r.Factory))
		if more = len(list) == limit || bytes > MaxPageBytes && len(list) > 0; more {
			break
		}
		list = append(list, r)
	}
	if err := rows.Err(); err != nil {
		return nil, "", fs.s.d.mapError(err)
	}
	if more {
		last := list[len(list)-1]
		next = cursor{Filter: filter, Value: fold(last.Name), ID: last.UID}.encode()
	}
	return list, next, fs.setAgents(ctx, list)
}

// setAgents fills in the agents of factories, by name.
func (fs factoryReads) setAgents(ctx context.Context, list []FactoryRow) error {
	if len(list) == 0 {
		return nil
	}
	args, at := make([]any, len(list)), map[string]int{}
	for i := range list {
		args[i], at[list[i].UID] = list[i].UID, i
		list[i].Agents = []penstock.FactoryAgent{}
	}
	agents, err := readIdentities(ctx, fs.q, `WHERE factory_uid <> ''
			AND factory_uid IN (`+placeholders(1, len(args))+`)
			AND deleted_at = 0
		ORDER BY folded, uid`, args...)
	for _, a := range agents {
		f := &list[at[a.FactoryUID]]
		f.Agents = append(f.Agents, penstock.FactoryAgent{UID: a.UID, Name: a.Name, Type: a.Type})
	}
	return err
}

// Find reads one factory. In a transaction that has called [Tx.Changed], no other one changes it until
// the end. Absence is penstock.CodeNotFound.
func (fs factoryReads) Find(ctx context.Context, team, uid string) (FactoryRow, error) {
	r, err := scanFactory(fs.q.row(ctx, factoryColumns+"WHERE f.uid = $1 AND f.team = $2 AND f.deleted_at = 0", uid, team))
	if errors.Is(err, sql.ErrNoRows) {
		return r, penstock.NotFound("factory", uid)
	}
	if err != nil {
		return r, fs.q.store().d.mapError(fmt.Errorf("read factory %s: %w", uid, err))
	}
	one := []FactoryRow{r}
	err = fs.setAgents(ctx, one)
	return one[0], err
}

// FactoryPart is what a factory contributes to a run.
type FactoryPart struct {
	Name, Alias string
	Revision    int64 // of its files
	FactoryConfig
}

// Part reads the configuration that a factory gives to runs; absence is penstock.CodeNotFound.
func (fs Factories) Part(ctx context.Context, team, uid string) (part FactoryPart, err error) {
	var data string
	err = fs.s.row(ctx, `SELECT name, alias, revision, data
		FROM factories
		WHERE uid = $1 AND team = $2 AND deleted_at = 0`, uid, team).Scan(&part.Name, &part.Alias, &part.Revision, &data)
	if errors.Is(err, sql.ErrNoRows) {
		return part, penstock.NotFound("factory", uid)
	}
	if err != nil {
		return part, fs.s.d.mapError(fmt.Errorf("read the configuration of factory %s: %w", uid, err))
	}
	return part, unmarshal(data, &part.FactoryConfig)
}

// Add stores a new factory. A name or alias that the team uses already is a conflict,
// ignoring case.
func (fs FactoriesTx) Add(ctx context.Context, r FactoryRow) error {
	if err := fs.setNames(ctx, r); err != nil {
		return err
	}
	err := factoryFields.add(ctx, fs.tx, &factoryRecord{r, r.Definition.Revision})
	if err != nil {
		return fs.tx.nameTaken(err, "a factory", r.Name)
	}
	return fs.tx.Secrets().SetUses(ctx, r.Team, SecretOfFactory, r.UID, r.SecretNames())
}

// Has reports whether a team has a factory.
func (fs FactoriesTx) Has(ctx context.Context, team, uid string) (bool, error) {
	var n int
	err := fs.tx.row(ctx, "SELECT count(*) FROM factories WHERE uid = $1 AND team = $2", uid, team).Scan(&n)
	return n > 0, err
}

// Set stores a factory that was read and changed in the transaction. It does not change the
// revision.
func (fs FactoriesTx) Set(ctx context.Context, r FactoryRow) error {
	if err := fs.setNames(ctx, r); err != nil {
		return err
	}
	_, err := fs.tx.exec(ctx, setFactory, factoryFields.changes(&factoryRecord{FactoryRow: r}, r.UID)...)
	if err != nil {
		return fs.tx.nameTaken(err, "a factory", r.Name)
	}
	return fs.tx.Secrets().SetUses(ctx, r.Team, SecretOfFactory, r.UID, r.SecretNames())
}

// Revise counts a change of the definition of a factory, and returns the number
// of its revision.
func (fs FactoriesTx) Revise(ctx context.Context, uid string) (revision int64, err error) {
	if _, err := fs.tx.exec(ctx, `UPDATE factories
		SET revision = revision + 1, updated_at = $1
		WHERE uid = $2`, int64(penstock.Now()), uid); err != nil {
		return 0, fmt.Errorf("count a change of factory %s: %w", uid, err)
	}
	return fs.Revision(ctx, uid)
}

// Revision reads the number of a factory's revision.
func (fs FactoriesTx) Revision(ctx context.Context, uid string) (revision int64, err error) {
	if err := fs.tx.row(ctx, `SELECT revision
		FROM factories
		WHERE uid = $1`, uid).Scan(&revision); err != nil {
		return 0, fmt.Errorf("read the revision of factory %s: %w", uid, err)
	}
	return revision, nil
}

// setNames rejects a name or alias that another factory of the team has as name or alias, so
// that a reference by either is unique.
func (fs FactoriesTx) setNames(ctx context.Context, r FactoryRow) error {
	others, err := fs.Named(ctx, r.Team, r.Name, r.Alias)
	if err != nil {
		return err
	}
	for _, own := range []string{r.Name, r.Alias} {
		for _, o := range others {
			if o.UID != r.UID && o.Called(own) {
				return penstock.Errorf(penstock.CodeConflict, "a factory with the name or alias %q already exists", own)
			}
		}
	}
	return nil
}

// FactoryName holds the names of a factory.
type FactoryName struct{ UID, Name, Alias string }

// Called reports whether name is the factory's name or alias, ignoring case.
func (n FactoryName) Called(name string) bool {
	return name != "" && (fold(name) == fold(n.Name) || fold(name) == fold(n.Alias))
}

// Named lists the factories of a team that have one of two names as name or alias.
func (fs factoryReads) Named(ctx context.Context, team, name, other string) ([]FactoryName, error) {
	rows, err := fs.q.query(ctx, `SELECT uid, name, alias
		FROM factories
		WHERE team = $1
			AND deleted_at = 0
			AND (folded IN ($2, $3) OR folded_alias <> '' AND folded_alias IN ($2, $3))
		ORDER BY uid`, team, fold(name),
		fold(other))
	return collect(
		fs.q.store(), rows, err, "names of factories", func(n *FactoryName) []any { return []any{&n.UID, &n.Name, &n.Alias} },
	)
}

// Delete removes a factory that was read in the transaction from every list. It also removes
// its automations, its webhooks with their copies of secrets, and its agents with their keys. Runs
// and deliveries stay. The files stay too, because runs find their skills in them.
func (fs FactoriesTx) Delete(ctx context.Context, r FactoryRow) error {
	for _, a := range r.Agents {
		if err := fs.tx.Identities().Delete(ctx, r.Team, a.UID); err != nil {
			return err
		}
	}
	for _, statement := range []string{
		`DELETE FROM automation_clocks
			WHERE automation_uid IN (SELECT uid FROM automations WHERE factory_uid = $1)`,
		`DELETE FROM automation_schedules
			WHERE automation_uid IN (SELECT uid FROM automations WHERE factory_uid = $1)`,
		`DELETE FROM secret_uses
			WHERE kind = 'automation' AND uid IN (SELECT uid FROM automations WHERE factory_uid = $1)`,
		"DELETE FROM automation_webhooks WHERE factory_uid = $1",
		"DELETE FROM automations WHERE factory_uid = $1",
		"DELETE FROM repositories WHERE factory_uid = $1",
		"DELETE FROM repository_commits WHERE factory_uid = $1",
		"DELETE FROM secret_uses WHERE kind = 'factory' AND uid = $1",
	} {
		if _, err := fs.tx.exec(ctx, statement, r.UID); err != nil {
			return fmt.Errorf("delete what belongs to factory %s: %w", r.UID, err)
		}
	}
	webhooks, err := fs.tx.Webhooks().read(ctx, "w.factory_uid = $1", r.UID)
	if err != nil {
		return err
	}
	for _, w := range webhooks {
		if err := fs.tx.Webhooks().Delete(ctx, w.UID); err != nil {
			return err
		}
	}
	_, err = fs.tx.exec(ctx, `UPDATE factories
		SET deleted_at = $1
		WHERE uid = $2 AND deleted_at = 0`, int64(penstock.Now()), r.UID)
	return wrapf(err, "delete factory %s", r.UID)
}

// The places where a factory can be edited.
const (
	FactoryService    penstock.FactorySource = "service"    // on this server, through the API
	FactoryRepository penstock.FactorySource = "repository" // in a Git repository
)
