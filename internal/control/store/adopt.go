package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/penstock-dev/penstock"
)

// An adopted lease has a token that begins with the hash of the launcher's token. So the launcher can
// still name the execution, and the hash shows nothing of its token.

// AdoptedToken is the token of a lease after an adoption: launched is the launcher's token, and
// chosen the adopter's.
func AdoptedToken(launched, chosen string) string { return adoptedPrefix(launched) + chosen }

func adoptedPrefix(launched string) string {
	sum := sha256.Sum256([]byte(launched))
	return hex.EncodeToString(sum[:16]) + "."
}

// Adopt replaces the token of the lease l by AdoptedToken(l.Token, a.Token), and returns the run,
// locked. The agent's key, as its hash, becomes agentKey. repeated is true if the same call succeeded
// before. penstock.ErrLeaseLost: l is not active, or another process has adopted it.
func (e ExecutionsTx) Adopt(
	ctx context.Context, l penstock.Lease, a penstock.Adoption, agentKey string,
) (run RunRow, repeated bool, err error) {
	run, err = e.tx.Runs().Lock(ctx, l.RunID)
	if penstock.CodeOf(err) == penstock.CodeNotFound {
		return run, false, penstock.ErrLeaseLost
	}
	if err != nil {
		return run, false, err
	}
	token := AdoptedToken(l.Token, a.Token)
	n, err := e.tx.exec(ctx, `UPDATE queue
		SET token = $1, agent_key = $2, lease_until = `+e.tx.s.d.now+` + $3
		WHERE run_id = $4 AND token = $5 AND token <> ''`,
		token, agentKey, penstock.LeaseTime.Milliseconds(), l.RunID, l.Token)
	if err != nil {
		return run, false, fmt.Errorf("adopt run %s: %w", l.RunID, err)
	}
	if n == 0 {
		repeated, err = e.holds(ctx, penstock.Lease{RunID: l.RunID, Token: token})
		if err == nil && !repeated {
			err = penstock.ErrLeaseLost
		}
		return run, repeated, err
	}
	if _, err := e.tx.exec(ctx, `UPDATE executions
		SET token = $1, host = $2
		WHERE run_id = $3 AND execution_id = $4`, token, a.Host, l.RunID, run.ExecutionID); err != nil {
		return run, false, fmt.Errorf("adopt execution %d of run %s: %w", run.ExecutionID, l.RunID, err)
	}
	return run, false, nil
}

// Launched reads the state of an execution by the lease l of its launcher. adopted means that a
// worker has taken it over. givenUp means that this worker has given up its lease, which then cannot
// be renewed until the transaction ends. The run must be locked. penstock.ErrLeaseLost: the execution
// has ended.
func (e ExecutionsTx) Launched(ctx context.Context, l penstock.Lease) (adopted, givenUp bool, err error) {
	prefix := adoptedPrefix(l.Token)
	var token string
	var left int64
	err = e.tx.row(ctx, `SELECT token, lease_until - `+e.tx.s.d.now+`
		FROM queue
		WHERE run_id = $1 AND token <> '' AND (token = $2 OR substr(token, 1, $3) = $4)`+e.tx.s.d.lock,
		l.RunID, l.Token, len(prefix), prefix).Scan(&token, &left)
	if errors.Is(err, sql.ErrNoRows) {
		return false, false, penstock.ErrLeaseLost
	}
	if err != nil {
		return false, false, fmt.Errorf("look at the launched lease of run %s: %w", l.RunID, err)
	}
	return token != l.Token, left < GivenUp.Milliseconds(), nil
}

// AppendLoss adds a timeline event to an execution after the end of its lease, once for each type.
// The lease is the launcher's. The run must be locked. It adds nothing if the execution had another
// lease.
func (e ExecutionsTx) AppendLoss(ctx context.Context, l penstock.Lease, d penstock.Draft) error {
	prefix := adoptedPrefix(l.Token)
	var one int
	err := e.tx.row(ctx, `SELECT 1
		FROM executions
		WHERE run_id = $1 AND execution_id = $2 AND (token = $3 OR substr(token, 1, $4) = $5)
			AND NOT EXISTS (
				SELECT 1 FROM events e
				WHERE e.run_id = $1 AND e.execution_id = $2 AND e.type = 'timeline' AND e.key = $6
			)`, l.RunID, l.ExecutionID, l.Token, len(prefix), prefix, d.Key).Scan(&one)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at execution %d of run %s: %w", l.ExecutionID, l.RunID, err)
	}
	var last int64
	if err := e.tx.row(ctx, `UPDATE runs
		SET last_seq = last_seq + 1, progress_seq = progress_seq + 1
		WHERE id = $1
		RETURNING last_seq`, l.RunID).Scan(&last); err != nil {
		return fmt.Errorf("take the sequence of run %s: %w", l.RunID, err)
	}
	return e.tx.Events().insert(ctx, l.RunID, l.ExecutionID, last, []penstock.Draft{d})
}
