package factory

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/definition"
	"github.com/penstock-dev/penstock/internal/control/request"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/supply/git"
)

// createFromRepository creates a factory that a repository defines. It has no agents until the
// first commit is applied.
func (s *Repositories) createFromRepository(
	ctx context.Context, p penstock.Principal, req FactoryRequest,
) (penstock.Factory, error) {
	repository, errs := s.checkRepository(*req.Repository)
	for pointer, given := range map[string]bool{
		"/alias": req.Alias != nil, "/description": req.Description != nil, "/files": req.Files != nil,
	} {
		if given {
			errs = append(
				errs,
				penstock.FieldError{Pointer: pointer, Detail: "cannot be given together with repository: its files define it"},
			)
		}
	}
	name := request.Value(req.Name)
	if req.Name == nil {
		_, name = git.Names(repository.URL)
	}
	var row store.FactoryRow
	if named, ok := request.FieldErrors(changeFactory(&row, FactoryRequest{Name: &name})); ok {
		errs = append(errs, named...)
	}
	if errs != nil {
		slices.SortFunc(errs, func(a, b penstock.FieldError) int { return strings.Compare(a.Pointer, b.Pointer) })
		return penstock.Factory{}, penstock.InvalidFields(errs...)
	}
	return access.Edit(ctx, s.responses, p, func(tx *store.Tx) (penstock.Factory, error) {
		if err := useRepositorySecret(ctx, tx, p, repository.Secret); err != nil {
			return penstock.Factory{}, err
		}
		now, namesSecrets := penstock.Now(), p.May(penstock.ScopeSecretsManage)
		row := row
		row.Team, row.UID, row.Source = p.Team, penstock.NewID(), store.FactoryRepository
		row.CreatedAt, row.UpdatedAt = now, now
		if err := tx.Factories().Add(ctx, row); err != nil {
			return penstock.Factory{}, err
		}
		if err := tx.Repositories().Add(
			ctx,
			store.RepositoryRow{
				Repository: repository, FactoryUID: row.UID, Team: p.Team, Place: placeOf(repository.URL),
				NamesSecrets: namesSecrets, PaidBy: p.PaidBy(), ByAgent: p.IsAgent(),
			},
		); err != nil {
			return penstock.Factory{}, err
		}
		made, err := tx.Factories().Find(ctx, p.Team, row.UID)
		return made.Factory, err
	})
}

// moveRepository changes the repository of a factory. The active files stay until a commit of
// the new repository is applied. If a caller who manages secrets names the same repository
// again, its webhooks may name secrets from then on. If a person does, its files may name repositories for runs.
func (s *Repositories) moveRepository(
	ctx context.Context, tx *store.Tx, p penstock.Principal, r store.FactoryRow, req FactoryRequest,
) (penstock.Factory, error) {
	if r.Source != store.FactoryRepository {
		return penstock.Factory{}, penstock.Errorf(
			penstock.CodeConflict, "the factory is edited on this server: create another factory for the repository",
		)
	}
	repository, errs := s.checkRepository(*req.Repository)
	if req.Name != nil || req.Alias != nil || req.Description != nil || len(req.Cleared) > 0 {
		return penstock.Factory{}, s.readOnly(r, definition.KindFactory, r.Name)
	}
	if errs != nil {
		return penstock.Factory{}, penstock.InvalidFields(errs...)
	}
	if err := useRepositorySecret(ctx, tx, p, repository.Secret); err != nil {
		return penstock.Factory{}, err
	}
	namesSecrets := p.May(penstock.ScopeSecretsManage)
	switch {
	case repository != *r.Repository:
		err := tx.Repositories().Move(ctx, store.RepositoryRow{
			Repository: repository, FactoryUID: r.UID, Place: placeOf(repository.URL), NamesSecrets: namesSecrets,
			PaidBy: p.PaidBy(), ByAgent: p.IsAgent(),
		})
		if err != nil {
			return penstock.Factory{}, err
		}
	case namesSecrets:
		if err := tx.Repositories().LetNameSecrets(ctx, r.UID); err != nil {
			return penstock.Factory{}, err
		}
	}
	if !p.IsAgent() && repository == *r.Repository {
		if err := tx.Repositories().LetNameRepositories(ctx, r.UID); err != nil {
			return penstock.Factory{}, err
		}
	}
	moved, err := tx.Factories().Find(ctx, p.Team, r.UID)
	if err != nil {
		return penstock.Factory{}, err
	}
	return s.factories.presentFactory(ctx, tx.Webhooks().SecretCopies, moved)
}

// checkRepository returns all errors of a factory's repository settings, and makes them
// canonical.
func (s *Repositories) checkRepository(r penstock.Repository) (penstock.Repository, []penstock.FieldError) {
	var errs []penstock.FieldError
	bad := func(field, format string, args ...any) {
		errs = append(errs, penstock.FieldError{Pointer: "/repository/" + field, Detail: fmt.Sprintf(format, args...)})
	}
	r.URL = strings.TrimSpace(r.URL)
	if s.cache == nil {
		bad("url", "cannot be read: git is not installed on this server")
	} else if err := run.CheckRemote(s.cache, r.URL); err != nil {
		bad("url", "%s", err)
	}
	r.Branch = strings.TrimPrefix(r.Branch, "refs/heads/")
	if err := git.CheckRef(r.Branch); err != nil || strings.HasPrefix(r.Branch, "refs/") {
		bad("branch", "is not a valid branch name")
	}
	if r.Path = strings.Trim(r.Path, "/"); r.Path == "." {
		r.Path = ""
	}
	if r.Path != "" && (r.Path != path.Clean(r.Path) || r.Path == ".." || strings.HasPrefix(
		r.Path, "../",
	) || len(r.Path) > maxRepositoryPath ||
		strings.ContainsFunc(r.Path, func(c rune) bool { return c < ' ' || c == 0x7f || c == '\\' || c == '\uFFFD' })) {
		bad("path", "must be a folder in the repository, such as factories/payments")
	}
	switch {
	case r.Secret != "" && !penstock.ValidSecretName(r.Secret):
		bad("secret", "is not a valid name of a secret: use letters, digits and _")
	case r.Secret != "" && !strings.HasPrefix(r.URL, "https://") && !strings.HasPrefix(r.URL, "http://"):
		bad("secret", "is allowed only with an https URL: for ssh, the server uses its own keys")
	}
	return r, errs
}

// maxRepositoryPath is the longest path of a factory in its repository, in bytes.
const maxRepositoryPath = 512

// useRepositorySecret ensures that the credential of a repository exists when the transaction
// commits. A caller who chooses where it is sent could read it, so this needs more than the
// right to manage factories.
func useRepositorySecret(ctx context.Context, tx *store.Tx, p penstock.Principal, name string) error {
	if name == "" {
		return nil
	}
	if err := access.Require(p, penstock.ScopeSecretsManage); err != nil {
		return err
	}
	rows, err := tx.Secrets().Use(ctx, p.Team, []string{name})
	if err == nil && len(rows) == 0 {
		err = penstock.Invalid("/repository/secret", "there is no secret %q", name)
	}
	return err
}

var scpForm = penstock.LazyRegexp(`^(?:[^@/]+@)?([^:/]+):(.+)$`)

// placeOf returns the host and path of a repository, which all its URLs share. It returns ""
// for a repository on this machine.
func placeOf(raw string) string {
	host, path := "", ""
	if u, err := url.Parse(raw); err == nil && u.Host != "" {
		host, path = u.Hostname(), u.Path
	} else if m := scpForm().FindStringSubmatch(raw); m != nil && !strings.Contains(raw, "://") {
		host, path = m[1], m[2]
	}
	path = strings.TrimSuffix(strings.Trim(path, "/"), ".git")
	if host == "" || path == "" {
		return ""
	}
	return strings.ToLower(host + "/" + path)
}

// readOnly returns an error if a repository defines the factory. The error says where to edit
// it. It returns nil for a factory that is edited on this server.
func (s *Repositories) readOnly(r store.FactoryRow, kind definition.Kind, name string) error {
	if r.Source != store.FactoryRepository {
		return nil
	}
	return penstock.Errorf(
		penstock.CodeConflict, "the factory %q comes from a repository and is read-only on this server: edit "+
			"%s on %s, and push",
		r.Name, definition.DocumentPath(nil, kind, name), r.Repository)
}

// readOnlyFactory is [Repositories.readOnly] for the UID of a factory; "" means no factory.
func (s *Repositories) readOnlyFactory(
	ctx context.Context, tx *store.Tx, team, uid string, kind definition.Kind, name string,
) error {
	if uid == "" {
		return nil
	}
	r, err := tx.Factories().Find(ctx, team, uid)
	if err != nil {
		return err
	}
	return s.readOnly(r, kind, name)
}

// How long a request to sync waits, and how often it checks the state without a nudge.
const (
	syncWait    = 30 * time.Second
	syncGlimpse = 2 * time.Second
)

// Sync polls the repository of a factory now, on any replica. It returns the factory when that
// is done, or with the status syncing if it takes long. A factory without a repository is a
// conflict.
func (s *Repositories) Sync(ctx context.Context, p penstock.Principal, uid string) (penstock.Factory, error) {
	if err := access.Require(p, penstock.ScopeFactoriesManage); err != nil {
		return penstock.Factory{}, err
	}
	nudged, stop := s.store.Nudges.Subscribe(store.RepositoryTopic(uid))
	defer stop()
	var mine int64
	err := s.store.Write(ctx, func(tx *store.Tx) error {
		if err := tx.Repositories().RequestPolls(ctx, uid); err != nil {
			return err
		}
		r, err := tx.Factories().Find(ctx, p.Team, uid)
		if err == nil && r.Source != store.FactoryRepository {
			err = penstock.Errorf(penstock.CodeConflict, "the factory is edited on this server: it has no repository to sync")
		}
		mine = r.Origin.PollsRequested
		return err
	})
	if err != nil {
		return penstock.Factory{}, err
	}
	waiting, cancel := context.WithTimeout(ctx, syncWait)
	defer cancel()
	for waiting.Err() == nil {
		_, done, err := s.store.Repositories.PollRequests(waiting, uid)
		if err != nil && waiting.Err() == nil {
			return penstock.Factory{}, err
		}
		if done >= mine {
			break
		}
		select {
		case <-waiting.Done():
		case <-nudged:
		case <-time.After(syncGlimpse):
		}
	}
	if err := ctx.Err(); err != nil {
		return penstock.Factory{}, errors.Join(errors.New("wait for a repository"), err)
	}
	return access.Act(ctx, s.responses, p, func(tx *store.Tx) (penstock.Factory, error) {
		r, err := tx.Factories().Find(ctx, p.Team, uid)
		if err != nil {
			return penstock.Factory{}, err
		}
		return s.factories.presentFactory(ctx, tx.Webhooks().SecretCopies, r)
	})
}
