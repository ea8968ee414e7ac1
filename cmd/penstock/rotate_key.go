package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/supply/secret"
)

// rotateKeyCmd replaces the encryption key. It works directly on database and keyset, because
// callers of the API must not reach the keys.
type rotateKeyCmd struct {
	storage
	Prepare bool          `xor:"step" help:"Only add the next key, without using it. For servers that have copies of the keyset."`
	KeepOld bool          `xor:"step" help:"Re-encrypt everything, but keep the old key. For servers that have copies of the keyset."`
	FromKMS kmsKey        `name:"from-kms" placeholder:"URI" help:"AWS KMS key that encrypts the keyset now. Needed only to change to the key in --keyset-kms, or to plain text."`
	Settle  time.Duration `default:"5s" placeholder:"DURATION" help:"How long to wait until running servers use the new key. Default: 5s"`
}

func (cmd *rotateKeyCmd) Help() string {
	return `Adds a new key, re-encrypts everything in the database with it in small steps, and then removes
the old key. Use the same flags and environment as for serve. Servers can keep running: they notice the
changed file. You can interrupt the command at any time; run it again to continue with the same new key.

If servers have copies of the keyset instead of one shared file, run the command three times: with --prepare,
with --keep-old, and without either. After each step, copy the file to all servers. This way, every server knows the
new key before one encrypts with it, and no server still needs the old key when it is removed.

The command can also change how the keyset is protected. --keyset-kms replaces keys in plain text with
encrypted ones. --from-kms changes to another KMS key, or back to plain text. Stop the servers first, and
start them with the new --keyset-kms afterwards. The role needs kms:Encrypt and kms:Decrypt with the
encryption context purpose=penstock-keyset; servers need only kms:Decrypt once the keyset exists.

The files of saved sessions are not rewritten: each has its own key, and that key is re-encrypted. Signed
links created before the end of the rotation stop working. Backups keep the keyset that they were made with.`
}

func (cmd *rotateKeyCmd) Run(ctx context.Context, std *stdio) error {
	file, err := cmd.locate(ctx)
	if err != nil {
		return err
	}
	if cmd.Prepare {
		if err := secret.PrepareRotation(ctx, file); err != nil {
			return keysetError(err)
		}
		std.notef("added the next key to %s", cmd.keysetPath())
		return nil
	}
	db, err := cmd.openPresent(ctx)
	if err != nil {
		return err
	}
	err = cmd.rotate(ctx, std, db, file)
	return errors.Join(err, db.Close())
}

// locate returns the keyset. If its form changes, running servers cannot read it. They would
// continue with the old keys, and fail on values that the new key encrypted.
func (cmd *rotateKeyCmd) locate(ctx context.Context) (secret.KeysetFile, error) {
	file, err := cmd.locateKeyset(ctx)
	if err == nil {
		file.Before, err = cmd.FromKMS.open(ctx)
	}
	if err != nil || file.KMS == nil && file.Before == nil {
		return file, err
	}
	pid, held := lockHolder(cmd.Data)
	if held && file.Check(ctx) != nil {
		return file, exitf(
			exitRefused, "process %s is serving %s and could no longer read the keyset: stop it first", pid, cmd.Data,
		)
	}
	return file, nil
}

// openPresent opens an existing database with this version's schema, even while a server uses it.
func (s *storage) openPresent(ctx context.Context) (*store.Store, error) {
	if err := s.checkDatabase(); err != nil {
		return nil, err
	}
	if file, embedded := s.sqliteFile(); embedded {
		if _, err := os.Stat(file); err != nil {
			return nil, exitf(exitConfig, "no database: %w", err)
		}
	}
	db, err := s.openStore(ctx, store.Options{AsIs: true})
	if err != nil {
		return nil, err
	}
	have, newest, err := db.SchemaVersion(ctx)
	if err == nil && have != newest {
		err = exitf(
			exitConfig, "%s has schema %d, but this version supports %d: use the same version as the "+
				"server", s.databaseName(), have, newest,
		)
	}
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

func (cmd *rotateKeyCmd) rotate(ctx context.Context, std *stdio, db *store.Store, file secret.KeysetFile) error {
	rotation, err := secret.BeginRotation(ctx, file)
	if err != nil {
		return keysetError(err)
	}
	defer rotation.Close()
	if rotation.Resumed {
		std.notef("the keyset already has a new key; continuing with it")
	} else {
		std.notef("a new key encrypts from now on; re-encrypting the stored values")
	}
	if err := sleep(ctx, cmd.Settle); err != nil {
		return err
	}
	total, err := reencryptAll(ctx, db, rotation)
	if err != nil {
		return err
	}
	if len(total.Lost) > 0 {
		return exitf(
			exitFailed,
			"re-encrypted %d values and kept the old key: no key decrypts %s. Set new values or delete them, then run the "+
				"command again",
			total.Values, strings.Join(total.Lost, ", "),
		)
	}
	if cmd.KeepOld {
		std.notef("re-encrypted %d values and kept the old key", total.Values)
		return nil
	}
	if err := rotation.Finish(ctx); err != nil {
		return err
	}
	// A server may notice the new key late, and may have encrypted with the old one until now.
	if err := sleep(ctx, cmd.Settle); err != nil {
		return err
	}
	late, err := reencryptAll(ctx, db, rotation)
	if err != nil {
		return err
	}
	std.notef("re-encrypted %d values and removed the old key", total.Values+late.Values)
	return nil
}

// reencryptAll re-encrypts the database until no old value is left.
func reencryptAll(ctx context.Context, db *store.Store, rotation *secret.Rotation) (access.Reencrypted, error) {
	var total access.Reencrypted
	for {
		done, err := access.Reencrypt(ctx, db, rotation)
		total.Values, total.Lost = total.Values+done.Values, done.Lost
		if err != nil || done.Values == 0 {
			return total, err
		}
	}
}
