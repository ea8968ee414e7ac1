package access

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/supply/secret"
)

// ErrOtherKeyset is returned if a keyset decrypts none of the secrets in a database.
var ErrOtherKeyset = errors.New("the keyset decrypts none of the stored secrets")

// CheckKeyset returns ErrOtherKeyset if the database has secrets, and the keyset decrypts none of
// them. One is enough, because single values may have been lost with an earlier key. Stored responses
// and saved sessions do not count: nobody has to set them again. A keyset of nil decrypts nothing.
func CheckKeyset(ctx context.Context, db *store.Store, keyset *secret.Keyset) error {
	var result error
	for _, table := range []store.SealedTable{
		store.SealedSecrets, store.SealedWebhooks, store.SealedEndpoints, store.SealedForges,
	} {
		for after := (store.SealedRow{Table: table}); ; {
			rows, err := db.Secrets.SealedRows(ctx, after, reencryptBatch)
			if err != nil {
				return err
			}
			for _, row := range rows {
				result = ErrOtherKeyset
				if keyset == nil {
					return result
				}
				if _, err := keyset.Open(row.Sealed, sealedContext(row)); err == nil {
					return nil
				}
			}
			if len(rows) < reencryptBatch {
				break
			}
			after = rows[len(rows)-1]
		}
	}
	return result
}

// reencryptBatch is how many values one transaction re-encrypts.
const reencryptBatch = 200

// Reencrypted is the result of Reencrypt.
type Reencrypted struct {
	Values int      // re-encrypted
	Lost   []string // secrets that no key in the keyset can decrypt
}

// Reencrypt encrypts every value in the database with the newest key, unless that key already
// encrypted it. It is safe while servers run: it skips a value that changes in the meantime. If
// it is killed, call it again to continue.
func Reencrypt(ctx context.Context, db *store.Store, r *secret.Rotation) (Reencrypted, error) {
	var done Reencrypted
	for _, table := range store.SealedTables() {
		for after := (store.SealedRow{Table: table}); ; {
			rows, err := db.Secrets.SealedRows(ctx, after, reencryptBatch)
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
			// Stored responses expire soon, and a run starts anew if what is saved of it cannot be
			// decrypted.
			if !slices.Contains([]store.SealedTable{store.SealedResponses, store.SealedSessions, store.SealedPacks}, row.Table) {
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
			changed, err := tx.Secrets().Reencrypt(ctx, row, fresh[i])
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

// sealedContext returns the encryption context of a row's value.
func sealedContext(r store.SealedRow) string {
	switch r.Table {
	case store.SealedSecrets:
		return secretContext(r.ID, r.Name, r.N)
	case store.SealedWebhooks:
		return WebhookSecretContext(r.ID, r.N)
	case store.SealedSessions:
		return SessionContext(r.ID, r.Name)
	case store.SealedEndpoints:
		return EndpointContext(r.ID)
	case store.SealedForges:
		return ForgeContext(r.ID)
	case store.SealedPacks:
		return PackContext(r.Name)
	default:
		return r.ID // the scope of a stored response
	}
}

// sealedName names the value for a person.
func sealedName(r store.SealedRow) string {
	switch r.Table {
	case store.SealedSecrets:
		return fmt.Sprintf("the secret %s of team %s", r.Name, r.ID)
	case store.SealedWebhooks:
		return "a secret of webhook " + r.ID
	case store.SealedSessions:
		return "the saved session of conversation " + r.ID
	case store.SealedEndpoints:
		return "the URL and secrets of event endpoint " + r.ID
	case store.SealedForges:
		return "the tokens of connection " + r.ID
	case store.SealedPacks:
		return "the saved files " + r.Name
	default:
		return "the response kept for an Idempotency-Key"
	}
}

// The HOME of an agent may contain secrets. The server encrypts it before it writes it to disk,
// and decrypts it before it sends it to a worker. Workers need no keyset.

// SessionContext is the encryption context of a saved session. Its content and key cannot be
// used for another conversation or file.
func SessionContext(conversationID, key string) string {
	return fmt.Sprintf("session\x00%s\x00%s", conversationID, key)
}

// PackContext is the encryption context of files of a workspace. Their content and key cannot be used
// for another file.
func PackContext(key string) string { return "pack\x00" + key }

// ForgeContext is the encryption context of the tokens of a connection to a forge.
func ForgeContext(uid string) string { return "forge\x00" + uid }

// EndpointContext is the encryption context of the URL and secrets of an event endpoint.
func EndpointContext(uid string) string { return "event-endpoint\x00" + uid }
