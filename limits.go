package penstock

import "time"

// WebhookLimits bound what comes in through webhooks. Zero of a number is no
// limit.
type WebhookLimits struct {
	WebhooksPerFactory     int
	DeliveryBytes          int64         // of a body as it is sent
	DeliveriesPerMinute    int           // admitted of one webhook in any 60 seconds, over all replicas
	AuthFailuresPerAddress int           // of one webhook and client address in a minute
	AuthFailuresPerWebhook int           // in a minute, after which failures are not logged
	LoggedRejections       int           // of one webhook and outcome in a minute
	KeepDeliveries         int           // the newest of each outcome that retention leaves alone
	KeepDeliveriesFor      time.Duration // and all that are younger
	DedupBodyWindow        time.Duration // how long an equal body is a duplicate where nothing else tells deliveries apart
}

// DefaultWebhookLimits are the limits of the contract.
func DefaultWebhookLimits() WebhookLimits {
	return WebhookLimits{
		WebhooksPerFactory: 20, DeliveryBytes: 256 << 10, DeliveriesPerMinute: 60, AuthFailuresPerAddress: 30,
		AuthFailuresPerWebhook: 300, LoggedRejections: 60, KeepDeliveries: 50,
		KeepDeliveriesFor: 7 * 24 * time.Hour, DedupBodyWindow: 7 * 24 * time.Hour,
	}
}
