package access

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/request"
	"github.com/penstock-dev/penstock/internal/control/store"
	"github.com/penstock-dev/penstock/internal/supply/openid"
)

// Members manages persons and service accounts, and the roles that are granted to them and to groups.
type Members struct {
	store     *store.Store
	responses *Responses
	providers []*openid.Provider
	disabled  func(ctx context.Context, tx *store.Tx, team, uid string) error
}

// MemberRequest creates a member.
type MemberRequest struct {
	DisplayName string        `json:"display_name"`
	Email       string        `json:"email,omitempty"`
	Issuer      string        `json:"issuer,omitempty"` // with Subject: of a person who signs in
	Subject     string        `json:"subject,omitempty"`
	Role        penstock.Role `json:"role,omitempty"` // granted at once
}

// MemberChange changes a member. A nil field stays.
type MemberChange struct {
	DisplayName *string `json:"display_name,omitempty"`
	Email       *string `json:"email,omitempty"`
	Disabled    *bool   `json:"disabled,omitempty"`
}

// mayManage refuses callers who may not change what others may do.
func mayManage(p penstock.Principal) error {
	if err := Require(p, penstock.ScopeAccessManage); err != nil {
		return err
	}
	return RefuseAgent(p, "manage members and grants")
}

// outranked refuses a caller who would get, give or take more than the caller has.
func outranked(p penstock.Principal, roles ...penstock.Role) error {
	for _, role := range roles {
		for _, scope := range role.Scopes() {
			if !p.May(scope) {
				return penstock.Errorf(
					penstock.CodeNotAuthorized, "this is about the role %s, whose scope %s the caller lacks", role, scope,
				)
			}
		}
	}
	return nil
}

// List lists the members of a type.
func (s *Members) List(
	ctx context.Context, p penstock.Principal, of penstock.MemberType,
) ([]penstock.Member, error) {
	if err := Require(p, penstock.ScopeAccessManage); err != nil {
		return nil, err
	}
	rows, err := s.store.Members.List(ctx, p.Team, of)
	members := make([]penstock.Member, len(rows))
	for i, r := range rows {
		members[i] = r.Member
	}
	return members, err
}

// Read returns one member.
func (s *Members) Read(
	ctx context.Context, p penstock.Principal, of penstock.MemberType, uid string,
) (penstock.Member, error) {
	if err := Require(p, penstock.ScopeAccessManage); err != nil {
		return penstock.Member{}, err
	}
	r, err := s.store.Members.Find(ctx, p.Team, of, uid)
	return r.Member, err
}

// Create creates a member, with a role if the request names one.
func (s *Members) Create(
	ctx context.Context, p penstock.Principal, of penstock.MemberType, req MemberRequest,
) (penstock.Member, error) {
	if err := mayManage(p); err != nil {
		return penstock.Member{}, err
	}
	m := penstock.Member{
		UID: penstock.NewUID(), Type: of, DisplayName: strings.TrimSpace(req.DisplayName),
		Email:  strings.TrimSpace(req.Email),
		Issuer: req.Issuer, Subject: req.Subject, CreatedAt: penstock.Now(), Roles: []penstock.Role{},
	}
	if err := checkMember(m, req.Role); err != nil {
		return m, err
	}
	if req.Role != "" {
		m.Roles = []penstock.Role{req.Role}
	}
	if err := outranked(p, m.Roles...); err != nil {
		return m, err
	}
	return Act(ctx, s.responses, p, func(tx *store.Tx) (penstock.Member, error) {
		err := tx.Members().Add(ctx, store.MemberRow{Member: m, Team: p.Team})
		if err == nil && req.Role != "" {
			_, err = s.grant(ctx, tx, p, penstock.Grant{
				SubjectType: penstock.GrantSubject(of), Subject: m.UID, Role: req.Role,
			})
		}
		return m, err
	})
}

// checkMember checks what a caller says about a member.
func checkMember(m penstock.Member, role penstock.Role) error {
	var errs []penstock.FieldError
	bad := func(pointer, format string, args ...any) {
		errs = append(errs, penstock.FieldError{Pointer: pointer, Detail: fmt.Sprintf(format, args...)})
	}
	request.Name(func(_, format string, args ...any) { bad("/display_name", format, args...) }, m.DisplayName, true)
	request.Printable(bad, "/email", m.Email, maxEmail)
	request.Printable(bad, "/issuer", m.Issuer, request.MaxURL)
	request.Printable(bad, "/subject", m.Subject, maxSubject)
	if m.Email != "" && (strings.Count(m.Email, "@") != 1 || strings.ContainsAny(m.Email, " <>,;")) {
		bad("/email", "must be an address, such as ada@example.com")
	}
	switch {
	case m.Type != penstock.MemberUser && m.Issuer+m.Subject != "":
		bad("/issuer", "is for users: a service account has no sign-in")
	case (m.Issuer == "") != (m.Subject == ""):
		bad("/subject", "and issuer belong together: both identify a person at the identity provider, or neither is there")
	case m.Issuer != "":
		if u, err := url.Parse(m.Issuer); err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
			bad("/issuer", "must be the URL of the identity provider, as its discovery document writes it")
		}
	}
	if role != "" {
		checkRole(bad, role)
	}
	if errs != nil {
		return penstock.InvalidFields(errs...)
	}
	return nil
}

// The longest e-mail address (RFC 5321) and sub (OpenID Connect Core, section 2) in bytes.
const (
	maxEmail   = 254
	maxSubject = 255
)

func checkRole(bad func(pointer, format string, args ...any), role penstock.Role) {
	if !slices.Contains(penstock.Roles(), role) {
		bad("/role", "%.40q is not a role; use one of %s", role, request.Enumerated(penstock.Roles()))
	}
}

// Update changes a member. A disabled one has no sessions, and its keys are refused from the next request on, until
// it is enabled again. Its schedules are paused, and stay so.
func (s *Members) Update(
	ctx context.Context, p penstock.Principal, of penstock.MemberType, uid string, req MemberChange,
) (penstock.Member, error) {
	if err := mayManage(p); err != nil {
		return penstock.Member{}, err
	}
	if req == (MemberChange{}) {
		return penstock.Member{}, penstock.Invalid("", "change at least one of display_name, email and disabled")
	}
	return Act(ctx, s.responses, p, func(tx *store.Tx) (m penstock.Member, err error) {
		err = keepAdmin(ctx, tx, p.Team, func() error {
			m, err = s.update(ctx, tx, p, of, uid, req)
			return err
		})
		return m, err
	})
}

func (s *Members) update(
	ctx context.Context, tx *store.Tx, p penstock.Principal, of penstock.MemberType, uid string, req MemberChange,
) (penstock.Member, error) {
	r, err := s.lock(ctx, tx, p, of, uid)
	if err != nil {
		return penstock.Member{}, err
	}
	if req.DisplayName != nil {
		r.DisplayName = strings.TrimSpace(*req.DisplayName)
	}
	if req.Email != nil {
		r.Email = strings.TrimSpace(*req.Email)
	}
	changed := penstock.Member{Type: of, DisplayName: r.UID, Email: r.Email}
	if req.DisplayName != nil {
		changed.DisplayName = r.DisplayName
	}
	if err := checkMember(changed, ""); err != nil {
		return penstock.Member{}, err
	}
	switch {
	case req.Disabled == nil || *req.Disabled == (r.DisabledAt != 0):
	case *req.Disabled:
		r.DisabledAt = penstock.Now()
		if err := s.silence(ctx, tx, p.Team, uid); err != nil {
			return penstock.Member{}, err
		}
	default:
		r.DisabledAt = 0
	}
	return r.Member, tx.Members().Set(ctx, r)
}

// lock reads a member that the caller may change, until the transaction ends.
func (s *Members) lock(
	ctx context.Context, tx *store.Tx, p penstock.Principal, of penstock.MemberType, uid string,
) (store.MemberRow, error) {
	r, err := tx.Members().Lock(ctx, p.Team, of, uid)
	if err == nil {
		err = outranked(p, r.Roles...)
	}
	return r, err
}

// silence ends what a member has begun by itself.
func (s *Members) silence(ctx context.Context, tx *store.Tx, team, uid string) error {
	if err := tx.Members().EndSessions(ctx, uid); err != nil {
		return err
	}
	return s.disabled(ctx, tx, team, uid)
}

// Delete deletes a member: its keys are revoked, its sessions ended, its grants removed, its schedules paused. What
// it has done keeps its name. A person whom the identity provider still knows can sign in as a new member.
func (s *Members) Delete(ctx context.Context, p penstock.Principal, of penstock.MemberType, uid string) error {
	if err := mayManage(p); err != nil {
		return err
	}
	return s.store.Write(ctx, func(tx *store.Tx) error {
		return keepAdmin(ctx, tx, p.Team, func() error {
			if _, err := s.lock(ctx, tx, p, of, uid); err != nil {
				return err
			}
			if err := s.silence(ctx, tx, p.Team, uid); err != nil {
				return err
			}
			return tx.Members().Delete(ctx, p.Team, uid)
		})
	})
}

// keepAdmin refuses a change that would leave a team without an admin. It locks the keys of all admins first, so that
// two changes at once cannot each rely on what the other takes away.
func keepAdmin(ctx context.Context, tx *store.Tx, team string, change func() error) error {
	before, err := tx.Keys().Admin(ctx, team)
	if err != nil {
		return err
	}
	if err := change(); err != nil {
		return err
	}
	after, err := tx.Keys().Admin(ctx, team)
	if err == nil && len(after) == 0 && len(before) > 0 {
		err = penstock.Errorf(
			penstock.CodeConflict, "this would leave the team without an admin who has a key; "+
				"create a key for another admin, or make somebody an admin, first",
		)
	}
	return err
}
