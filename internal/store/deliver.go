package store

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"maps"
	"slices"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/rate"
)

// ErrStale is a delivery whose webhook, secret, automation or anything else of its team has changed
// since it was evaluated.
var ErrStale = errors.New("the team has changed since the delivery was evaluated")

// NewDelivery is a delivery that was evaluated and is about to be recorded.
type NewDelivery struct {
	// Delivery is its entry in the log. Its outcome is OutcomeAccepted, which may still
	// turn out to be a duplicate, or a rejection. Label and Runs are not stored.
	penstock.Delivery
	Team          string
	WebhookNumber int64         // see [WebhookRow]
	Version       int64         // of the team, read together with everything that evaluated the delivery
	Identity      string        // its key, which it claims; "": it claims none
	IdentityUntil penstock.Time // when the claim ends; 0: with the log entry
	Guard         string        // the key of the signed bytes, which it also claims; "": it claims none
	GuardUntil    penstock.Time // when that claim ends; 0: with the log entry, if Guard is the key of the body
	Body          []byte        // of an accepted delivery
	Starts        []*NewRun     // the runs that it starts if it is accepted
	Rate          int           // maximum per minute; 0: no limit, and it does not count
	Logged        int           // maximum of equal rejections that are logged in a minute; 0: no limit
	Last          bool          // it becomes the last delivery of its webhook
	Sender        bool          // ClientIP is recorded as a sender of accepted deliveries
}

// Delivered is the result of a delivery.
type Delivered struct {
	Outcome     penstock.Outcome
	DuplicateOf string
	// Limited: it exceeds the rate and was not stored. Wait is the time until one is admitted.
	Limited bool
	// Unlogged: it was counted, but not logged, because of Logged. Wait is the time until one
	// is logged.
	Unlogged bool
	Wait     time.Duration
}

// sourceSigned is the source of the key of signed bytes, beside the sources of identities.
const sourceSigned = "signed_body"

// ReasonReplayed is why a delivery with an identity of its own is a duplicate.
const ReasonReplayed = "replayed_signature"

var (
	// An expired key is claimed again.
	keysTable = table{
		name: "delivery_keys",
		columns: columns(
			"webhook_uid text, source text, value text, delivery_id text, received_at bigint, expires_at bigint",
		),
		conflict: `ON CONFLICT (webhook_uid, source, value) DO UPDATE SET
				delivery_id = excluded.delivery_id, received_at = excluded.received_at, expires_at = excluded.expires_at
			WHERE delivery_keys.expires_at > 0 AND delivery_keys.expires_at <= excluded.received_at`,
	}
	sendersTable = table{
		name: "webhook_senders", columns: columns("webhook_uid text, client_ip text, last_at bigint"),
		conflict: "ON CONFLICT (webhook_uid, client_ip) DO UPDATE SET last_at = excluded.last_at WHERE " +
			"webhook_senders.last_at < excluded.last_at",
	}
)

// deliverBatch is a delivery in a batch. Its rows are made before, so that a batch only claims, admits
// and inserts.
type deliver struct {
	result
	*NewDelivery
	entry deliveryRow
	row   []any // of entry
	runs  []*createRun

	got    Delivered
	logged []any // row, or that of a duplicate
}

func (d *deliver) key() string { return d.WebhookUID }
func (d *deliver) kind() int   { return kindDeliver }

// fail resets the member for another attempt.
func (d *deliver) fail(err error) {
	d.result.fail(err)
	d.got, d.logged = Delivered{Outcome: d.Outcome}, d.row
}

// Deliver records a delivery through the group commit, in one transaction with the claim of its
// identity, its payload and the runs that it starts. ErrStale: nothing was done, because the version
// of the team has changed.
func (s *Store) Deliver(ctx context.Context, d *NewDelivery) (Delivered, error) {
	m := newDeliver(d)
	if err := s.commits.do(ctx, m); err != nil {
		return Delivered{}, err
	}
	return m.got, nil
}

// Deliver records a delivery within the transaction.
func (tx *Tx) Deliver(ctx context.Context, d *NewDelivery) (Delivered, error) {
	m := newDeliver(d)
	m.fail(nil)
	runs, err := tx.deliverBatch(ctx, []*deliver{m})
	if err == nil {
		err = tx.createRuns(ctx, runs)
	}
	if err == nil {
		err = m.err
	}
	return m.got, err
}

func newDeliver(d *NewDelivery) *deliver {
	m := &deliver{
		NewDelivery: d, runs: make([]*createRun, len(d.Starts)),
		entry: deliveryRow{
			Delivery: d.Delivery, webhook: d.WebhookNumber, identity: d.Identity, runs: len(d.Starts),
		},
	}
	if d.Outcome == penstock.OutcomeAccepted {
		m.entry.body = d.Body
	}
	m.row = deliveryFields.row(&m.entry)
	for i, run := range d.Starts {
		m.runs[i] = newCreateRun(run)
	}
	return m
}

// deliverBatch records the members' deliveries and returns the runs that they start. It locks rows in
// this order, each sorted, so that no two transactions deadlock: rates, keys, senders, counts.
func (tx *Tx) deliverBatch(ctx context.Context, members []*deliver) ([]*createRun, error) {
	if len(members) == 0 {
		return nil, nil
	}
	if err := tx.checkVersions(ctx, members); err != nil {
		return nil, err
	}
	if err := tx.admit(ctx, members); err != nil {
		return nil, err
	}
	if err := tx.claimIdentities(ctx, members); err != nil {
		return nil, err
	}
	runs, err := tx.record(ctx, members)
	if err != nil {
		return nil, err
	}
	return runs, tx.countDeliveries(ctx, members)
}

// checkVersions fails the members that were evaluated with another version of their team. It locks
// nothing: a change that commits later comes after these deliveries.
func (tx *Tx) checkVersions(ctx context.Context, members []*deliver) error {
	versions := map[string]int64{}
	for _, m := range members {
		version, known := versions[m.Team]
		if !known {
			if err := tx.row(ctx, `SELECT version
				FROM teams
				WHERE uid = $1`, m.Team).Scan(&version); err != nil {
				return fmt.Errorf("read the version of team %s: %w", m.Team, err)
			}
			versions[m.Team] = version
		}
		if m.Version != version {
			m.fail(ErrStale)
		}
	}
	return nil
}

// admit applies the rates.
func (tx *Tx) admit(ctx context.Context, members []*deliver) error {
	limited := map[string]bool{}
	for _, m := range members {
		if m.err == nil && (m.Rate > 0 || m.Outcome != penstock.OutcomeAccepted && m.Logged > 0) {
			limited[m.WebhookUID] = true
		}
	}
	if len(limited) == 0 {
		return nil
	}
	uids := slices.Sorted(maps.Keys(limited))
	rates, now, err := tx.rates(ctx, uids)
	if err != nil {
		return err
	}
	for _, m := range members {
		if m.err == nil && limited[m.WebhookUID] {
			m.admit(rates[m.WebhookUID], now)
		}
	}
	var rows [][]any
	for _, uid := range uids {
		if rates[uid].changed {
			rows = append(rows, []any{uid, marshal(rates[uid])})
		}
	}
	return tx.s.d.insert(ctx, tx, ratesTable, rows)
}

func (d *deliver) admit(r *rateWindows, now time.Time) {
	wait, ok := r.take(&r.Admitted, d.Rate, now)
	if !ok {
		d.got.Limited, d.got.Wait = true, wait
		return
	}
	if d.Outcome != penstock.OutcomeAccepted {
		if wait, ok = r.take(r.logged(d.Outcome), d.Logged, now); !ok {
			d.got.Unlogged, d.got.Wait = true, wait
		}
	}
}

// rateWindows count a webhook's accepted deliveries of the last minute, and its logged rejections
// by outcome. They use the database's clock, so that a limit holds across all replicas. A row of
// webhook_rates has them as JSON.
type rateWindows struct {
	Admitted rate.Window                       `json:"admitted,omitempty"`
	Logged   map[penstock.Outcome]*rate.Window `json:"logged,omitempty"`
	changed  bool
}

// logged returns the window of an outcome.
func (r *rateWindows) logged(o penstock.Outcome) *rate.Window {
	if r.Logged == nil {
		r.Logged = map[penstock.Outcome]*rate.Window{}
	}
	if r.Logged[o] == nil {
		r.Logged[o] = &rate.Window{}
	}
	return r.Logged[o]
}

// take counts a delivery at now, unless the window already holds limit of them: then wait is the
// time until there is room. With a limit of 0, nothing is limited or counted.
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
	newRatesTable = ratesTable.onConflict("ON CONFLICT DO NOTHING")
)

// rates reads the windows of the webhooks, and locks them until the transaction ends. uids must be
// sorted and unique. now is the database's clock.
func (tx *Tx) rates(ctx context.Context, uids []string) (found map[string]*rateWindows, now time.Time, err error) {
	if found, now, err = tx.lockRates(ctx, uids); err != nil || len(found) == len(uids) {
		return found, now, err
	}
	// A missing row cannot be locked: another replica may insert it, too.
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

// maxBodies bounds the bytes of bodies that are sent to the database at once, because the driver
// copies them.
const maxBodies = 2 << 20

// record writes the log and returns the runs to create.
func (tx *Tx) record(ctx context.Context, members []*deliver) (runs []*createRun, err error) {
	var log [][]any
	size := 0
	for _, m := range members {
		if m.err != nil || m.got.Limited || m.got.Unlogged {
			continue
		}
		if size += len(m.entry.body); size > maxBodies && len(log) > 0 {
			if err := tx.s.d.insert(ctx, tx, deliveryFields.table, log); err != nil {
				return nil, err
			}
			if _, err := tx.flush(ctx); err != nil {
				return nil, err
			}
			log, size = nil, len(m.entry.body)
		}
		log = append(log, m.logged)
		if m.got.Outcome == penstock.OutcomeAccepted {
			runs = append(runs, m.runs...)
		}
	}
	return runs, tx.s.d.insert(ctx, tx, deliveryFields.table, log)
}

// countDeliveries counts the deliveries, and records their senders. It comes last, because batches
// share these rows and wait for each other.
func (tx *Tx) countDeliveries(ctx context.Context, members []*deliver) error {
	counts := map[Count]deliveryCount{}
	senders := map[[2]string]int64{}
	for _, m := range members {
		if m.err != nil || m.got.Limited || m.ReplayOf != "" {
			continue
		}
		of := Count{WebhookUID: m.WebhookUID, Quarter: Quarter(m.ReceivedAt), Kind: countKind(m.got.Outcome)}
		sum := counts[of]
		sum.n++
		if m.Last {
			sum.last = max(sum.last, int64(m.ReceivedAt))
		}
		counts[of] = sum
		if m.Sender {
			at := [2]string{m.WebhookUID, m.ClientIP}
			senders[at] = max(senders[at], int64(m.ReceivedAt))
		}
	}
	var rows [][]any
	for _, at := range slices.SortedFunc(
		maps.Keys(senders), func(a, b [2]string) int { return slices.Compare(a[:], b[:]) },
	) {
		rows = append(rows, []any{at[0], at[1], senders[at]})
	}
	if err := tx.s.d.insert(ctx, tx, sendersTable, rows); err != nil {
		return err
	}
	return tx.count(ctx, counts)
}

// chunks splits items into statements and yields the arguments of each. Only a few sizes occur, so
// that their prepared statements are kept.
func chunks[T any](items []T, args func(T) []any) iter.Seq[[]any] {
	return func(yield func([]any) bool) {
		for _, size := range insertSizes {
			for len(items) >= size {
				var all []any
				for _, item := range items[:size] {
					all = append(all, args(item)...)
				}
				if !yield(all) {
					return
				}
				items = items[size:]
			}
		}
	}
}
