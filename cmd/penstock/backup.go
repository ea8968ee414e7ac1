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

	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/supply/secret"
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
	To string `required:"" type:"path" env:"PENSTOCK_BACKUP_TO" placeholder:"FILE" help:"New file to write the backup to; compressed if its name ends in gz."`
}

func (cmd *backupCmd) Help() string {
	return `The server can keep running: the backup is consistent. Only you can read the file. A PostgreSQL database
needs pg_dump on this machine.

Encrypted in the backup: the values of managed secrets and webhook secrets, saved sessions (the HOME of
agents, with everything that the run received), and responses stored for an Idempotency-Key. A session that an
earlier version saved is in plain text until it is saved again.

In plain text: everything else, such as prompts, conversations, events, the env of configurations, artifacts,
attachments and the payloads of deliveries. API keys are hashed, but admin.key contains the first one in plain
text.

The backup also contains the keyset that decrypts these values, so protect it like the server. With
--keyset-kms the keyset is encrypted, and the values cannot be read without the KMS. If the keyset is missing,
the backup does not contain it.`
}

func (cmd *backupCmd) Run(ctx context.Context, std *stdio) error {
	if err := cmd.check(); err != nil {
		return err
	}
	file, embedded := cmd.sqliteFile()
	engine := "postgres"
	if embedded {
		engine = "sqlite"
		if _, err := os.Stat(file); err != nil {
			return exitf(exitUsage, "no database to back up: %w; set --data or --database as for serve", err)
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
	// The database first, because a blob exists before the row that names it.
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
			"%s does not exist, so the backup contains no keyset; its secrets and saved sessions cannot be read without it: "+
				"set --keyset, or keep the file yourself",
			cmd.keysetPath(),
		)
	case err != nil:
		return err
	}
	// Without it, the restored server might have no usable key.
	if err := archive.add(adminKeyFile, cmd.path(adminKeyFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := cmd.addBlobs(ctx, archive); err != nil {
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

// addBlobs leaves a folder as it is, so that another user can back it up.
func (cmd *backupCmd) addBlobs(ctx context.Context, archive *archiveWriter) error {
	if !cmd.blobPlace().isBucket() {
		return archive.addDir(blobDir, string(cmd.blobPlace()))
	}
	blobs, err := cmd.openBlobs(ctx)
	if err != nil {
		return err
	}
	return blobError(cmd.Blobs, archive.addBucket(ctx, blobDir, blobs))
}

// holdKeyset prevents changes of the keyset, because a copy of the database is useless without the
// keys of its encrypted values.
func (s *storage) holdKeyset() (release func(), err error) {
	release, err = secret.LockKeyset(s.keysetPath(), false)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return func() {}, nil
	case errors.Is(err, secret.ErrBusy):
		return nil, exitf(exitRefused, "penstock secret rotate-key is running: wait until it ends")
	case err != nil:
		return nil, exitf(exitConfig, "%w", err)
	}
	return release, nil
}

// copySQLite copies the database, even while another process writes to it.
func (cmd *backupCmd) copySQLite(ctx context.Context, std *stdio, to string) error {
	s, err := cmd.openStore(ctx, store.Options{Log: cmd.logger(std), AsIs: true})
	if err != nil {
		return err
	}
	return errors.Join(s.Backup(ctx, to), s.Close())
}

// dump copies a PostgreSQL database in one snapshot, with pg_dump.
func (cmd *backupCmd) dump(ctx context.Context, std *stdio, to string) error {
	return cmd.postgresTool(ctx, std, "pg_dump", "--format=custom", "--no-owner", "--no-privileges", "--file="+to)
}

// postgresTool runs one of PostgreSQL's programs on the database. The password is in the
// environment, because everybody can read arguments.
func (s *storage) postgresTool(ctx context.Context, std *stdio, program string, args ...string) error {
	where, err := exec.LookPath(program)
	if err != nil {
		return exitf(
			exitConfig,
			"%s is required for a PostgreSQL database but is not installed (Debian: apt-get install postgresql-client)", program,
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
	for _, name := range append(store.DriverParameters(), "password") {
		query.Del(name)
	}
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
