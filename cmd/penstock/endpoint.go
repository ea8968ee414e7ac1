package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/announce"
	"github.com/penstock-dev/penstock/internal/control/store"
)

type endpointCmds struct {
	connection

	List     listCmd             `cmd:"" help:"List event endpoints with the counts of their messages."`
	Create   endpointCreateCmd   `cmd:"" ids:"secret" help:"Create an event endpoint; a secret is printed only once."`
	Get      getCmd              `cmd:"" help:"Show an event endpoint."`
	Set      endpointSetCmd      `cmd:"" help:"Change an event endpoint."`
	Enable   actionCmd           `cmd:"" help:"Enable an event endpoint, and send what waits."`
	Disable  actionCmd           `cmd:"" help:"Disable an event endpoint."`
	Ping     endpointPingCmd     `cmd:"" help:"Send a message of the type endpoint.ping."`
	Rotate   endpointRotateCmd   `cmd:"" ids:"secret" help:"Create a new secret, which is printed only once."`
	Attempts endpointAttemptsCmd `cmd:"" help:"List the requests to an event endpoint of the last 7 days."`
	Replay   endpointReplayCmd   `cmd:"" ids:"none" help:"Send messages again, with the same ids."`
	Types    endpointTypesCmd    `cmd:"" help:"List the types of messages."`
	Delete   deleteAllCmd        `cmd:"" help:"Delete event endpoints."`
}

var endpointNoun = &noun[penstock.EventEndpoint]{
	name: "endpoint", id: "UID", uid: true, path: "event-endpoints", key: "endpoints", remover: "delete endpoint",
	head: []string{"ENDPOINT", "URL", "EVENTS", "STATE", "WAITING", "DELIVERED", "FAILED"},
	row: func(e penstock.EventEndpoint) []string {
		return []string{
			e.UID, e.URL, endpointEvents(e), endpointState(e), number(e.Stats.Waiting), number(e.Stats.Delivered),
			number(e.Stats.Failed),
		}
	},
	facts: endpointFacts,
	actions: map[string]action{
		"enable":  {method: http.MethodPatch, body: map[string]any{"enabled": true}},
		"disable": {method: http.MethodPatch, body: map[string]any{"enabled": false}},
	},
}

func endpointEvents(e penstock.EventEndpoint) string {
	var list []string
	for _, event := range e.Events {
		list = append(list, string(event))
	}
	return cmp.Or(strings.Join(list, " "), "all")
}

func endpointState(e penstock.EventEndpoint) string {
	switch {
	case !e.Enabled:
		return "disabled"
	case e.Stats.FailingSince != 0:
		return "failing"
	}
	return "enabled"
}

func endpointFacts(e penstock.EventEndpoint) []fact {
	list := []fact{
		{"endpoint", e.UID},
		{"url", e.URL},
		{"format", string(e.Format)},
		{"events", endpointEvents(e)},
		{"factories", strings.Join(e.FactoryUIDs, " ")},
		{"description", e.Description},
		{"channel", e.Channel},
		{"may answer", strings.Join(e.MayAnswer, " ")},
		{"interactivity url", e.InteractivityURL},
		{"state", endpointState(e)},
		{"reason", e.DisabledReason},
		{"waiting", number(e.Stats.Waiting)},
		{"delivered", number(e.Stats.Delivered)},
		{"failed", number(e.Stats.Failed)},
		{"last success", timestamp(e.Stats.LastSuccessAt)},
		{"last failure", timestamp(e.Stats.LastFailureAt)},
		{"failing since", timestamp(e.Stats.FailingSince)},
		{"waits until", timestamp(e.Stats.WaitsUntil)},
		{"created", timestamp(e.CreatedAt)},
	}
	for _, s := range e.Secrets {
		text := cmp.Or(s.Secret, "created "+timestamp(s.CreatedAt))
		if s.ExpiresAt != 0 {
			text += ", until " + timestamp(s.ExpiresAt)
		}
		list = append(list, fact{"secret", text})
	}
	return list
}

// endpointFields are the flags that describe an endpoint.
type endpointFields struct {
	Event       []string `placeholder:"TYPE" field:"/events" help:"Type of messages, such as run.failed; repeatable. All types by default."`
	Factory     []string `placeholder:"UID" field:"/factory_uids" help:"Only events of this factory; repeatable."`
	Description string   `placeholder:"TEXT" field:"/description" help:"Note for people."`
}

// slackAppFields are the flags of an endpoint of the format slack_app.
type slackAppFields struct {
	Channel           string   `placeholder:"ID" field:"/channel" help:"For slack_app: the channel of Slack, such as C024BE91L."`
	BotTokenFile      string   `type:"path" placeholder:"FILE" about:"/bot_token" help:"For slack_app: file with the bot token of the Slack app; - reads standard input."`
	SigningSecretFile string   `type:"path" placeholder:"FILE" about:"/signing_secret" help:"For slack_app: file with the signing secret of the Slack app; - reads standard input."`
	MayAnswer         []string `placeholder:"USER" field:"/may_answer" help:"For slack_app: id of a Slack user who may answer runs and cancel them, such as U024BE7LH; repeatable, or with commas. Needs runs:write."`
}

// secrets adds the content of the files to a request.
func (f slackAppFields) secrets(std *stdio, fields map[string]any) error {
	if f.BotTokenFile == "-" && f.SigningSecretFile == "-" {
		return exitf(exitUsage, "only one of --bot-token-file and --signing-secret-file can be standard input")
	}
	for _, from := range []struct{ flag, file, field string }{
		{"--bot-token-file", f.BotTokenFile, "bot_token"},
		{"--signing-secret-file", f.SigningSecretFile, "signing_secret"},
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

type endpointCreateCmd struct {
	URL string `arg:"" optional:"" name:"url" field:"/url" help:"URL of the receiver, with https://. For slack_app: the base of Slack's web API, https://slack.com/api by default."`
	endpointFields
	Format string `placeholder:"FORMAT" field:"/format" help:"standard, slack for an incoming webhook of Slack or Mattermost, or slack_app for a Slack app, with which people can answer; standard by default."`
	slackAppFields
}

func (cmd *endpointCreateCmd) Run(ctx context.Context, std *stdio, in *connection) error {
	fields := fieldsOf(cmd)
	if err := cmd.secrets(std, fields); err != nil {
		return err
	}
	return endpointNoun.create(ctx, std, in, fixed(fields))
}

type endpointSetCmd struct {
	resourceArg
	URL string `name:"url" placeholder:"URL" field:"/url" help:"URL of the receiver, with https://."`
	endpointFields
	slackAppFields
	NobodyMayAnswer bool `about:"/may_answer" help:"For slack_app: let nobody answer any more."`
}

func (cmd *endpointSetCmd) Run(ctx context.Context, std *stdio, in *connection) error {
	change := fieldsOf(cmd)
	if err := cmd.secrets(std, change); err != nil {
		return err
	}
	if cmd.NobodyMayAnswer {
		if len(cmd.MayAnswer) > 0 {
			return exitf(exitUsage, "use either --may-answer or --nobody-may-answer")
		}
		change["may_answer"] = []string{}
	}
	if len(change) == 0 {
		return exitf(
			exitUsage, "nothing to change: set --url, --event, --factory, --description, or a flag of the format slack_app",
		)
	}
	return endpointNoun.change(ctx, std, in, http.MethodPatch, cmd.Target, fixed(change))
}

type endpointPingCmd struct {
	resourceArg
}

func (cmd *endpointPingCmd) Run(ctx context.Context, std *stdio, in *connection) error {
	c, path, err := endpointNoun.dialItem(ctx, std, in, cmd.Target, "ping")
	if err != nil {
		return err
	}
	return perform(ctx, c, http.MethodPost, path, nil, func(sent announce.Sent) error {
		std.notef("see what became of it: penstock endpoint attempts %s --message %s", cmd.Target, sent.MessageID)
		return std.facts([]fact{{"message", sent.MessageID}})
	})
}

type endpointRotateCmd struct {
	resourceArg
	Overlap time.Duration `default:"24h" placeholder:"DURATION" about:"/overlap_seconds" help:"How long the old secret also signs messages, such as 1h, at most 168h; 24h by default."`
}

func (cmd *endpointRotateCmd) Run(ctx context.Context, std *stdio, in *connection) error {
	seconds, err := overlapSeconds(cmd.Overlap)
	if err != nil {
		return err
	}
	body := fixed(map[string]any{"overlap_seconds": seconds})
	return endpointNoun.change(ctx, std, in, http.MethodPost, cmd.Target, body, "rotate-secret")
}

type endpointAttemptsCmd struct {
	resourceArg
	Message string `placeholder:"ID" field:"?message_id" help:"Only attempts of this message."`
	Limit   int    `default:"20" help:"Maximum number; 0 lists all."`
}

func (cmd *endpointAttemptsCmd) Run(ctx context.Context, std *stdio, in *connection) error {
	if cmd.Limit < 0 {
		return exitf(exitUsage, "--limit must not be negative")
	}
	c, path, err := endpointNoun.dialItem(ctx, std, in, cmd.Target, "attempts")
	if err != nil {
		return err
	}
	read, err := c.pages(ctx, path, endpointAttempts.key, queryOf(cmd), cmd.Limit)
	if err != nil {
		return err
	}
	return endpointAttempts.showPage(ctx, c, read)
}

// endpointAttempts shows the attempts of one endpoint.
var endpointAttempts = &noun[store.EndpointAttempt]{
	name: "attempt", path: "event-endpoints", key: "attempts",
	head: []string{"AT", "TYPE", "MESSAGE", "ATTEMPT", "RESULT", "NEXT"},
	row: func(a store.EndpointAttempt) []string {
		result := cmp.Or(a.Error, a.Answer)
		if a.Status != 0 {
			result = strings.TrimSpace(strconv.Itoa(a.Status) + " " + strings.Join(strings.Fields(result), " "))
		}
		return []string{
			timestamp(a.At), string(a.Type), a.MessageID, strconv.Itoa(a.Attempt), result, timestamp(a.NextAt),
		}
	},
}

type endpointReplayCmd struct {
	resourceArg
	Message string `xor:"what" required:"" placeholder:"ID" field:"/message_id" help:"Message to send again."`
	Since   string `xor:"what" required:"" placeholder:"TIME" field:"/since" help:"Send all messages of events since this time again, such as 2026-01-31T12:00:00Z."`
}

func (cmd *endpointReplayCmd) Run(ctx context.Context, std *stdio, in *connection) error {
	c, path, err := endpointNoun.dialItem(ctx, std, in, cmd.Target, "replay")
	if err != nil {
		return err
	}
	return perform(ctx, c, http.MethodPost, path, fieldsOf(cmd), func(replayed announce.Replayed) error {
		return std.facts([]fact{{"messages", fmt.Sprint(replayed.Messages)}})
	})
}

type endpointTypesCmd struct{}

func (cmd *endpointTypesCmd) Run(ctx context.Context, std *stdio, in *connection) error {
	c, err := in.dial(ctx, std)
	if err != nil {
		return err
	}
	raw, err := c.call(ctx, http.MethodGet, "event-types", nil, nil)
	if err != nil {
		return err
	}
	if c.data {
		return std.result(ctx, raw)
	}
	list, err := listOf[announce.EventType](c, raw, "event_types")
	if err != nil {
		return err
	}
	var rows [][]string
	for _, t := range list {
		rows = append(rows, []string{string(t.Type), t.Description})
	}
	return std.table([]string{"TYPE", "SENT WHEN"}, rows)
}
