package store

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
)

// meterWindow is how far back a meter looks.
const meterWindow = penstock.Time(time.Minute / time.Millisecond)

// meter knows the moments of a webhook's deliveries of the last minute, by the
// database's clock, so that any 60 seconds hold no more than the limit, however
// many replicas admit. A series is of those that were admitted, or of those of
// one rejection that were logged.
type meter struct {
	series  [meterSeries][]penstock.Time // ascending
	changed bool
}

const (
	meterAdmitted = iota
	meterAuth     // logged as Rejected (auth), …
	meterJSON
	meterSize
	meterSeries
)

// seriesOf is the series of a rejection.
func seriesOf(o penstock.Outcome) int {
	switch o {
	case penstock.OutcomeRejectedAuth:
		return meterAuth
	case penstock.OutcomeRejectedSize:
		return meterSize
	default:
		return meterJSON
	}
}

// take counts one more at now unless there are limit within the window; 0 is no
// limit, and nothing is counted. Otherwise wait is how long until there is room.
func (m *meter) take(series, limit int, now penstock.Time) (wait time.Duration, ok bool) {
	if limit <= 0 {
		return 0, true
	}
	list := m.series[series]
	if n := len(list); n > 0 {
		now = max(now, list[n-1]) // the clock may have stepped back
	}
	for len(list) > 0 && list[0] <= now-meterWindow {
		list = list[1:]
	}
	if n := len(list); n >= limit {
		m.series[series] = list
		return (list[n-limit] + meterWindow).Sub(now), false
	}
	m.series[series] = append(list, now)
	m.changed = true
	return 0, true
}

// String is the meter for its column: each series as base64 of the first moment
// and the distances of those that follow.
func (m *meter) String() string {
	parts := make([]string, meterSeries)
	var b []byte
	for i, list := range m.series {
		b = b[:0]
		last := penstock.Time(0)
		for _, at := range list {
			b = binary.AppendUvarint(b, uint64(at-last)) //nolint:gosec // ascending
			last = at
		}
		parts[i] = base64.RawStdEncoding.EncodeToString(b)
	}
	return strings.Join(parts, ";")
}

var errMeter = errors.New("the moments of a meter cannot be read")

func parseMeter(text string) (*meter, error) {
	m := &meter{}
	for i, part := range strings.SplitN(text, ";", meterSeries) {
		b, err := base64.RawStdEncoding.DecodeString(part)
		if err != nil {
			return nil, errMeter
		}
		var last penstock.Time
		for len(b) > 0 {
			step, n := binary.Uvarint(b)
			if n <= 0 {
				return nil, errMeter
			}
			b = b[n:]
			last += penstock.Time(step) //nolint:gosec // of String
			m.series[i] = append(m.series[i], last)
		}
	}
	return m, nil
}

var (
	metersTable = table{
		name: "webhook_meters", columns: columns("webhook_uid text, moments text, last_delivery_at bigint"),
		conflict: `ON CONFLICT (webhook_uid) DO UPDATE SET moments = excluded.moments,
			last_delivery_at = CASE WHEN excluded.last_delivery_at > webhook_meters.last_delivery_at THEN excluded.last_delivery_at ELSE webhook_meters.last_delivery_at END`,
	}
	// touchTable leaves the moments as they are.
	touchTable = table{
		name: "webhook_meters", columns: metersTable.columns,
		conflict: "ON CONFLICT (webhook_uid) DO UPDATE SET last_delivery_at = excluded.last_delivery_at WHERE webhook_meters.last_delivery_at < excluded.last_delivery_at",
	}
	newMetersTable = table{name: "webhook_meters", columns: metersTable.columns, conflict: "ON CONFLICT DO NOTHING"}
)

// meters reads those of the webhooks, sorted and each once, and keeps them from
// changing until the transaction ends. now is the database's clock.
func (tx *Tx) meters(ctx context.Context, uids []string) (found map[string]*meter, now penstock.Time, err error) {
	if found, now, err = tx.lockMeters(ctx, uids); err != nil || len(found) == len(uids) {
		return found, now, err
	}
	// A row that is not there cannot be locked: another replica may make it, too.
	var rows [][]any
	for _, uid := range uids {
		if found[uid] == nil {
			rows = append(rows, []any{uid, "", int64(0)})
		}
	}
	if err := tx.s.d.insert(ctx, tx, newMetersTable, rows); err != nil {
		return nil, 0, err
	}
	return tx.lockMeters(ctx, uids)
}

func (tx *Tx) lockMeters(ctx context.Context, uids []string) (map[string]*meter, penstock.Time, error) {
	found := make(map[string]*meter, len(uids))
	var now penstock.Time
	for args := range chunks(uids, func(uid string) []any { return []any{uid} }) {
		rows, err := tx.query(ctx, "SELECT webhook_uid, moments, "+tx.s.d.now+" FROM webhook_meters WHERE webhook_uid IN ("+placeholders(1, len(args))+") ORDER BY webhook_uid"+tx.s.d.bytewise+tx.s.d.lock, args...)
		type row struct{ uid, moments string }
		list, err := collect(tx.s, rows, err, "meters", func(r *row) []any { return []any{&r.uid, &r.moments, &now} })
		if err != nil {
			return nil, 0, err
		}
		for _, r := range list {
			if found[r.uid], err = parseMeter(r.moments); err != nil {
				return nil, 0, fmt.Errorf("webhook %s: %w", r.uid, err)
			}
		}
	}
	return found, now, nil
}
