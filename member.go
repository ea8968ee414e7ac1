package penstock

import "slices"

// MemberType says what a member belongs to.
type MemberType string

// The types of members. A service account belongs to a program: it has keys, and no sign-in.
const (
	MemberUser           MemberType = "user"
	MemberServiceAccount MemberType = "service_account"
)

// Member is a person or service account of a team. What it may do is what its grants say.
type Member struct {
	UID         string     `json:"uid"`
	Type        MemberType `json:"type"`
	DisplayName string     `json:"display_name"`
	Email       string     `json:"email,omitempty"`
	// Issuer and Subject identify a person at an identity provider. Without them, the person has keys and no sign-in.
	Issuer     string   `json:"issuer,omitempty"`
	Subject    string   `json:"subject,omitempty"`
	Groups     []string `json:"groups,omitzero"`       // of a person, as the identity provider has named them last
	SignedInAt Time     `json:"signed_in_at,omitzero"` // last, at the identity provider
	DisabledAt Time     `json:"disabled_at,omitzero"`
	CreatedAt  Time     `json:"created_at"`
	Roles      []Role   `json:"roles"` // of its own grants and those to its groups
}

// Actor is the member as the one who does something.
func (m Member) Actor() Actor {
	return Actor{Type: string(m.Type), UID: m.UID, DisplayName: m.DisplayName, Email: m.Email}
}

// Role is a set of scopes.
type Role string

// The roles: spec/trust.md, section 2.
const (
	ViewerRole Role = "viewer"
	UserRole   Role = "user"
	EditorRole Role = "editor"
	AdminRole  Role = "admin"
)

// roleScopes are the scopes of each role, from the least to the most.
var roleScopes = []struct {
	role   Role
	scopes []Scope
}{
	{ViewerRole, []Scope{ScopeRunsRead, ScopeFactoriesRead}},
	{UserRole, []Scope{ScopeRunsRead, ScopeFactoriesRead, ScopeRunsWrite}},
	{EditorRole, []Scope{ScopeRunsRead, ScopeFactoriesRead, ScopeRunsWrite, ScopeFactoriesManage, ScopeSecretsUse}},
	{AdminRole, []Scope{ScopeAdmin}},
}

// Roles lists the roles, from the least to the most.
func Roles() []Role {
	roles := make([]Role, len(roleScopes))
	for i, r := range roleScopes {
		roles[i] = r.role
	}
	return roles
}

// Scopes are the scopes of a role; an unknown role has none.
func (r Role) Scopes() []Scope {
	for _, known := range roleScopes {
		if known.role == r {
			return slices.Clone(known.scopes)
		}
	}
	return nil
}

// onServiceAccounts are scopes that a key of a service account has without a role: only an admin can give them.
var onServiceAccounts = []Scope{ScopeMetricsRead, ScopeWorker}

// Narrow returns which of a key's scopes its member has now, and which it has not.
func (a MemberType) Narrow(scopes []Scope, roles []Role) (left, withheld []Scope) {
	var may Principal
	for _, role := range roles {
		may.Scopes = append(may.Scopes, role.Scopes()...)
	}
	if a == MemberServiceAccount {
		may.Scopes = append(may.Scopes, onServiceAccounts...)
	}
	if slices.Contains(scopes, ScopeAdmin) && !may.May(ScopeAdmin) {
		withheld = append(withheld, ScopeAdmin)
		scopes = may.Scopes // all that the member may do
	}
	for _, scope := range scopes {
		if may.May(scope) {
			left = append(left, scope)
		} else {
			withheld = append(withheld, scope)
		}
	}
	slices.Sort(left)
	return slices.Compact(left), withheld
}

// GrantSubject says to whom a role is granted.
type GrantSubject string

// The subjects of grants. A group is one of the identity provider.
const (
	GrantToUser           GrantSubject = "user"
	GrantToGroup          GrantSubject = "group"
	GrantToServiceAccount GrantSubject = "service_account"
)

// Grant gives a role in a team. Grants add up: none of them takes anything away.
type Grant struct {
	UID         string       `json:"uid"`
	SubjectType GrantSubject `json:"subject_type"`
	Subject     string       `json:"subject"` // the UID of a member, or the name of a group
	Role        Role         `json:"role"`
	CreatedAt   Time         `json:"created_at,omitzero"`
	CreatedBy   *Actor       `json:"created_by,omitempty"`
	// Provider is set if the server's configuration grants the role: to a group of this identity provider, whose name
	// may be a pattern. Such a grant can only be changed there.
	Provider string `json:"provider,omitempty"`
}
