package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/penstock-dev/penstock/internal/secret"
	"github.com/penstock-dev/penstock/internal/store"
)

type migrateCmd struct {
	storage
	logging
}

func (cmd *migrateCmd) Run(ctx context.Context, std *stdio) error {
	release, err := cmd.prepare()
	if err != nil {
		return err
	}
	defer release()
	s, err := cmd.openStore(ctx, store.Options{Log: cmd.logger(std)})
	if err != nil {
		return err
	}
	std.notef("%s is up to date", cmd.databaseName())
	return s.Close()
}

type backupCmd struct {
	storage
	logging
	To string `required:"" type:"path" env:"PENSTOCK_BACKUP_TO" placeholder:"FILE" help:"New file for the backup; compressed if its name ends in gz."`
}

func (cmd *backupCmd) Help() string {
	return `The server can keep running: the backup is consistent. Only you can read the file. A PostgreSQL database is copied by pg_dump, which must be installed.

Sealed in the backup: the values of managed secrets and of webhooks, saved sessions (the HOME of agents, which holds what a run was given), and answers that are kept for an Idempotency-Key. A session that an earlier version saved is in clear until it is saved again.

In clear: everything else, such as prompts, conversations, events, env of configurations, artifacts, attachments and the payloads of deliveries. API keys are hashed, but admin.key is the first one itself.

The backup also holds the keyset that opens what is sealed, so keep it as safe as the server. With --keyset-kms the keyset is encrypted, and what is sealed cannot be read without the KMS. A keyset that is not in its place is not part of the backup.`
}

func (cmd *backupCmd) Run(ctx context.Context, std *stdio) error {
	if err := cmd.checkDatabase(); err != nil {
		return err
	}
	file, embedded := cmd.sqliteFile()
	engine := "postgres"
	if embedded {
		engine = "sqlite"
		if _, err := os.Stat(file); err != nil {
			return exitf(exitUsage, "there is no database to back up: %w", err)
		}
	}
	release, err := cmd.holdKeyset()
	if err != nil {
		return err
	}
	defer release()
	archive, err := newArchive(cmd.To, engine)
	if err != nil {
		return err
	}
	defer archive.close()
	// The database first: a blob is there before the row that names it.
	scratch, err := os.MkdirTemp(filepath.Dir(cmd.To), ".penstock-backup-*")
	if err != nil {
		return exitf(exitUsage, "--to: %w", err)
	}
	defer os.RemoveAll(scratch)
	name, copyDatabase := dumpFile, cmd.dump
	if embedded {
		name, copyDatabase = databaseFile, cmd.copySQLite
	}
	database := filepath.Join(scratch, name)
	if err := copyDatabase(ctx, std, database); err != nil {
		return err
	}
	if err := archive.add(name, database); err != nil {
		return err
	}
	switch err := archive.add(keysetFile, cmd.keysetPath()); {
	case errors.Is(err, fs.ErrNotExist):
		std.notef(
			"%s is not there, so the backup has no keys: the secrets and saved sessions in it can be opened with that file alone; name it by --keyset, or keep it yourself",
			cmd.keysetPath(),
		)
	case err != nil:
		return err
	}
	// Without it nobody might get into what is restored.
	if err := archive.add(adminKeyFile, cmd.path(adminKeyFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := archive.addDir(blobDir, cmd.blobPath()); err != nil {
		return err
	}
	if err := archive.finish(); err != nil {
		return err
	}
	total := int64(0)
	for _, item := range archive.manifest.Files {
		total += item.Size
	}
	std.notef("backed up %d files, %s, to %s", len(archive.manifest.Files), bytesText(total), cmd.To)
	return nil
}

// holdKeyset keeps the keyset from being changed: a copy of the database is
// worth nothing without the keys that its values were sealed with.
func (s *storage) holdKeyset() (release func(), err error) {
	release, err = secret.LockKeyset(s.keysetPath(), false)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return func() {}, nil
	case errors.Is(err, secret.ErrBusy):
		return nil, exitf(exitRefused, "penstock secret rotate-key is at work: wait for its end")
	case err != nil:
		return nil, exitf(exitConfig, "%w", err)
	}
	return release, nil
}

// copySQLite copies the database while another process may be writing to it.
func (cmd *backupCmd) copySQLite(ctx context.Context, std *stdio, to string) error {
	s, err := cmd.openStore(ctx, store.Options{Log: cmd.logger(std), AsIs: true})
	if err != nil {
		return err
	}
	return errors.Join(s.Backup(ctx, to), s.Close())
}

// dump lets pg_dump copy a PostgreSQL database in one snapshot.
func (cmd *backupCmd) dump(ctx context.Context, std *stdio, to string) error {
	return cmd.postgresTool(ctx, std, "pg_dump", "--format=custom", "--no-owner", "--no-privileges", "--file="+to)
}

// postgresTool runs one of PostgreSQL's programs on the database. The password
// goes through the environment: arguments can be read by everybody.
func (s *storage) postgresTool(ctx context.Context, std *stdio, program string, args ...string) error {
	where, err := exec.LookPath(program)
	if err != nil {
		return exitf(
			exitConfig,
			"%s is needed for a PostgreSQL database and is not installed (Debian: apt-get install postgresql-client)", program,
		)
	}
	address, err := url.Parse(s.Database)
	if err != nil {
		return exitf(exitConfig, "--database is not a URL")
	}
	query := address.Query()
	password, given := address.User.Password()
	if !given {
		password = query.Get("password")
	}
	if address.User != nil {
		address.User = url.User(address.User.Username())
	}
	query.Del("password")
	address.RawQuery = query.Encode()
	command := exec.CommandContext(ctx, where, append(args, "--dbname="+address.String())...)
	command.Env = os.Environ()
	if password != "" {
		command.Env = append(command.Env, "PGPASSWORD="+password)
	}
	var said strings.Builder
	command.Stdout, command.Stderr = std.err, &said
	if err := command.Run(); err != nil {
		return fmt.Errorf("%s: %w: %s", program, err, strings.TrimSpace(said.String()))
	}
	return nil
}
