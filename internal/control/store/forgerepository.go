package store

import (
	"context"
	"strings"
)

// RepositoryName is a repository as an event of a connection names it.
type RepositoryName struct {
	ForgeUID string
	Path     string // owner/name
	ID       int64  // on the forge
}

// RepositoryNames are the names by which events of a repository are known, in lower case.
type RepositoryNames struct {
	Paths []string // all that are its own
	New   bool     // no event has come with its present name
	Taken bool     // the present name belongs to another repository
}

// Names returns the names of a repository: those with which its events came, and the present one if it is free.
func (fs Forges) Names(ctx context.Context, r RepositoryName) (RepositoryNames, error) {
	type row struct {
		path string
		id   int64
	}
	present := strings.ToLower(r.Path)
	rows, err := fs.s.query(ctx, `SELECT path, repository
		FROM forge_repositories
		WHERE forge_uid = $1 AND (repository = $2 OR path = $3)
		ORDER BY path`, r.ForgeUID, r.ID, present)
	list, err := collect(fs.s, rows, err, "names of a repository", func(n *row) []any { return []any{&n.path, &n.id} })
	names := RepositoryNames{New: true}
	for _, n := range list {
		if n.path == present {
			names.New, names.Taken = false, n.id != r.ID
		}
		if n.id == r.ID {
			names.Paths = append(names.Paths, n.path)
		}
	}
	if names.New {
		names.Paths = append(names.Paths, present)
	}
	return names, err
}

// Name gives a repository its present name, unless another one has it. Then that is noted, and own is false.
func (fs Forges) Name(ctx context.Context, r RepositoryName) (own bool, err error) {
	path := strings.ToLower(r.Path)
	err = fs.s.Write(ctx, func(tx *Tx) error {
		if _, err := tx.exec(ctx, `INSERT INTO forge_repositories (forge_uid, path, repository)
			VALUES ($1, $2, $3)
			ON CONFLICT DO NOTHING`, r.ForgeUID, path, r.ID); err != nil {
			return err
		}
		taken, err := tx.exec(ctx, `UPDATE forge_repositories
			SET other = $1
			WHERE forge_uid = $2 AND path = $3 AND repository <> $1`, r.ID, r.ForgeUID, path)
		own = taken == 0
		return err
	})
	return own, wrapf(err, "name a repository of connection %s", r.ForgeUID)
}

// Contested lists the names of a connection with which another repository has come: the last one.
func (fs Forges) Contested(ctx context.Context, forgeUID string, limit int) ([]RepositoryName, error) {
	rows, err := fs.s.query(ctx, `SELECT path, other
		FROM forge_repositories
		WHERE forge_uid = $1 AND other <> 0
		ORDER BY path
		LIMIT $2`, forgeUID, limit)
	return collect(fs.s, rows, err, "names of repositories", func(r *RepositoryName) []any {
		r.ForgeUID = forgeUID
		return []any{&r.Path, &r.ID}
	})
}

// Settle ends the contest about a name: the repository with this id has it from now on. If it did not have it
// before, the pull requests at this URL, in lower case, are of another one and are forgotten.
func (fs ForgesTx) Settle(ctx context.Context, team string, r RepositoryName, url string) (changed bool, err error) {
	n, err := fs.tx.exec(ctx, `UPDATE forge_repositories
		SET repository = $1
		WHERE forge_uid = $2 AND path = $3 AND repository <> $1`, r.ID, r.ForgeUID, r.Path)
	if err == nil && n > 0 {
		_, err = fs.tx.exec(ctx, "DELETE FROM pull_requests WHERE team = $1 AND repository = $2", team, url)
	}
	if err == nil {
		_, err = fs.tx.exec(ctx, `UPDATE forge_repositories
			SET other = 0
			WHERE forge_uid = $1 AND path = $2`, r.ForgeUID, r.Path)
	}
	return n > 0, wrapf(err, "settle the name %s", r.Path)
}
