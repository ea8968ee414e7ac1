package main

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/penstock-dev/penstock"
)

type webhookCmds struct {
	factoryConnection

	List       listCmd                       `cmd:"" help:"List webhooks."`
	Get        getCmd                        `cmd:"" help:"Show a webhook: its URL, the names of its secrets and its delivery counts."`
	Create     webhookCreateCmd              `cmd:"" ids:"secret" help:"Create a webhook: a URL that another system can post to."`
	Update     webhookUpdateCmd              `cmd:"" help:"Change the given fields of a webhook, or set the secret of a pending one."`
	Rotate     webhookRotateCmd              `cmd:"" ids:"secret" help:"Replace the secret of a webhook."`
	Enable     actionCmd                     `cmd:"" help:"Enable a webhook. It then uses the current value of its managed secret. A suspended webhook stays suspended."`
	Disable    actionCmd                     `cmd:"" help:"Disable a webhook at once; its sender gets 404."`
	Suspend    actionCmd                     `cmd:"" help:"Suspend a webhook until you resume it, even if the factory's files enable it; its sender gets 404."`
	Resume     actionCmd                     `cmd:"" help:"Resume a suspended webhook."`
	Delete     deleteAllCmd                  `cmd:"" help:"Delete webhooks; automations that select them are kept."`
	Deliveries deliveriesCmd[ofWebhook]      `cmd:"" help:"List the deliveries of a webhook, newest first."`
	Delivery   deliveryCmd[ofWebhook]        `cmd:"" help:"Show a delivery and its result for each automation."`
	Payload    deliveryPayloadCmd[ofWebhook] `cmd:"" ids:"none" help:"Print the body of an accepted delivery, byte for byte."`
	Replay     deliveryReplayCmd[ofWebhook]  `cmd:"" help:"Replay an accepted delivery with the current automations."`
	Test       webhookTestCmd                `cmd:"" help:"Send a test delivery to a webhook."`
	TestFilter webhookTestFilterCmd          `cmd:"" ids:"none" help:"Test a filter on a delivery, a payload, or the latest deliveries."`
	Verify     webhookVerifyCmd              `cmd:"" ids:"none" help:"Verify the signature of a captured delivery, to find out why its sender gets 401."`
}

var webhookNoun = &noun[penstock.Webhook]{
	name: "webhook", path: "{factory}/webhooks", key: "webhooks",
	head: []string{"WEBHOOK", "NAME", "MODE", "STATE", "ACCEPTED", "REJECTED", "LAST"},
	row: func(w penstock.Webhook) []string {
		return []string{
			w.UID, w.Name, modeText(w), webhookState(w), strconv.FormatInt(w.Counts.Accepted, 10),
			strconv.FormatInt(w.Counts.Rejected, 10), age(w.LastDeliveryAt),
		}
	},
	facts: webhookFacts,
	note: func(w penstock.Webhook) string {
		if !w.Enabled || !w.Suspended {
			return ""
		}
		return "the webhook is suspended: its sender gets 404 until you run penstock webhook resume " + w.Name
	},
	rename: resourceName,
	actions: map[string]action{
		"enable":  {method: http.MethodPatch, body: map[string]any{"enabled": true}},
		"disable": {method: http.MethodPatch, body: map[string]any{"enabled": false}},
		"suspend": {method: http.MethodPatch, body: map[string]any{"suspended": true}},
		"resume":  {method: http.MethodPatch, body: map[string]any{"suspended": false}},
	},
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
	counts := fmt.Sprintf(
		"%d accepted, %d duplicate, %d rejected, %d rate limited", c.Accepted, c.Duplicate, c.Rejected, c.RateLimited,
	)
	if c.TurnedAway > 0 {
		counts += fmt.Sprintf(", %d turned away", c.TurnedAway)
	}
	return append(
		list, fact{"last 24 hours", counts}, fact{"last delivery", timestamp(w.LastDeliveryAt)},
		fact{"created", timestamp(w.CreatedAt)}, fact{"changed", timestamp(w.UpdatedAt)},
	)
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
