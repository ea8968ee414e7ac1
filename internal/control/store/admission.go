package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/share"
)

// admit applies the rates.
func (ds DeliveriesTx) admit(ctx context.Context, members []*deliver) error {
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
	rates, now, err := ds.rates(ctx, uids)
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
	return ds.tx.insert(ctx, ratesTable, rows)
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
// webhook_rates stores them as JSON.
type rateWindows struct {
	Admitted share.Window                       `json:"admitted,omitempty"`
	Logged   map[penstock.Outcome]*share.Window `json:"logged,omitempty"`
	changed  bool
}

// logged returns the window of an outcome.
func (r *rateWindows) logged(o penstock.Outcome) *share.Window {
	if r.Logged == nil {
		r.Logged = map[penstock.Outcome]*share.Window{}
	}
	if r.Logged[o] == nil {
		r.Logged[o] = &share.Window{}
	}
	return r.Logged[o]
}

// take counts a delivery at now, unless the window already holds limit of them: then wait is the
// time until there is room. With a limit of 0, nothing is limited or counted.
func (r *rateWindows) take(w *share.Window, limit int, now time.Time) (wait time.Duration, ok bool) {
	if limit <= 0 {
		return 0, true
	}
	if wait = w.Until(limit, now); wait > 0 {
		return wait, false
	}
	w.Add(now, share.WindowTick(limit))
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
func (ds DeliveriesTx) rates(
	ctx context.Context, uids []string,
) (found map[string]*rateWindows, now time.Time, err error) {
	if found, now, err = ds.lockRates(ctx, uids); err != nil || len(found) == len(uids) {
		return found, now, err
	}
	// A missing row cannot be locked: another replica may insert it, too.
	var rows [][]any
	for _, uid := range uids {
		if found[uid] == nil {
			rows = append(rows, []any{uid, ""})
		}
	}
	if err := ds.tx.insert(ctx, newRatesTable, rows); err != nil {
		return nil, now, err
	}
	return ds.lockRates(ctx, uids)
}

func (ds DeliveriesTx) lockRates(ctx context.Context, uids []string) (map[string]*rateWindows, time.Time, error) {
	found := make(map[string]*rateWindows, len(uids))
	var now penstock.Time
	for args := range chunks(uids, func(uid string) []any { return []any{uid} }) {
		rows, err := ds.tx.query(
			ctx,
			"SELECT webhook_uid, windows, "+ds.tx.s.d.now+`
				FROM webhook_rates
				WHERE webhook_uid IN (`+placeholders(1, len(args))+
				") ORDER BY webhook_uid"+ds.tx.s.d.bytewise+ds.tx.s.d.lock,
			args...,
		)
		type row struct{ uid, windows string }
		list, err := collect(ds.tx.s, rows, err, "rates", func(r *row) []any { return []any{&r.uid, &r.windows, &now} })
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

// sourceSigned is the source of the key of signed bytes, beside the sources of identities.
const sourceSigned = "signed_body"

// ReasonReplayed is why a delivery with an identity of its own is a duplicate.
const ReasonReplayed = "replayed_signature"

// keysTable stores the keys of accepted deliveries. An expired key is claimed again.
var keysTable = table{
	name: "delivery_keys",
	columns: columns(
		"webhook_uid text, source text, value text, delivery_id text, received_at bigint, expires_at bigint",
	),
	conflict: `ON CONFLICT (webhook_uid, source, value) DO UPDATE SET
			delivery_id = excluded.delivery_id, received_at = excluded.received_at, expires_at = excluded.expires_at
		WHERE delivery_keys.expires_at > 0 AND delivery_keys.expires_at <= excluded.received_at`,
}

// identity is a key of delivery_keys.
type identity struct{ webhook, source, value string }

func (d *deliver) keys() []identity {
	if d.err != nil || d.got.Limited || d.Outcome != penstock.OutcomeAccepted {
		return nil
	}
	var keys []identity
	if d.Identity != "" {
		keys = append(keys, identity{d.WebhookUID, string(d.IdentitySource), d.Identity})
	}
	if d.Guard != "" {
		keys = append(keys, identity{d.WebhookUID, sourceSigned, d.Guard})
	}
	return keys
}

// claimed is a key that a member claims.
type claimed struct {
	identity
	by    *deliver
	until penstock.Time // 0: as long as the log entry exists
}

// claims returns the keys of the members, sorted.
func claims(members []*deliver) []claimed {
	all := make([]claimed, 0, len(members))
	for _, m := range members {
		for _, k := range m.keys() {
			c := claimed{identity: k, by: m, until: m.IdentityUntil}
			if k.source == sourceSigned {
				c.until = m.GuardUntil
			}
			all = append(all, c)
		}
	}
	slices.SortStableFunc(all, func(a, b claimed) int {
		return cmp.Or(cmp.Compare(a.webhook, b.webhook), cmp.Compare(a.source, b.source), cmp.Compare(a.value, b.value))
	})
	return all
}

// claimIdentities finds the duplicates. Members that share a key claim it one after the other, the
// first of them in the first round.
func (ds DeliveriesTx) claimIdentities(ctx context.Context, members []*deliver) error {
	all := claims(members)
	shared := false
	for i := range all[min(1, len(all)):] {
		shared = shared || all[i].identity == all[i+1].identity
	}
	if !shared {
		_, err := ds.claimKeys(ctx, all)
		return err
	}
	waiting := slices.DeleteFunc(slices.Clone(members), func(m *deliver) bool { return len(m.keys()) == 0 })
	for len(waiting) > 0 {
		var first, later []*deliver
		taken := map[identity]bool{}
		for _, m := range waiting {
			keys := m.keys()
			if slices.ContainsFunc(keys, func(k identity) bool { return taken[k] }) {
				later = append(later, m)
				continue
			}
			for _, k := range keys {
				taken[k] = true
			}
			first = append(first, m)
		}
		owners, err := ds.claimKeys(ctx, claims(first))
		if err != nil {
			return err
		}
		waiting = slices.DeleteFunc(later, func(m *deliver) bool { return m.duplicate(owners) })
	}
	return nil
}

// claimKeys claims distinct keys, and returns the delivery to which each of them belongs now.
func (ds DeliveriesTx) claimKeys(ctx context.Context, all []claimed) (owners map[identity]string, err error) {
	rows := make([][]any, len(all))
	for i, c := range all {
		rows[i] = []any{c.webhook, c.source, c.value, c.by.ID, int64(c.by.ReceivedAt), int64(c.until)}
	}
	won, err := ds.tx.insertNew(ctx, keysTable, rows)
	if err != nil {
		return nil, err
	}
	owners = make(map[identity]string, len(all))
	if won == int64(len(all)) {
		for _, c := range all {
			owners[c.identity] = c.by.ID
		}
		return owners, nil
	}
	if err := ds.owners(ctx, all, owners); err != nil {
		return nil, err
	}
	var free []claimed // keys of duplicates that they claimed beside another one
	for _, c := range all {
		if c.by.duplicate(owners) && owners[c.identity] == c.by.ID {
			free = append(free, c)
		}
	}
	for _, c := range free {
		if err := ds.giveKeyBack(ctx, c.identity); err != nil {
			return nil, err
		}
		delete(owners, c.identity)
	}
	return owners, nil
}

func (ds DeliveriesTx) giveKeyBack(ctx context.Context, k identity) error {
	_, err := ds.tx.exec(ctx, `DELETE FROM delivery_keys
		WHERE webhook_uid = $1 AND source = $2 AND value = $3`, k.webhook, k.source, k.value)
	return wrapf(err, "give back an identity")
}

// giveBack gives back the identities of deliveries that are retried and only continue runs, of which none is there.
func (ds DeliveriesTx) giveBack(ctx context.Context, members []*deliver) error {
	for _, m := range members {
		if !m.retryable() {
			continue
		}
		for _, k := range m.keys() {
			if err := ds.giveKeyBack(ctx, k); err != nil {
				return err
			}
		}
	}
	return nil
}

// retryable reports whether the delivery only continues runs, of which none is there, and may be sent again.
func (d *deliver) retryable() bool {
	if !d.Retried || d.events == nil || len(d.events) < len(d.Starts) {
		return false
	}
	for _, e := range d.events {
		if e.UID != "" {
			return false
		}
	}
	return true
}

// owners reads the delivery to which each key belongs.
func (ds DeliveriesTx) owners(ctx context.Context, keys []claimed, into map[identity]string) error {
	for args := range chunks(keys, func(k claimed) []any { return []any{k.webhook, k.source, k.value} }) {
		var parts []string
		for i := 1; i < len(args); i += 3 {
			parts = append(parts, `SELECT webhook_uid, source, value, delivery_id
				FROM delivery_keys
				WHERE webhook_uid = `+placeholders(
				i, 1,
			)+
				" AND source = "+placeholders(i+1, 1)+" AND value = "+placeholders(i+2, 1))
		}
		rows, err := ds.tx.query(ctx, strings.Join(parts, " UNION ALL "), args...)
		type row struct {
			identity
			owner string
		}
		list, err := collect(
			ds.tx.s, rows, err, "identities", func(r *row) []any { return []any{&r.webhook, &r.source, &r.value, &r.owner} },
		)
		if err != nil {
			return err
		}
		for _, r := range list {
			into[r.identity] = r.owner
		}
	}
	return nil
}

// duplicate reports whether a key of d belongs to another delivery, and records which.
func (d *deliver) duplicate(owners map[identity]string) bool {
	if d.got.DuplicateOf != "" {
		return true
	}
	for _, k := range d.keys() {
		if owner := owners[k]; owner != "" && owner != d.ID {
			d.got.Outcome, d.got.DuplicateOf = penstock.OutcomeDuplicate, owner
			duplicate := d.entry
			duplicate.Outcome, duplicate.DuplicateOf, duplicate.Matches = penstock.OutcomeDuplicate, owner, nil
			duplicate.identity, duplicate.body, duplicate.raw, duplicate.runs = "", nil, nil, 0
			if k.source == sourceSigned {
				duplicate.Reason = ReasonReplayed
			}
			d.logged = deliveryFields.row(&duplicate)
			return true
		}
	}
	return false
}

// IdentityKey is an identity as it is stored. A short one is unchanged: identities that count up or
// begin with a time are neighbors in the index, which then grows at its end. A longer one is stored
// as its hash, which is longer than any short one.
func IdentityKey(id string) string {
	if len(id) < base64.RawStdEncoding.EncodedLen(sha256.Size) {
		return id
	}
	return IdentityOf(sha256.Sum256([]byte(id)))
}

// IdentityOf returns a SHA-256 sum as the key of an identity.
func IdentityOf(sum [sha256.Size]byte) string { return base64.RawStdEncoding.EncodeToString(sum[:]) }
