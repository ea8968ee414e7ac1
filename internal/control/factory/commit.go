package factory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/definition"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/supply/git"
)

// applySnapshot applies a commit to a factory, or stores why it is rejected.
func (s *Repositories) applySnapshot(
	ctx context.Context, before, row store.RepositoryRow, snapshot git.Snapshot,
) error {
	files, found := treeOf(snapshot.Files)
	if files == nil {
		return s.rejectCommit(ctx, before, row, snapshot.Commit, summary(diagnostics(found)), diagnostics(found))
	}
	p := penstock.Principal{
		Team: row.Team, Actor: repositoryActor(row), Scopes: []penstock.Scope{penstock.ScopeFactoriesManage},
		Makers: row.PaidBy,
	}
	if row.NamesSecrets {
		p.Scopes = append(p.Scopes, penstock.ScopeSecretsManage)
	}
	known, err := s.factories.known(ctx, p, row.FactoryUID)
	if err != nil {
		return s.failedSync(ctx, row, s.ours(row, err))
	}
	result := row
	var a application
	var revision int64
	err = s.responses.Alter(ctx, row.Team, func(tx *store.Tx) error {
		if held, err := tx.Repositories().Hold(ctx, row, syncLease.Milliseconds()); err != nil || !held {
			return errors.Join(err, errSyncLost)
		}
		factory, err := tx.Factories().Find(ctx, row.Team, row.FactoryUID)
		if err != nil {
			return err
		}
		present, err := tx.Definitions().Files(ctx, row.FactoryUID)
		if err != nil {
			return err
		}
		a = application{
			s: s.factories, tx: tx, p: p, factory: factory, known: known, commit: snapshot.Commit.ID,
			byAgent: row.ByAgent,
		}
		applied, err := a.apply(ctx, present, files)
		if err == nil && definition.HasErrors(found) {
			err = invalidDefinition(nil)
		}
		if err != nil {
			return err
		}
		applied.Diagnostics = slices.Concat(diagnostics(found), applied.Diagnostics)
		result = succeeded(row, snapshot.Commit, applied, factory.Definition.Revision)
		if result.Result == store.CommitUnchanged {
			return errUndone // so that the team gets no new version
		}
		revision = applied.Revision
		return s.endSync(ctx, tx, result, commitRow(result, snapshot.Commit, revision))
	})
	if err == nil {
		s.parsed.keep(row.FactoryUID, revision, a.parsed)
	}
	rejection, rejected := errors.AsType[*penstock.Error](err)
	switch {
	case err == nil || errors.Is(err, errSyncLost):
		return err
	case errors.Is(err, errUndone):
		return s.finishUnchanged(ctx, before, result, snapshot.Commit)
	case ctx.Err() != nil || !rejected || rejection.Code.OurFault():
		return s.failedSync(ctx, row, s.ours(row, err))
	case rejection.Code == penstock.CodeNotFound:
		return errSyncLost
	case rejection.Code == penstock.CodeInvalidDefinition:
		all := slices.Concat(diagnostics(found), rejection.Diagnostics)
		return s.rejectCommit(ctx, before, row, snapshot.Commit, summary(all), all)
	}
	return s.rejectCommit(ctx, before, row, snapshot.Commit, rejection.Explain(), nil)
}

// ours returns the message of an error that only the operator can fix.
func (s *Repositories) ours(row store.RepositoryRow, err error) error {
	if known, ok := errors.AsType[*penstock.Error](err); ok && known.Code == penstock.CodeUnavailable ||
		errors.Is(err, context.Canceled) { // the server is stopping
		return err
	}
	s.log.Error("cannot apply a commit", "factory", row.FactoryUID, "error", err)
	return errors.New("the server cannot apply the commit; its log says why")
}

// succeeded returns the state of a repository after a commit was applied.
func succeeded(row store.RepositoryRow, commit git.Commit, applied Applied, revision int64) store.RepositoryRow {
	if applied.Revision != revision {
		row.Result, row.Diagnostics = store.CommitApplied, few(applied.Diagnostics)
	} else {
		if row.Result == store.CommitRejected {
			row.Diagnostics = nil
		}
		row.Result = store.CommitUnchanged
	}
	row.Commit, row.Applied, row.Version = commit.ID, commit.ID, row.TeamVersion
	row.Detail, row.Problem, row.Failures = "", "", 0
	return row
}

// finishUnchanged stores that a commit has the same files as the active revision.
func (s *Repositories) finishUnchanged(ctx context.Context, before, row store.RepositoryRow, commit git.Commit) error {
	factory, err := s.store.Factories.Find(ctx, row.Team, row.FactoryUID)
	if penstock.CodeOf(err) == penstock.CodeNotFound {
		return errSyncLost
	}
	if err != nil {
		return err
	}
	if before.Commit == row.Commit && before.Result != store.CommitRejected {
		return s.finishSync(ctx, row, nil)
	}
	return s.finishSync(ctx, row, commitRow(row, commit, factory.Definition.Revision))
}

// rejectCommit stores why a commit is not applied; the active files stay. A commit that is
// rejected again for the same reasons is not logged twice.
func (s *Repositories) rejectCommit(
	ctx context.Context, before, row store.RepositoryRow, commit git.Commit, detail string, found []penstock.Diagnostic,
) error {
	factory, err := s.store.Factories.Find(ctx, row.Team, row.FactoryUID)
	if penstock.CodeOf(err) == penstock.CodeNotFound {
		return errSyncLost
	}
	if err != nil {
		return err
	}
	row.Commit, row.Result, row.Detail, row.Diagnostics = commit.ID, store.CommitRejected, detail, few(found)
	row.Version, row.Problem, row.Failures = row.TeamVersion, "", 0
	if before.Commit == row.Commit && before.Result == row.Result && before.Detail == row.Detail &&
		slices.Equal(before.Diagnostics, row.Diagnostics) {
		return s.finishSync(ctx, row, nil)
	}
	s.log.Info(
		"commit rejected; the factory keeps its active files", "factory", row.FactoryUID, "commit",
		commit.ID, "detail", detail,
	)
	return s.finishSync(ctx, row, commitRow(row, commit, factory.Definition.Revision))
}

// commitRow returns an entry of the history.
func commitRow(row store.RepositoryRow, c git.Commit, revision int64) *store.CommitRow {
	shown := store.Commit{ID: c.ID, Author: c.Author, Message: c.Subject}
	if !c.At.IsZero() {
		shown.CommittedAt = penstock.Time(c.At.UnixMilli())
	}
	return &store.CommitRow{
		Commit: shown, Result: row.Result, Detail: row.Detail, Diagnostics: row.Diagnostics, Revision: revision,
		CreatedAt: penstock.Now(),
	}
}

// repositoryActor returns a repository as an actor.
func repositoryActor(row store.RepositoryRow) penstock.Actor {
	owner, name := git.Names(row.URL)
	return penstock.Actor{
		Type: "service_account", UID: row.FactoryUID, DisplayName: "Repository " + strings.TrimPrefix(owner+"/"+name, "/"),
	}
}

// treeOf returns the files of a snapshot for [definition.Parse], and findings about the others:
// notes about stray files, and errors about unreadable ones. It returns no files if the tree is too
// large.
func treeOf(entries []git.Entry) (map[string][]byte, []definition.Diagnostic) {
	files := map[string][]byte{}
	var found []definition.Diagnostic
	bad := func(code definition.Code, path, format string, args ...any) {
		found = append(found, definition.Diagnostic{
			Code: code, Message: fmt.Sprintf(format, args...), Path: strings.ToValidUTF8(path, "\uFFFD"), Line: 1, Column: 1,
			Severity: definition.SeverityError,
		})
	}
	size, largest := int64(0), git.Entry{}
	var strays definition.Strays
	for _, e := range entries {
		if note, stray := strays.Note(e.Path, e.Plain); stray {
			if note != nil {
				found = append(found, *note)
			}
			continue
		}
		if !e.Plain {
			bad(definition.UnsupportedPath, e.Path, "must be a plain file, not a link or submodule")
			continue
		}
		if strings.ToValidUTF8(e.Path, "") != e.Path {
			bad(definition.UnsupportedPath, e.Path, "a path must be printable UTF-8 text")
			continue
		}
		files[e.Path] = e.Content
		if _, read := definition.Concerns(e.Path); read {
			if size += e.Size; e.Size >= largest.Size {
				largest = e
			}
		}
	}
	if size > definition.MaxBytes {
		found = nil // the rest was not read
		bad(
			definition.InvalidDocument, largest.Path,
			"the factory has %d bytes; at most %d (4 MB) are allowed: this is its largest file", size, definition.MaxBytes,
		)
		return nil, found
	}
	return files, found
}

// maxFindings limits the stored findings of a commit.
const maxFindings = 200

func few(found []penstock.Diagnostic) []penstock.Diagnostic {
	if len(found) == 0 {
		return nil
	}
	return found[:min(len(found), maxFindings)]
}

// summary returns the number of errors, and the first one.
func summary(found []penstock.Diagnostic) string {
	errs := slices.DeleteFunc(
		slices.Clone(found), func(d penstock.Diagnostic) bool { return d.Severity != string(definition.SeverityError) },
	)
	switch len(errs) {
	case 0:
		return "the files are invalid"
	case 1:
		return fmt.Sprintf(
			"the files have an error: %s:%d:%d: %s", errs[0].Path, errs[0].Line, errs[0].Column, errs[0].Message,
		)
	}
	return fmt.Sprintf(
		"the files have %d errors; the first is %s:%d:%d: %s", len(errs), errs[0].Path, errs[0].Line, errs[0].Column,
		errs[0].Message,
	)
}
