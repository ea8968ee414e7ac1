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
	series  [meterSeries]series
	changed bool
}

// series are moments, ascending, each with how many came at it.
type series struct {
	moments []moment
	total   int
}

type moment struct {
	at penstock.Time
	n  int
}

func (s *series) add(at penstock.Time, n int) {
	s.total += n
	if last := len(s.moments) - 1; last >= 0 && s.moments[last].at == at {
		s.moments[last].n += n
		return
	}
	s.moments = append(s.moments, moment{at, n})
}

// meterMoments is how many moments of a window are told apart where the limit is
// higher: the row is written with each batch.
const meterMoments = 1000

// stepOf is the distance of the moments that are told apart.
func stepOf(limit int) penstock.Time {
	if limit > meterMoments {
		return meterWindow / meterMoments
	}
	return 1
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
// A moment is rounded up, so that it is never forgotten too early.
func (m *meter) take(of, limit int, now penstock.Time) (wait time.Duration, ok bool) {
	if limit <= 0 {
		return 0, true
	}
	s, step := &m.series[of], stepOf(limit)
	at := (now + step - 1) / step * step
	if last := len(s.moments) - 1; last >= 0 { // the clock may have stepped back
		at = max(at, s.moments[last].at)
		now = max(now, s.moments[last].at-step+1)
	}
	for len(s.moments) > 0 && s.moments[0].at <= now-meterWindow {
		s.total -= s.moments[0].n
		s.moments = s.moments[1:]
	}
	if s.total < limit {
		s.add(at, 1)
		m.changed = true
		return 0, true
	}
	left := s.total
	for _, first := range s.moments {
		if left -= first.n; left < limit {
			return (first.at + meterWindow).Sub(now), false
		}
	}
	return time.Duration(meterWindow) * time.Millisecond, false // not reached: the last leaves none
}

// String is the meter for its column: each series as base64 of the distance of
// each moment to the one before and how many came at it.
func (m *meter) String() string {
	parts := make([]string, meterSeries)
	var b []byte
	for i, s := range m.series {
		b = b[:0]
		last := penstock.Time(0)
		for _, one := range s.moments {
			b = binary.AppendUvarint(b, uint64(one.at-last)) //nolint:gosec // ascending
			b = binary.AppendUvarint(b, uint64(one.n))       //nolint:gosec // a count
			last = one.at
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
			distance, n := binary.Uvarint(b)
			count, more := binary.Uvarint(b[max(0, n):])
			if n <= 0 || more <= 0 {
				return nil, errMeter
			}
			b = b[n+more:]
			last += penstock.Time(distance)   //nolint:gosec // of String
			m.series[i].add(last, int(count)) //nolint:gosec // of String
		}
	}
	return m, nil
}

var (
	metersTable = table{
		name: "webhook_meters", columns: columns("webhook_uid text, moments text"),
		conflict: "ON CONFLICT (webhook_uid) DO UPDATE SET moments = excluded.moments",
	}
	// touchTable leaves the moments as they are.
	touchTable = table{
		name: "webhook_meters", columns: columns("webhook_uid text, moments text, last_delivery_at bigint"),
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
			rows = append(rows, []any{uid, ""})
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
		rows, err := tx.query(
			ctx,
			"SELECT webhook_uid, moments, "+tx.s.d.now+`
				FROM webhook_meters
				WHERE webhook_uid IN (`+placeholders(1, len(args))+
				") ORDER BY webhook_uid"+tx.s.d.bytewise+tx.s.d.lock,
			args...,
		)
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
