package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
)

// MemberRow is a principal with a member.
type MemberRow struct {
	penstock.Member
	Team string
}

var memberFields = newResource("principals", "p",
	textColumn("uid", func(r *MemberRow) *string { return &r.UID }),
	textColumn("team", func(r *MemberRow) *string { return &r.Team }),
	storedText("type", func(r *MemberRow) string { return string(r.Type) }),
	textColumn("member", func(r *MemberRow) *penstock.MemberType { return &r.Type }),
	textColumn("display_name", func(r *MemberRow) *string { return &r.DisplayName }).editable(),
	textColumn("email", func(r *MemberRow) *string { return &r.Email }).editable(),
	textColumn("issuer", func(r *MemberRow) *string { return &r.Issuer }),
	textColumn("subject", func(r *MemberRow) *string { return &r.Subject }),
	numberColumn("signed_in_at", func(r *MemberRow) *penstock.Time { return &r.SignedInAt }).editable(),
	numberColumn("disabled_at", func(r *MemberRow) *penstock.Time { return &r.DisabledAt }).editable(),
	numberColumn("created_at", func(r *MemberRow) *penstock.Time { return &r.CreatedAt }),
)

// rights are the columns of a principal p that say what it may do: the roles of its grants and of its groups' grants,
// and its groups, one in each line.
const rights = `COALESCE((SELECT string_agg(g.role, ',')
		FROM grants g
		WHERE g.team = p.team AND (g.subject_type = p.member AND g.subject = p.uid
			OR g.subject_type = 'group' AND g.subject IN (SELECT name FROM principal_groups WHERE principal = p.uid))), ''),
	COALESCE((SELECT string_agg(m.name, '
') FROM principal_groups m WHERE m.principal = p.uid), '')`

// rightsInto are the destinations of [rights].
func rightsInto(roles *[]penstock.Role, groups *[]string) []any {
	return []any{(*roleList)(roles), (*lines)(groups)}
}

var (
	selectMembers = "SELECT " + memberFields.selected + ", " + rights + " FROM principals p "
	setMember     = memberFields.update("", "uid = ? AND team = ?")
)

func readMembers(ctx context.Context, q querier, where string, args ...any) ([]MemberRow, error) {
	rows, err := q.query(ctx, selectMembers+where, args...)
	members, err := collect(q.store(), rows, err, "members", func(r *MemberRow) []any {
		return memberFields.into(r, rightsInto(&r.Roles, &r.Groups)...)
	})
	for i := range members {
		r := &members[i]
		r.Roles = q.store().withGroupRoles(r.Roles, r.Issuer, r.Groups)
	}
	return members, err
}

// SetGroupRoles sets which roles the configuration gives to the groups of an issuer, beside the stored grants. It is
// called before the store is used.
func (s *Store) SetGroupRoles(of func(issuer string, groups []string) []penstock.Role) {
	s.groupRoles = of
}

// withGroupRoles adds the roles that the configuration gives to groups, each once and in their order.
func (s *Store) withGroupRoles(roles []penstock.Role, issuer string, groups []string) []penstock.Role {
	if s.groupRoles == nil || issuer == "" {
		return roles
	}
	given := s.groupRoles(issuer, groups)
	return slices.DeleteFunc(penstock.Roles(), func(r penstock.Role) bool {
		return !slices.Contains(roles, r) && !slices.Contains(given, r)
	})
}

// List returns the members of a type by name, those that are enabled first.
func (ms Members) List(ctx context.Context, team string, of penstock.MemberType) ([]MemberRow, error) {
	return readMembers(ctx, ms.s, `WHERE p.team = $1 AND p.member = $2
	ORDER BY p.disabled_at > 0, p.display_name, p.uid`, team, string(of))
}

// Find reads a member. Absence is penstock.CodeNotFound.
func (ms Members) Find(ctx context.Context, team string, of penstock.MemberType, uid string) (MemberRow, error) {
	return readMember(ctx, ms.s, team, of, uid)
}

// LockPerson is [MembersTx.Lock] for the person whom an issuer knows by subject.
func (ms MembersTx) LockPerson(ctx context.Context, team, issuer, subject string) (MemberRow, error) {
	rows, err := readMembers(
		ctx, ms.tx, "WHERE p.team = $1 AND p.issuer = $2 AND p.subject = $3 AND p.issuer <> ''", team, issuer, subject,
	)
	found, err := only(rows, err, "user", "")
	if err != nil {
		return found, err
	}
	return ms.Lock(ctx, team, found.Type, found.UID)
}

// Lock is [Members.Find] in a transaction, which no other one changes the member beside.
func (ms MembersTx) Lock(ctx context.Context, team string, of penstock.MemberType, uid string) (MemberRow, error) {
	if ms.tx.s.d.lock != "" { // SQLite has one writer
		_, err := ms.tx.exec(ctx, "SELECT 1 FROM principals WHERE uid = $1 AND team = $2"+ms.tx.s.d.lock, uid, team)
		if err != nil {
			return MemberRow{}, fmt.Errorf("lock member %s: %w", uid, err)
		}
	}
	return readMember(ctx, ms.tx, team, of, uid)
}

func readMember(
	ctx context.Context, q querier, team string, of penstock.MemberType, uid string,
) (MemberRow, error) {
	rows, err := readMembers(ctx, q, "WHERE p.uid = $1 AND p.team = $2 AND p.member = $3", uid, team, string(of))
	return only(rows, err, strings.ReplaceAll(string(of), "_", " "), uid)
}

// Add stores a new member. A person of the same issuer and subject is a conflict.
func (ms MembersTx) Add(ctx context.Context, r MemberRow) error {
	err := memberFields.add(ctx, ms.tx, &r)
	if err != nil && ms.tx.s.d.unique(err) {
		return penstock.Errorf(penstock.CodeConflict, "the team has a user with this issuer and subject already")
	}
	return wrapf(err, "store member %s", r.UID)
}

// Set stores a member that was locked and changed in the transaction.
func (ms MembersTx) Set(ctx context.Context, r MemberRow) error {
	_, err := ms.tx.exec(ctx, setMember, memberFields.changes(&r, r.UID, r.Team)...)
	return wrapf(err, "store member %s", r.UID)
}

// SetGroups stores the groups of a person. Their names have no line breaks.
func (ms MembersTx) SetGroups(ctx context.Context, uid string, groups []string) error {
	if _, err := ms.tx.exec(ctx, "DELETE FROM principal_groups WHERE principal = $1", uid); err != nil {
		return fmt.Errorf("forget the groups of %s: %w", uid, err)
	}
	for _, name := range groups { // few
		_, err := ms.tx.exec(ctx, `INSERT INTO principal_groups (principal, name)
			VALUES ($1, $2)
			ON CONFLICT DO NOTHING`, uid, name)
		if err != nil {
			return fmt.Errorf("store a group of %s: %w", uid, err)
		}
	}
	return nil
}

// EndSessions ends the sessions of all keys of a member.
func (ms MembersTx) EndSessions(ctx context.Context, uid string) error {
	_, err := ms.tx.exec(ctx, `DELETE FROM sessions
		WHERE key_uid IN (SELECT uid FROM api_keys WHERE principal = $1)`, uid)
	return wrapf(err, "end the sessions of %s", uid)
}

// Delete turns a member into a name that what it has done keeps: without keys, grants, groups and issuer.
func (ms MembersTx) Delete(ctx context.Context, team, uid string) error {
	now := int64(penstock.Now())
	for _, change := range []struct {
		statement string
		args      []any
	}{
		{
			`UPDATE api_keys
				SET revoked_at = $1
				WHERE principal = $2 AND team = $3 AND revoked_at = 0`, []any{now, uid, team},
		},
		{`DELETE FROM grants
			WHERE subject_type <> 'group' AND subject = $1 AND team = $2`, []any{uid, team}},
		{"DELETE FROM principal_groups WHERE principal = $1", []any{uid}},
		{
			`UPDATE principals
				SET member = '', issuer = '', subject = '', disabled_at = $1
				WHERE uid = $2 AND team = $3 AND member <> ''`, []any{now, uid, team},
		},
	} {
		if _, err := ms.tx.exec(ctx, change.statement, change.args...); err != nil {
			return fmt.Errorf("delete member %s: %w", uid, err)
		}
	}
	return nil
}

// roleList reads roles between commas, each once and in their order.
type roleList []penstock.Role

// Scan is called by database/sql.
func (l *roleList) Scan(value any) error {
	var found words
	if err := found.Scan(value); err != nil {
		return err
	}
	*l = roleList{}
	for _, role := range penstock.Roles() {
		if slices.Contains(found, string(role)) {
			*l = append(*l, role)
		}
	}
	return nil
}

// lines reads the lines of a text.
type lines []string

// Scan is called by database/sql.
func (l *lines) Scan(value any) error {
	var text sql.NullString
	if err := text.Scan(value); err != nil {
		return err
	}
	*l = nil
	if text.String != "" {
		*l = strings.Split(text.String, "\n")
		slices.Sort(*l)
	}
	return nil
}
