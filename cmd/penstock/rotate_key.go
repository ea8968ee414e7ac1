package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/penstock-dev/penstock/internal/access"
	"github.com/penstock-dev/penstock/internal/secret"
	"github.com/penstock-dev/penstock/internal/store"
)

// rotateKeyCmd replaces the key that seals. It works on database and keyset
// itself, as those who may call the API have no business with the keys.
type rotateKeyCmd struct {
	storage
	Prepare bool          `xor:"step" help:"Only add the key that is to seal next, for servers that have copies of the keyset."`
	KeepOld bool          `xor:"step" help:"Seal everything again, and keep the old key."`
	FromKMS kmsKey        `name:"from-kms" placeholder:"URI" help:"Key of AWS KMS that the keyset is encrypted by, where --keyset-kms names another one, or none, for the time to come."`
	Settle  time.Duration `default:"5s" placeholder:"DURATION" help:"How long servers that run are given to notice another key, and to store what they sealed before. Default: 5s"`
}

func (cmd *rotateKeyCmd) Help() string {
	return `Adds a new key, which seals from then on, seals everything in the database with it again, in small steps, and drops the old key. Give it the flags and environment that serve gets. Servers may run: they notice the changed file. It can be interrupted at any time; called again it goes on, with the same new key.

Where servers have copies of the keyset instead of one file, call it with --prepare, then with --keep-old, then without either, and bring the file to all servers after each: so all of them know the new key before one seals with it, and none seals with the old one when that is dropped.

It also changes how the keyset is kept: keys in plain text are replaced by ones that --keyset-kms encrypts, and with --from-kms those of one KMS key by those of another one, or by plain ones. End the servers before, and give them the new --keyset-kms after. The role needs kms:Encrypt and kms:Decrypt, with the encryption context purpose=penstock-keyset; servers need kms:Decrypt alone once there is a keyset.

The file of a saved session is not written again: it has a key of its own, which is sealed again with everything else. Signed links made before the end no longer open. Backups keep the keyset that they were made with.`
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
		std.notef("%s has the key that is to seal next", cmd.keysetPath())
		return nil
	}
	db, err := cmd.openPresent(ctx)
	if err != nil {
		return err
	}
	err = cmd.rotate(ctx, std, db, file)
	return errors.Join(err, db.Close())
}

// locate says where the keyset is. One that is to be of another form cannot be
// read by servers that run: they go on with the old keys, and soon meet values
// that were sealed with the new one.
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
			exitRefused, "process %s serves %s, and could not read the keyset any more: end it first", pid, cmd.Data,
		)
	}
	return file, nil
}

// openPresent opens a database that is there and has this version's schema,
// while a server may have it open.
func (s *storage) openPresent(ctx context.Context) (*store.Store, error) {
	if err := s.checkDatabase(); err != nil {
		return nil, err
	}
	if file, embedded := s.sqliteFile(); embedded {
		if _, err := os.Stat(file); err != nil {
			return nil, exitf(exitConfig, "there is no database: %w", err)
		}
	}
	db, err := s.openStore(ctx, store.Options{AsIs: true})
	if err != nil {
		return nil, err
	}
	have, newest, err := db.SchemaVersion(ctx)
	if err == nil && have != newest {
		err = exitf(
			exitConfig, "%s has schema %d, this version knows %d: use the version that serves", s.databaseName(), have, newest,
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
		std.notef("the keyset has a new key already: going on with it")
	} else {
		std.notef("a new key seals from now on; sealing again what is there")
	}
	if err := sleep(ctx, cmd.Settle); err != nil {
		return err
	}
	total, err := resealAll(ctx, db, rotation)
	if err != nil {
		return err
	}
	if len(total.Lost) > 0 {
		return exitf(
			exitFailed,
			"sealed %d values again and kept the old key: no key opens %s. Give them new values, or delete them, and call this again",
			total.Values, strings.Join(total.Lost, ", "),
		)
	}
	if cmd.KeepOld {
		std.notef("sealed %d values again; the old key is kept", total.Values)
		return nil
	}
	if err := rotation.Finish(ctx); err != nil {
		return err
	}
	// A server that noticed late may have sealed with the old key until now.
	if err := sleep(ctx, cmd.Settle); err != nil {
		return err
	}
	late, err := resealAll(ctx, db, rotation)
	if err != nil {
		return err
	}
	std.notef("sealed %d values again and dropped the old key", total.Values+late.Values)
	return nil
}

// resealAll goes through the database until nothing is left to be sealed again.
func resealAll(ctx context.Context, db *store.Store, rotation *secret.Rotation) (access.Resealed, error) {
	var total access.Resealed
	for {
		done, err := access.Reseal(ctx, db, rotation)
		total.Values, total.Lost = total.Values+done.Values, done.Lost
		if err != nil || done.Values == 0 {
			return total, err
		}
	}
}
