package store

import (
	"context"
	"fmt"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/rate"
)

// rateWindows count a webhook's deliveries of the last minute, by the database's clock, so that a
// limit holds over all replicas: those that were admitted, and the rejections that were logged, by
// their outcome. A row of webhook_rates holds them as JSON.
type rateWindows struct {
	Admitted rate.Window                       `json:"admitted,omitempty"`
	Logged   map[penstock.Outcome]*rate.Window `json:"logged,omitempty"`
	changed  bool
}

// logged is the window of an outcome.
func (r *rateWindows) logged(o penstock.Outcome) *rate.Window {
	if r.Logged == nil {
		r.Logged = map[penstock.Outcome]*rate.Window{}
	}
	if r.Logged[o] == nil {
		r.Logged[o] = &rate.Window{}
	}
	return r.Logged[o]
}

// take counts a delivery at now unless the window holds limit of them; a limit of 0 is none, and
// nothing is counted. Otherwise wait is how long until there is room.
func (r *rateWindows) take(w *rate.Window, limit int, now time.Time) (wait time.Duration, ok bool) {
	if limit <= 0 {
		return 0, true
	}
	if wait = w.Until(limit, now); wait > 0 {
		return wait, false
	}
	w.Add(now, rate.Tick(limit))
	r.changed = true
	return 0, true
}

var (
	ratesTable = table{
		name: "webhook_rates", columns: columns("webhook_uid text, windows text"),
		conflict: "ON CONFLICT (webhook_uid) DO UPDATE SET windows = excluded.windows",
	}
	newRatesTable = table{name: "webhook_rates", columns: ratesTable.columns, conflict: "ON CONFLICT DO NOTHING"}
)

// rates reads the windows of the webhooks, sorted and each once, and keeps them from changing until
// the transaction ends. now is the database's clock.
func (tx *Tx) rates(ctx context.Context, uids []string) (found map[string]*rateWindows, now time.Time, err error) {
	if found, now, err = tx.lockRates(ctx, uids); err != nil || len(found) == len(uids) {
		return found, now, err
	}
	// A row that is not there cannot be locked: another replica may make it, too.
	var rows [][]any
	for _, uid := range uids {
		if found[uid] == nil {
			rows = append(rows, []any{uid, ""})
		}
	}
	if err := tx.s.d.insert(ctx, tx, newRatesTable, rows); err != nil {
		return nil, now, err
	}
	return tx.lockRates(ctx, uids)
}

func (tx *Tx) lockRates(ctx context.Context, uids []string) (map[string]*rateWindows, time.Time, error) {
	found := make(map[string]*rateWindows, len(uids))
	var now penstock.Time
	for args := range chunks(uids, func(uid string) []any { return []any{uid} }) {
		rows, err := tx.query(
			ctx,
			"SELECT webhook_uid, windows, "+tx.s.d.now+`
				FROM webhook_rates
				WHERE webhook_uid IN (`+placeholders(1, len(args))+
				") ORDER BY webhook_uid"+tx.s.d.bytewise+tx.s.d.lock,
			args...,
		)
		type row struct{ uid, windows string }
		list, err := collect(tx.s, rows, err, "rates", func(r *row) []any { return []any{&r.uid, &r.windows, &now} })
		if err != nil {
			return nil, time.Time{}, err
		}
		for _, r := range list {
			found[r.uid] = &rateWindows{}
			if err := unmarshal(r.windows, found[r.uid]); err != nil {
				return nil, time.Time{}, fmt.Errorf("read the rates of webhook %s: %w", r.uid, err)
			}
		}
	}
	return found, time.UnixMilli(int64(now)), nil
}
