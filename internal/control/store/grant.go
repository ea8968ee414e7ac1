package store

import (
	"context"
	"fmt"

	"github.com/penstock-dev/penstock"
)

// GrantRow is a grant with its team.
type GrantRow struct {
	penstock.Grant
	Team string
}

var grantFields = newResource("grants", "g",
	textColumn("uid", func(r *GrantRow) *string { return &r.UID }),
	textColumn("team", func(r *GrantRow) *string { return &r.Team }),
	textColumn("subject_type", func(r *GrantRow) *penstock.GrantSubject { return &r.SubjectType }),
	textColumn("subject", func(r *GrantRow) *string { return &r.Subject }),
	textColumn("role", func(r *GrantRow) *penstock.Role { return &r.Role }),
	numberColumn("created_at", func(r *GrantRow) *penstock.Time { return &r.CreatedAt }),
	storedText("created_by", func(r *GrantRow) string { return uidOf(r.CreatedBy) }),
)

var selectGrants = "SELECT " + grantFields.selected + ", " + selectActor("a.uid", "a") + `
	FROM grants g` + joinActor("a", "g.created_by") + " "

func readGrants(ctx context.Context, q querier, where string, args ...any) ([]GrantRow, error) {
	type found struct {
		GrantRow
		by actorColumns
	}
	rows, err := q.query(ctx, selectGrants+where, args...)
	list, err := collect(q.store(), rows, err, "grants", func(f *found) []any {
		return grantFields.into(&f.GrantRow, f.by.into()...)
	})
	grants := make([]GrantRow, len(list))
	for i, f := range list {
		grants[i] = f.GrantRow
		grants[i].CreatedBy = f.by.actor()
	}
	return grants, err
}

// Grants returns the grants of a team, the newest first.
func (ms Members) Grants(ctx context.Context, team string) ([]GrantRow, error) {
	return readGrants(ctx, ms.s, "WHERE g.team = $1 ORDER BY g.created_at DESC, g.uid", team)
}

// Grant reads a grant. Absence is penstock.CodeNotFound.
func (ms MembersTx) Grant(ctx context.Context, team, uid string) (GrantRow, error) {
	rows, err := readGrants(ctx, ms.tx, "WHERE g.team = $1 AND g.uid = $2", team, uid)
	return only(rows, err, "grant", uid)
}

// CountGrants counts the grants of a team, and prevents others until the transaction ends.
func (ms MembersTx) CountGrants(ctx context.Context, team string) (n int, err error) {
	if ms.tx.s.d.lock != "" { // SQLite has one writer
		if _, err = ms.tx.exec(ctx, "SELECT 1 FROM teams WHERE uid = $1"+ms.tx.s.d.lock, team); err != nil {
			return 0, fmt.Errorf("lock the grants: %w", err)
		}
	}
	err = ms.tx.row(ctx, "SELECT count(*) FROM grants WHERE team = $1", team).Scan(&n)
	return n, wrapf(err, "count the grants")
}

// AddGrant stores a grant. One of the same role and subject is a conflict.
func (ms MembersTx) AddGrant(ctx context.Context, r GrantRow) error {
	err := grantFields.add(ctx, ms.tx, &r)
	if err != nil && ms.tx.s.d.unique(err) {
		return penstock.Errorf(penstock.CodeConflict, "the %s has the role %s already", r.SubjectType, r.Role)
	}
	return wrapf(err, "store grant %s", r.UID)
}

// DeleteGrant removes a grant from the next request on. It returns false without such a grant.
func (ms MembersTx) DeleteGrant(ctx context.Context, team, uid string) (bool, error) {
	n, err := ms.tx.exec(ctx, "DELETE FROM grants WHERE team = $1 AND uid = $2", team, uid)
	return n > 0, wrapf(err, "remove grant %s", uid)
}
