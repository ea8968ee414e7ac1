package main

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"github.com/penstock-dev/penstock"
)

type secretCmds struct {
	connection

	List         listCmd         `cmd:"" help:"List secrets, without their values."`
	Create       secretCreateCmd `cmd:"" help:"Create a secret."`
	Get          getCmd          `cmd:"" help:"Show a secret and what uses it, but never its value."`
	Set          secretSetCmd    `cmd:"" help:"Set a new value for a secret, or the hosts to which it may be sent."`
	Delete       deleteAllCmd    `cmd:"" help:"Delete secrets. A secret that is in use stays."`
	CreateKeyset createKeysetCmd `cmd:"" help:"Create a keyset file for servers that get copies of it, such as Pods."`
	RotateKey    rotateKeyCmd    `cmd:"" help:"Replace the key that encrypts secrets at rest. Run it on the server's machine; safe while the server runs."`
}

// checkSecretNames rejects invalid names. Such a name may be a value by mistake, so it is neither
// sent nor repeated.
func checkSecretNames(names []string) error {
	for _, name := range names {
		if !penstock.ValidSecretName(name) {
			return exitf(
				exitUsage, "invalid secret name: use letters, digits and _, such as DEPLOY_TOKEN. %s", howToGiveValue,
			)
		}
	}
	return nil
}

var secretNoun = &noun[penstock.ManagedSecret]{
	name: "secret", id: "Name", path: "secrets", key: "secrets", remover: "delete secret",
	check: func(name string) error { return checkSecretNames([]string{name}) },
	head:  []string{"SECRET", "VERSION", "CHANGED", "USED", "USED BY"},
	row: func(s penstock.ManagedSecret) []string {
		return []string{s.Name, versionText(s), age(s.UpdatedAt), age(s.LastUsedAt), usersText(s.UsedBy, ", ")}
	},
	facts: func(s penstock.ManagedSecret) []fact {
		return []fact{
			{"secret", s.Name},
			{"version", versionText(s)},
			{"created", timestamp(s.CreatedAt)},
			{"created by", actor(s.CreatedBy)},
			{"changed", timestamp(s.UpdatedAt)},
			{"changed by", actor(s.UpdatedBy)},
			{"last used", timestamp(s.LastUsedAt)},
			{"created for webhook", s.WebhookUID},
			{"hosts", strings.Join(s.Hosts, "\n")},
			{"used by", usersText(s.UsedBy, "\n")},
		}
	},
}

const howToGiveValue = "A value is never an argument: use --value-file, or enter the value at the prompt"

// secretValue holds the source of a value, which is never an argument.
type secretValue struct {
	ValueFile string `type:"path" xor:"value" placeholder:"FILE" about:"/value" help:"File with the value; - reads standard input. The line end of a one-line value is removed. By default you are prompted."`
}

const valueHelp = "The value is text of at most 64 KB. A value of fewer than four characters is not masked in the " +
	"output of runs."

// read reads the value from the file, or asks for it.
func (v secretValue) read(std *stdio, name string) (string, error) {
	var value string
	var err error
	switch {
	case v.ValueFile != "":
		value, err = std.secretFrom("--value-file", v.ValueFile)
	case std.mayAsk():
		value, err = std.askSecret("Value of " + name + ": ")
	default:
		err = exitf(
			exitUsage, "no value for %s, and no terminal to ask on: set --value-file to a file, or to - for standard "+
				"input", name,
		)
	}
	const leastMasked = 4
	if err == nil && len(strings.TrimSpace(value)) < leastMasked {
		std.notef("the value has fewer than %d characters and is not masked in the output of runs", leastMasked)
	}
	return value, err
}

func versionText(s penstock.ManagedSecret) string {
	if s.Pending {
		return "pending"
	}
	return strconv.FormatInt(s.Version, 10)
}

func usersText(users []penstock.SecretUser, between string) string {
	var list []string
	for _, u := range users {
		list = append(list, strings.TrimPrefix(u.String(), "the "))
	}
	return strings.Join(list, between)
}

type secretCreateCmd struct {
	Name    string   `arg:"" field:"/name" help:"Name of the secret and of its environment variable in runs."`
	Pending bool     `xor:"value" help:"Create it without a value, so that other resources can name it."`
	Host    []string `sep:"none" placeholder:"HOST" field:"/hosts" help:"Host to which the proxy of a sealed run may send the value; repeatable."`
	secretValue
}

func (cmd *secretCreateCmd) Help() string { return valueHelp }

func (cmd *secretCreateCmd) Run(ctx context.Context, std *stdio, in *connection) error {
	if err := secretNoun.check(cmd.Name); err != nil {
		return err
	}
	return secretNoun.create(ctx, std, in, func(context.Context, *client) (map[string]any, error) {
		body := fieldsOf(cmd)
		if cmd.Pending {
			return body, nil
		}
		var err error
		body["value"], err = cmd.read(std, cmd.Name)
		return body, err
	})
}

type secretSetCmd struct {
	resourceArg
	Host    []string `sep:"none" xor:"hosts" placeholder:"HOST" field:"/hosts" help:"Host to which the proxy of a sealed run may send the value; repeatable. Replaces the current hosts. Without --value-file, the value stays as it is."`
	NoHosts bool     `xor:"hosts" help:"Remove all hosts."`
	secretValue
}

func (cmd *secretSetCmd) Help() string {
	return valueHelp +
		" Runs get the new value at their next execution; a running execution keeps the old one."
}

func (cmd *secretSetCmd) Run(ctx context.Context, std *stdio, in *connection) error {
	build := func(context.Context, *client) (map[string]any, error) {
		body := fieldsOf(cmd)
		if cmd.NoHosts {
			body["hosts"] = []string{}
		}
		if len(body) > 0 && cmd.ValueFile == "" {
			return body, nil
		}
		var err error
		body["value"], err = cmd.read(std, cmd.Target)
		return body, err
	}
	return secretNoun.change(ctx, std, in, http.MethodPut, cmd.Target, build)
}
