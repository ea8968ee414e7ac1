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
	Delete deleteAllCmd `cmd:"" help:"Revoke API keys at once."`
}

var keyNoun = &noun[penstock.Key]{
	name: "key", id: "UID", uid: true, path: "keys", key: "keys", remover: "revoke key",
	head: []string{"KEY", "NAME", "BEGINS", "AGE", "USED", "EXPIRES", "SCOPES"},
	row: func(k penstock.Key) []string {
		expires := "never"
		if k.ExpiresAt != 0 {
			expires = timestamp(k.ExpiresAt)
		}
		return []string{
			k.UID, k.Name, k.Prefix + "…", age(k.CreatedAt), age(k.LastUsedAt), expires,
			strings.Join(scopeNames(k.Scopes), " "),
		}
	},
}

func scopeNames(scopes []penstock.Scope) []string {
	names := make([]string, len(scopes))
	for i, s := range scopes {
		names[i] = string(s)
	}
	return names
}

type keyCreateCmd struct {
	Name    string        `arg:"" field:"/name" help:"Name of the key, such as the person or program that uses it."`
	Scope   []string      `required:"" placeholder:"SCOPE" field:"/scopes" help:"Scope of the key: ${scopes}; repeatable."`
	Expires time.Duration `placeholder:"DURATION" about:"/expires_in_seconds" help:"Lifetime of the key, such as 720h; at most that of your own key. By default it expires with your own key, or never."`
	Agent   string        `placeholder:"UID|NAME" field:"/agent_uid" help:"Agent that the key acts as."`
	Save    string        `type:"path" placeholder:"FILE" help:"Write the key to this new file, readable only by you, instead of printing it."`
}

func (cmd *keyCreateCmd) Help() string {
	return "Prints only the key, which cannot be shown again. Its details go to standard error."
}

func (cmd *keyCreateCmd) Run(ctx context.Context, std *stdio, in *connection) error {
	if cmd.Expires < 0 || cmd.Expires > 0 && cmd.Expires < time.Second {
		return exitf(exitUsage, "--expires must be at least 1s")
	}
	c, err := in.dial(ctx, std)
	if err != nil {
		return err
	}
	if cmd.Agent, err = agentNoun.find(ctx, c, cmd.Agent); err != nil {
		return err
	}
	request := fieldsOf(cmd)
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
