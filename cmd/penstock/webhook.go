package main

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/factory"
)

type webhookCmds struct {
	connection
	Factory string `placeholder:"UID|NAME" help:"Factory of the webhook; required if there are several factories."`

	List       webhookListCmd       `cmd:"" help:"List webhooks."`
	Get        webhookGetCmd        `cmd:"" help:"Show a webhook: its URL, the names of its secrets and its delivery counts."`
	Create     webhookCreateCmd     `cmd:"" help:"Create a webhook: a URL that another system can post to."`
	Update     webhookUpdateCmd     `cmd:"" help:"Change the given fields of a webhook, or set the secret of a pending one."`
	Rotate     webhookRotateCmd     `cmd:"" help:"Replace the secret of a webhook."`
	Enable     webhookEnableCmd     `cmd:"" help:"Enable a webhook. It then uses the current value of its managed secret. A suspended webhook stays suspended."`
	Disable    webhookDisableCmd    `cmd:"" help:"Disable a webhook at once; its sender gets 404."`
	Suspend    webhookSuspendCmd    `cmd:"" help:"Suspend a webhook until you resume it, even if the factory's files enable it; its sender gets 404."`
	Resume     webhookResumeCmd     `cmd:"" help:"Resume a suspended webhook."`
	Delete     webhookDeleteCmd     `cmd:"" help:"Delete webhooks; automations that select them are kept."`
	Deliveries webhookDeliveriesCmd `cmd:"" help:"List the deliveries of a webhook, newest first."`
	Delivery   webhookDeliveryCmd   `cmd:"" help:"Show a delivery and its result for each automation."`
	Payload    webhookPayloadCmd    `cmd:"" help:"Print the body of an accepted delivery, byte for byte."`
	Replay     webhookReplayCmd     `cmd:"" help:"Replay an accepted delivery with the current automations."`
	Test       webhookTestCmd       `cmd:"" help:"Send a test delivery to a webhook."`
	TestFilter webhookTestFilterCmd `cmd:"" help:"Test a filter on a delivery, a payload, or the latest deliveries."`
	Verify     webhookVerifyCmd     `cmd:"" help:"Verify the signature of a captured delivery, to find out why its sender gets 401."`
}

// at holds a client and the path of a factory, for commands about a factory.
type at struct {
	*client
	factory string // path of the factory
}

// atFactory creates a client, and finds the factory with this uid, name or alias.
func (c *connection) atFactory(ctx context.Context, std *stdio, called string) (at, error) {
	dialed, err := c.dial(ctx, std)
	if err != nil {
		return at{}, err
	}
	uid, err := findFactory(ctx, dialed, called)
	return at{dialed, "factory/" + url.PathEscape(uid)}, err
}

func (in *webhookCmds) find(ctx context.Context, std *stdio) (at, error) {
	return in.atFactory(ctx, std, in.Factory)
}

// webhook returns the path of the webhook with this uid or name, followed by rest.
func (a at) webhook(ctx context.Context, called string, rest ...string) (string, error) {
	list, err := a.list(ctx)
	if err != nil {
		return "", err
	}
	name, _ := penstock.ResourceName(called)
	var uids []string
	for _, w := range list.Webhooks {
		if w.UID == called {
			uids = []string{w.UID}
			break
		}
		if w.Name == name {
			uids = append(uids, w.UID)
		}
	}
	uid, err := theOne("webhook", called, uids)
	return strings.Join(append([]string{a.factory, "webhooks", url.PathEscape(uid)}, rest...), "/"), err
}

type webhookList struct {
	Webhooks []penstock.Webhook `json:"webhooks"`
}

func (a at) list(ctx context.Context) (list webhookList, err error) {
	_, err = a.call(ctx, http.MethodGet, a.factory+"/webhooks", nil, &list)
	return list, err
}

// findFactory returns the uid of the factory with this uid, name or alias. "" means the only
// factory.
func findFactory(ctx context.Context, c *client, called string) (string, error) {
	all, err := c.factories(ctx, called)
	if err != nil {
		return "", err
	}
	var uids []string
	for _, raw := range all.Factories {
		var f penstock.Factory
		if err := json.Unmarshal(raw, &f); err != nil {
			return "", fmt.Errorf("read a factory: %w", err)
		}
		if called == "" || strings.EqualFold(f.Name, called) || f.Alias != "" && strings.EqualFold(f.Alias, called) {
			uids = append(uids, f.UID)
		}
	}
	switch {
	case called != "" && len(uids) == 0: // the search does not find uids
		var f penstock.Factory
		_, err := c.call(ctx, http.MethodGet, "factory/"+url.PathEscape(called), nil, &f)
		if isStatus(err, http.StatusNotFound) {
			return theOne("factory", called, nil)
		}
		return f.UID, err
	case called == "" && len(uids) == 0:
		return "", exitf(exitRefused, "webhooks and automations belong to a factory, and no factory exists yet: create one "+
			"with penstock factory create NAME")
	case called == "" && len(uids) > 1:
		return "", exitf(exitUsage, "several factories exist: set --factory")
	}
	return theOne("factory", called, uids)
}

type webhookListCmd struct{}

func (cmd *webhookListCmd) Run(ctx context.Context, std *stdio, in *webhookCmds) error {
	a, err := in.find(ctx, std)
	if err != nil {
		return err
	}
	return perform(ctx, a.client, http.MethodGet, a.factory+"/webhooks", nil, func(l webhookList) error {
		var rows [][]string
		for _, w := range l.Webhooks {
			rows = append(rows, []string{
				w.UID, w.Name, modeText(w), webhookState(w), strconv.FormatInt(w.Counts.Accepted, 10),
				strconv.FormatInt(w.Counts.Rejected, 10), age(w.LastDeliveryAt),
			})
		}
		return std.table([]string{"WEBHOOK", "NAME", "MODE", "STATE", "ACCEPTED", "REJECTED", "LAST"}, rows)
	})
}

func modeText(w penstock.Webhook) string {
	return strings.TrimSpace(string(w.AuthMode) + " " + string(w.SignatureScheme))
}

func webhookState(w penstock.Webhook) string {
	switch {
	case w.PendingSecret:
		return "pending secret"
	case w.Suspended:
		return "suspended"
	case w.Enabled:
		return "enabled"
	}
	return "disabled"
}

type webhookGetCmd struct {
	Webhook string `arg:"" name:"webhook" help:"UID or name of the webhook."`
}

func (cmd *webhookGetCmd) Run(ctx context.Context, std *stdio, in *webhookCmds) error {
	return in.change(ctx, std, http.MethodGet, cmd.Webhook, nil)
}

// change makes a call about a webhook and shows its new state.
func (in *webhookCmds) change(ctx context.Context, std *stdio, method, called string, body any) error {
	a, err := in.find(ctx, std)
	if err != nil {
		return err
	}
	path, err := a.webhook(ctx, called)
	if err != nil {
		return err
	}
	return perform(ctx, a.client, method, path, body, func(w penstock.Webhook) error {
		if w.Enabled && w.Suspended {
			std.notef("the webhook is suspended: its sender gets 404 until you run penstock webhook resume %s", w.Name)
		}
		return std.facts(webhookFacts(w))
	})
}

func webhookFacts(w penstock.Webhook) []fact {
	list := []fact{
		{"webhook", w.UID},
		{"name", w.Name},
		{"label", w.Label},
		{"state", webhookState(w)},
		{"url", w.IngressURL},
		{"secret", w.Secret},
		{"mode", modeText(w)},
		{"signature", signatureText(w.Signature)},
		{"managed secret", w.SecretName + " (" + string(w.SecretRefresh) + ")"},
		{"delivery id", w.DeliveryIDHeader},
	}
	if w.OutdatedSecret {
		list = append(
			list,
			fact{"outdated", "its managed secret has a new value, which the webhook uses after the next change of the " +
				"factory's files"},
		)
	}
	if w.ReplayGuard {
		list = append(list, fact{"replay guard", "on"})
	}
	if w.DedupBodyWindow != "" {
		list = append(list, fact{"dedup body window", string(w.DedupBodyWindow)})
	}
	if w.RetryUnmatched {
		list = append(list, fact{"retry unmatched", "on"})
	}
	if w.SetupPings {
		list = append(list, fact{"setup pings", "on"})
	}
	for _, s := range w.Secrets {
		list = append(list, fact{secretName(s), secretText(s)})
	}
	c := w.Counts
	return append(list, fact{"last 24 hours", strings.Join([]string{
		strconv.FormatInt(c.Accepted, 10) + " accepted", strconv.FormatInt(c.Duplicate, 10) + " duplicate",
		strconv.FormatInt(c.Rejected, 10) + " rejected", strconv.FormatInt(c.RateLimited, 10) + " rate limited",
	}, ", ")}, fact{"last delivery", timestamp(w.LastDeliveryAt)}, fact{"created", timestamp(w.CreatedAt)},
		fact{"changed", timestamp(w.UpdatedAt)})
}

// secretName names a valid secret: its index is 0 for the current one, and higher for older ones.
func secretName(s penstock.WebhookSecret) string {
	if s.Index == 0 {
		return "current secret"
	}
	return "old secret"
}

func secretText(s penstock.WebhookSecret) string {
	text := "never used"
	if s.LastUsedAt != 0 {
		text = "last used " + timestamp(s.LastUsedAt)
	}
	if s.ExpiresAt != 0 {
		text += ", valid until " + timestamp(s.ExpiresAt)
	}
	return text
}

func signatureText(s *penstock.Signature) string {
	if s == nil {
		return ""
	}
	fields := map[string]string{}
	for key, value := range map[string]string{
		"header": s.Header, "prefix": s.Prefix, "hash": s.Hash, "encoding": s.Encoding, "key_form": s.KeyForm,
		"template":         s.Template,
		"timestamp_header": s.TimestampHeader,
	} {
		if value != "" {
			fields[key] = value
		}
	}
	return pairs(fields)
}

type webhookEnableCmd struct {
	Webhook string `arg:"" name:"webhook" help:"UID or name of the webhook."`
}

func (cmd *webhookEnableCmd) Run(ctx context.Context, std *stdio, in *webhookCmds) error {
	return in.change(ctx, std, http.MethodPatch, cmd.Webhook, factory.WebhookRequest{Enabled: new(true)})
}

type webhookDisableCmd struct {
	Webhook string `arg:"" name:"webhook" help:"UID or name of the webhook."`
}

func (cmd *webhookDisableCmd) Run(ctx context.Context, std *stdio, in *webhookCmds) error {
	return in.change(ctx, std, http.MethodPatch, cmd.Webhook, factory.WebhookRequest{Enabled: new(false)})
}

type webhookSuspendCmd struct {
	Webhook string `arg:"" name:"webhook" help:"UID or name of the webhook."`
}

func (cmd *webhookSuspendCmd) Run(ctx context.Context, std *stdio, in *webhookCmds) error {
	return in.change(ctx, std, http.MethodPatch, cmd.Webhook, factory.WebhookRequest{Suspended: new(true)})
}

type webhookResumeCmd struct {
	Webhook string `arg:"" name:"webhook" help:"UID or name of the webhook."`
}

func (cmd *webhookResumeCmd) Run(ctx context.Context, std *stdio, in *webhookCmds) error {
	return in.change(ctx, std, http.MethodPatch, cmd.Webhook, factory.WebhookRequest{Suspended: new(false)})
}

type webhookDeleteCmd struct {
	Webhooks []string `arg:"" name:"webhook" help:"UIDs or names of the webhooks."`
}

func (cmd *webhookDeleteCmd) Run(ctx context.Context, std *stdio, in *webhookCmds) error {
	a, err := in.find(ctx, std)
	if err != nil {
		return err
	}
	for _, called := range cmd.Webhooks {
		path, err := a.webhook(ctx, called)
		if err != nil {
			return err
		}
		if _, err := a.call(ctx, http.MethodDelete, path, nil, nil); err != nil {
			return err
		}
	}
	return nil
}
