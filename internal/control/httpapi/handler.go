package httpapi

import (
	"github.com/penstock-dev/penstock"
	"github.com/penstock-dev/penstock/api"
	"github.com/penstock-dev/penstock/internal/control/factorymcp"
	"github.com/penstock-dev/penstock/web"
)

// handlers holds all handlers, by what they serve. Each type holds only the rules and the parts of
// the API that its handlers call.
type handlers struct {
	runs          runs
	followups     followups
	forks         forks
	attachments   attachments
	changes       changes
	streams       streams
	conversations conversations
	artifacts     artifacts
	downloads     downloads

	skills       skills
	models       models
	workers      workers
	environments environments
	identities   identities
	schedules    schedules

	factories     factories
	definitions   definitions
	automations   automations
	webhooks      webhooks
	webhookTrials webhookTrials
	deliveries    deliveries
	subjects      subjects

	endpoints endpoints
	forges    forges
	outputs   outputs

	budgets  budgets
	usage    usage
	secrets  secrets
	keys     keys
	users    members
	services members
	grants   grants
	sessions sessions

	control workerControl
	limits  limits
	health  health
	metrics page
	docs    page
	site    site
	mcp     mcpEndpoint
}

// handlers connects the handlers with the rules.
func (a *API) handlers(o Options, m *metrics) *handlers {
	svc := o.Rules
	return &handlers{
		runs:        runs{svc.Runs},
		followups:   followups{svc.Runs},
		forks:       forks{svc.Turns},
		attachments: attachments{svc.Files},
		changes:     changes{svc.Files},
		streams: streams{
			rules: svc.Streams, auth: a.auth, metrics: m, log: o.Log, shutdown: a.shutdown,
			keepAlive: o.KeepAlive, writeTime: o.StreamWrite,
		},
		conversations: conversations{svc.Runs, svc.Files},
		artifacts:     artifacts{svc.Files, a.idempotency, o.TempDir},
		downloads:     downloads{svc.Files},

		skills:       skills{svc.Skills},
		models:       models{svc.Catalog},
		workers:      workers{svc.Catalog},
		environments: environments{svc.Catalog},
		identities:   identities{svc.Resources},
		schedules:    schedules{svc.Schedules},

		factories:     factories{svc.Factories, svc.Repositories},
		definitions:   definitions{svc.Factories, newCrowd(o.ValidatesPerMinute)},
		automations:   automations{svc.Automations, svc.Resources},
		webhooks:      webhooks{svc.Webhooks, svc.Resources},
		webhookTrials: webhookTrials{svc.Webhooks, svc.Deliveries, o.Webhooks},
		deliveries:    deliveries{svc.Deliveries},
		subjects:      subjects{svc.Subjects},

		endpoints: endpoints{svc.Endpoints}, forges: forges{svc.Connections}, outputs: outputs{svc.Outputs},

		budgets:  budgets{svc.Budgets},
		usage:    usage{svc.Usage},
		secrets:  secrets{svc.Secrets},
		keys:     keys{svc.Keys},
		users:    members{svc.Members, penstock.MemberUser, "users"},
		services: members{svc.Members, penstock.MemberServiceAccount, "service_accounts"},
		grants:   grants{svc.Members},
		sessions: sessions{svc.Sessions, a.auth, a.rate, newLimiter(beginsPerMinute)},

		control: workerControl{svc.Executions.Control(), a.shutdown},
		limits: limits{
			rules: svc.Limits, requests: o.RequestsPerMinute, validations: o.ValidatesPerMinute, version: o.Version,
		},
		health:  health{svc.Ready, a.shutdown},
		metrics: page{o.Metrics},
		docs:    page{api.Docs(o.PublicURL)},
		site:    site{web.Handler(), o.PublicURL, a.noRoute},
		mcp: mcpEndpoint{
			server: factorymcp.New(factorymcp.Options{
				API: a, PublicURL: o.PublicURL, Version: o.Version, Log: o.Log,
			}),
			rate: newKeyRate(factorymcp.CallsPerMinute, o.Rules.Keys), origin: o.PublicURL, origins: o.CORSOrigins,
		},
	}
}
