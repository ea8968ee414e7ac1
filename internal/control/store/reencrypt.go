package store

import (
	"context"
)

// SealedRow is an encrypted value of a table with the key of its row.
type SealedRow struct {
	Table  SealedTable
	ID     string // the team, webhook, event endpoint, connection, conversation or pack, or scope of an idempotency key
	Name   string // of a managed secret, or of the blob of a saved session or a pack
	N      int64  // its version, or which of a webhook's secrets
	Sealed []byte
}

// SealedTable is a table with encrypted values.
type SealedTable string

// The tables with encrypted values.
const (
	SealedSecrets   SealedTable = "secrets"
	SealedWebhooks  SealedTable = "webhook_secrets"
	SealedResponses SealedTable = "idempotency"
	SealedSessions  SealedTable = "conversations"
	SealedEndpoints SealedTable = "event_endpoints"
	SealedPacks     SealedTable = "packs"
	SealedForges    SealedTable = "forges"
)

// SealedTables lists every table with encrypted values.
func SealedTables() []SealedTable {
	return []SealedTable{
		SealedSecrets, SealedWebhooks, SealedResponses, SealedSessions, SealedEndpoints, SealedForges, SealedPacks,
	}
}

// reencryptSQL holds the statements for a table: the next rows after a key of id, name and n, and
// the update of one row if it has not changed since it was read.
var reencryptSQL = map[SealedTable]struct{ next, set string }{
	SealedSecrets: {
		`SELECT team, name, version, sealed
			FROM secrets
			WHERE version > 0 AND (team, name, version) > ($1, $2, $3)
			ORDER BY team, name, version
			LIMIT $4`,
		`UPDATE secrets
			SET sealed = $1
			WHERE team = $2 AND name = $3 AND version = $4 AND sealed = $5`,
	},
	SealedWebhooks: {
		`SELECT webhook_uid, '', n, sealed
			FROM webhook_secrets
			WHERE (webhook_uid, '', n) > ($1, $2, $3)
			ORDER BY webhook_uid, n
			LIMIT $4`,
		`UPDATE webhook_secrets
			SET sealed = $1
			WHERE webhook_uid = $2 AND $3 = '' AND n = $4 AND sealed = $5`,
	},
	SealedResponses: {
		`SELECT scope, '', 0, response
			FROM idempotency
			WHERE (scope, '', 0) > ($1, $2, $3)
			ORDER BY scope
			LIMIT $4`,
		`UPDATE idempotency SET response = $1 WHERE scope = $2 AND $3 = '' AND $4 = 0 AND response = $5`,
	},
	SealedSessions: {
		`SELECT id, blob, 0, sealed_key
			FROM conversations
			WHERE length(sealed_key) > 0 AND (id, blob, 0) > ($1, $2, $3)
			ORDER BY id
			LIMIT $4`,
		`UPDATE conversations
			SET sealed_key = $1
			WHERE id = $2 AND blob = $3 AND $4 = 0 AND sealed_key = $5`,
	},
	SealedEndpoints: {
		`SELECT uid, '', 0, sealed
			FROM event_endpoints
			WHERE (uid, '', 0) > ($1, $2, $3)
			ORDER BY uid
			LIMIT $4`,
		`UPDATE event_endpoints SET sealed = $1 WHERE uid = $2 AND $3 = '' AND $4 = 0 AND sealed = $5`,
	},
	SealedForges: {
		`SELECT uid, '', 0, sealed
			FROM forges
			WHERE (uid, '', 0) > ($1, $2, $3)
			ORDER BY uid
			LIMIT $4`,
		`UPDATE forges SET sealed = $1 WHERE uid = $2 AND $3 = '' AND $4 = 0 AND sealed = $5`,
	},
	SealedPacks: {
		`SELECT uid, blob, 0, sealed_key
			FROM packs
			WHERE (uid, blob, 0) > ($1, $2, $3)
			ORDER BY uid
			LIMIT $4`,
		`UPDATE packs SET sealed_key = $1 WHERE uid = $2 AND blob = $3 AND $4 = 0 AND sealed_key = $5`,
	},
}

// SealedRows lists at most limit rows of a table after a given row, in the order of their keys. The
// zero row comes before all others.
func (ss Secrets) SealedRows(ctx context.Context, after SealedRow, limit int) ([]SealedRow, error) {
	rows, err := ss.s.query(ctx, reencryptSQL[after.Table].next, after.ID, after.Name, after.N, limit)
	return collect(ss.s, rows, err, "sealed values", func(r *SealedRow) []any {
		r.Table = after.Table
		return []any{&r.ID, &r.Name, &r.N, &r.Sealed}
	})
}

// Reencrypt replaces an encrypted value. It returns false if the value was changed or removed since
// it was read.
func (ss SecretsTx) Reencrypt(ctx context.Context, r SealedRow, sealed []byte) (bool, error) {
	n, err := ss.tx.exec(ctx, reencryptSQL[r.Table].set, sealed, r.ID, r.Name, r.N, r.Sealed)
	return n > 0, wrapf(err, "seal a value of %s again", r.Table)
}
