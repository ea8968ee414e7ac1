package factory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/definition"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// FactoryFiles are the files that define a factory, by path: the contract's
// FactoryFiles.
type FactoryFiles struct {
	Files     map[string]string      `json:"files"`
	Revision  int64                  `json:"revision"`
	AppliedAt penstock.Time          `json:"applied_at"`
	Source    penstock.FactorySource `json:"source"`
}

// ApplyRequest replaces the files of a factory.
type ApplyRequest struct {
	Files  map[string]string `json:"files"`
	DryRun bool              `json:"dry_run,omitzero"`
	// BaseRevision is the revision on which the new files are based; absent: any.
	BaseRevision *int64 `json:"base_revision,omitempty"`
}

// Applied is the result of applying files, or of a dry run. With an empty plan, nothing changes,
// not even the revision.
type Applied struct {
	definition.Plan

	Revision    int64                 `json:"revision"` // the active one
	Diagnostics []penstock.Diagnostic `json:"diagnostics"`
}

// Validated is the result of checking files without applying them.
type Validated struct {
	Valid         bool                  `json:"valid"`
	SchemaVersion string                `json:"schema_version"` // the one in factory.yaml, or the current one
	Diagnostics   []penstock.Diagnostic `json:"diagnostics"`
	Scope         ValidationScope       `json:"validation_scope"`
	NotRun        []string              `json:"state_dependent_checks_not_run"`
	Deferred      []DeferredResolution  `json:"deferred_resolutions"`
}

// ValidationScope says what was checked: the documents, the references between them, and their
// references to other resources.
type ValidationScope struct {
	Parser           string `json:"parser"`
	StateIndependent string `json:"state_independent"`
	StateDependent   string `json:"state_dependent"`
}

// The results of a scope.
const (
	scopeChecked    = "checked"
	scopeNotChecked = "not_checked"
)

// DeferredResolution is a value of a file that is resolved only when it is applied.
type DeferredResolution struct {
	Path  string `json:"path"`
	Field string `json:"field"`
	Kind  string `json:"kind"`
}

// Checks that need more than the files. The value of a webhook's secret is checked when the files
// are applied.
var (
	teamChecks = []string{
		"environments", "factory_names", "harnesses", "managed_secrets", "mcp_servers", "models", "runners", "schedules",
	}
	applyChecks = []string{"secret_values", "webhook_uids", "webhooks_per_factory"}
)

// Definition returns the files of a factory at a revision, or the current ones if it is 0.
func (s *Factories) Definition(
	ctx context.Context, p penstock.Principal, uid string, revision int64,
) (FactoryFiles, error) {
	if err := access.Require(p, penstock.ScopeFactoriesRead); err != nil {
		return FactoryFiles{}, err
	}
	factory, err := s.store.Factories.Find(ctx, p.Team, uid)
	if err != nil {
		return FactoryFiles{}, err
	}
	files, found, err := s.store.Definitions.Find(ctx, factory.UID, revision)
	response := FactoryFiles{
		Files: map[string]string{}, Revision: found.Number, AppliedAt: found.CreatedAt, Source: factory.Source,
	}
	for path, content := range files {
		response.Files[path] = string(content)
	}
	return response, err
}

// errUndone is returned in a transaction to roll it back on purpose.
var errUndone = errors.New("undone")

// Apply replaces the files of a factory, completely or not at all. Invalid files are one
// invalid_definition with all findings. Equal files change nothing. A dry run does the same and
// rolls back.
func (s *Factories) Apply(ctx context.Context, p penstock.Principal, uid string, req ApplyRequest) (Applied, error) {
	if err := access.Require(p, penstock.ScopeFactoriesManage); err != nil {
		return Applied{}, err
	}
	files, err := givenFiles(req.Files)
	if err != nil {
		return Applied{}, err
	}
	known, err := s.known(ctx, p, uid)
	if err != nil {
		return Applied{}, err
	}
	var applied Applied
	var parsed *definition.Definition
	err = s.responses.Alter(ctx, p.Team, func(tx *store.Tx) error {
		factory, err := tx.Factories().Find(ctx, p.Team, uid)
		if err != nil {
			return err
		}
		if !req.DryRun {
			if err := s.repositories.readOnly(factory, definition.KindFactory, factory.Name); err != nil {
				return err
			}
		}
		if base := req.BaseRevision; base != nil && *base != factory.Definition.Revision {
			return penstock.Errorf(
				penstock.CodeConflict, "base_revision is %d, but the factory now has revision %d: read its files again", *base,
				factory.Definition.Revision,
			)
		}
		before, err := tx.Definitions().Files(ctx, factory.UID)
		if err != nil {
			return err
		}
		a := application{s: s, tx: tx, p: p, factory: factory, known: known}
		applied, err = a.apply(ctx, before, files)
		parsed = a.parsed
		if err != nil {
			return err
		}
		if req.DryRun {
			applied.Revision = factory.Definition.Revision
		}
		if req.DryRun || applied.Revision == factory.Definition.Revision {
			return errUndone
		}
		return nil
	})
	if err == nil {
		s.parsed.keep(uid, applied.Revision, parsed)
	}
	if errors.Is(err, errUndone) {
		err = nil
	}
	return applied, err
}

// Validate checks files for the team's factory with the name in factory.yaml, or for a new one. A
// caller who may not manage factories gets only findings from the files alone.
func (s *Factories) Validate(ctx context.Context, p penstock.Principal, given map[string]string) (Validated, error) {
	files, err := givenFiles(given)
	if err != nil {
		return Validated{}, err
	}
	known := definition.Known{CheckCron: CheckCron, Repositories: s.checkRepositories}
	scope := ValidationScope{Parser: scopeChecked, StateIndependent: scopeChecked, StateDependent: scopeNotChecked}
	notRun := slices.Sorted(slices.Values(slices.Concat(teamChecks, applyChecks)))
	if p.May(penstock.ScopeFactoriesManage) {
		if known, err = s.knownOutside(ctx, p, files); err != nil {
			return Validated{}, err
		}
		scope.StateDependent, notRun = scopeChecked, applyChecks
	}
	_, found := definition.Parse(files, known)
	return Validated{
		Valid: !definition.HasErrors(found), SchemaVersion: definition.DeclaredVersion(files),
		Diagnostics: diagnostics(found),
		Scope:       scope, NotRun: notRun, Deferred: []DeferredResolution{},
	}, nil
}

// knownOutside returns the team's current resources that files may name.
func (s *Factories) knownOutside(
	ctx context.Context, p penstock.Principal, files map[string][]byte,
) (definition.Known, error) {
	secrets, err := s.secretsOfFiles(ctx, p, files)
	if err != nil {
		return definition.Known{}, err
	}
	known, err := s.known(ctx, p, secrets.factory)
	if err != nil {
		return known, err
	}
	secrets.into(&known)
	secrets.values(
		s, &known, func(name string) ([]store.SecretRow, error) {
			return s.store.Secrets.Named(ctx, p.Team, []string{name})
		},
	)
	known.Taken = taken(func(name, alias string) ([]store.FactoryName, error) {
		return s.store.Factories.Named(ctx, p.Team, name, alias)
	}, func(f store.FactoryName, name string) bool { return strings.EqualFold(f.Name, name) })
	return known, nil
}

// secretsOfFiles returns the checks of secrets for the factory with the name in factory.yaml.
func (s *Factories) secretsOfFiles(
	ctx context.Context, p penstock.Principal, files map[string][]byte,
) (fileSecrets, error) {
	secrets := fileSecrets{manages: p.May(penstock.ScopeSecretsManage)}
	var err error
	if secrets.all, err = s.store.Secrets.Names(ctx, p.Team); err != nil {
		return secrets, err
	}
	name := definition.FactoryName(files)
	if name == "" {
		return secrets, nil
	}
	factories, err := s.store.Factories.Named(ctx, p.Team, name, "")
	for _, f := range factories {
		if err == nil && strings.EqualFold(f.Name, name) {
			secrets.factory = f.UID
			secrets.webhooks, err = s.store.Webhooks.List(ctx, p.Team, f.UID)
		}
	}
	return secrets, err
}

// SchemaVersions lists the versions of factory files that the server reads, with their documents.
type SchemaVersions struct {
	Current   string          `json:"current_version"`
	Versions  []SchemaVersion `json:"versions"`
	Documents []string        `json:"documents"`
}

// SchemaVersion is a version with the address of its schemas.
type SchemaVersion struct {
	Version string `json:"schema_version"`
	URL     string `json:"schema_url"` // path of the API
}

// schemaPath is the path of the schemas.
const schemaPath = "/api/v1/factory-files/schemas/"

// FactorySchemas describes every kind of document of a version.
type FactorySchemas struct {
	Version   string                     `json:"schema_version"`
	Documents map[string]json.RawMessage `json:"documents"` // JSON Schemas, by file name
}

// FactorySchemas returns the JSON Schemas of the documents, and their addresses.
func (s *Factories) FactorySchemas() (FactorySchemas, SchemaVersions, error) {
	documents, err := s.schemas()
	version := SchemaVersion{definition.SchemaVersion, schemaPath + definition.SchemaVersion}
	return FactorySchemas{definition.SchemaVersion, documents},
		SchemaVersions{definition.SchemaVersion, []SchemaVersion{version}, definition.SchemaFiles()}, err
}

// FactorySchema returns the JSON Schema of one kind of document. document is the kind or the name
// of its file.
func (s *Factories) FactorySchema(version, document string) (json.RawMessage, error) {
	if version != definition.SchemaVersion {
		return nil, penstock.Errorf(
			penstock.CodeNotFound, "%q is not a version of factory files; use %s", version, definition.SchemaVersion,
		)
	}
	documents, err := s.schemas()
	text, ok := documents[definition.SchemaFile(document)]
	if err == nil && !ok {
		err = penstock.Errorf(
			penstock.CodeNotFound, "%q is not a document; use one of %s", document,
			strings.Join(definition.SchemaFiles(), ", "),
		)
	}
	return text, err
}

// givenFiles returns the files of a request.
func givenFiles(given map[string]string) (map[string][]byte, error) {
	if given == nil {
		return nil, penstock.Invalid("/files", "is required: the content of each file by its path")
	}
	files := make(map[string][]byte, len(given))
	for path, content := range given {
		files[path] = []byte(content)
	}
	return files, nil
}

func (s *Factories) checkRepositories(list []penstock.RunRepository) []penstock.FieldError {
	return s.catalog.CheckRepositories("", list)
}

// known returns the team's resources outside of the factory ("": a new one) that files may name. The
// transaction checks again what may change before the files are applied.
func (s *Factories) known(ctx context.Context, p penstock.Principal, factory string) (definition.Known, error) {
	known := definition.Known{
		Harnesses: s.harnesses, MCPServers: []string{}, Runners: []string{}, Environments: []string{},
		ScheduleIDs: []string{}, CheckCron: CheckCron, Presets: run.NetworkPresets(), Repositories: s.checkRepositories,
	}
	if !p.IsAgent() { // who does not learn which connections exist
		find, err := s.catalog.Connections(ctx, p.Team)
		if err != nil {
			return known, err
		}
		known.Connection = func(r penstock.RunRepository) (key, problem string) { return find(factory, r) }
	}
	environments, err := s.store.Environments.List(ctx, store.Viewer{Team: p.Team, All: true}, true)
	if err != nil {
		return known, err
	}
	for _, e := range environments {
		known.Environments = append(known.Environments, e.UID)
	}
	workers, err := s.store.Queue.Workers(ctx)
	if err != nil {
		return known, err
	}
	known.Model = s.catalog.ModelCheck(workers)
	schedules, err := s.store.Schedules.List(ctx, store.Viewer{Team: p.Team, All: true})
	for _, r := range schedules {
		if !r.Personal { // personal schedules are visible only to their owner
			known.ScheduleIDs = append(known.ScheduleIDs, r.ID)
		}
	}
	return known, err
}

// diagnostics converts findings to the vocabulary of the contract.
func diagnostics(found []definition.Diagnostic) []penstock.Diagnostic {
	list := make([]penstock.Diagnostic, len(found))
	for i, d := range found {
		list[i] = penstock.Diagnostic{
			Code: string(d.Code), Message: d.Message, Path: d.Path, Line: d.Line, Column: d.Column, Severity: string(d.Severity),
			Nearest: d.Nearest,
		}
	}
	return list
}

// invalidDefinition returns the error for files with these findings.
func invalidDefinition(found []definition.Diagnostic) error {
	first, errs := "", 0
	for _, d := range found {
		if d.Severity != definition.SeverityError {
			continue
		}
		if errs++; first == "" {
			first = d.String()
		}
	}
	e := penstock.Errorf(penstock.CodeInvalidDefinition, "the files have %d errors; the first is %s", errs, first)
	if errs == 1 {
		e.Detail = "the files have an error: " + first
	}
	e.Diagnostics = diagnostics(found)
	return e
}

// revise makes files the next revision of a factory, and returns its number.
func (a *application) revise(
	ctx context.Context, before, after map[string][]byte, plan definition.Plan,
) (int64, error) {
	number, err := a.tx.Factories().Revise(ctx, a.factory.UID)
	if err != nil {
		return 0, err
	}
	summary, err := json.Marshal(plan)
	if err != nil {
		return 0, fmt.Errorf("keep what a revision changes: %w", err)
	}
	author := a.p.Actor
	if err := a.tx.Keys().AddPrincipal(ctx, a.p.Team, author); err != nil {
		return 0, err
	}
	now := penstock.Now()
	if err := a.tx.Definitions().AddRevision(ctx, a.factory.UID, store.Revision{
		Number: number, Author: &author, Summary: string(summary), CreatedAt: now,
	}, before, after); err != nil {
		return 0, err
	}
	return number, a.tx.Endpoints().Announce(ctx, a.factory.Team, store.Announcement{
		Type: store.EventDefinitionApplied, At: now,
		Path: fmt.Sprintf("/api/v1/factory/%s/definition/history/%d", a.factory.UID, number),
		Data: penstock.EndpointData{FactoryUID: a.factory.UID, Commit: a.commit, Revision: number},
	})
}

// sameFiles reports whether two trees are equal, byte for byte.
func sameFiles(a, b map[string][]byte) bool {
	return maps.EqualFunc(a, b, func(x, y []byte) bool { return string(x) == string(y) })
}

// compare returns the plan of a change from files to a definition.
func (a *application) compare(
	ctx context.Context, before map[string][]byte, after *definition.Definition,
) (definition.Plan, error) {
	present := a.present(before)
	former, err := a.tx.Definitions().EndedFiles(ctx, a.factory.UID)
	return definition.Compare(present, after, func(kind definition.Kind, name string) bool {
		return len(definition.Paths(former, kind, name)) > 0
	}), err
}

// present returns the definition of the previous files. It includes the readable parts of documents
// that have errors by now. It returns nil without files.
func (a *application) present(before map[string][]byte) *definition.Definition {
	if a.was == nil && len(before) > 0 {
		if a.was = a.s.parsed.find(a.factory.UID, a.factory.Definition.Revision); a.was == nil {
			a.was, a.wasFound = definition.Read(before, definition.Known{})
		}
	}
	return a.was
}
