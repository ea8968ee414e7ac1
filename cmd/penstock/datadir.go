package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/supply/blob"
	"github.com/penstock-dev/penstock/internal/supply/filelock"
)

// storage holds the locations of the server's data.
type storage struct {
	Data      string    `type:"path" env:"PENSTOCK_DATA" default:"${data}" placeholder:"DIR" help:"Folder for the server's data; created if it does not exist. Default: ${data}"`
	Database  string    `env:"PENSTOCK_DATABASE" placeholder:"URL" help:"Database URL, such as postgres://user@host/penstock; by default SQLite in the data folder. If the URL has a password, set it in the environment or the --config file, not on the command line."`
	Blobs     blobPlace `env:"PENSTOCK_BLOBS" placeholder:"PLACE" help:"Where to keep attachments, artifacts and saved sessions: a folder, or an object store as s3://BUCKET/PREFIX?endpoint=URL&region=REGION&path_style=true. The prefix and all parameters are optional. By default, these files are in DATA/blobs. Credentials come from the standard AWS settings (AWS_PROFILE, AWS_ACCESS_KEY_ID, roles). Servers that share a database must use the same place."`
	Keyset    string    `type:"path" env:"PENSTOCK_KEYSET" placeholder:"FILE" help:"File with the keys that encrypt secrets at rest; by default DATA/keyset.json. Servers that share a database must use the same keyset."`
	KeysetKMS kmsKey    `env:"PENSTOCK_KEYSET_KMS" placeholder:"URI" help:"AWS KMS key that encrypts the keyset: awskms://alias/NAME?region=REGION, or with the key's ID or ARN. Credentials and endpoint come from the standard AWS settings (AWS_PROFILE, AWS_ENDPOINT_URL_KMS, roles). By default, the keyset is in plain text."`
}

// defaultDataDir follows the XDG base directory specification.
func defaultDataDir() string {
	base := os.Getenv("XDG_DATA_HOME")
	if !filepath.IsAbs(base) { // the specification ignores relative paths
		base = filepath.Join(homeDir(), ".local", "share")
	}
	return filepath.Join(base, "penstock")
}

// homeDir returns HOME or, where a service manager or cron sets none, the folder that the system's list of
// users names, so that a server and the commands of the same user find the same files.
func homeDir() string {
	if home := os.Getenv("HOME"); filepath.IsAbs(home) {
		return home
	}
	if u, err := user.Current(); err == nil && filepath.IsAbs(u.HomeDir) {
		return u.HomeDir
	}
	return string(filepath.Separator)
}

func defaultHost() string {
	name, err := os.Hostname()
	if err != nil {
		return "localhost"
	}
	return name
}

// The files in a data folder.
const (
	databaseFile = "penstock.db"
	keysetFile   = "keyset.json"
	adminKeyFile = "admin.key"
	lockFile     = "lock"
	blobDir      = "blobs"
	workDir      = "work"
	mirrorDir    = "mirrors"
	layersDir    = "layers"
)

func (s *storage) path(name string) string { return filepath.Join(s.Data, name) }

func (s *storage) blobPlace() blobPlace { return cmp.Or(s.Blobs, blobPlace(s.path(blobDir))) }

func (s *storage) keysetPath() string { return cmp.Or(s.Keyset, s.path(keysetFile)) }

// sqliteFile returns the file of a SQLite database. ok is false for PostgreSQL.
func (s *storage) sqliteFile() (path string, ok bool) {
	return strings.CutPrefix(s.databaseURL(), "sqlite://")
}

// databaseURL returns the URL for the store.
func (s *storage) databaseURL() string {
	return cmp.Or(s.Database, "sqlite://"+s.path(databaseFile))
}

// databaseName returns the database URL without its secret parts.
func (s *storage) databaseName() string {
	u, err := url.Parse(s.databaseURL())
	if err != nil {
		return "the database"
	}
	u.RawQuery = ""
	return u.Redacted()
}

// ownBlobs rejects a shared place with the blobs of another database.
func (s *storage) ownBlobs(ctx context.Context, db *store.Store, blobs *blob.Store) error {
	if s.Blobs == "" {
		return nil // the lock of the data folder protects it
	}
	id, err := db.ID(ctx)
	if err == nil {
		err = blobs.Own(ctx, id)
	}
	if errors.Is(err, blob.ErrOwned) {
		return exitf(
			exitConfig,
			"%s contains the blobs of another database: set --blobs to a different place, or --database to that "+
				"database", s.Blobs,
		)
	}
	return blobError(s.Blobs, err)
}

// openStore opens the database. Its errors say what to do.
func (s *storage) openStore(ctx context.Context, o store.Options) (*store.Store, error) {
	o.URL = s.databaseURL()
	db, err := store.Open(ctx, o)
	switch {
	case ctx.Err() != nil: // asked to stop
	case errors.Is(err, store.ErrUnreachable):
		return nil, exitf(exitUnavailable, "%w\nstart %s, or correct --database (PENSTOCK_DATABASE)", err, s.databaseName())
	case errors.Is(err, store.ErrURL):
		return nil, exitf(
			exitConfig, "%w\ncorrect --database (PENSTOCK_DATABASE), or give its user access to %s", err, s.databaseName(),
		)
	}
	return db, err
}

// checkDatabase rejects an unknown kind of database.
func (s *storage) checkDatabase() error {
	for _, scheme := range []string{"", "sqlite://", "postgres://", "postgresql://"} {
		if s.Database == scheme || scheme != "" && strings.HasPrefix(s.Database, scheme) {
			return nil
		}
	}
	return exitf(exitUsage, "--database must begin with postgres:// or sqlite://")
}

// check rejects a database, and a place of blobs, of an unknown kind.
func (s *storage) check() error {
	return cmp.Or(s.checkDatabase(), s.Blobs.check())
}

// prepare creates the folder, for this user only, and locks it for this process. The lock ends with
// release or with the process.
func (s *storage) prepare() (release func(), err error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(s.Data, 0o700); err != nil {
		return nil, exitf(exitConfig, "create the data folder: %w: set --data to a folder that this user can write to", err)
	}
	return lockData(s.Data)
}

// lockData locks the folder, or returns an error that names the process with the lock.
func lockData(dir string) (release func(), err error) {
	file, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, exitf(exitConfig, "lock the data folder: %w", err)
	}
	err = filelock.Try(file, filelock.Exclusive)
	if err == nil {
		err = errors.Join(file.Truncate(0), writePID(file))
	}
	if err == nil {
		// The file stays, because after its removal two processes could lock two files with the
		// same name.
		return func() { _ = file.Close() }, nil
	}
	_ = file.Close()
	if pid, held := lockHolder(dir); held {
		return nil, exitf(
			exitConfig, "process %[2]s is using the data folder %[1]s: stop it, or set --data to another folder", dir, pid,
		)
	}
	return nil, exitf(exitConfig, "lock the data folder %s: %w", dir, err)
}

// lockHolder returns the process in the lock file of a folder, and whether the lock is held.
func lockHolder(dir string) (pid string, held bool) {
	file, err := os.Open(filepath.Join(dir, lockFile))
	if err != nil {
		return "", false
	}
	defer file.Close()
	if err := filelock.Try(file, filelock.Shared); !errors.Is(err, filelock.ErrHeld) {
		return "", false
	}
	content, _ := io.ReadAll(file) // on an error, the message has less detail
	return cmp.Or(strings.TrimSpace(string(content)), "unknown"), true
}

func writePID(file *os.File) error {
	_, err := fmt.Fprintf(file, "%d\n", os.Getpid())
	return err
}

// isEmpty reports whether a folder is missing, or has only a lock.
func isEmpty(dir string) (bool, error) {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return true, nil
	}
	other := func(e fs.DirEntry) bool { return e.Name() != lockFile }
	return !slices.ContainsFunc(entries, other), err
}
