package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/penstock-dev/penstock/internal/blob"
	"github.com/penstock-dev/penstock/internal/store"
)

type restoreCmd struct {
	storage
	logging
	From string `required:"" type:"path" env:"PENSTOCK_RESTORE_FROM" placeholder:"FILE" help:"Backup file to restore."`
}

func (cmd *restoreCmd) Help() string {
	return "The data folder and the --blobs folder must be empty. If the backup contains a PostgreSQL database, the one " +
		"in --database must be empty, too. Restore never overwrites anything, and checks every file before it puts any in " +
		"place. At the end it updates the database schema to this version."
}

func (cmd *restoreCmd) Run(ctx context.Context, std *stdio) error {
	if err := cmd.checkDatabase(); err != nil {
		return err
	}
	for _, folder := range []struct{ name, dir, flag string }{
		{"data folder", cmd.Data, "--data"}, {"blobs folder", cmd.blobPath(), "--blobs"},
	} {
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

// place moves what was unpacked and checked to where the server looks for it. A
// SQLite database comes last, since without it the server would begin anew;
// PostgreSQL comes first, since it may refuse, and then nothing is done. Whatever
// else may be refused is asked before.
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
	if err := placeBlobs(ctx, filepath.Join(scratch, blobDir), cmd.blobPath()); err != nil {
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

// placeBlobs moves the folder of blobs of a backup, if it has one, to where --blobs
// says, or copies them: that may be on another disk, or where a disk begins.
func placeBlobs(ctx context.Context, from, to string) error {
	if _, err := os.Lstat(from); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if os.Rename(from, to) == nil {
		return nil
	}
	source, err := blob.Open(from)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := blob.Open(to)
	if err != nil {
		return err
	}
	defer target.Close()
	for key, err := range source.Between(ctx, time.Time{}, time.Now().Add(time.Hour)) {
		if err == nil {
			err = copyBlob(ctx, target, source, key)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func copyBlob(ctx context.Context, to, from *blob.Store, key string) error {
	content, _, err := from.Open(ctx, key)
	if err != nil {
		return err
	}
	defer content.Close()
	_, _, err = to.Put(ctx, key, content, -1)
	return err
}

// checkKeyset refuses a backup with a keyset where another one is in its place.
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

// placeKeyset puts the keyset of a backup, if it has one, where --keyset says,
// which may be on another disk. The same keyset may be there already.
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
