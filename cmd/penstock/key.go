package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
)

type keyCmds struct {
	connection

	Create keyCreateCmd `cmd:"" ids:"secret" help:"Create an API key."`
	List   listCmd      `cmd:"" help:"List API keys, without their secrets."`
	Assign keyAssignCmd `cmd:"" help:"Give a key to a user or service account, from the next request on."`
	Delete deleteAllCmd `cmd:"" help:"Revoke API keys at once."`
}

var keyNoun = &noun[penstock.Key]{
	name: "key", id: "UID", uid: true, path: "keys", key: "keys", remover: "revoke key",
	head: []string{"KEY", "NAME", "OWNER", "BEGINS", "AGE", "USED", "EXPIRES", "SCOPES"},
	row: func(k penstock.Key) []string {
		expires := "never"
		if k.ExpiresAt != 0 {
			expires = timestamp(k.ExpiresAt)
		}
		return []string{
			k.UID, k.Name, actor(&k.Owner), k.Prefix + "…", age(k.CreatedAt), age(k.LastUsedAt), expires,
			strings.Join(namesOf(k.Scopes), " "),
		}
	},
	facts: func(k penstock.Key) []fact {
		return []fact{
			{"key", k.UID},
			{"name", k.Name},
			{"owner", actor(&k.Owner)},
			{"begins", k.Prefix + "…"},
			{"scopes", strings.Join(namesOf(k.Scopes), " ")},
			{"created", timestamp(k.CreatedAt)},
			{"expires", timestamp(k.ExpiresAt)},
			{"used", timestamp(k.LastUsedAt)},
		}
	},
}

type keyAssignCmd struct {
	resourceArg
	User           string `xor:"owner" required:"" placeholder:"UID|NAME" about:"/owner_uid" help:"User who owns it from now on."`
	ServiceAccount string `xor:"owner" required:"" placeholder:"UID|NAME" about:"/owner_uid" help:"Service account that owns it from now on."`
}

func (cmd *keyAssignCmd) Help() string {
	return "What the key does from now on is the new owner's, and it may do at most what the owner may."
}

func (cmd *keyAssignCmd) Run(ctx context.Context, std *stdio, in *connection) error {
	return keyNoun.change(
		ctx, std, in, http.MethodPatch, cmd.Target, func(ctx context.Context, c *client) (map[string]any, error) {
			owner, err := findMember(ctx, c, cmd.User, cmd.ServiceAccount)
			return map[string]any{"owner_uid": owner}, err
		},
	)
}

// namesOf are scopes or roles as texts.
func namesOf[T ~string](list []T) []string {
	names := make([]string, len(list))
	for i, name := range list {
		names[i] = string(name)
	}
	return names
}

type keyCreateCmd struct {
	Name    string        `arg:"" field:"/name" help:"Name of the key, such as the person or program that uses it."`
	Scope   []string      `placeholder:"SCOPE" field:"/scopes" help:"Scope of the key: ${scopes}; repeatable."`
	Role    string        `enum:",viewer,user,editor,admin" default:"" placeholder:"ROLE" field:"/role" help:"Instead of scopes, the scopes of a role: viewer, user, editor or admin."`
	Expires time.Duration `placeholder:"DURATION" about:"/expires_in_seconds" help:"Lifetime of the key, such as 720h; at most that of your own key. By default it expires with your own key, or never."`
	Agent   string        `xor:"owner" placeholder:"UID|NAME" field:"/agent_uid" help:"Agent that the key acts as."`
	User    string        `xor:"owner" placeholder:"UID|NAME" about:"/owner_uid" help:"User who owns the key; by default, you."`
	Service string        `name:"service-account" xor:"owner" placeholder:"UID|NAME" about:"/owner_uid" help:"Service account that owns the key."`
	Save    string        `type:"path" placeholder:"FILE" help:"Write the key to this new file, readable only by you, instead of printing it."`
}

func (cmd *keyCreateCmd) Help() string {
	return "Prints only the key, which cannot be shown again. Its details go to standard error."
}

func (cmd *keyCreateCmd) Run(ctx context.Context, std *stdio, in *connection) error {
	if cmd.Expires < 0 || cmd.Expires > 0 && cmd.Expires < time.Second {
		return exitf(exitUsage, "--expires must be at least 1s")
	}
	if (len(cmd.Scope) == 0) == (cmd.Role == "") {
		return exitf(exitUsage, "a key needs --scope or --role, and not both")
	}
	c, err := in.dial(ctx, std)
	if err != nil {
		return err
	}
	owner, err := findMember(ctx, c, cmd.User, cmd.Service)
	if err != nil {
		return err
	}
	if cmd.Agent, err = agentNoun.find(ctx, c, cmd.Agent); err != nil {
		return err
	}
	request := fieldsOf(cmd)
	if owner != "" {
		request["owner_uid"] = owner
	}
	if cmd.Expires > 0 {
		request["expires_in_seconds"] = int64(cmd.Expires.Seconds())
	}
	var file *os.File
	if cmd.Save != "" { // before the key is created, because it is shown only once
		if file, err = os.OpenFile(cmd.Save, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600); err != nil {
			return exitf(exitUsage, "--save: %w", err)
		}
		defer file.Close()
	}
	var key penstock.Key
	raw, err := c.call(ctx, http.MethodPost, "keys", request, &key)
	if err != nil {
		if file != nil {
			_ = os.Remove(cmd.Save) // our own empty file
		}
		return err
	}
	if file != nil {
		if _, err := fmt.Fprintln(file, key.Key); err != nil {
			return fmt.Errorf("save the key %s: %w", key.UID, err)
		}
		std.notef("wrote key %s (%s) to %s", key.UID, key.Name, cmd.Save)
		return file.Sync()
	}
	if c.data {
		return std.result(ctx, raw)
	}
	std.notef("key %s (%s); it cannot be shown again:", key.UID, key.Name)
	_, err = fmt.Fprintln(std.out, cleanLine(key.Key))
	return err
}
