package main

import (
	"fmt"
	"time"

	"github.com/penstock-dev/penstock"
)

// maxMiB is the most that a setting in MiB can say.
const maxMiB = 1 << 40

// deliveryLimits bound what comes in through webhooks, and how much of it is
// kept. Their defaults are penstock.DefaultWebhookLimits.
type deliveryLimits struct {
	LimitWebhooksPerFactory     int           `default:"20" help:"Webhooks that a factory may have; 0 is no limit."`
	LimitDeliveryBytes          int64         `default:"262144" help:"Bytes of a delivery's body; 0 is no limit."`
	LimitDeliveriesPerMinute    int           `default:"60" help:"Deliveries that a webhook takes in any 60 seconds, over all replicas; 0 is no limit."`
	LimitAuthFailuresPerAddress int           `default:"30" help:"Failed authentications a minute of one address at one webhook, after which it gets 429 unread; 0 is no limit."`
	LimitAuthFailuresPerWebhook int           `default:"300" help:"Failed authentications a minute at one webhook, after which they are not logged; 0 is no limit."`
	LimitLoggedRejections       int           `default:"60" help:"Rejected deliveries a minute that are logged, of one webhook and one outcome; 0 is no limit."`
	RetainDeliveries            time.Duration `default:"168h" help:"How long the log of deliveries is kept; 0 is for ever. Duplicates are recognised for a week in any case."`
	RetainDeliveriesAtLeast     int           `default:"50" help:"The newest deliveries of each outcome, which are kept however old they are."`
	DedupBodyWindow             time.Duration `default:"168h" help:"How long an equal body is a duplicate, where nothing else tells deliveries apart; 0: it is none."`
}

// Validate is called by kong.
func (l *deliveryLimits) Validate() error {
	for _, limit := range []struct {
		flag  string
		value int64
	}{
		{"--limit-webhooks-per-factory", int64(l.LimitWebhooksPerFactory)},
		{"--limit-delivery-bytes", l.LimitDeliveryBytes},
		{"--limit-deliveries-per-minute", int64(l.LimitDeliveriesPerMinute)},
		{"--limit-auth-failures-per-address", int64(l.LimitAuthFailuresPerAddress)},
		{"--limit-auth-failures-per-webhook", int64(l.LimitAuthFailuresPerWebhook)},
		{"--limit-logged-rejections", int64(l.LimitLoggedRejections)},
		{"--retain-deliveries", int64(l.RetainDeliveries)},
		{"--retain-deliveries-at-least", int64(l.RetainDeliveriesAtLeast)},
		{"--dedup-body-window", int64(l.DedupBodyWindow)},
	} {
		if limit.value < 0 {
			return fmt.Errorf("%s is not negative", limit.flag)
		}
	}
	return nil
}

func (l *deliveryLimits) limits() penstock.WebhookLimits {
	return penstock.WebhookLimits{
		WebhooksPerFactory: l.LimitWebhooksPerFactory, DeliveryBytes: l.LimitDeliveryBytes,
		DeliveriesPerMinute:    l.LimitDeliveriesPerMinute,
		AuthFailuresPerAddress: l.LimitAuthFailuresPerAddress, AuthFailuresPerWebhook: l.LimitAuthFailuresPerWebhook,
		LoggedRejections: l.LimitLoggedRejections, KeepDeliveries: l.RetainDeliveriesAtLeast,
		KeepDeliveriesFor: l.RetainDeliveries,
		DedupBodyWindow:   l.DedupBodyWindow,
	}
}
