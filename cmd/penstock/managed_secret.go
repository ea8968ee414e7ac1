package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/penstock-dev/penstock"
)

type secretCmds struct {
	connection

	List      secretListCmd   `cmd:"" help:"List secrets, without their values."`
	Create    secretCreateCmd `cmd:"" help:"Make a secret."`
	Get       secretGetCmd    `cmd:"" help:"Show what is known about a secret, and who uses it; never its value."`
	Set       secretSetCmd    `cmd:"" help:"Give a secret its next value."`
	Delete    secretDeleteCmd `cmd:"" help:"Delete secrets that nothing uses."`
	RotateKey rotateKeyCmd    `cmd:"" help:"Replace the key that seals everything at rest, on the server's machine; it may go on serving."`
}

// checkSecretNames refuses what is no name: it may be a value that slipped into
// its place, so it is neither sent nor repeated.
func checkSecretNames(names []string) error {
	for _, name := range names {
		if !penstock.ValidSecretName(name) {
			return exitf(
				exitUsage, "that is no name of a secret: letters, digits and _, such as DEPLOY_TOKEN. %s", howToGiveValue,
			)
		}
	}
	return nil
}

// secretPath is where a secret is.
func secretPath(name string) (string, error) {
	return "secrets/" + url.PathEscape(name), checkSecretNames([]string{name})
}

const howToGiveValue = "A value is never an argument: penstock secret takes it from a file named by --value-file, or asks for it"

// secretValue is where a value comes from: never an argument.
type secretValue struct {
	ValueFile string `type:"path" xor:"value" placeholder:"FILE" field:"/value" help:"File that holds the value; - is standard input. A value of one line is taken without its line end. Without it you are asked."`
}

const valueHelp = "The value is at most 64 KB of text. One of fewer than four characters cannot be masked in what runs print."

// read gets the value from the file or from the person.
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
			exitUsage, "there is no value for %s, and nobody to ask: name a file by --value-file (- is standard input)", name,
		)
	}
	const leastMasked = 4
	if err == nil && len(strings.TrimSpace(value)) < leastMasked {
		std.notef("the value has fewer than %d characters: where a run prints it, it is not masked", leastMasked)
	}
	return value, err
}

type secretListCmd struct{}

func (cmd *secretListCmd) Run(ctx context.Context, std *stdio, in *secretCmds) error {
	c, err := in.dial(ctx, std)
	if err != nil {
		return err
	}
	type list struct {
		Secrets []penstock.ManagedSecret `json:"secrets"`
	}
	return answer(ctx, c, http.MethodGet, "secrets", nil, func(l list) error {
		var rows [][]string
		for _, s := range l.Secrets {
			rows = append(rows, []string{s.Name, versionText(s), age(s.UpdatedAt), age(s.LastUsedAt), usersText(s.UsedBy, ", ")})
		}
		return std.table([]string{"SECRET", "VERSION", "CHANGED", "USED", "USED BY"}, rows)
	})
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
	Name    string `arg:"" field:"/name" help:"Name of the secret, which is that of the environment variable in which runs find it."`
	Pending bool   `xor:"value" help:"Only declare it, without a value: it can be named from now on."`
	secretValue
}

func (cmd *secretCreateCmd) Help() string { return valueHelp }

func (cmd *secretCreateCmd) Run(ctx context.Context, std *stdio, in *secretCmds) error {
	if _, err := secretPath(cmd.Name); err != nil {
		return err
	}
	c, err := in.dial(ctx, std)
	if err != nil {
		return err
	}
	request := penstock.SecretRequest{Name: cmd.Name}
	if !cmd.Pending {
		value, err := cmd.read(std, cmd.Name)
		if err != nil {
			return err
		}
		request.Value = &value
	}
	return showSecret(ctx, c, http.MethodPost, "secrets", request)
}

// showSecret makes a call and shows the secret that comes back.
func showSecret(ctx context.Context, c *client, method, path string, body any) error {
	return answer(ctx, c, method, path, body, func(s penstock.ManagedSecret) error {
		return c.std.facts([]fact{
			{"secret", s.Name},
			{"version", versionText(s)},
			{"created", moments(s.CreatedAt)},
			{"created by", actor(s.CreatedBy)},
			{"changed", moments(s.UpdatedAt)},
			{"changed by", actor(s.UpdatedBy)},
			{"last used", moments(s.LastUsedAt)},
			{"made for webhook", s.WebhookUID},
			{"used by", usersText(s.UsedBy, "\n")},
		})
	})
}

type secretGetCmd struct {
	Name string `arg:"" name:"secret" help:"Name of the secret."`
}

func (cmd *secretGetCmd) Run(ctx context.Context, std *stdio, in *secretCmds) error {
	path, err := secretPath(cmd.Name)
	if err != nil {
		return err
	}
	c, err := in.dial(ctx, std)
	if err != nil {
		return err
	}
	return showSecret(ctx, c, http.MethodGet, path, nil)
}

type secretSetCmd struct {
	Name string `arg:"" name:"secret" help:"Name of the secret."`
	secretValue
}

func (cmd *secretSetCmd) Help() string {
	return valueHelp +
		" Runs get it from their next execution on; an execution that has begun goes on with what it was given."
}

func (cmd *secretSetCmd) Run(ctx context.Context, std *stdio, in *secretCmds) error {
	path, err := secretPath(cmd.Name)
	if err != nil {
		return err
	}
	c, err := in.dial(ctx, std)
	if err != nil {
		return err
	}
	value, err := cmd.read(std, cmd.Name)
	if err != nil {
		return err
	}
	return showSecret(ctx, c, http.MethodPut, path, map[string]string{"value": value})
}

type secretDeleteCmd struct {
	Names []string `arg:"" name:"secret" help:"Names of the secrets."`
}

func (cmd *secretDeleteCmd) Run(ctx context.Context, std *stdio, in *secretCmds) error {
	paths := make([]string, len(cmd.Names))
	for i, name := range cmd.Names {
		var err error
		if paths[i], err = secretPath(name); err != nil {
			return err
		}
	}
	c, err := in.dial(ctx, std)
	if err != nil {
		return err
	}
	for i, path := range paths {
		if _, err := c.call(ctx, http.MethodDelete, path, nil, nil); err != nil {
			return fmt.Errorf("delete secret %s: %w", cmd.Names[i], err)
		}
	}
	return nil
}
