package main

import (
	"context"
	"net/http"
	"strings"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
)

type userCmds struct {
	connection

	List    listCmd       `cmd:"" help:"List the people of the team, with their roles."`
	Create  userCreateCmd `cmd:"" help:"Create a user, who can then own keys."`
	Get     getCmd        `cmd:"" help:"Show a user."`
	Set     memberSetCmd  `cmd:"" help:"Change the name or address of a user."`
	Enable  actionCmd     `cmd:"" help:"Let a disabled user in again. Schedules stay paused."`
	Disable actionCmd     `cmd:"" help:"Keep a user out from now on: end the sessions, silence the keys, pause the schedules."`
	Delete  deleteAllCmd  `cmd:"" help:"Delete users: revoke their keys, remove their grants, pause their schedules."`
}

type serviceAccountCmds struct {
	connection

	List    listCmd                 `cmd:"" help:"List the service accounts of the team, with their roles."`
	Create  serviceAccountCreateCmd `cmd:"" help:"Create an account for a program, which can then own keys."`
	Get     getCmd                  `cmd:"" help:"Show a service account."`
	Set     memberSetCmd            `cmd:"" help:"Change the name or address of a service account."`
	Enable  actionCmd               `cmd:"" help:"Let a disabled service account in again. Schedules stay paused."`
	Disable actionCmd               `cmd:"" help:"Keep a service account out from now on: silence its keys, pause its schedules."`
	Delete  deleteAllCmd            `cmd:"" help:"Delete service accounts: revoke their keys, remove their grants."`
}

var (
	userNoun           = memberNoun("user", "users", "users", "USER")
	serviceAccountNoun = memberNoun("service-account", "service-accounts", "service_accounts", "SERVICE ACCOUNT")
)

func memberNoun(name, path, key, head string) *noun[penstock.Member] {
	return &noun[penstock.Member]{
		name: name, path: path, key: key,
		head: []string{head, "NAME", "EMAIL", "ROLES", "STATE", "AGE"},
		row: func(m penstock.Member) []string {
			return []string{
				m.UID, m.DisplayName, m.Email, strings.Join(namesOf(m.Roles), " "), memberState(m), age(m.CreatedAt),
			}
		},
		facts: func(m penstock.Member) []fact {
			return []fact{
				{strings.ToLower(head), m.UID},
				{"name", m.DisplayName},
				{"email", m.Email},
				{"roles", strings.Join(namesOf(m.Roles), " ")},
				{"identity provider", m.Issuer},
				{"subject", m.Subject},
				{"groups", strings.Join(m.Groups, ", ")},
				{"state", memberState(m)},
				{"disabled", timestamp(m.DisabledAt)},
				{"created", timestamp(m.CreatedAt)},
			}
		},
		actions: map[string]action{
			"enable":  {http.MethodPatch, nil, map[string]any{"disabled": false}},
			"disable": {http.MethodPatch, nil, map[string]any{"disabled": true}},
		},
	}
}

func memberState(m penstock.Member) string {
	if m.DisabledAt != 0 {
		return "disabled"
	}
	return "enabled"
}

// memberFields are the flags that describe a user or service account.
type memberFields struct {
	Email string `placeholder:"ADDRESS" field:"/email" help:"Address, for people; it identifies nobody."`
}

// roleField is the flag for a role that is granted at once.
type roleField struct {
	Role string `enum:",viewer,user,editor,admin" default:"" placeholder:"ROLE" field:"/role" help:"Role to grant at once: viewer, user, editor or admin."`
}

type userCreateCmd struct {
	Name string `arg:"" field:"/display_name" help:"Name, as others see it."`
	memberFields
	roleField
	Issuer  string `placeholder:"URL" field:"/issuer" help:"Identity provider of the user, as its discovery document writes it; with --subject."`
	Subject string `placeholder:"SUB" field:"/subject" help:"Id of the user at the identity provider (sub)."`
}

func (cmd *userCreateCmd) Run(ctx context.Context, std *stdio, in *connection) error {
	return userNoun.create(ctx, std, in, fixed(fieldsOf(cmd)))
}

type serviceAccountCreateCmd struct {
	Name string `arg:"" field:"/display_name" help:"Name, as others see it."`
	memberFields
	roleField
}

func (cmd *serviceAccountCreateCmd) Run(ctx context.Context, std *stdio, in *connection) error {
	return serviceAccountNoun.create(ctx, std, in, fixed(fieldsOf(cmd)))
}

type memberSetCmd struct {
	resourceArg
	Name string `placeholder:"NAME" field:"/display_name" help:"Name, as others see it."`
	memberFields
}

func (cmd *memberSetCmd) Run(ctx context.Context, std *stdio, in *connection, n anyNoun) error {
	change := fieldsOf(cmd)
	if len(change) == 0 {
		return exitf(exitUsage, "nothing to change: set --name or --email")
	}
	return n.change(ctx, std, in, http.MethodPatch, cmd.Target, fixed(change))
}

// findMember returns the uid of a user or service account that two flags name, or "".
func findMember(ctx context.Context, c *client, user, service string) (string, error) {
	if service != "" {
		return serviceAccountNoun.find(ctx, c, service)
	}
	return userNoun.find(ctx, c, user)
}

type grantCmds struct {
	connection

	List   listCmd      `cmd:"" help:"List the roles of users, service accounts and groups."`
	Create grantAddCmd  `cmd:"" help:"Grant a role to a user, a service account or a group."`
	Delete deleteAllCmd `cmd:"" help:"Remove grants, from the next request on."`
}

var grantNoun = &noun[penstock.Grant]{
	name: "grant", id: "UID", uid: true, path: "grants", key: "grants", remover: "remove grant",
	head: []string{"GRANT", "TO", "WHO", "ROLE", "BY", "AGE"},
	row: func(g penstock.Grant) []string {
		return []string{g.UID, string(g.SubjectType), g.Subject, string(g.Role), actor(g.CreatedBy), age(g.CreatedAt)}
	},
	facts: func(g penstock.Grant) []fact {
		return []fact{
			{"grant", g.UID},
			{"to", string(g.SubjectType) + " " + g.Subject},
			{"role", string(g.Role)},
			{"by", actor(g.CreatedBy)},
			{"provider", g.Provider},
			{"created", timestamp(g.CreatedAt)},
		}
	},
}

type grantAddCmd struct {
	Role           string `arg:"" enum:"viewer,user,editor,admin" field:"/role" help:"The role: viewer, user, editor or admin."`
	User           string `xor:"to" required:"" placeholder:"UID|NAME" about:"/subject" help:"User who gets it."`
	ServiceAccount string `xor:"to" required:"" placeholder:"UID|NAME" about:"/subject" help:"Service account that gets it."`
	Group          string `xor:"to" required:"" placeholder:"NAME" about:"/subject" help:"Group of the identity provider whose members get it."`
}

func (cmd *grantAddCmd) Run(ctx context.Context, std *stdio, in *connection) error {
	return grantNoun.create(ctx, std, in, func(ctx context.Context, c *client) (map[string]any, error) {
		to, subject := penstock.GrantToUser, cmd.Group
		switch {
		case cmd.Group != "":
			to = penstock.GrantToGroup
		case cmd.ServiceAccount != "":
			to = penstock.GrantToServiceAccount
		}
		var err error
		if to != penstock.GrantToGroup {
			subject, err = findMember(ctx, c, cmd.User, cmd.ServiceAccount)
		}
		return map[string]any{"subject_type": to, "subject": subject, "role": cmd.Role}, err
	})
}

type whoamiCmd struct{ connection }

func (cmd *whoamiCmd) Help() string {
	return "Shows who owns the key, the roles of the owner, and what the key may do now."
}

func (cmd *whoamiCmd) Run(ctx context.Context, std *stdio) error {
	c, err := cmd.dial(ctx, std)
	if err != nil {
		return err
	}
	return perform(ctx, c, http.MethodGet, "me", nil, func(m access.Me) error {
		var roles []penstock.Role
		for _, g := range m.Grants {
			roles = append(roles, g.Role)
		}
		return std.facts([]fact{
			{strings.ReplaceAll(m.Actor.Type, "_", " "), actor(&m.Actor)},
			{"uid", m.Actor.UID},
			{"email", m.Actor.Email},
			{"team", m.Team},
			{"roles", strings.Join(namesOf(roles), " ")},
			{"key", m.KeyUID},
			{"scopes", strings.Join(namesOf(m.Scopes), " ")},
		})
	})
}
