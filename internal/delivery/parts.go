// Package delivery owns the rules of webhooks: their secrets, the runs that a delivery starts,
// and the delivery log.
package delivery

import (
	"context"
	"log/slog"

	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/internal/access"
	"github.com/penstock-dev/penstock/internal/automation"
	"github.com/penstock-dev/penstock/internal/batch"
	"github.com/penstock-dev/penstock/internal/secret"
	"github.com/penstock-dev/penstock/internal/store"
)

// Options are the dependencies and settings of the rules of webhooks and deliveries.
type Options struct {
	Store       *store.Store
	Keyset      *secret.Keyset
	Log         *slog.Logger
	PublicURL   string // origin of links in responses, without a trailing slash
	Limits      penstock.WebhookLimits
	Access      access.Parts
	Automations *automation.Automations
	// Pushed is called with the body of a delivery that reports a push. nil means that no
	// factory comes from a repository.
	Pushed func(ctx context.Context, team string, body []byte)
}

// Webhooks manages webhooks and their secrets.
type Webhooks struct {
	store     *store.Store
	keyset    *secret.Keyset
	log       *slog.Logger
	publicURL string
	limits    penstock.WebhookLimits
	secrets   *access.Secrets
	signed    batch.Used[store.WebhookSecretKey]
}

// Ingress receives deliveries.
type Ingress struct {
	store       *store.Store
	publicURL   string
	limits      penstock.WebhookLimits
	responses   *access.Responses
	webhooks    *Webhooks
	automations *automation.Automations
	pushed      func(ctx context.Context, team string, body []byte)

	plans        *batch.Recent[string, *Plan] // by UID
	planned      *batch.Recent[plannedKey, *planned]
	webhookReads batch.Shared[store.WebhookRow] // by UID
	planning     batch.Shared[*Plan]            // by UID
	versions     batch.Shared[int64]            // by team
	recognized   batch.Shared[bool]             // by UID and address
	rejections   rejectionCounts
	parsing      chan struct{}
}

// Deliveries shows, replays and clears the log of deliveries.
type Deliveries struct {
	store     *store.Store
	limits    penstock.WebhookLimits
	responses *access.Responses
	webhooks  *Webhooks
	ingress   *Ingress
}

// Parts are the rules of this package.
type Parts struct {
	Webhooks   *Webhooks
	Ingress    *Ingress
	Deliveries *Deliveries
}

// New makes the rules of webhooks and deliveries.
func New(o Options) Parts {
	webhooks := &Webhooks{
		store: o.Store, keyset: o.Keyset, log: o.Log, publicURL: o.PublicURL, limits: o.Limits, secrets: o.Access.Secrets,
	}
	ingress := &Ingress{
		store: o.Store, publicURL: o.PublicURL, limits: o.Limits, responses: o.Access.Responses,
		webhooks: webhooks, automations: o.Automations, pushed: o.Pushed, parsing: newParsing(),
		plans:   batch.NewRecent[string, *Plan](maxPlans, maxPlanBytes),
		planned: batch.NewRecent[plannedKey, *planned](maxPlanned, maxPlannedBytes),
	}
	return Parts{
		Webhooks: webhooks,
		Ingress:  ingress,
		Deliveries: &Deliveries{
			store: o.Store, limits: o.Limits, responses: o.Access.Responses, webhooks: webhooks, ingress: ingress,
		},
	}
}
