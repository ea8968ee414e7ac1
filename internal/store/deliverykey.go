package store

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
)

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
func (tx *Tx) claimIdentities(ctx context.Context, members []*deliver) error {
	all := claims(members)
	shared := false
	for i := range all[min(1, len(all)):] {
		shared = shared || all[i].identity == all[i+1].identity
	}
	if !shared {
		_, err := tx.claimKeys(ctx, all)
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
		owners, err := tx.claimKeys(ctx, claims(first))
		if err != nil {
			return err
		}
		waiting = slices.DeleteFunc(later, func(m *deliver) bool { return m.duplicate(owners) })
	}
	return nil
}

// claimKeys claims distinct keys, and returns the delivery to which each of them belongs now.
func (tx *Tx) claimKeys(ctx context.Context, all []claimed) (owners map[identity]string, err error) {
	rows := make([][]any, len(all))
	for i, c := range all {
		rows[i] = []any{c.webhook, c.source, c.value, c.by.ID, int64(c.by.ReceivedAt), int64(c.until)}
	}
	won, err := tx.s.d.insertNew(ctx, tx, keysTable, rows)
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
	if err := tx.owners(ctx, all, owners); err != nil {
		return nil, err
	}
	var free []claimed // keys of duplicates that they claimed beside another one
	for _, c := range all {
		if c.by.duplicate(owners) && owners[c.identity] == c.by.ID {
			free = append(free, c)
		}
	}
	for _, c := range free {
		if _, err := tx.exec(ctx, `DELETE FROM delivery_keys
			WHERE webhook_uid = $1 AND source = $2 AND value = $3`, c.webhook, c.source, c.value); err != nil {
			return nil, fmt.Errorf("give back an identity: %w", err)
		}
		delete(owners, c.identity)
	}
	return owners, nil
}

// owners reads the delivery to which each key belongs.
func (tx *Tx) owners(ctx context.Context, keys []claimed, into map[identity]string) error {
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
		rows, err := tx.query(ctx, strings.Join(parts, " UNION ALL "), args...)
		type row struct {
			identity
			owner string
		}
		list, err := collect(
			tx.s, rows, err, "identities", func(r *row) []any { return []any{&r.webhook, &r.source, &r.value, &r.owner} },
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
			again := d.entry
			again.Outcome, again.DuplicateOf, again.Matches = penstock.OutcomeDuplicate, owner, nil
			again.identity, again.body, again.runs = "", nil, 0
			if k.source == sourceSigned {
				again.Reason = ReasonReplayed
			}
			d.logged = deliveryFields.row(&again)
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
