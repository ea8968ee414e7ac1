package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/supply/blob"
)

type restoreCmd struct {
	storage
	logging
	From string `required:"" type:"path" env:"PENSTOCK_RESTORE_FROM" placeholder:"FILE" help:"Backup file to restore."`
}

func (cmd *restoreCmd) Help() string {
	return "The data folder and the place in --blobs must be empty. If the backup contains a PostgreSQL database, the " +
		"one in --database must be empty, too. Restore never overwrites anything, and checks every file before it puts " +
		"any in place. At the end it updates the database schema to this version."
}

func (cmd *restoreCmd) Run(ctx context.Context, std *stdio) error {
	if err := cmd.check(); err != nil {
		return err
	}
	if err := cmd.checkEmpty(ctx); err != nil {
		return err
	}
	release, err := cmd.prepare()
	if err != nil {
		return err
	}
	defer release()
	scratch, err := os.MkdirTemp(cmd.Data, ".restore-*")
	if err != nil {
		return exitf(exitConfig, "restore: %w", err)
	}
	defer os.RemoveAll(scratch)
	m, err := unpackArchive(cmd.From, scratch)
	if err != nil {
		return err
	}
	if err := cmd.place(ctx, std, m, scratch); err != nil {
		return err
	}
	s, err := cmd.openStore(ctx, store.Options{Log: cmd.logger(std)})
	if err != nil {
		return fmt.Errorf("open the restored data: %w", err)
	}
	if err := s.Close(); err != nil {
		return err
	}
	std.notef("restored %d files of %s from %s into %s", len(m.Files), timestamp(m.CreatedAt), cmd.From, cmd.Data)
	if _, err := os.Stat(cmd.keysetPath()); errors.Is(err, fs.ErrNotExist) {
		std.notef(
			"the backup contains no keyset: copy the original keyset to %s before you start serve, or its secrets and saved "+
				"sessions cannot be read",
			cmd.keysetPath(),
		)
	}
	return nil
}

// checkEmpty rejects a data folder and a place of blobs with anything in it.
func (cmd *restoreCmd) checkEmpty(ctx context.Context) error {
	folders := []struct{ name, dir, flag string }{{"data folder", cmd.Data, "--data"}}
	if !cmd.blobPlace().isBucket() {
		folders = append(folders, struct{ name, dir, flag string }{"blobs folder", string(cmd.blobPlace()), "--blobs"})
	}
	for _, folder := range folders {
		empty, err := isEmpty(folder.dir)
		if err != nil {
			return exitf(exitConfig, "read the %s: %w", folder.name, err)
		}
		if !empty {
			return exitf(
				exitRefused, "the %s %s is not empty, and restore never overwrites anything: set %s to a new "+
					"folder", folder.name, folder.dir,
				folder.flag,
			)
		}
	}
	if !cmd.blobPlace().isBucket() {
		return nil
	}
	blobs, err := cmd.blobPlace().open(ctx, "")
	if err != nil {
		return err
	}
	owner, err := blobs.Owner(ctx)
	if err != nil {
		return blobError(cmd.Blobs, err)
	}
	for _, err := range blobs.Keys(ctx) {
		if err != nil {
			return blobError(cmd.Blobs, err)
		}
		owner = "any" // one file is enough
		break
	}
	if owner != "" {
		return exitf(
			exitRefused, "%s is not empty, and restore never overwrites anything: set --blobs to a new prefix", cmd.Blobs,
		)
	}
	return nil
}

// place moves the unpacked and checked files to the server's locations. A SQLite database comes
// last, because a server without it would create a new one. PostgreSQL comes first, because it may
// fail, and then nothing else has changed. Everything else that may fail is checked before.
func (cmd *restoreCmd) place(ctx context.Context, std *stdio, m manifest, scratch string) error {
	file, embedded := cmd.sqliteFile()
	if embedded != (m.Engine == "sqlite") {
		return exitf(
			exitRefused,
			"the backup contains a %s database, but --database is of another kind; restore cannot change the database "+
				"engine", m.Engine,
		)
	}
	if err := checkKeyset(filepath.Join(scratch, keysetFile), cmd.keysetPath()); err != nil {
		return err
	}
	if !embedded {
		if err := cmd.postgresTool(
			ctx, std, "pg_restore", "--exit-on-error", "--single-transaction", "--no-owner", "--no-privileges",
			filepath.Join(scratch, dumpFile),
		); err != nil {
			return err
		}
	}
	if err := placeKeyset(filepath.Join(scratch, keysetFile), cmd.keysetPath()); err != nil {
		return err
	}
	if err := placeBlobs(ctx, filepath.Join(scratch, blobDir), cmd.blobPlace()); err != nil {
		return fmt.Errorf("restore %s: %w", blobDir, err)
	}
	moves := [][2]string{{adminKeyFile, cmd.path(adminKeyFile)}}
	if embedded {
		moves = append(moves, [2]string{databaseFile, file})
	}
	for _, move := range moves {
		from := filepath.Join(scratch, move[0])
		if _, err := os.Lstat(from); errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if _, err := os.Lstat(move[1]); !errors.Is(err, fs.ErrNotExist) {
			return exitf(exitRefused, "%s already exists, and restore never overwrites anything", move[1])
		}
		if err := os.Rename(from, move[1]); err != nil {
			return fmt.Errorf("restore %s: %w", move[0], err)
		}
	}
	return nil
}

// placeBlobs moves the blobs of a backup, if it has any, to --blobs. It copies them if that is on
// another disk, the root of a disk, or an object store.
func placeBlobs(ctx context.Context, from string, to blobPlace) error {
	if _, err := os.Lstat(from); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if !to.isBucket() && os.Rename(from, string(to)) == nil {
		return nil
	}
	source, err := blob.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := to.open(ctx, "")
	if err != nil {
		return err
	}
	defer target.Close()
	var count copyCount
	var differ error
	err = copyBlobs(ctx, target, source, false, &count, func(err error) { differ = err })
	return blobError(to, cmp.Or(err, differ))
}

// checkKeyset rejects a backup with a keyset if another keyset already exists at its place.
func checkKeyset(from, to string) error {
	content, err := os.ReadFile(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("restore the keyset: %w", err)
	}
	there, err := os.ReadFile(to)
	if errors.Is(err, fs.ErrNotExist) || err == nil && bytes.Equal(there, content) {
		return nil
	}
	return exitf(exitRefused, "%s already exists with a different keyset, and restore never overwrites anything", to)
}

// placeKeyset writes the keyset of a backup, if it has one, to --keyset, which may be on another
// disk. The same keyset may exist already.
func placeKeyset(from, to string) error {
	content, err := os.ReadFile(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("restore the keyset: %w", err)
	}
	file, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return checkKeyset(from, to)
	}
	if err != nil {
		return fmt.Errorf("restore the keyset: %w", err)
	}
	_, err = file.Write(content)
	if err := errors.Join(err, file.Sync(), file.Close()); err != nil {
		return fmt.Errorf("restore the keyset: %w", err)
	}
	return nil
}
