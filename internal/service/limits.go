package service

import (
	"context"
	"time"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/access"
	"github.com/penstock-dev/penstock/internal/run"
)

// Limits are the limits that the service enforces; 0 means no limit.
func (s *Service) Limits(context.Context, penstock.Principal) map[string]any {
	w := s.options.Webhooks
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

		"request_body_bytes":    int64(penstock.MaxBodyBytes),
		"configuration_bytes":   int64(penstock.MaxConfigBytes),
		"attachments_per_run":   penstock.MaxAttachments,
		"attachment_bytes":      int64(penstock.MaxAttachmentBytes),
		"run_artifact_bytes":    s.options.MaxRunArtifactBytes,
		"run_depth":             penstock.MaxDepth,
		"metadata_keys":         penstock.MaxMetadataKeys,
		"page_size":             penstock.MaxLimit,
		"page_bytes":            int64(penstock.MaxPageBytes),
		"listed_prompt_bytes":   int64(penstock.MaxListedPrompt),
		"idempotency_seconds":   int64(access.KeepAnswer / time.Second),
		"signed_link_seconds":   int64(run.LinkLifetime / time.Second),
		"secrets_per_team":      s.options.MaxSecrets,
		"secret_value_bytes":    penstock.MaxSecretBytes,
		"queue_timeout_seconds": int64(s.options.QueueTimeout / time.Second),
		"run_retention_seconds": int64((s.options.KeepRunsFor + time.Second - 1) / time.Second), // 0 means forever
	}
}
