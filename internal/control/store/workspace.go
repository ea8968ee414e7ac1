package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"github.com/penstock-dev/penstock"
)

// Checkpoint is what is saved of a run's workspace after a turn.
type Checkpoint struct {
	penstock.Checkpoint

	RunID     string
	SessionID string
	Prepared  penstock.Prepared
	Restore   int64 // later turns begin with it although the workspace may be newer, until one has ended; 0: none
}

// checkpointFields are the columns of a checkpoint.
var checkpointFields = newResource("checkpoints", "c",
	textColumn("uid", func(v *Checkpoint) *string { return &v.UID }),
	textColumn("run_id", func(v *Checkpoint) *string { return &v.RunID }),
	numberColumn("turn", func(v *Checkpoint) *int64 { return &v.Turn }),
	textColumn("prompt_id", func(v *Checkpoint) *string { return &v.MessageID }),
	textColumn("harness", func(v *Checkpoint) *string { return &v.Harness }),
	textColumn("session_id", func(v *Checkpoint) *string { return &v.SessionID }),
	jsonColumn("prepared", func(v *Checkpoint) *penstock.Prepared { return &v.Prepared }),
	numberColumn("files", func(v *Checkpoint) *int64 { return &v.Files }),
	numberColumn("bytes", func(v *Checkpoint) *int64 { return &v.Bytes }),
	numberColumn("created_at", func(v *Checkpoint) *penstock.Time { return &v.CreatedAt }),
	flagColumn("superseded", func(v *Checkpoint) *bool { return &v.Superseded }),
	numberColumn("restore", func(v *Checkpoint) *int64 { return &v.Restore }),
)

// Pack has files of checkpoints.
type Pack struct {
	UID, Blob string
	Size      int64  // before encryption
	SealedKey []byte // of the blob
	CreatedAt penstock.Time
}

// packFields are the columns of a pack.
var packFields = newResource("packs", "p",
	textColumn("uid", func(v *Pack) *string { return &v.UID }),
	textColumn("blob", func(v *Pack) *string { return &v.Blob }),
	numberColumn("size", func(v *Pack) *int64 { return &v.Size }),
	bytesColumn("sealed_key", func(v *Pack) *[]byte { return &v.SealedKey }),
	numberColumn("created_at", func(v *Pack) *penstock.Time { return &v.CreatedAt }),
)

// Which checkpoints of a run are kept: the last ones, and then some.
const (
	keptTurns     = 20
	keptEachTurns = 10
)

// Turn returns the number of a turn of a run by its message: 1 for the run's own prompt.
func (f FilesTx) Turn(ctx context.Context, runID, promptID string) (turn int64, err error) {
	if promptID == runID {
		return 1, nil
	}
	err = f.tx.row(ctx, `SELECT count(*) + 1
		FROM followups
		WHERE run_id = $1 AND id <= $2`, runID, promptID).Scan(&turn)
	return turn, wrapf(err, "number the turns of run %s", runID)
}

// SaveCheckpoint adds a checkpoint to a locked run, with the pack that came with it and the uids of all
// packs that it needs: those that came earlier are packs of the run. It replaces an earlier checkpoint of the
// same turn, and removes those that are no longer kept. unused are blobs to which nothing refers. It
// does nothing for a checkpoint that is already saved.
func (f FilesTx) SaveCheckpoint(
	ctx context.Context, c Checkpoint, own Pack, needs []string,
) (unused []string, err error) {
	var n int
	if err := f.tx.row(ctx, "SELECT count(*) FROM checkpoints WHERE uid = $1", c.UID).Scan(&n); err != nil || n > 0 {
		return []string{own.Blob}, err
	}
	if err := f.ownPacks(ctx, c.RunID, needs[:len(needs)-1]); err != nil {
		return nil, err
	}
	if err := packFields.add(ctx, f.tx, &own); err != nil {
		return nil, fmt.Errorf("save a pack of run %s: %w", c.RunID, err)
	}
	old, err := f.outOfDate(ctx, c)
	if err != nil {
		return nil, err
	}
	if unused, err = f.removeCheckpoints(ctx, old, needs); err != nil {
		return nil, err
	}
	return unused, f.addCheckpoint(ctx, c, needs)
}

// ownPacks returns an error unless checkpoints of a run need these packs: a worker must not read the
// files of other runs.
func (f FilesTx) ownPacks(ctx context.Context, runID string, uids []string) error {
	for _, uid := range uids {
		var n int
		err := f.tx.row(ctx, `SELECT count(*)
			FROM checkpoint_packs n
			JOIN checkpoints c ON c.uid = n.checkpoint_uid
			WHERE n.pack_uid = $1 AND c.run_id = $2`, uid, runID).Scan(&n)
		if err != nil {
			return fmt.Errorf("find the packs of run %s: %w", runID, err)
		}
		if n == 0 {
			return penstock.Invalid("/checkpoint/packs", "has %q, which is no pack of the run", uid)
		}
	}
	return nil
}

// addCheckpoint stores a checkpoint that needs packs.
func (f FilesTx) addCheckpoint(ctx context.Context, c Checkpoint, needs []string) error {
	if err := checkpointFields.add(ctx, f.tx, &c); err != nil {
		return fmt.Errorf("save a checkpoint of run %s: %w", c.RunID, err)
	}
	for n, pack := range needs {
		if _, err := f.tx.exec(ctx, `INSERT INTO checkpoint_packs (checkpoint_uid, n, pack_uid)
			VALUES ($1, $2, $3)`, c.UID, n, pack); err != nil {
			return fmt.Errorf("save a checkpoint of run %s: %w", c.RunID, err)
		}
	}
	return nil
}

// outOfDate lists the checkpoints that a new one replaces, and those that are too old.
func (f FilesTx) outOfDate(ctx context.Context, next Checkpoint) (uids []string, err error) {
	rows, err := f.tx.query(ctx, `SELECT uid, turn
		FROM checkpoints
		WHERE run_id = $1
		ORDER BY turn DESC`, next.RunID)
	list, err := collect(f.tx.s, rows, err, "checkpoints", func(v *Checkpoint) []any { return []any{&v.UID, &v.Turn} })
	left := keptTurns - 1
	for _, c := range list {
		if c.Turn == next.Turn {
			uids = append(uids, c.UID)
		} else if left--; left < 0 && c.Turn%keptEachTurns != 0 {
			uids = append(uids, c.UID)
		}
	}
	return uids, err
}

// RemoveCheckpoints removes all checkpoints of a locked run. unused are blobs to which nothing refers
// any more.
func (f FilesTx) RemoveCheckpoints(ctx context.Context, runID string) (unused []string, err error) {
	rows, err := f.tx.query(ctx, "SELECT uid FROM checkpoints WHERE run_id = $1", runID)
	uids, err := collect(f.tx.s, rows, err, "checkpoints", func(v *string) []any { return []any{v} })
	if err != nil {
		return nil, err
	}
	return f.removeCheckpoints(ctx, uids, nil)
}

// removeCheckpoints removes checkpoints. unused are the blobs of packs to which nothing refers any
// more, except those in keep.
func (f FilesTx) removeCheckpoints(ctx context.Context, uids, keep []string) (unused []string, err error) {
	for _, uid := range uids {
		packs, err := f.needs(ctx, uid)
		if err != nil {
			return nil, err
		}
		for _, remove := range []string{
			"checkpoint_packs WHERE checkpoint_uid = $1", "checkpoints WHERE uid = $1",
		} {
			if _, err := f.tx.exec(ctx, "DELETE FROM "+remove, uid); err != nil {
				return nil, fmt.Errorf("remove the checkpoint %s: %w", uid, err)
			}
		}
		for _, pack := range packs {
			if slices.Contains(keep, pack) {
				continue
			}
			rows, err := f.tx.query(ctx, "DELETE FROM packs WHERE uid = $1"+unneeded+" RETURNING blob", pack)
			blobs, err := collect(f.tx.s, rows, err, "packs", func(v *string) []any { return []any{v} })
			if err != nil {
				return nil, err
			}
			unused = append(unused, blobs...)
		}
	}
	return unused, nil
}

const unneeded = ` AND NOT EXISTS (
	SELECT 1
	FROM checkpoint_packs
	WHERE checkpoint_packs.pack_uid = packs.uid
)`

// ClearPacks removes up to limit packs that no checkpoint needs, from before a time. Two
// transactions that remove the last two checkpoints with a pack may each leave it to the other.
func (f Files) ClearPacks(ctx context.Context, before penstock.Time, limit int) (blobs []string, err error) {
	err = f.s.Write(ctx, func(tx *Tx) error {
		rows, err := tx.query(ctx, `DELETE FROM packs
			WHERE uid IN (
				SELECT uid
				FROM packs
				WHERE created_at < $1`+unneeded+`
				LIMIT $2
			)
			RETURNING blob`, int64(before), limit)
		blobs, err = collect(tx.s, rows, err, "packs", func(v *string) []any { return []any{v} })
		return err
	})
	return blobs, err
}

func (f FilesTx) needs(ctx context.Context, uid string) (uids []string, err error) {
	rows, err := f.tx.query(ctx, `SELECT pack_uid
		FROM checkpoint_packs
		WHERE checkpoint_uid = $1
		ORDER BY n`, uid)
	return collect(f.tx.s, rows, err, "packs", func(v *string) []any { return []any{v} })
}

// Checkpoints lists the checkpoints of a run, in the order of their turns.
func (f Files) Checkpoints(ctx context.Context, runID string) ([]Checkpoint, error) {
	rows, err := f.s.query(ctx, "SELECT "+checkpointFields.selected+`
		FROM checkpoints c
		WHERE c.run_id = $1
		ORDER BY c.turn`, runID)
	return collect(f.s, rows, err, "checkpoints", func(v *Checkpoint) []any { return checkpointFields.into(v) })
}

// Checkpoint reads a run's checkpoint of a turn; -1 means the latest. Absence is penstock.CodeNotFound.
func (f FilesTx) Checkpoint(ctx context.Context, runID string, turn int64) (c Checkpoint, err error) {
	return readCheckpoint(ctx, f.tx, runID, turn)
}

// Latest returns the checkpoint from which a run continues; absence is penstock.CodeNotFound.
func (f Files) Latest(ctx context.Context, runID string) (Checkpoint, error) {
	return readCheckpoint(ctx, f.s, runID, -1)
}

func readCheckpoint(ctx context.Context, q querier, runID string, turn int64) (c Checkpoint, err error) {
	err = q.row(ctx, "SELECT "+checkpointFields.selected+`
		FROM checkpoints c
		WHERE c.run_id = $1 AND c.superseded = 0 AND (c.turn = $2 OR $2 < 0)
		ORDER BY c.turn DESC
		LIMIT 1`, runID, turn).Scan(checkpointFields.into(&c)...)
	if errors.Is(err, sql.ErrNoRows) {
		return c, penstock.NotFound("checkpoint of run", runID)
	}
	if err != nil {
		return c, fmt.Errorf("read a checkpoint of run %s: %w", runID, err)
	}
	return c, nil
}

// Packs lists the packs that a checkpoint needs, in order.
func (f Files) Packs(ctx context.Context, uid string) ([]Pack, error) {
	rows, err := f.s.query(ctx, "SELECT "+packFields.selected+`
		FROM checkpoint_packs n
		JOIN packs p ON p.uid = n.pack_uid
		WHERE n.checkpoint_uid = $1
		ORDER BY n.n`, uid)
	return collect(f.s, rows, err, "packs", func(v *Pack) []any { return packFields.into(v) })
}

// PackOf reads a pack that a checkpoint of a run needs; absence is penstock.CodeNotFound.
func (f Files) PackOf(ctx context.Context, runID, uid string) (p Pack, err error) {
	err = f.s.row(ctx, "SELECT "+packFields.selected+`
		FROM packs p
		WHERE p.uid = $1 AND EXISTS (
			SELECT 1
			FROM checkpoint_packs n
			JOIN checkpoints c ON c.uid = n.checkpoint_uid
			WHERE n.pack_uid = p.uid AND c.run_id = $2
		)`, uid, runID).Scan(packFields.into(&p)...)
	if errors.Is(err, sql.ErrNoRows) {
		return p, penstock.NotFound("pack", uid)
	}
	return p, f.s.d.mapError(err)
}

// ForkCheckpoint makes a checkpoint of a locked run the beginning of another run.
func (f FilesTx) ForkCheckpoint(ctx context.Context, from Checkpoint, runID string) error {
	needs, err := f.needs(ctx, from.UID)
	if err != nil {
		return err
	}
	from.UID, from.RunID, from.Turn, from.Restore = penstock.NewID(), runID, 0, 0
	return f.addCheckpoint(ctx, from, needs)
}

// Supersede marks the checkpoints of a locked run after a turn, to which the run goes back. They are not
// continued from again. The turn of the next message begins with the files of that turn.
func (f FilesTx) Supersede(ctx context.Context, runID string, turn int64) error {
	var followups int64
	if err := f.tx.row(ctx, "SELECT count(*) FROM followups WHERE run_id = $1", runID).Scan(&followups); err != nil {
		return fmt.Errorf("number the turns of run %s: %w", runID, err)
	}
	_, err := f.tx.exec(ctx, `UPDATE checkpoints
		SET superseded = CASE WHEN turn > $1 THEN 1 ELSE superseded END, restore = CASE WHEN turn = $1 THEN $2 ELSE 0 END
		WHERE run_id = $3`, turn, followups+1, runID)
	return wrapf(err, "take run %s back to turn %d", runID, turn)
}
