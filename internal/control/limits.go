package control

import (
	"context"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/control/access"
	"github.com/penstock-dev/penstock/internal/control/run"
	"github.com/penstock-dev/penstock/internal/control/store"
)

// Limits are the limits that the rules enforce; 0 means no limit.
func (r *Rules) Limits(context.Context, penstock.Principal) map[string]any {
	w := r.deps.Webhooks
	return map[string]any{
		"webhooks_per_factory":       w.WebhooksPerFactory,
		"delivery_bytes":             w.DeliveryBytes,
		"deliveries_per_minute":      w.DeliveriesPerMinute,
		"auth_failures_per_address":  w.AuthFailuresPerAddress,
		"auth_failures_per_webhook":  w.AuthFailuresPerWebhook,
		"logged_rejections":          w.LoggedRejections,
		"kept_deliveries":            w.KeepDeliveries,
		"delivery_retention_seconds": int64(w.KeepDeliveriesFor / time.Second),
		"dedup_body_seconds":         int64(w.DedupBodyWindow / time.Second),

		"request_body_bytes":    int64(run.MaxBodyBytes),
		"configuration_bytes":   int64(penstock.MaxConfigBytes),
		"attachments_per_run":   run.MaxAttachments,
		"attachment_bytes":      int64(run.MaxAttachmentBytes),
		"run_artifact_bytes":    r.deps.MaxRunArtifactBytes,
		"run_depth":             run.MaxDepth,
		"metadata_keys":         run.MaxMetadataKeys,
		"page_size":             penstock.MaxLimit,
		"page_bytes":            int64(store.MaxPageBytes),
		"listed_prompt_bytes":   int64(store.MaxListedPrompt),
		"idempotency_seconds":   int64(access.KeepAnswer / time.Second),
		"signed_link_seconds":   int64(run.LinkLifetime / time.Second),
		"secrets_per_team":      r.deps.MaxSecrets,
		"secret_value_bytes":    access.MaxSecretBytes,
		"queue_timeout_seconds": int64(r.deps.QueueTimeout / time.Second),
		"run_retention_seconds": int64((r.deps.KeepRunsFor + time.Second - 1) / time.Second), // 0 means forever
	}
}
