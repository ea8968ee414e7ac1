package store

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/penstock-dev/penstock"
)

// Revision is one state of a factory's files.
type Revision struct {
	Number    int64
	Author    *penstock.Actor
	Summary   string // of its changes, as JSON of internal/control/factory
	CreatedAt penstock.Time
}

// Find reads the files of a factory at a revision, or the current ones if it is 0; absence is
// penstock.CodeNotFound.
func (d Definitions) Find(
	ctx context.Context, factoryUID string, revision int64,
) (map[string][]byte, Revision, error) {
	before := revision
	if revision != 0 {
		before++
	}
	list, err := d.Revisions(ctx, factoryUID, before, 1)
	if err == nil && (len(list) == 0 || revision != 0 && list[0].Number != revision) {
		err = penstock.NotFound("definition of the factory", factoryUID)
	}
	if err != nil {
		return nil, Revision{}, err
	}
	// Read that revision, even if a newer one exists by now.
	files, err := readFiles(ctx, d.s, "since <= $2 AND (ended = 0 OR ended > $2)", factoryUID, list[0].Number)
	return files, list[0], err
}

// Files reads the files of a factory within the transaction.
// [Tx.Changed] keeps others from changing them.
func (d DefinitionsTx) Files(ctx context.Context, factoryUID string) (map[string][]byte, error) {
	return readFiles(ctx, d.tx, "ended = 0", factoryUID)
}

// EndedFiles reads the paths of files that a factory had once and no longer has.
func (d DefinitionsTx) EndedFiles(ctx context.Context, factoryUID string) (map[string][]byte, error) {
	rows, err := d.tx.query(ctx, `SELECT DISTINCT path
		FROM definition_files
		WHERE factory_uid = $1
			AND path NOT IN (SELECT path FROM definition_files WHERE factory_uid = $1 AND ended = 0)`, factoryUID)
	paths, err := collect(d.tx.s, rows, err, "former files of a factory", func(path *string) []any { return []any{path} })
	files := make(map[string][]byte, len(paths))
	for _, path := range paths {
		files[path] = nil
	}
	return files, err
}

// FilesAt reads the files of a factory at a revision whose paths begin with one of the given
// prefixes.
func (d Definitions) FilesAt(
	ctx context.Context, factoryUID string, revision int64, prefixes ...string,
) (map[string][]byte, error) {
	args := []any{revision}
	var wanted []string
	for _, prefix := range prefixes {
		n := len(args) + 2 // after factory_uid
		wanted = append(wanted, fmt.Sprintf("substr(path, 1, $%d) = $%d", n, n+1))
		args = append(args, utf8.RuneCountInString(prefix), prefix)
	}
	return readFiles(
		ctx, d.s, "since <= $2 AND (ended = 0 OR ended > $2) AND ("+strings.Join(wanted, " OR ")+")", factoryUID, args...,
	)
}

type file struct {
	path    string
	content []byte
}

func readFiles(
	ctx context.Context, q querier, where, factoryUID string, args ...any,
) (map[string][]byte, error) {
	rows, err := q.query(ctx, `SELECT path, content
		FROM definition_files
		WHERE factory_uid = $1 AND `+where, append([]any{factoryUID}, args...)...)
	list, err := collect(
		q.store(), rows, err, "the files of a factory", func(f *file) []any { return []any{&f.path, &f.content} },
	)
	files := make(map[string][]byte, len(list))
	for _, f := range list {
		files[f.path] = f.content
	}
	return files, err
}

// Revisions lists revisions of a factory, newest first. If before is not 0, it lists only revisions
// with a lower number.
func (d Definitions) Revisions(ctx context.Context, factoryUID string, before int64, limit int) ([]Revision, error) {
	rows, err := d.s.query(ctx, "SELECT d.revision, d.summary, d.created_at, "+selectActor("a.uid", "a")+`
		FROM definitions d`+joinActor("a", "d.author")+`
		WHERE d.factory_uid = $1 AND ($2 = 0 OR d.revision < $2)
		ORDER BY d.revision DESC
		LIMIT $3`, factoryUID, before, limit)
	var authors []*actorColumns
	list, err := collect(d.s, rows, err, "revisions of a factory", func(r *Revision) []any {
		a := new(actorColumns)
		authors = append(authors, a)
		return append([]any{&r.Number, &r.Summary, &r.CreatedAt}, a.into()...)
	})
	for i := range list {
		list[i].Author = authors[i].actor()
	}
	return list, err
}

// FileChange is a file before and after a revision; nil if it does not exist.
type FileChange struct {
	Path          string
	Before, After []byte
}

// Changes lists the files that a revision changed, by path.
func (d Definitions) Changes(ctx context.Context, factoryUID string, revision int64) ([]FileChange, error) {
	before, err := readFiles(ctx, d.s, "ended = $2", factoryUID, revision)
	if err != nil {
		return nil, err
	}
	after, err := readFiles(ctx, d.s, "since = $2", factoryUID, revision)
	if err != nil {
		return nil, err
	}
	paths := maps.Clone(before)
	maps.Copy(paths, after)
	list := []FileChange{}
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		list = append(list, FileChange{path, before[path], after[path]})
	}
	return list, nil
}

// AddRevision replaces the files of a factory, from before to after. The number of the revision
// comes from [FactoriesTx.Revise].
func (d DefinitionsTx) AddRevision(
	ctx context.Context, factoryUID string, r Revision, before, after map[string][]byte,
) error {
	for _, path := range slices.Sorted(maps.Keys(before)) {
		if content, stays := after[path]; stays && bytes.Equal(content, before[path]) {
			continue
		}
		if _, err := d.tx.exec(ctx, `UPDATE definition_files
			SET ended = $1
			WHERE factory_uid = $2 AND path = $3 AND ended = 0`, r.Number, factoryUID, path); err != nil {
			return fmt.Errorf("end a file of factory %s: %w", factoryUID, err)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(after)) {
		if content, there := before[path]; there && bytes.Equal(content, after[path]) {
			continue
		}
		if _, err := d.tx.exec(ctx, `INSERT INTO definition_files (factory_uid, path, since, content)
			VALUES ($1, $2, $3, $4)`, factoryUID, path, r.Number, notNull(after[path])); err != nil {
			return fmt.Errorf("store a file of factory %s: %w", factoryUID, err)
		}
	}
	_, err := d.tx.exec(ctx, `INSERT INTO definitions (factory_uid, revision, author, summary, created_at)
		VALUES ($1, $2, $3, $4, $5)`,
		factoryUID, r.Number, uidOf(r.Author), r.Summary, int64(r.CreatedAt))
	return wrapf(err, "store revision %d of factory %s", r.Number, factoryUID)
}
