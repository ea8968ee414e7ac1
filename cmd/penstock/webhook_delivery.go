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
)

type webhookDeliveriesCmd struct {
	Webhook string `arg:"" name:"webhook" help:"UID or name of the webhook."`
	Outcome string `enum:",${outcomes}" default:"" placeholder:"OUTCOME" field:"?outcome" help:"Only deliveries with this outcome: ${outcomes}."`
	NoRun   bool   `field:"?no_run" help:"Only accepted deliveries that started no run."`
	Search  string `placeholder:"TEXT" field:"?search" help:"Only accepted deliveries whose payload contains this text."`
	After   string `placeholder:"TIME|AGE" field:"?received_after" help:"Only deliveries received after this time (RFC 3339), or less than this long ago (such as 24h)."`
	Before  string `placeholder:"TIME|AGE" field:"?received_before" help:"Only deliveries received before this time (RFC 3339), or more than this long ago."`
	Limit   int    `default:"50" help:"Maximum number of deliveries; 0 lists all."`
	Cursor  string `field:"?cursor" help:"Cursor of the next page, as the previous page printed it."`
}

// rawLog is a page of a log with every field that the server sent.
type rawLog struct {
	Deliveries []jsontext.Value  `json:"deliveries"`
	PageInfo   penstock.PageInfo `json:"page_info"`
}

func (cmd *webhookDeliveriesCmd) Run(ctx context.Context, std *stdio, in *webhookCmds) error {
	if cmd.Limit < 0 {
		return exitf(exitUsage, "--limit must not be negative")
	}
	a, err := in.find(ctx, std)
	if err != nil {
		return err
	}
	path, err := a.webhook(ctx, cmd.Webhook, "deliveries")
	if err != nil {
		return err
	}
	log, err := cmd.pages(ctx, a.client, path)
	if err != nil {
		return err
	}
	if a.json {
		return std.json(log)
	}
	var rows [][]string
	for _, raw := range log.Deliveries {
		var d penstock.Delivery
		if err := json.Unmarshal(raw, &d); err != nil {
			return fmt.Errorf("read a delivery: %w", err)
		}
		rows = append(
			rows, []string{
				d.ID, age(d.ReceivedAt), d.Label, d.Reason, d.EventType, bytesText(d.Size), d.ClientIP, strings.Join(d.Runs, " "),
				cmp.Or(d.Detail, d.Advice),
			},
		)
	}
	head := []string{"DELIVERY", "AGE", "OUTCOME", "REASON", "EVENT", "SIZE", "FROM", "RUNS", "DETAIL"}
	if err := std.table(head, rows); err != nil {
		return err
	}
	if log.PageInfo.HasNext {
		std.notef("more deliveries exist: continue with --cursor %s, or list all with --limit 0", log.PageInfo.NextCursor)
	}
	return nil
}

// pages reads as many pages as Limit needs.
func (cmd *webhookDeliveriesCmd) pages(ctx context.Context, c *client, path string) (rawLog, error) {
	all := rawLog{Deliveries: []jsontext.Value{}}
	query := url.Values{}
	after, err := parseTime("--after", cmd.After)
	if err != nil {
		return all, err
	}
	before, err := parseTime("--before", cmd.Before)
	if err != nil {
		return all, err
	}
	for key, value := range map[string]string{
		"outcome": cmd.Outcome, "search": cmd.Search, "received_after": after, "received_before": before,
		"cursor": cmd.Cursor,
	} {
		if value != "" {
			query.Set(key, value)
		}
	}
	if cmd.NoRun {
		query.Set("no_run", "true")
	}
	for {
		size := penstock.MaxLimit
		if cmd.Limit > 0 {
			size = min(size, cmd.Limit-len(all.Deliveries))
		}
		query.Set("limit", strconv.Itoa(size))
		var page rawLog
		if _, err := c.call(ctx, http.MethodGet, path+"?"+query.Encode(), nil, &page); err != nil {
			return all, err
		}
		all.Deliveries, all.PageInfo = append(all.Deliveries, page.Deliveries...), page.PageInfo
		if !page.PageInfo.HasNext || cmd.Limit > 0 && len(all.Deliveries) >= cmd.Limit {
			return all, nil
		}
		query.Set("cursor", page.PageInfo.NextCursor)
	}
}

func outcomeNames() []string {
	var names []string
	for _, o := range penstock.Outcomes() {
		names = append(names, string(o))
	}
	return names
}

// oneDelivery names an entry of a webhook's log.
type oneDelivery struct {
	Webhook string `arg:"" name:"webhook" help:"UID or name of the webhook."`
	ID      string `arg:"" name:"delivery" help:"ID of the delivery."`
}

func (d oneDelivery) find(ctx context.Context, std *stdio, in *webhookCmds, rest ...string) (at, string, error) {
	a, err := in.find(ctx, std)
	if err != nil {
		return a, "", err
	}
	path, err := a.webhook(ctx, d.Webhook, append([]string{"deliveries", url.PathEscape(d.ID)}, rest...)...)
	return a, path, err
}

type webhookDeliveryCmd struct {
	oneDelivery
}

func (cmd *webhookDeliveryCmd) Run(ctx context.Context, std *stdio, in *webhookCmds) error {
	a, path, err := cmd.find(ctx, std, in)
	if err != nil {
		return err
	}
	return perform(
		ctx, a.client, http.MethodGet, path, nil, func(d penstock.Delivery) error { return std.facts(deliveryFacts(d)) },
	)
}

func deliveryFacts(d penstock.Delivery) []fact {
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

func matchText(m penstock.DeliveryMatch) string {
	switch {
	case m.RunID != "":
		return "started run " + m.RunID
	case m.FailedAt != nil && *m.FailedAt == penstock.FailedAtAutomation:
		return "started no run, the automation is broken: " + m.Reason
	case m.FailedAt != nil:
		return "does not match at " + cmp.Or(*m.FailedAt, "the payload") + ": " + m.Reason
	case m.WouldTrigger:
		return "matches"
	}
	return "does not match"
}

type webhookPayloadCmd struct {
	oneDelivery
}

func (cmd *webhookPayloadCmd) Help() string {
	return "On a terminal, control characters are made visible. A file or a pipe gets the original bytes."
}

func (cmd *webhookPayloadCmd) Run(ctx context.Context, std *stdio, in *webhookCmds) error {
	a, path, err := cmd.find(ctx, std, in, "payload")
	if err != nil {
		return err
	}
	return a.download(ctx, path, std.out)
}

type webhookReplayCmd struct {
	oneDelivery
}

func (cmd *webhookReplayCmd) Run(ctx context.Context, std *stdio, in *webhookCmds) error {
	a, path, err := cmd.find(ctx, std, in, "replay")
	if err != nil {
		return err
	}
	return perform(
		ctx, a.client, http.MethodPost, path, nil, func(d penstock.Delivery) error { return std.facts(deliveryFacts(d)) },
	)
}

type webhookTestCmd struct {
	Webhook     string `arg:"" name:"webhook" help:"UID or name of the webhook."`
	PayloadFile string `placeholder:"FILE" xor:"source" field:"/payload" help:"File with the payload as JSON; - reads standard input. By default an example."`
	GitHubEvent string `name:"github-event" placeholder:"NAME" field:"/github_event" help:"Value of the X-GitHub-Event header for --payload-file."`
	Event       string `placeholder:"NAME" xor:"source" field:"/event" help:"Send a sample of this event of a github or linear trigger, such as pull_request_opened."`
	Delivery    string `placeholder:"ID" xor:"source" field:"/delivery_id" help:"Send the payload of this accepted delivery again."`
	Last        bool   `xor:"source" help:"Send the payload of the last accepted delivery again."`
}

func (cmd *webhookTestCmd) Help() string {
	return "The delivery has the webhook's own credential and passes all checks, as if its sender had sent it. " +
		"Automations that match start runs. It is a delivery of its own, even if its payload was sent before."
}

func (cmd *webhookTestCmd) Run(ctx context.Context, std *stdio, in *webhookCmds) error {
	request := map[string]jsontext.Value{}
	if cmd.PayloadFile != "" {
		payload, err := readJSON(std, "--payload-file", cmd.PayloadFile)
		if err != nil {
			return err
		}
		request["payload"] = payload
	}
	a, err := in.find(ctx, std)
	if err != nil {
		return err
	}
	path, err := a.webhook(ctx, cmd.Webhook, "test-delivery")
	if err != nil {
		return err
	}
	if cmd.Last {
		if cmd.Delivery, err = a.lastAccepted(ctx, cmd.Webhook); err != nil {
			return err
		}
	}
	for name, value := range map[string]string{
		"github_event": cmd.GitHubEvent, "event": cmd.Event, "delivery_id": cmd.Delivery,
	} {
		if value != "" {
			request[name] = jsontext.Value(strconv.Quote(value))
		}
	}
	body, err := json.Marshal(request, asSent)
	if err != nil {
		return err
	}
	return perform(ctx, a.client, http.MethodPost, path, jsontext.Value(body), func(d penstock.Delivery) error {
		return std.facts(deliveryFacts(d))
	})
}

// lastAccepted returns the id of the last accepted delivery of a webhook.
func (a at) lastAccepted(ctx context.Context, called string) (string, error) {
	path, err := a.webhook(ctx, called, "deliveries?limit=1&outcome=accepted")
	if err != nil {
		return "", err
	}
	var page factory.DeliveryPage
	if _, err = a.call(ctx, http.MethodGet, path, nil, &page); err != nil {
		return "", err
	}
	if len(page.Deliveries) == 0 {
		return "", exitf(exitRefused, "the webhook has accepted no delivery yet: use --event or --payload-file")
	}
	return page.Deliveries[0].ID, nil
}

type webhookTestFilterCmd struct {
	Filter      string `required:"" placeholder:"FILE" field:"/filter" help:"File with the filter as JSON; - reads standard input."`
	Webhook     string `placeholder:"UID|NAME" field:"/webhook_uid" help:"Webhook whose deliveries to test: the one in --delivery, or the latest ones."`
	Delivery    string `placeholder:"ID" field:"/delivery_id" help:"ID of an accepted delivery of the webhook."`
	PayloadFile string `placeholder:"FILE" field:"/payload" help:"File with a payload as JSON; - reads standard input."`
	Provider    string `placeholder:"NAME" field:"/provider" help:"Provider of the trigger that the filter belongs to: github or linear. By default the filter is a payload filter."`
	Event       string `placeholder:"NAME" field:"/event" help:"Event of that trigger, such as pull_request_opened."`
	GitHubEvent string `name:"github-event" placeholder:"NAME" field:"/github_event" help:"Value of the X-GitHub-Event header for --payload-file."`
}

func (cmd *webhookTestFilterCmd) Help() string {
	return "Exits with 1 if the filter does not match."
}

func (cmd *webhookTestFilterCmd) Run(ctx context.Context, std *stdio, in *webhookCmds) error {
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
	request := map[string]any{"filter": filter}
	for name, value := range map[string]string{
		"provider": cmd.Provider, "event": cmd.Event, "github_event": cmd.GitHubEvent,
	} {
		if value != "" {
			request[name] = value
		}
	}
	if cmd.PayloadFile != "" {
		if request["payload"], err = readJSON(std, "--payload-file", cmd.PayloadFile); err != nil {
			return err
		}
	}
	a, err := in.find(ctx, std)
	if err != nil {
		return err
	}
	if cmd.Webhook != "" {
		path, err := a.webhook(ctx, cmd.Webhook)
		if err != nil {
			return err
		}
		request["webhook_uid"] = path[strings.LastIndexByte(path, '/')+1:]
	}
	if cmd.Delivery != "" {
		request["delivery_id"] = cmd.Delivery
	}
	return cmd.test(ctx, a, request)
}

func (cmd *webhookTestFilterCmd) test(ctx context.Context, a at, request map[string]any) error {
	var result factory.FilterTestResult
	body, err := json.Marshal(request, asSent)
	if err != nil {
		return err
	}
	raw, err := a.call(ctx, http.MethodPost, a.factory+"/test-filter", jsontext.Value(body), &result)
	switch {
	case err != nil:
		return err
	case a.json:
		err = a.std.json(raw)
	default:
		err = a.std.facts(filterTestFacts(result))
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
			if c.Path != "" {
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
