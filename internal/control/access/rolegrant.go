package access

import (
	"context"
	"fmt"
	"slices"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/request"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// GrantRequest grants a role.
type GrantRequest struct {
	SubjectType penstock.GrantSubject `json:"subject_type"`
	Subject     string                `json:"subject"` // the UID of a member, or the name of a group
	Role        penstock.Role         `json:"role"`
}

// maxGrants is how many grants a team can have.
const maxGrants = 1000

// maxGroup is the longest name of a group in bytes.
const maxGroup = 255

// Grants lists the grants of the team: the stored ones, then what the configuration grants.
func (s *Members) Grants(ctx context.Context, p penstock.Principal) ([]penstock.Grant, error) {
	if err := Require(p, penstock.ScopeAccessManage); err != nil {
		return nil, err
	}
	rows, err := s.store.Members.Grants(ctx, p.Team)
	grants := make([]penstock.Grant, 0, len(rows))
	for _, r := range rows {
		grants = append(grants, r.Grant)
	}
	return append(grants, configuredGrants(s.providers)...), err
}

// Grant grants a role to a user, a service account or a group, from the next request on. The caller cannot grant more
// than the caller has.
func (s *Members) Grant(ctx context.Context, p penstock.Principal, req GrantRequest) (penstock.Grant, error) {
	if err := mayManage(p); err != nil {
		return penstock.Grant{}, err
	}
	if err := checkGrant(req); err != nil {
		return penstock.Grant{}, err
	}
	if err := outranked(p, req.Role); err != nil {
		return penstock.Grant{}, err
	}
	return Act(ctx, s.responses, p, func(tx *store.Tx) (penstock.Grant, error) {
		if req.SubjectType != penstock.GrantToGroup {
			_, err := tx.Members().Lock(ctx, p.Team, penstock.MemberType(req.SubjectType), req.Subject)
			if penstock.CodeOf(err) == penstock.CodeNotFound {
				return penstock.Grant{}, penstock.Invalid("/subject", "the team has no %s with this uid", req.SubjectType)
			}
			if err != nil {
				return penstock.Grant{}, err
			}
		}
		return s.grant(ctx, tx, p, penstock.Grant{SubjectType: req.SubjectType, Subject: req.Subject, Role: req.Role})
	})
}

// grant stores a grant.
func (s *Members) grant(
	ctx context.Context, tx *store.Tx, p penstock.Principal, g penstock.Grant,
) (penstock.Grant, error) {
	n, err := tx.Members().CountGrants(ctx, p.Team)
	if err != nil {
		return g, err
	}
	if n >= maxGrants {
		return g, penstock.Errorf(penstock.CodeConflict, "the team has %d grants, which is the limit; remove some first", n)
	}
	g.UID, g.CreatedAt, g.CreatedBy = penstock.NewUID(), penstock.Now(), &p.Actor
	return g, tx.Members().AddGrant(ctx, store.GrantRow{Grant: g, Team: p.Team})
}

func checkGrant(req GrantRequest) error {
	var errs []penstock.FieldError
	bad := func(pointer, format string, args ...any) {
		errs = append(errs, penstock.FieldError{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
	}
	subjects := []penstock.GrantSubject{
		penstock.GrantToUser, penstock.GrantToGroup, penstock.GrantToServiceAccount,
	}
	if !slices.Contains(subjects, req.SubjectType) {
		bad("/subject_type", "must be one of %s", request.Enumerated(subjects))
	}
	request.Printable(bad, "/subject", req.Subject, maxGroup)
	if req.Subject == "" {
		bad("/subject", "is required: the uid of a member, or the name of a group")
	}
	checkRole(bad, req.Role)
	if errs != nil {
		return penstock.InvalidFields(errs...)
	}
	return nil
}

// Revoke removes a grant from the next request on. The last admin of the team stays one.
func (s *Members) Revoke(ctx context.Context, p penstock.Principal, uid string) error {
	if err := mayManage(p); err != nil {
		return err
	}
	for _, g := range configuredGrants(s.providers) {
		if g.UID == uid {
			return penstock.Errorf(
				penstock.CodeConflict, "the server's configuration has this grant, in auth.providers; remove it there",
			)
		}
	}
	return s.store.Write(ctx, func(tx *store.Tx) error {
		return keepAdmin(ctx, tx, p.Team, func() error {
			g, err := tx.Members().Grant(ctx, p.Team, uid)
			if err != nil {
				return err
			}
			if err := outranked(p, g.Role); err != nil {
				return err
			}
			removed, err := tx.Members().DeleteGrant(ctx, p.Team, uid)
			if err == nil && !removed {
				err = penstock.NotFound("grant", uid)
			}
			return err
		})
	})
}
