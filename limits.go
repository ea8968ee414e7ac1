package penstock

import "time"

// WebhookLimits limit deliveries to webhooks. Zero disables a limit.
type WebhookLimits struct {
	WebhooksPerFactory     int
	DeliveryBytes          int64         // of a body as the sender sends it
	DeliveriesPerMinute    int           // accepted by one webhook in any 60 seconds, on all replicas together
	AuthFailuresPerAddress int           // of one webhook and client address in a minute
	AuthFailuresPerWebhook int           // in a minute; more failures are not logged
	LoggedRejections       int           // of one webhook and outcome in a minute
	KeepDeliveries         int           // how many of the newest of each outcome retention keeps
	KeepDeliveriesFor      time.Duration // retention keeps all that are younger
	DedupBodyWindow        time.Duration // how long an equal body is a duplicate, if deliveries have no other identity
}
