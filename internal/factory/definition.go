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
	"github.com/penstock-dev/penstock/internal/access"
	"github.com/penstock-dev/penstock/internal/automation"
	"github.com/penstock-dev/penstock/internal/catalog"
	"github.com/penstock-dev/penstock/internal/definition"
	"github.com/penstock-dev/penstock/internal/store"
)

// FactoryFiles are the files that define a factory, by path: the contract's
// FactoryFiles.
type FactoryFiles struct {
	Files     map[string]string      `json:"files"`
	Revision  int64                  `json:"revision"`
	AppliedAt penstock.Time          `json:"applied_at"`
	Source    penstock.FactorySource `json:"source"`
}

// ApplyRequest asks for a factory to be defined by other files.
type ApplyRequest struct {
	Files  map[string]string `json:"files"`
	DryRun bool              `json:"dry_run,omitzero"`
	// BaseRevision of the files that were changed; absent: any.
	BaseRevision *int64 `json:"base_revision,omitempty"`
}

// Applied says what applying files has changed, or would. Nothing changes where
// the plan is empty, not even the revision.
type Applied struct {
	definition.Plan

	Revision    int64                 `json:"revision"` // that is in force
	Diagnostics []penstock.Diagnostic `json:"diagnostics"`
}

// Validated is what a server finds in files without applying them.
type Validated struct {
	Valid         bool                  `json:"valid"`
	SchemaVersion string                `json:"schema_version"` // that factory.yaml says, or the one it should
	Diagnostics   []penstock.Diagnostic `json:"diagnostics"`
	Scope         ValidationScope       `json:"validation_scope"`
	NotRun        []string              `json:"state_dependent_checks_not_run"`
	Deferred      []DeferredResolution  `json:"deferred_resolutions"`
}

// ValidationScope says what was checked: the documents, what they say about each other, and what they name outside.
type ValidationScope struct {
	Parser           string `json:"parser"`
	StateIndependent string `json:"state_independent"`
	StateDependent   string `json:"state_dependent"`
}

// What was done about a scope.
const (
	scopeChecked    = "checked"
	scopeNotChecked = "not_checked"
)

// DeferredResolution is a value of a file that only applying resolves.
type DeferredResolution struct {
	Path  string `json:"path"`
	Field string `json:"field"`
	Kind  string `json:"kind"`
}

// Checks that need more than the files. What a webhook's secret has to be like is checked with its value when the files
// are applied.
var (
	teamChecks = []string{
		"environments", "factory_names", "harnesses", "managed_secrets", "mcp_servers", "models", "runners", "schedules",
	}
	applyChecks = []string{"secret_values", "webhook_uids", "webhooks_per_factory"}
)

// Definition answers the files of a factory.
func (s *Factories) Definition(ctx context.Context, p penstock.Principal, uid string) (FactoryFiles, error) {
	if err := access.Require(p, penstock.ScopeFactoriesRead); err != nil {
		return FactoryFiles{}, err
	}
	factory, err := s.store.Factory(ctx, p.Team, uid)
	if err != nil {
		return FactoryFiles{}, err
	}
	files, revision, err := s.store.Definition(ctx, factory.UID)
	answer := FactoryFiles{
		Files: map[string]string{}, Revision: revision.Number, AppliedAt: revision.CreatedAt, Source: factory.Source,
	}
	for path, content := range files {
		answer.Files[path] = string(content)
	}
	return answer, err
}

// errUndone takes back what a transaction did, since nothing of it is wanted.
var errUndone = errors.New("undone")

// Apply defines a factory by other files, wholly or not at all: what is wrong
// with them is one invalid_definition with all findings. The same files change
// nothing. A dry run does what applying does, and takes it back.
func (s *Factories) Apply(ctx context.Context, p penstock.Principal, uid string, req ApplyRequest) (Applied, error) {
	if err := access.Require(p, penstock.ScopeFactoriesManage); err != nil {
		return Applied{}, err
	}
	files, err := givenFiles(req.Files)
	if err != nil {
		return Applied{}, err
	}
	known, err := s.known(ctx, p)
	if err != nil {
		return Applied{}, err
	}
	var applied Applied
	var parsed *definition.Definition
	err = s.answers.Alter(ctx, p.Team, func(tx *store.Tx) error {
		factory, err := tx.Factory(ctx, p.Team, uid)
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
		before, err := tx.DefinitionFiles(ctx, factory.UID)
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

// Validate says what is wrong with files for a factory of the team: that which has the name in factory.yaml, or a new
// one. A caller who may not manage factories is told what the files alone say.
func (s *Factories) Validate(ctx context.Context, p penstock.Principal, given map[string]string) (Validated, error) {
	files, err := givenFiles(given)
	if err != nil {
		return Validated{}, err
	}
	known := definition.Known{CheckCron: automation.CheckCron}
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

// knownOutside is what the team has that files may name, as it is now.
func (s *Factories) knownOutside(
	ctx context.Context, p penstock.Principal, files map[string][]byte,
) (definition.Known, error) {
	known, err := s.known(ctx, p)
	if err != nil {
		return known, err
	}
	secrets, err := s.secretsOfFiles(ctx, p, files)
	if err != nil {
		return known, err
	}
	secrets.into(&known)
	secrets.values(
		s, &known, func(name string) ([]store.SecretRow, error) { return s.store.SecretsNamed(ctx, p.Team, []string{name}) },
	)
	known.Taken = taken(func(name, alias string) ([]store.FactoryName, error) {
		return s.store.FactoriesNamed(ctx, p.Team, name, alias)
	}, func(f store.FactoryName, name string) bool { return strings.EqualFold(f.Name, name) })
	return known, nil
}

// secretsOfFiles judges files for the factory that has the name in factory.yaml.
func (s *Factories) secretsOfFiles(
	ctx context.Context, p penstock.Principal, files map[string][]byte,
) (fileSecrets, error) {
	secrets := fileSecrets{manages: p.May(penstock.ScopeSecretsManage)}
	var err error
	if secrets.all, err = s.store.SecretNames(ctx, p.Team); err != nil {
		return secrets, err
	}
	name := definition.FactoryName(files)
	if name == "" {
		return secrets, nil
	}
	factories, err := s.store.FactoriesNamed(ctx, p.Team, name, "")
	for _, f := range factories {
		if err == nil && strings.EqualFold(f.Name, name) {
			secrets.webhooks, err = s.store.Webhooks(ctx, p.Team, f.UID)
		}
	}
	return secrets, err
}

// SchemaVersions says which versions of a factory's files the server reads, and the documents that describe one.
type SchemaVersions struct {
	Current   string          `json:"current_version"`
	Versions  []SchemaVersion `json:"versions"`
	Documents []string        `json:"documents"`
}

// SchemaVersion is a version, and where its schemas are.
type SchemaVersion struct {
	Version string `json:"schema_version"`
	URL     string `json:"schema_url"` // path of the API
}

// schemaPath is where the schemas of a version are.
const schemaPath = "/api/v1/factory-files/schemas/"

// FactorySchemas describes every kind of document of a version.
type FactorySchemas struct {
	Version   string                     `json:"schema_version"`
	Documents map[string]json.RawMessage `json:"documents"` // JSON Schemas, by the names of their files
}

// FactorySchemas returns the JSON Schemas of the documents, and where they are.
func (s *Factories) FactorySchemas() (FactorySchemas, SchemaVersions, error) {
	documents, err := s.schemas()
	version := SchemaVersion{definition.SchemaVersion, schemaPath + definition.SchemaVersion}
	return FactorySchemas{definition.SchemaVersion, documents},
		SchemaVersions{definition.SchemaVersion, []SchemaVersion{version}, definition.SchemaFiles()}, err
}

// FactorySchema returns the JSON Schema of one kind of document, which is named as its file or as the kind.
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

// givenFiles are the files of a request.
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

// known is what the team has, outside of a factory, that files may name. What
// may change before they are applied is made sure of in the transaction.
func (s *Factories) known(ctx context.Context, p penstock.Principal) (definition.Known, error) {
	known := definition.Known{
		Harnesses: s.harnesses, MCPServers: []string{}, Runners: []string{}, Environments: []string{},
		ScheduleIDs: []string{}, CheckCron: automation.CheckCron, Presets: catalog.NetworkPresets(),
	}
	environments, err := s.store.Environments(ctx, store.Viewer{Team: p.Team, All: true}, true)
	if err != nil {
		return known, err
	}
	for _, e := range environments {
		known.Environments = append(known.Environments, e.UID)
	}
	workers, err := s.store.Workers(ctx)
	if err != nil {
		return known, err
	}
	known.Model = s.catalog.ModelCheck(workers)
	schedules, err := s.store.Schedules(ctx, store.Viewer{Team: p.Team, All: true})
	for _, r := range schedules {
		if !r.Personal { // personal schedules are visible only to their owner
			known.ScheduleIDs = append(known.ScheduleIDs, r.ID)
		}
	}
	return known, err
}

// diagnostics are findings in the vocabulary of the contract.
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

// invalidDefinition refuses files for their findings.
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
	e := penstock.Errorf(penstock.CodeInvalidDefinition, "the files have %d errors, the first one is %s", errs, first)
	if errs == 1 {
		e.Detail = "the files have an error: " + first
	}
	e.Diagnostics = diagnostics(found)
	return e
}

// revise makes files the next revision of a factory, and says which one it is.
func (a *application) revise(
	ctx context.Context, before, after map[string][]byte, plan definition.Plan,
) (int64, error) {
	number, err := a.tx.Revise(ctx, a.factory.UID)
	if err != nil {
		return 0, err
	}
	summary, err := json.Marshal(plan)
	if err != nil {
		return 0, fmt.Errorf("keep what a revision changes: %w", err)
	}
	author := a.p.Actor
	if err := a.tx.AddPrincipal(ctx, a.p.Team, author); err != nil {
		return 0, err
	}
	return number, a.tx.AddRevision(ctx, a.factory.UID, store.Revision{
		Number: number, Author: &author, Summary: string(summary), CreatedAt: penstock.Now(),
	}, before, after)
}

// sameFiles reports whether two trees are the same, byte for byte.
func sameFiles(a, b map[string][]byte) bool {
	return maps.EqualFunc(a, b, func(x, y []byte) bool { return string(x) == string(y) })
}

// compare is the plan of a change from files to a definition.
func (a *application) compare(
	ctx context.Context, before map[string][]byte, after *definition.Definition,
) (definition.Plan, error) {
	present := a.present(before)
	former, err := a.tx.EndedFiles(ctx, a.factory.UID)
	return definition.Compare(present, after, func(kind definition.Kind, name string) bool {
		return len(definition.Paths(former, kind, name)) > 0
	}), err
}

// present is what the files before say, with what could be read of documents that have
// errors by now; nil where there are none.
func (a *application) present(before map[string][]byte) *definition.Definition {
	if a.was == nil && len(before) > 0 {
		if a.was = a.s.parsed.find(a.factory.UID, a.factory.Definition.Revision); a.was == nil {
			a.was, a.wasFound = definition.Read(before, definition.Known{})
		}
	}
	return a.was
}
