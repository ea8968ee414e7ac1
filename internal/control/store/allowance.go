package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/share"
)

var (
	allowancesTable = table{
		name: "allowances", columns: columns("name text, windows text, expires_at bigint"),
		conflict: "ON CONFLICT (name) DO UPDATE SET windows = excluded.windows, expires_at = excluded.expires_at",
	}
	newAllowancesTable = allowancesTable.onConflict("ON CONFLICT DO NOTHING")
)

// LeaseAllowance takes a part of a limit that all servers share. The window uses the database's
// clock.
func (ks Keys) LeaseAllowance(ctx context.Context, l share.Lease) (got share.Leased, err error) {
	err = ks.s.Write(ctx, func(tx *Tx) error {
		got, err = tx.Keys().leaseAllowance(ctx, l)
		return err
	})
	return got, err
}

func (ks KeysTx) leaseAllowance(ctx context.Context, l share.Lease) (got share.Leased, err error) {
	w, now, err := ks.lockAllowance(ctx, l.Name)
	if errors.Is(err, sql.ErrNoRows) {
		// A missing row cannot be locked: another server may insert it, too.
		if err := ks.tx.insert(ctx, newAllowancesTable, [][]any{{l.Name, "", int64(0)}}); err != nil {
			return got, err
		}
		w, now, err = ks.lockAllowance(ctx, l.Name)
	}
	if err != nil {
		return got, fmt.Errorf("read the allowance of %s: %w", l.Name, err)
	}
	got = l.Take(&w, now)
	until := now.Add(l.Lasts + share.WindowLength + time.Second).UnixMilli()
	return got, ks.tx.insert(ctx, allowancesTable, [][]any{{l.Name, marshal(w), until}})
}

func (ks KeysTx) lockAllowance(ctx context.Context, name string) (w share.Window, now time.Time, err error) {
	var windows string
	var at penstock.Time
	if err = ks.tx.row(ctx, "SELECT windows, "+ks.tx.s.d.now+`
		FROM allowances
		WHERE name = $1`+ks.tx.s.d.lock, name).Scan(&windows, &at); err != nil {
		return nil, now, err
	}
	return w, time.UnixMilli(int64(at)), unmarshal(windows, &w)
}

// DropAllowances removes windows without an event, at most limit.
func (ks Keys) DropAllowances(ctx context.Context, limit int) (dropped int, err error) {
	err = ks.s.Write(ctx, func(tx *Tx) error {
		n, err := tx.exec(ctx, `DELETE FROM allowances
			WHERE name IN (SELECT name FROM allowances WHERE expires_at <= `+tx.s.d.now+" LIMIT $1) AND expires_at <= "+
			tx.s.d.now, limit) // again, because a row may have changed meanwhile
		dropped = int(n)
		return err
	})
	return dropped, err
}
