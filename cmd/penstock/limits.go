package main

import (
	"fmt"
	"time"

	"github.com/penstock-dev/penstock"
)

// maxMiB limits settings in MiB.
const maxMiB = 1 << 40

// deliveryLimits are the limits of deliveries and of their log.
type deliveryLimits struct {
	LimitWebhooksPerFactory     int           `default:"20" help:"Maximum number of webhooks of a factory; 0 disables the limit."`
	LimitDeliveryBytes          int64         `default:"262144" help:"Maximum size of a delivery's body in bytes; 0 disables the limit."`
	LimitDeliveriesPerMinute    int           `default:"60" help:"Maximum deliveries that a webhook accepts in any 60 seconds, across all replicas; 0 disables the limit."`
	LimitAuthFailuresPerAddress int           `default:"30" help:"Maximum failed authentications per minute from one address at one webhook. Further requests from this address get 429; 0 disables the limit."`
	LimitAuthFailuresPerWebhook int           `default:"300" help:"Maximum failed authentications per minute at one webhook, from all addresses. Further failures get 429 and are not logged; 0 disables the limit."`
	LimitLoggedRejections       int           `default:"60" help:"Maximum rejected deliveries logged per minute, per webhook and outcome; 0 disables the limit."`
	RetainDeliveries            time.Duration `default:"168h" help:"How long to keep the delivery log; 0 keeps it forever. Whatever the value, a repeated delivery ID is recognized for a week."`
	RetainDeliveriesAtLeast     int           `default:"50" help:"Number of newest deliveries per outcome to keep regardless of age."`
	DedupBodyWindow             time.Duration `default:"168h" help:"A delivery without an ID is a duplicate if one with the same body arrived within this time; 0 turns this check off."`
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
			return fmt.Errorf("%s must not be negative", limit.flag)
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
