package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// logOwner is what has a log of deliveries.
type logOwner interface {
	dialItem(ctx context.Context, std *stdio, in *connection, target string, rest ...string) (*client, string, error)
}

type (
	ofWebhook struct{}
	ofForge   struct{}
)

func (ofWebhook) dialItem(
	ctx context.Context, std *stdio, in *connection, target string, rest ...string,
) (*client, string, error) {
	return webhookNoun.dialItem(ctx, std, in, target, rest...)
}

func (ofForge) dialItem(
	ctx context.Context, std *stdio, in *connection, target string, rest ...string,
) (*client, string, error) {
	return forgeNoun.dialItem(ctx, std, in, target, rest...)
}

type deliveriesCmd[O logOwner] struct {
	resourceArg
	Outcome string `enum:",${outcomes}" default:"" placeholder:"OUTCOME" field:"?outcome" help:"Only deliveries with this outcome: ${outcomes}."`
	NoRun   bool   `field:"?no_run" help:"Only accepted deliveries that started no run."`
	Search  string `placeholder:"TEXT" field:"?search" help:"Only accepted deliveries whose payload contains this text."`
	After   string `placeholder:"TIME|AGE" field:"?received_after" help:"Only deliveries received after this time (RFC 3339), or less than this long ago (such as 24h)."`
	Before  string `placeholder:"TIME|AGE" field:"?received_before" help:"Only deliveries received before this time (RFC 3339), or more than this long ago."`
	Limit   int    `default:"50" help:"Maximum number of deliveries; 0 lists all."`
	Cursor  string `field:"?cursor" help:"Cursor of the next page, as the previous page printed it."`
}

var deliveryNoun = &noun[store.Delivery]{
	name: "delivery",
	head: []string{"DELIVERY", "AGE", "OUTCOME", "REASON", "EVENT", "SIZE", "FROM", "RUNS", "DETAIL"},
	row: func(d store.Delivery) []string {
		return []string{
			d.ID, age(d.ReceivedAt), d.Label, d.Reason, d.EventType, bytesText(d.Size), d.ClientIP, strings.Join(d.Runs, " "),
			cmp.Or(d.Detail, strings.Trim(startedNothing(d)+"; "+d.Advice, "; ")),
		}
	},
	facts: deliveryFacts,
}

func (cmd *deliveriesCmd[O]) Run(ctx context.Context, std *stdio, in *connection) error {
	if cmd.Limit < 0 {
		return exitf(exitUsage, "--limit must not be negative")
	}
	var of O
	c, path, err := of.dialItem(ctx, std, in, cmd.Target, "deliveries")
	if err != nil {
		return err
	}
	if cmd.After, err = parseTime("--after", cmd.After); err != nil {
		return err
	}
	if cmd.Before, err = parseTime("--before", cmd.Before); err != nil {
		return err
	}
	log, err := c.pages(ctx, path, "deliveries", queryOf(cmd), cmd.Limit)
	if err != nil {
		return err
	}
	return deliveryNoun.showPage(ctx, c, log)
}

func outcomeNames() []string {
	var names []string
	for _, o := range penstock.Outcomes() {
		names = append(names, string(o))
	}
	return names
}

// oneDelivery names an entry of a log.
type oneDelivery[O logOwner] struct {
	resourceArg
	ID string `arg:"" name:"delivery" help:"ID of the delivery."`
}

func (d oneDelivery[O]) find(
	ctx context.Context, std *stdio, in *connection, rest ...string,
) (*client, string, error) {
	var of O
	return of.dialItem(ctx, std, in, d.Target, append([]string{"deliveries", url.PathEscape(d.ID)}, rest...)...)
}

type deliveryCmd[O logOwner] struct{ oneDelivery[O] }

func (cmd *deliveryCmd[O]) Run(ctx context.Context, std *stdio, in *connection) error {
	c, path, err := cmd.find(ctx, std, in)
	if err != nil {
		return err
	}
	return deliveryNoun.send(ctx, c, http.MethodGet, path, nil)
}

// startedNothing says why an accepted delivery started no run; "" if it did, or if its reason says enough.
func startedNothing(d store.Delivery) string {
	switch {
	case d.Outcome != penstock.OutcomeAccepted || len(d.Runs) > 0 || d.Reason != "":
		return ""
	case len(d.Matches) == 0:
		return "no enabled automation selects the webhook"
	}
	// The first automation that matches, but started nothing, says more than those that do not match.
	shown := d.Matches[0]
	for _, m := range d.Matches {
		if m.FateReason != "" || m.RunID != "" || m.FailedAt != nil && *m.FailedAt == store.FailedAtAutomation {
			shown = m
			break
		}
	}
	text := shown.Automation + ": " + cmp.Or(shown.FateReason, matchText(shown))
	if n := len(d.Matches) - 1; n > 0 {
		text += fmt.Sprintf(" (and %d more: penstock webhook delivery)", n)
	}
	return text
}

func deliveryFacts(d store.Delivery) []fact {
	list := []fact{
		{"delivery", d.ID},
		{"outcome", strings.TrimSpace(d.Label + " " + d.Reason)},
		{"detail", d.Detail},
		{"advice", d.Advice},
		{"response", strconv.Itoa(d.HTTPStatus)},
		{"received", timestamp(d.ReceivedAt)},
		{"from", d.ClientIP},
		{"size", bytesText(d.Size)},
		{"sha256", d.PayloadSHA256},
		{
			"identity",
			strings.ReplaceAll(strings.TrimPrefix(string(d.IdentitySource), string(penstock.IdentityNone)), "_", " "),
		},
		{"duplicate of", d.DuplicateOf},
		{"replay of", d.ReplayOf},
	}
	for _, m := range d.Matches {
		list = append(list, fact{"automation", m.Automation + ": " + matchText(m)})
	}
	return append(list, fact{"headers", pairs(d.Headers)})
}

func matchText(m store.DeliveryMatch) string {
	switch {
	case m.RunID != "":
		return "started run " + m.RunID
	case m.FailedAt != nil && *m.FailedAt == store.FailedAtAutomation:
		return "started no run, the automation is broken: " + m.Reason
	case m.Operator != "":
		return "does not match: " + m.Reason
	case m.FailedAt != nil: // of an earlier version, or the payload cannot be evaluated
		return "does not match at " + cmp.Or(*m.FailedAt, "the payload") + ": " + m.Reason
	case m.WouldTrigger:
		return "matches"
	}
	return "does not match"
}

type deliveryPayloadCmd[O logOwner] struct{ oneDelivery[O] }

func (cmd *deliveryPayloadCmd[O]) Help() string {
	return "On a terminal, control characters are made visible. A file or a pipe gets the original bytes."
}

func (cmd *deliveryPayloadCmd[O]) Run(ctx context.Context, std *stdio, in *connection) error {
	c, path, err := cmd.find(ctx, std, in, "payload")
	if err != nil {
		return err
	}
	return c.download(ctx, path, std.out)
}

type deliveryReplayCmd[O logOwner] struct{ oneDelivery[O] }

func (cmd *deliveryReplayCmd[O]) Run(ctx context.Context, std *stdio, in *connection) error {
	c, path, err := cmd.find(ctx, std, in, "replay")
	if err != nil {
		return err
	}
	return deliveryNoun.send(ctx, c, http.MethodPost, path, nil)
}

type webhookTestCmd struct {
	resourceArg
	PayloadFile string `placeholder:"FILE" xor:"source" about:"/payload" help:"File with the payload as JSON; - reads standard input. By default an example."`
	GitHubEvent string `name:"github-event" placeholder:"NAME" field:"/github_event" help:"Value of the X-GitHub-Event header for --payload-file."`
	Event       string `placeholder:"NAME" xor:"source" field:"/event" help:"Send a sample of this event of a github or linear trigger, such as pull_request_opened."`
	Delivery    string `placeholder:"ID" xor:"source" field:"/delivery_id" help:"Send the payload of this accepted delivery again."`
	Last        bool   `xor:"source" help:"Send the payload of the last accepted delivery again."`
}

func (cmd *webhookTestCmd) Help() string {
	return "The delivery has the webhook's own credential and passes all checks, as if its sender had sent it. " +
		"Automations that match start runs. It is a delivery of its own, even if its payload was sent before."
}

func (cmd *webhookTestCmd) Run(ctx context.Context, std *stdio, in *connection) error {
	var payload jsontext.Value
	if cmd.PayloadFile != "" {
		var err error
		if payload, err = readJSON(std, "--payload-file", cmd.PayloadFile); err != nil {
			return err
		}
	}
	c, path, err := webhookNoun.dialItem(ctx, std, in, cmd.Target)
	if err != nil {
		return err
	}
	if cmd.Last {
		if cmd.Delivery, err = c.lastAccepted(ctx, path); err != nil {
			return err
		}
	}
	request := fieldsOf(cmd)
	if payload != nil {
		request["payload"] = payload
	}
	body, err := json.Marshal(request, asSent)
	if err != nil {
		return err
	}
	return perform(ctx, c, http.MethodPost, path+"/test-delivery", jsontext.Value(body), func(d store.Delivery) error {
		return std.facts(deliveryFacts(d))
	})
}

// lastAccepted returns the id of the last accepted delivery of the webhook at path.
func (c *client) lastAccepted(ctx context.Context, path string) (string, error) {
	var page factory.DeliveryPage
	_, err := c.call(ctx, http.MethodGet, path+"/deliveries?limit=1&outcome=accepted", nil, &page)
	if err != nil {
		return "", err
	}
	if len(page.Deliveries) == 0 {
		return "", exitf(exitRefused, "the webhook has accepted no delivery yet: use --event or --payload-file")
	}
	return page.Deliveries[0].ID, nil
}

type webhookTestFilterCmd struct {
	Filter      string `required:"" placeholder:"FILE" about:"/filter" help:"File with the filter as JSON; - reads standard input."`
	Webhook     string `placeholder:"UID|NAME" about:"/webhook_uid" help:"Webhook whose deliveries to test: the one in --delivery, or the latest ones."`
	Delivery    string `placeholder:"ID" field:"/delivery_id" help:"ID of an accepted delivery of the webhook."`
	PayloadFile string `placeholder:"FILE" about:"/payload" help:"File with a payload as JSON; - reads standard input."`
	Provider    string `placeholder:"NAME" field:"/provider" help:"Provider of the trigger that the filter belongs to: github or linear. By default the filter is a payload filter."`
	Event       string `placeholder:"NAME" field:"/event" help:"Event of that trigger, such as pull_request_opened."`
	GitHubEvent string `name:"github-event" placeholder:"NAME" field:"/github_event" help:"Value of the X-GitHub-Event header for --payload-file."`
}

func (cmd *webhookTestFilterCmd) Help() string {
	return "Exits with 1 if the filter does not match."
}

func (cmd *webhookTestFilterCmd) Run(ctx context.Context, std *stdio, in *connection) error {
	switch {
	case cmd.Filter == "-" && cmd.PayloadFile == "-":
		return exitf(exitUsage, "--filter and --payload-file cannot both be read from standard input")
	case cmd.Webhook == "" && cmd.PayloadFile == "":
		return exitf(exitUsage, "no delivery or payload to test: set --webhook or --payload-file")
	case cmd.Delivery != "" && (cmd.Webhook == "" || cmd.PayloadFile != ""):
		return exitf(exitUsage, "--delivery needs --webhook and excludes --payload-file")
	}
	filter, err := readJSON(std, "--filter", cmd.Filter)
	if err != nil {
		return err
	}
	request := fieldsOf(cmd)
	request["filter"] = filter
	if cmd.PayloadFile != "" {
		if request["payload"], err = readJSON(std, "--payload-file", cmd.PayloadFile); err != nil {
			return err
		}
	}
	c, list, err := webhookNoun.dialList(ctx, std, in)
	if err != nil {
		return err
	}
	if cmd.Webhook != "" {
		if request["webhook_uid"], err = webhookNoun.resolve(ctx, c, list, cmd.Webhook); err != nil {
			return err
		}
	}
	return cmd.test(ctx, c, strings.TrimSuffix(list, "webhooks")+"test-filter", request)
}

func (cmd *webhookTestFilterCmd) test(ctx context.Context, c *client, path string, request map[string]any) error {
	var result factory.FilterTestResult
	body, err := json.Marshal(request, asSent)
	if err != nil {
		return err
	}
	raw, err := c.call(ctx, http.MethodPost, path, jsontext.Value(body), &result)
	switch {
	case err != nil:
		return err
	case c.data:
		err = c.std.result(ctx, raw)
	default:
		err = c.std.facts(filterTestFacts(result))
	}
	if err == nil && !result.WouldTrigger && result.Sample == nil {
		err = &exitError{code: exitFailed}
	}
	return err
}

func filterTestFacts(v factory.FilterTestResult) []fact {
	list := []fact{{"would trigger", strconv.FormatBool(v.WouldTrigger)}}
	if v.Sample != nil {
		list = []fact{{"would have triggered", fmt.Sprintf("%d of the last %d deliveries", v.Sample.Matched, v.Sample.Of)}}
	}
	for _, c := range v.Checks {
		text := "passed"
		if !c.Passed {
			text = "failed"
			if c.Path != "" && c.Operator == "" {
				text += " at " + c.Path
			}
			if c.Reason != "" {
				text += ": " + c.Reason
			}
		}
		list = append(list, fact{c.Check, text})
	}
	return list
}

// asSent accepts every payload that a delivery may have, with duplicate keys and lone surrogates.
var asSent = json.JoinOptions(
	jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true), jsontext.PreserveRawStrings(true),
)

// readJSON reads a JSON value without checking its meaning.
func readJSON(std *stdio, flag, file string) (jsontext.Value, error) {
	in := std.in
	if file != "-" {
		var err error
		if in, err = os.Open(file); err != nil {
			return nil, exitf(exitUsage, "%s: %w", flag, err)
		}
		defer in.Close()
	}
	content, err := io.ReadAll(in)
	if err != nil {
		return nil, exitf(exitUsage, "%s: %w", flag, err)
	}
	var value jsontext.Value
	if err := json.Unmarshal(content, &value, asSent); err != nil {
		return nil, exitf(exitUsage, "%s %s: %w", flag, file, err)
	}
	return value, nil
}
