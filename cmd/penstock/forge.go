package main

import (
	"context"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/forge"
)

type forgeCmds struct {
	connection

	List         listCmd                     `cmd:"" help:"List connections to forges."`
	Connect      forgeConnectCmd             `cmd:"" ids:"secret" help:"Connect to a forge with the token of a bot account."`
	Get          getCmd                      `cmd:"" help:"Show a connection."`
	Set          forgeSetCmd                 `cmd:"" help:"Change a connection, such as its token."`
	Check        forgeCheckCmd               `cmd:"" ids:"none" help:"Ask the forge whether the connection can do what it needs."`
	Repositories forgeRepositoriesCmd        `cmd:"" help:"List the repositories that runs can use through a connection."`
	Rotate       forgeRotateCmd              `cmd:"" ids:"secret" help:"Create a new secret for the forge's deliveries, which is printed only once."`
	Deliveries   deliveriesCmd[ofForge]      `cmd:"" help:"List what the forge has sent, newest first."`
	Delivery     deliveryCmd[ofForge]        `cmd:"" help:"Show a delivery and its result for each automation."`
	Payload      deliveryPayloadCmd[ofForge] `cmd:"" ids:"none" help:"Print the body of an accepted delivery, byte for byte."`
	Replay       deliveryReplayCmd[ofForge]  `cmd:"" help:"Replay an accepted delivery with the current automations."`
	Delete       deleteAllCmd                `cmd:"" help:"Delete connections with their tokens."`
}

var forgeNoun = &noun[penstock.Forge]{
	name: "forge", id: "UID", uid: true, path: "forges", key: "forges", remover: "delete connection",
	head: []string{"FORGE", "NAME", "PROVIDER", "URL", "BOT", "STATUS"},
	row: func(f penstock.Forge) []string {
		return []string{f.UID, f.Name, string(f.Provider), f.URL, botOf(f), string(f.Status)}
	},
	facts: func(f penstock.Forge) []fact {
		return []fact{
			{"forge", f.UID},
			{"name", f.Name},
			{"provider", string(f.Provider)},
			{"url", f.URL},
			{"bot", botOf(f)},
			{"read token", map[bool]string{true: "yes"}[f.ReadToken]},
			{"factories", strings.Join(f.Factories, " ")},
			{"repositories", strings.Join(f.Repositories, " ")},
			{"ingress url", f.IngressURL},
			{"secret", f.Secret},
			{"status", string(f.Status)},
			{"problem", f.Problem},
			{"token expires", timestamp(f.ExpiresAt)},
			{"checked", timestamp(f.CheckedAt)},
			{"created", timestamp(f.CreatedAt)},
		}
	},
}

func botOf(f penstock.Forge) string {
	if f.Bot == nil {
		return ""
	}
	return f.Bot.Login
}

// forgeFields are the flags that describe a connection.
type forgeFields struct {
	TokenFile     string   `type:"path" placeholder:"FILE" about:"/token" help:"File with the token of the bot account; - reads standard input."`
	ReadTokenFile string   `type:"path" placeholder:"FILE" about:"/read_token" help:"File with a token that can only read, for the requests of runs; by default, they are sent with the other token."`
	Factory       []string `placeholder:"UID" field:"/factories" help:"Only runs of this factory; repeatable."`
	Repository    []string `placeholder:"OWNER/NAME" field:"/repositories" help:"Only this repository, or OWNER/* for all of an owner; repeatable."`
}

// fields adds the content of the files to the fields of a request.
func (f forgeFields) fields(std *stdio, fields map[string]any) error {
	if f.TokenFile == "-" && f.ReadTokenFile == "-" {
		return exitf(exitUsage, "only one of --token-file and --read-token-file can be standard input")
	}
	for _, from := range []struct{ flag, file, field string }{
		{"--token-file", f.TokenFile, "token"}, {"--read-token-file", f.ReadTokenFile, "read_token"},
	} {
		if from.file == "" {
			continue
		}
		value, err := std.secretFrom(from.flag, from.file)
		if err != nil {
			return err
		}
		fields[from.field] = value
	}
	return nil
}

type forgeConnectCmd struct {
	Name     string `arg:"" field:"/name" help:"Name of the connection, such as acme."`
	Provider string `required:"" placeholder:"PROVIDER" field:"/provider" help:"Software of the forge: github, or gitea, also for Forgejo."`
	URL      string `name:"url" placeholder:"URL" field:"/url" help:"URL of the forge, such as https://git.example.com; for github, https://github.com by default."`
	forgeFields
}

func (cmd *forgeConnectCmd) Run(ctx context.Context, std *stdio, in *connection) error {
	if cmd.TokenFile == "" {
		return exitf(exitUsage, "--token-file is required: a file with the token of the bot account, or - for standard input")
	}
	fields := fieldsOf(cmd)
	if err := cmd.fields(std, fields); err != nil {
		return err
	}
	return forgeNoun.create(ctx, std, in, fixed(fields))
}

type forgeSetCmd struct {
	resourceArg
	forgeFields
	NoReadToken bool `about:"/read_token" help:"Send the requests of runs with the other token."`
	AllRuns     bool `about:"/factories" help:"Let all runs of the team use it."`
	All         bool `about:"/repositories" help:"Let runs use all repositories that the bot can read."`
}

func (cmd *forgeSetCmd) Run(ctx context.Context, std *stdio, in *connection) error {
	change := fieldsOf(cmd)
	if err := cmd.fields(std, change); err != nil {
		return err
	}
	for _, reset := range []struct {
		given bool
		flag  string
		field string
		other string
	}{
		{cmd.NoReadToken, "--no-read-token", "read_token", "--read-token-file"},
		{cmd.AllRuns, "--all-runs", "factories", "--factory"},
		{cmd.All, "--all", "repositories", "--repository"},
	} {
		if !reset.given {
			continue
		}
		if _, both := change[reset.field]; both {
			return exitf(exitUsage, "use either %s or %s", reset.other, reset.flag)
		}
		change[reset.field] = nil
	}
	if len(change) == 0 {
		return exitf(exitUsage, "nothing to change: set --token-file, --read-token-file, --factory, --repository, "+
			"--no-read-token, --all-runs or --all")
	}
	return forgeNoun.change(ctx, std, in, http.MethodPatch, cmd.Target, fixed(change))
}

type forgeCheckCmd struct {
	resourceArg
}

func (cmd *forgeCheckCmd) Run(ctx context.Context, std *stdio, in *connection) error {
	c, path, err := forgeNoun.dialItem(ctx, std, in, cmd.Target, "check")
	if err != nil {
		return err
	}
	return perform(ctx, c, http.MethodPost, path, nil, func(checked forge.Checked) error {
		var rows [][]string
		for _, check := range checked.Checks {
			rows = append(rows, []string{check.Name, map[bool]string{true: "ok", false: "missing"}[check.Passed], check.Detail})
		}
		if err := std.table([]string{"CHECK", "RESULT", "DETAIL"}, rows); err != nil {
			return err
		}
		if checked.Forge.Status != penstock.ForgeConnected {
			return exitf(exitFailed, "the connection is %s: %s", checked.Forge.Status, checked.Forge.Problem)
		}
		return nil
	})
}

type forgeRepositoriesCmd struct {
	resourceArg
}

func (cmd *forgeRepositoriesCmd) Run(ctx context.Context, std *stdio, in *connection) error {
	c, path, err := forgeNoun.dialItem(ctx, std, in, cmd.Target, "repositories")
	if err != nil {
		return err
	}
	return perform(ctx, c, http.MethodGet, path, nil, func(list forge.RepositoryList) error {
		if list.Truncated {
			std.notef("there are more than these %d", len(list.Repositories))
		}
		var rows [][]string
		for _, r := range list.Repositories {
			private, writable := strconv.FormatBool(r.Private), strconv.FormatBool(r.Writable)
			rows = append(rows, []string{r.Path, r.DefaultBranch, private, writable})
		}
		return std.table([]string{"REPOSITORY", "DEFAULT BRANCH", "PRIVATE", "WRITABLE"}, rows)
	})
}

type forgeRotateCmd struct {
	resourceArg
	Overlap time.Duration `default:"24h" placeholder:"DURATION" about:"/overlap_seconds" help:"How long the old secret stays valid, such as 1h, at most 168h; 24h by default."`
}

func (cmd *forgeRotateCmd) Run(ctx context.Context, std *stdio, in *connection) error {
	seconds, err := overlapSeconds(cmd.Overlap)
	if err != nil {
		return err
	}
	body := fixed(map[string]any{"overlap_seconds": seconds})
	return forgeNoun.change(ctx, std, in, http.MethodPost, cmd.Target, body, "rotate-secret")
}
