package access

import (
	"context"
	"errors"
	"fmt"

	"github.com/penstock-dev/penstock/internal/secret"
	"github.com/penstock-dev/penstock/internal/store"
)

// reencryptBatch is how many values are sealed again in one transaction.
const reencryptBatch = 200

// Reencrypted is what came of sealing everything again.
type Reencrypted struct {
	Values int      // that were sealed again
	Lost   []string // secrets that no key of the keyset opens
}

// Reencrypt seals every value of the database that an older key sealed with the
// newest one. Servers may go on: a value that changes meanwhile is left as it
// is by then. Killed and called again it goes on.
func Reencrypt(ctx context.Context, db *store.Store, r *secret.Rotation) (Reencrypted, error) {
	var done Reencrypted
	for _, table := range store.SealedTables() {
		for after := (store.SealedRow{Table: table}); ; {
			rows, err := db.SealedRows(ctx, after, reencryptBatch)
			if err != nil {
				return done, err
			}
			if err := done.batch(ctx, db, r, rows); err != nil {
				return done, err
			}
			if len(rows) < reencryptBatch {
				break
			}
			after = rows[len(rows)-1]
		}
	}
	return done, nil
}

func (done *Reencrypted) batch(ctx context.Context, db *store.Store, r *secret.Rotation, rows []store.SealedRow) error {
	var fresh [][]byte
	var stale []store.SealedRow
	for _, row := range rows {
		sealed, err := r.Reencrypt(row.Sealed, sealedContext(row))
		switch {
		case errors.Is(err, secret.ErrSealed):
			// Answers are over soon anyway, and a session that does not open is begun anew.
			if row.Table != store.SealedAnswers && row.Table != store.SealedSessions {
				done.Lost = append(done.Lost, sealedName(row))
			}
		case err != nil:
			return fmt.Errorf("seal %s again: %w", sealedName(row), err)
		case sealed != nil:
			fresh, stale = append(fresh, sealed), append(stale, row)
		}
	}
	if len(stale) == 0 {
		return nil
	}
	n := 0
	err := db.Write(ctx, func(tx *store.Tx) error {
		n = 0
		for i, row := range stale {
			changed, err := tx.Reencrypt(ctx, row, fresh[i])
			if err != nil {
				return err
			}
			if changed {
				n++
			}
		}
		return nil
	})
	done.Values += n
	return err
}

// sealedContext is what a row's value is sealed for.
func sealedContext(r store.SealedRow) string {
	switch r.Table {
	case store.SealedSecrets:
		return secretContext(r.ID, r.Name, r.N)
	case store.SealedWebhooks:
		return WebhookSecretContext(r.ID, r.N)
	case store.SealedSessions:
		return SessionContext(r.ID, r.Name)
	default:
		return r.ID // the scope of a kept answer
	}
}

// sealedName says which value it is, to a person.
func sealedName(r store.SealedRow) string {
	switch r.Table {
	case store.SealedSecrets:
		return fmt.Sprintf("the secret %s of team %s", r.Name, r.ID)
	case store.SealedWebhooks:
		return "a secret of webhook " + r.ID
	case store.SealedSessions:
		return "the saved session of conversation " + r.ID
	default:
		return "the answer kept for an Idempotency-Key"
	}
}

// The HOME of an agent holds what its run was given, secrets included. It is
// sealed on its way to the disk and opened on its way to a worker, which needs no
// keyset.

// SessionContext is the place of a saved session: its content and its key are of
// no use for another conversation or another file.
func SessionContext(conversationID, key string) string {
	return fmt.Sprintf("session\x00%s\x00%s", conversationID, key)
}
