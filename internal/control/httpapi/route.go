package httpapi

import (
	"net/http"
	"slices"

	"github.com/penstock-dev/penstock"
)

// Base is the prefix of the API's routes.
const Base = "/api/v1"

// metricsPath is the path of the process's Prometheus metrics.
const metricsPath = "/metrics"

// Route is one line of the list of all routes.
type Route struct {
	Method  string
	Pattern string         // for the router of net/http
	Scope   penstock.Scope // required of the key; "" and not Public: any key is enough
	Public  bool           // no key needed
	KeyRead bool           // of a Public route: a key is optional
	OwnRun  bool           // an execution's own key may call it, for its own run
	Who     string         // who calls it

	handle     func(*call) error
	limit      int64        // of the body in bytes; 0: maxJSON
	unlimited  bool         // does not count against the rate of the key
	unhurried  bool         // has no request timeout: a stream, a long poll, a transfer, or reading a repository
	plain      bool         // also served over plain HTTP, because nothing in it is secret
	streamBody bool         // the handler reads the body itself
	status     int          // of the response that an idempotency key keeps; 0: 200
	showsOnce  bool         // the response has a secret that is shown once
	keyOnly    func() error // a session is not enough; the error without a key
}

func (r *Route) bodyLimit() int64 {
	if r.limit > 0 {
		return r.limit
	}
	return maxJSON
}

const (
	get    = http.MethodGet
	post   = http.MethodPost
	put    = http.MethodPut
	patch  = http.MethodPatch
	remove = http.MethodDelete

	runsRead      = penstock.ScopeRunsRead
	runsWrite     = penstock.ScopeRunsWrite
	factoriesRead = penstock.ScopeFactoriesRead
	manage        = penstock.ScopeFactoriesManage
	secretsManage = penstock.ScopeSecretsManage
	keysManage    = penstock.ScopeKeysManage
	eventsManage  = penstock.ScopeEventsManage
	forgesManage  = penstock.ScopeForgesManage
	accessManage  = penstock.ScopeAccessManage
	worker        = penstock.ScopeWorker

	metricsRead = penstock.ScopeMetricsRead

	admin = penstock.ScopeAdmin

	anyKey penstock.Scope = ""
)

// Routes lists every route of the server.
func Routes() []Route { return routes(&handlers{}) }

// routes lists every route, with its handler.
func routes(h *handlers) []Route {
	return slices.Concat(
		below(Base+"/agent", runRoutes(h)),
		below(Base+"/agent", turnRoutes(h)),
		below(Base+"/agent", changesRoutes(h)),
		below(Base+"/agent", conversationRoutes(h)),
		below(Base+"/agent", resourceRoutes(h)),
		below(Base+"/factory", factoryRoutes(h)),
		below(Base+"/factory/{uid}/webhooks", webhookRoutes(h)),
		below(Base+"/factory-files", fileRoutes(h)),
		below(Base+"/agent/runs/{runId}", runSpendRoutes(h)),
		below(Base, spendRoutes(h)),
		below(Base, endpointRoutes(h)),
		below(Base, forgeRoutes(h)),
		below(Base, outputRoutes(h)),
		below(Base, accessRoutes(h)),
		below(Base, memberRoutes("/users", &h.users)),
		below(Base, memberRoutes("/service-accounts", &h.services)),
		below(Base, grantRoutes(h)),
		below(Base+"/worker", workerRoutes(h)),
		mcpRoutes(h),
		serverRoutes(h),
	)
}

func turnRoutes(h *handlers) []Route {
	return []Route{
		{
			Method: get, Pattern: "/runs/{runId}/checkpoints", Scope: runsRead, OwnRun: true, handle: h.forks.checkpoints,
			Who: "dashboard, CLI: before a fork",
		},
		{
			Method: post, Pattern: "/runs/{runId}/fork", Scope: runsWrite, handle: h.forks.fork,
			Who: "people and programs that try another way",
		},
		{
			Method: post, Pattern: "/runs/{runId}/rewind", Scope: runsWrite, handle: h.forks.rewind,
			Who: "people who see an agent go wrong",
		},
		{
			Method: get, Pattern: "/fork-groups/{forkGroup}", Scope: runsRead, handle: h.forks.compare,
			Who: "people who choose between runs",
		},
	}
}

func runRoutes(h *handlers) []Route {
	return []Route{
		{
			Method: post, Pattern: "/runs", Scope: runsWrite, handle: h.runs.create, limit: maxRun,
			Who: "clients that start work: SDKs, CLI, dashboard, CI",
		},
		{
			Method: post, Pattern: "/run", Scope: runsWrite, handle: h.runs.createAlias, limit: maxRun,
			Who: "older clients; deprecated",
		},
		{Method: get, Pattern: "/runs", Scope: runsRead, handle: h.runs.list, Who: "dashboard and CLI, often"},
		{
			Method: get, Pattern: "/runs/{runId}", Scope: runsRead, OwnRun: true, handle: h.runs.read,
			Who: "all clients; SDKs that poll; the agent itself",
		},
		{
			Method: post, Pattern: "/runs/{runId}/followups", Scope: runsWrite, handle: h.followups.create, limit: maxRun,
			Who: "people who steer a run, or answer it",
		},
		{
			Method: post, Pattern: "/runs/{runId}/interrupt", Scope: runsWrite,
			handle: h.followups.interruptRun, status: http.StatusAccepted,
			Who: "people who see an agent go wrong",
		},
		{
			Method: post, Pattern: "/runs/{runId}/attachments/prepare", Scope: runsWrite,
			handle: h.attachments.prepare, showsOnce: true,
			Who: "SDKs, before a follow-up with large files",
		},
		{
			Method: post, Pattern: "/runs/{runId}/cancel", Scope: runsWrite, handle: h.runs.cancel,
			Who: "people and supervising programs",
		},
		{
			Method: get, Pattern: "/runs/{runId}/timeline", Scope: runsRead, OwnRun: true, handle: h.runs.timeline,
			Who: "dashboard; people who check why a run is slow",
		},
		{
			Method: get, Pattern: "/runs/{runId}/network", Scope: runsRead, OwnRun: true, handle: h.runs.network,
			Who: "dashboard, CLI",
		},
		{
			Method: get, Pattern: "/runs/{runId}/conversation", Scope: runsRead, OwnRun: true,
			handle: h.conversations.readOfRun, unhurried: true,
			Who: "dashboard, CLI, the agent itself",
		},
		{
			Method: get, Pattern: "/runs/{runId}/transcript", Scope: runsRead, handle: h.conversations.transcriptOfRun,
			Who: "people who debug an agent",
		},
		{
			Method: get, Pattern: "/runs/{runId}/events", Scope: runsRead, OwnRun: true,
			handle: h.streams.serve, unhurried: true,
			Who: "clients that watch a run",
		},
		{
			Method: get, Pattern: "/runs/{runId}/handoff/attachments", Scope: runsRead, handle: h.attachments.listForHandoff,
			Who: "a session elsewhere that continues the work",
		},
		{
			Method: post, Pattern: "/runs/{runId}/artifacts", Scope: runsWrite, OwnRun: true,
			handle: h.artifacts.add, status: http.StatusCreated, streamBody: true,
			Who: "the agent, with its execution's key",
		},
		{
			Method: get, Pattern: "/run-by-external-reference", Scope: runsRead, handle: h.runs.findByReference,
			Who: "integrations that know only a pull request or ticket",
		},
	}
}

func changesRoutes(h *handlers) []Route {
	return []Route{
		{
			Method: get, Pattern: "/runs/{runId}/changes", Scope: runsRead, OwnRun: true, handle: h.changes.list,
			Who: "dashboard, CLI; people who review a run",
		},
		{
			Method: get, Pattern: "/runs/{runId}/changes/{repository}/patch", Scope: runsRead, OwnRun: true,
			handle: h.changes.patch,
			Who:    "dashboard, CLI, git apply",
		},
	}
}

func conversationRoutes(h *handlers) []Route {
	return []Route{
		{
			Method: get, Pattern: "/conversations/{id}", Scope: runsRead, handle: h.conversations.read, unhurried: true,
			Who: "dashboard",
		},
		{
			Method: post, Pattern: "/conversations/{id}/followups", Scope: runsWrite,
			handle: h.followups.createInConversation, limit: maxRun,
			Who: "people who know only the conversation",
		},
		{
			Method: post, Pattern: "/conversations/{id}/interrupt", Scope: runsWrite,
			handle: h.followups.interruptConversation, status: http.StatusAccepted,
			Who: "people who know only the conversation",
		},
		{
			Method: post, Pattern: "/conversations/{id}/attachments/prepare", Scope: runsWrite,
			handle: h.attachments.prepareInConversation, showsOnce: true,
			Who: "SDKs, before a follow-up with large files",
		},
		{
			Method: get, Pattern: "/conversations/{id}/transcript", Scope: runsRead, handle: h.conversations.transcript,
			Who: "people who debug an agent",
		},
		{
			Method: get, Pattern: "/conversations/{id}/screenshots/{uid}/download", Scope: runsRead,
			handle: h.conversations.screenshot,
			Who:    "SDKs that show a conversation with its pictures",
		},
		{
			Method: get, Pattern: "/conversations/{id}/redirect", Public: true, handle: h.conversations.redirect,
			Who: "saved links",
		},
		{
			Method: get, Pattern: "/sessions/{uuid}/redirect", Public: true, handle: h.conversations.redirectSession,
			Who: "saved links",
		},
		{Method: get, Pattern: "/artifacts/{uid}", Scope: runsRead, handle: h.artifacts.read, Who: "dashboard, SDKs"},
		{
			Method: get, Pattern: "/artifacts/{uid}/download", Scope: runsRead, handle: h.artifacts.download,
			Who: "dashboard, SDKs, curl -L",
		},
	}
}

func resourceRoutes(h *handlers) []Route {
	return []Route{
		{
			Method: get, Pattern: "", Scope: runsRead, handle: h.skills.list, unhurried: true,
			Who: "dashboard, when a user starts a run",
		},
		{
			Method: get, Pattern: "/bundled-skills", Scope: runsRead, handle: h.skills.listBundled,
			Who: "dashboard, when a user starts a run; programs that group usage by skill",
		},
		{Method: get, Pattern: "/models", Scope: runsRead, handle: h.models.list, Who: "dashboard, when a user starts a run"},
		{
			Method: get, Pattern: "/network", Scope: runsRead, handle: h.environments.networkPolicy,
			Who: "CLI; people who check why a host is refused",
		},
		{
			Method: get, Pattern: "/harnesses", Scope: runsRead, handle: h.workers.harnesses,
			Who: "dashboard, when a user starts a run; people who check why a run waits",
		},
		{
			Method: get, Pattern: "/connected-self-hosted-workers", Scope: runsRead, handle: h.workers.list,
			Who: "operators; people who check why a run waits",
		},
		{
			Method: post, Pattern: "/environments", Scope: manage, handle: h.environments.create, status: http.StatusCreated,
			Who: "dashboard, CLI",
		},
		{Method: get, Pattern: "/environments", Scope: runsRead, handle: h.environments.list, Who: "dashboard, CLI"},
		{Method: get, Pattern: "/environments/{uid}", Scope: runsRead, handle: h.environments.read, Who: "dashboard, CLI"},
		{
			Method: put, Pattern: "/environments/{uid}", Scope: manage, handle: h.environments.replace,
			Who: "dashboard, CLI",
		},
		{
			Method: remove, Pattern: "/environments/{uid}", Scope: manage, handle: h.environments.delete,
			Who: "dashboard, CLI",
		},
		{
			Method: get, Pattern: "/environments/{uid}/prebuilds", Scope: runsRead, handle: h.environments.listPrebuilds,
			Who: "dashboard, CLI; people who check why a run was slow",
		},
		{
			Method: remove, Pattern: "/environments/{uid}/prebuilds/{puid}", Scope: manage,
			handle: h.environments.deletePrebuild,
			Who:    "dashboard, CLI; people who found something bad in a prepared workspace",
		},
		{
			Method: post, Pattern: "/identities", Scope: manage, handle: h.identities.create, status: http.StatusCreated,
			Who: "dashboard, CLI",
		},
		{Method: get, Pattern: "/identities", Scope: runsRead, handle: h.identities.list, Who: "dashboard, CLI"},
		{Method: get, Pattern: "/identities/{uid}", Scope: runsRead, handle: h.identities.read, Who: "dashboard, CLI"},
		{Method: put, Pattern: "/identities/{uid}", Scope: manage, handle: h.identities.update, Who: "dashboard, CLI"},
		{Method: remove, Pattern: "/identities/{uid}", Scope: manage, handle: h.identities.delete, Who: "dashboard, CLI"},
		{
			Method: post, Pattern: "/schedules", Scope: runsWrite, handle: h.schedules.create, status: http.StatusCreated,
			Who: "dashboard, CLI",
		},
		{Method: get, Pattern: "/schedules", Scope: runsRead, handle: h.schedules.list, Who: "dashboard, CLI"},
		{Method: get, Pattern: "/schedules/{id}", Scope: runsRead, handle: h.schedules.read, Who: "dashboard, CLI"},
		{Method: put, Pattern: "/schedules/{id}", Scope: runsWrite, handle: h.schedules.replace, Who: "dashboard, CLI"},
		{Method: remove, Pattern: "/schedules/{id}", Scope: runsWrite, handle: h.schedules.delete, Who: "dashboard, CLI"},
		{
			Method: post, Pattern: "/schedules/{id}/pause", Scope: runsWrite, handle: h.schedules.pause,
			Who: "dashboard, CLI",
		},
		{
			Method: post, Pattern: "/schedules/{id}/resume", Scope: runsWrite, handle: h.schedules.resume,
			Who: "dashboard, CLI",
		},
	}
}

func factoryRoutes(h *handlers) []Route {
	return []Route{
		{
			Method: post, Pattern: "", Scope: manage, handle: h.factories.create, status: http.StatusCreated,
			Who: "dashboard, CLI",
		},
		{
			Method: get, Pattern: "", Scope: factoriesRead, handle: h.factories.list,
			Who: "dashboard, CLI, programs that look for an agent",
		},
		{Method: get, Pattern: "/{uid}", Scope: factoriesRead, handle: h.factories.read, Who: "dashboard, CLI"},
		{Method: patch, Pattern: "/{uid}", Scope: manage, handle: h.factories.update, Who: "dashboard, CLI"},
		{Method: remove, Pattern: "/{uid}", Scope: manage, handle: h.factories.delete, Who: "dashboard, CLI"},
		{
			Method: get, Pattern: "/{uid}/definition", Scope: factoriesRead, handle: h.definitions.read,
			Who: "dashboard, CLI, people who edit the files elsewhere",
		},
		{
			Method: get, Pattern: "/{uid}/definition/history", Scope: factoriesRead, handle: h.definitions.history,
			Who: "dashboard; people who check earlier changes",
		},
		{
			Method: get, Pattern: "/{uid}/definition/history/{revision}", Scope: factoriesRead,
			handle: h.definitions.readRevision,
			Who:    "dashboard; people who revert a change",
		},
		{
			Method: put, Pattern: "/{uid}/definition", Scope: manage, handle: h.definitions.apply,
			Who: "dashboard, CLI, CI that deploys a factory",
		},
		{
			Method: post, Pattern: "/{uid}/sync", Scope: manage, handle: h.factories.sync, unhurried: true,
			Who: "CLI, CI that has pushed a commit, Git hosts",
		},
		{
			Method: post, Pattern: "/{uid}/runs", Scope: runsWrite, handle: h.factories.dispatch,
			Who: "clients that give work to a factory: trackers, CI, people",
		},
		{
			Method: post, Pattern: "/{uid}/automations", Scope: manage,
			handle: h.automations.create, status: http.StatusCreated,
			Who: "dashboard, CLI",
		},
		{Method: get, Pattern: "/{uid}/automations", Scope: factoriesRead, handle: h.automations.list, Who: "dashboard, CLI"},
		{
			Method: get, Pattern: "/{uid}/automations/{auid}", Scope: factoriesRead, handle: h.automations.read,
			Who: "dashboard, CLI; people who check why no run started",
		},
		{
			Method: patch, Pattern: "/{uid}/automations/{auid}", Scope: manage, handle: h.automations.update,
			Who: "dashboard, CLI",
		},
		{
			Method: remove, Pattern: "/{uid}/automations/{auid}", Scope: manage, handle: h.automations.delete,
			Who: "dashboard, CLI",
		},
		{
			Method: post, Pattern: "/{uid}/automations/{auid}/run", Scope: runsWrite, handle: h.automations.run,
			Who: "people who try an automation, or do not want to wait for its event",
		},
		{
			Method: post, Pattern: "/{uid}/test-filter", Scope: manage, handle: h.deliveries.testFilter,
			Who: "people who write a filter",
		},
	}
}

func fileRoutes(h *handlers) []Route {
	return []Route{
		{
			Method: get, Pattern: "/schemas", Public: true, handle: h.definitions.schemaVersions,
			Who: "editors and generators of a factory's files",
		},
		{
			Method: get, Pattern: "/schemas/v1alpha1", Public: true, handle: h.definitions.schemas,
			Who: "editors and generators of a factory's files",
		},
		{
			Method: get, Pattern: "/schemas/{version}/{document}", Public: true, handle: h.definitions.schema,
			Who: "editors, by the address in a file's first line",
		},
		{
			Method: post, Pattern: "/validate", Public: true, KeyRead: true, handle: h.definitions.validate,
			Who: "dashboard; CI of a repository with a factory, and agents that write one, without a key",
		},
	}
}

func webhookRoutes(h *handlers) []Route {
	return []Route{
		{
			Method: post, Pattern: "", Scope: manage, handle: h.webhooks.create, status: http.StatusCreated, showsOnce: true,
			Who: "dashboard, CLI",
		},
		{Method: get, Pattern: "", Scope: manage, handle: h.webhooks.list, Who: "dashboard, CLI"},
		{Method: get, Pattern: "/{wuid}", Scope: manage, handle: h.webhooks.read, Who: "dashboard, CLI"},
		{Method: patch, Pattern: "/{wuid}", Scope: manage, handle: h.webhooks.update, Who: "dashboard, CLI"},
		{Method: remove, Pattern: "/{wuid}", Scope: manage, handle: h.webhooks.delete, Who: "dashboard, CLI"},
		{
			Method: post, Pattern: "/{wuid}/rotate-secret", Scope: manage, handle: h.webhooks.rotateSecret, showsOnce: true,
			Who: "dashboard, CLI, programs that rotate",
		},
		{
			Method: post, Pattern: "/{wuid}/test-delivery", Scope: manage,
			handle: h.webhookTrials.deliver, status: http.StatusCreated,
			Who: "dashboard, CLI; people who set up a webhook",
		},
		{
			Method: post, Pattern: "/{wuid}/verify-request", Scope: manage, handle: h.webhookTrials.verify,
			Who: "people who check why a delivery was rejected",
		},
		{Method: get, Pattern: "/{wuid}/deliveries", Scope: manage, handle: h.deliveries.list, Who: "dashboard, CLI"},
		{
			Method: get, Pattern: "/{wuid}/deliveries/{did}", Scope: manage, handle: h.deliveries.read,
			Who: "dashboard, CLI; people who check why no run started",
		},
		{
			Method: get, Pattern: "/{wuid}/deliveries/{did}/payload", Scope: manage, handle: h.deliveries.payload,
			Who: "dashboard, CLI",
		},
		{
			Method: post, Pattern: "/{wuid}/deliveries/{did}/replay", Scope: manage,
			handle: h.deliveries.replay, status: http.StatusCreated,
			Who: "people who fixed an automation",
		},
	}
}

func runSpendRoutes(h *handlers) []Route {
	return []Route{
		{
			Method: patch, Pattern: "", Scope: runsWrite, handle: h.runs.update,
			Who: "people who raise the budget of a run",
		},
		{
			Method: get, Pattern: "/usage", Scope: runsRead, OwnRun: true, handle: h.usage.ofRun,
			Who: "dashboard, CLI; the agent itself",
		},
		{
			Method: get, Pattern: "/harness-usage", Scope: runsRead, OwnRun: true, handle: h.usage.ofHarness,
			Who: "clients that show the usage of Claude Code and Codex",
		},
		{
			Method: get, Pattern: "/calls", Scope: runsRead, OwnRun: true, handle: h.usage.callsOfRun,
			Who: "people who check a bill",
		},
	}
}

func spendRoutes(h *handlers) []Route {
	return []Route{
		{
			Method: post, Pattern: "/budgets", Scope: admin, handle: h.budgets.create, status: http.StatusCreated,
			Who: "dashboard, CLI",
		},
		{Method: get, Pattern: "/budgets", Scope: runsRead, handle: h.budgets.list, Who: "dashboard, CLI"},
		{Method: get, Pattern: "/budgets/{uid}", Scope: runsRead, handle: h.budgets.read, Who: "dashboard, CLI"},
		{Method: patch, Pattern: "/budgets/{uid}", Scope: admin, handle: h.budgets.update, Who: "dashboard, CLI"},
		{Method: get, Pattern: "/usage", Scope: runsRead, handle: h.usage.ofTeam, Who: "dashboard, CLI, spreadsheets"},
		{Method: remove, Pattern: "/budgets/{uid}", Scope: admin, handle: h.budgets.delete, Who: "dashboard, CLI"},
	}
}

func forgeRoutes(h *handlers) []Route {
	return []Route{
		{
			Method: post, Pattern: "/forges", Scope: forgesManage, handle: h.forges.create, status: http.StatusCreated,
			showsOnce: true, Who: "CLI, dashboard",
		},
		{Method: get, Pattern: "/forges", Scope: forgesManage, handle: h.forges.list, Who: "CLI, dashboard"},
		{Method: get, Pattern: "/forges/{uid}", Scope: forgesManage, handle: h.forges.read, Who: "CLI"},
		{Method: patch, Pattern: "/forges/{uid}", Scope: forgesManage, handle: h.forges.update, Who: "CLI, dashboard"},
		{Method: remove, Pattern: "/forges/{uid}", Scope: forgesManage, handle: h.forges.delete, Who: "CLI, dashboard"},
		{Method: post, Pattern: "/forges/{uid}/check", Scope: forgesManage, handle: h.forges.check, Who: "CLI, dashboard"},
		{
			Method: get, Pattern: "/forges/{uid}/repositories", Scope: forgesManage, handle: h.forges.repositories,
			Who: "CLI, dashboard",
		},
		{
			Method: post, Pattern: "/forges/{uid}/rotate-secret", Scope: forgesManage, handle: h.forges.rotateSecret,
			showsOnce: true, Who: "CLI, dashboard",
		},
		{
			Method: get, Pattern: "/forges/{uid}/deliveries", Scope: forgesManage, handle: h.deliveries.list,
			Who: "CLI, dashboard",
		},
		{
			Method: get, Pattern: "/forges/{uid}/deliveries/{did}", Scope: forgesManage, handle: h.deliveries.read,
			Who: "CLI, dashboard; people who check why no run started",
		},
		{
			Method: get, Pattern: "/forges/{uid}/deliveries/{did}/payload", Scope: forgesManage,
			handle: h.deliveries.payload, Who: "CLI, dashboard",
		},
		{
			Method: post, Pattern: "/forges/{uid}/deliveries/{did}/replay", Scope: forgesManage,
			handle: h.deliveries.replay, status: http.StatusCreated, Who: "people who fixed an automation",
		},
	}
}

func outputRoutes(h *handlers) []Route {
	return []Route{
		{
			Method: post, Pattern: "/agent/runs/{runId}/outputs", Scope: runsWrite, OwnRun: true,
			handle: h.outputs.declare, status: http.StatusCreated,
			Who: "the agent, with its execution's key",
		},
		{
			Method: get, Pattern: "/agent/runs/{runId}/outputs", Scope: runsRead, OwnRun: true, handle: h.outputs.ofRun,
			Who: "CLI, the agent itself",
		},
		{Method: get, Pattern: "/outputs", Scope: runsRead, handle: h.outputs.list, Who: "people who release outputs"},
		{Method: post, Pattern: "/outputs/{uid}/approve", Scope: runsWrite, handle: h.outputs.approve, Who: "people"},
		{Method: post, Pattern: "/outputs/{uid}/reject", Scope: runsWrite, handle: h.outputs.reject, Who: "people"},
	}
}

func endpointRoutes(h *handlers) []Route {
	return []Route{
		{
			Method: post, Pattern: "/event-endpoints", Scope: eventsManage,
			handle: h.endpoints.create, status: http.StatusCreated, showsOnce: true,
			Who: "CLI, programs that want to hear of runs",
		},
		{Method: get, Pattern: "/event-endpoints", Scope: eventsManage, handle: h.endpoints.list, Who: "CLI"},
		{Method: get, Pattern: "/event-endpoints/{uid}", Scope: eventsManage, handle: h.endpoints.read, Who: "CLI"},
		{Method: patch, Pattern: "/event-endpoints/{uid}", Scope: eventsManage, handle: h.endpoints.update, Who: "CLI"},
		{Method: remove, Pattern: "/event-endpoints/{uid}", Scope: eventsManage, handle: h.endpoints.delete, Who: "CLI"},
		{
			Method: post, Pattern: "/event-endpoints/{uid}/ping", Scope: eventsManage,
			handle: h.endpoints.ping, status: http.StatusAccepted,
			Who: "people who set up a receiver",
		},
		{
			Method: post, Pattern: "/event-endpoints/{uid}/rotate-secret", Scope: eventsManage,
			handle: h.endpoints.rotateSecret, showsOnce: true,
			Who: "CLI, programs that rotate",
		},
		{
			Method: get, Pattern: "/event-endpoints/{uid}/attempts", Scope: eventsManage, handle: h.endpoints.attempts,
			Who: "CLI; people who check why a message did not arrive",
		},
		{
			Method: post, Pattern: "/event-endpoints/{uid}/replay", Scope: eventsManage,
			handle: h.endpoints.replay, status: http.StatusAccepted,
			Who: "people who fixed a receiver",
		},
		{
			Method: get, Pattern: "/event-types", Scope: anyKey, handle: h.endpoints.eventTypes,
			Who: "people who write a receiver",
		},
	}
}

// memberRoutes lists the routes of the members at a path.
func memberRoutes(path string, h *members) []Route {
	return []Route{
		{
			Method: post, Pattern: path, Scope: accessManage, handle: h.create, status: http.StatusCreated,
			Who: "admins: dashboard, CLI",
		},
		{Method: get, Pattern: path, Scope: accessManage, handle: h.listAll, Who: "admins: dashboard, CLI"},
		{Method: get, Pattern: path + "/{uid}", Scope: accessManage, handle: h.read, Who: "admins: dashboard, CLI"},
		{
			Method: patch, Pattern: path + "/{uid}", Scope: accessManage, handle: h.update,
			Who: "admins, when somebody leaves",
		},
		{Method: remove, Pattern: path + "/{uid}", Scope: accessManage, handle: h.delete, Who: "admins: dashboard, CLI"},
	}
}

func grantRoutes(h *handlers) []Route {
	return []Route{
		{
			Method: post, Pattern: "/grants", Scope: accessManage, handle: h.grants.create, status: http.StatusCreated,
			Who: "admins: dashboard, CLI",
		},
		{Method: get, Pattern: "/grants", Scope: accessManage, handle: h.grants.list, Who: "admins: dashboard, CLI"},
		{
			Method: remove, Pattern: "/grants/{uid}", Scope: accessManage, handle: h.grants.delete,
			Who: "admins: dashboard, CLI",
		},
	}
}

func accessRoutes(h *handlers) []Route {
	return []Route{
		{
			Method: post, Pattern: "/secrets", Scope: secretsManage, handle: h.secrets.create, status: http.StatusCreated,
			Who: "dashboard, CLI",
		},
		{Method: get, Pattern: "/secrets", Scope: secretsManage, handle: h.secrets.list, Who: "dashboard, CLI"},
		{Method: get, Pattern: "/secrets/{name}", Scope: secretsManage, handle: h.secrets.read, Who: "dashboard, CLI"},
		{
			Method: put, Pattern: "/secrets/{name}", Scope: secretsManage, handle: h.secrets.set,
			Who: "dashboard, CLI, programs that rotate",
		},
		{Method: remove, Pattern: "/secrets/{name}", Scope: secretsManage, handle: h.secrets.delete, Who: "dashboard, CLI"},
		{
			Method: post, Pattern: "/keys", Scope: keysManage,
			handle: h.keys.create, status: http.StatusCreated, showsOnce: true,
			Who: "admins",
		},
		{Method: get, Pattern: "/keys", Scope: keysManage, handle: h.keys.list, Who: "admins"},
		{Method: remove, Pattern: "/keys/{uid}", Scope: keysManage, handle: h.keys.revoke, Who: "admins, in an emergency"},
		{Method: patch, Pattern: "/keys/{uid}", Scope: keysManage, handle: h.keys.assign, Who: "admins, after an upgrade"},
		{
			Method: get, Pattern: "/me", Scope: anyKey, OwnRun: true, handle: h.keys.me,
			Who: "clients that check the scopes of their key",
		},
		{
			Method: post, Pattern: "/session", Public: true, handle: h.sessions.signIn, limit: maxSignIn,
			Who: "dashboard, with a person's key, or after a sign-in at an identity provider",
		},
		{
			Method: get, Pattern: "/session/providers", Public: true, handle: h.sessions.providers,
			Who: "dashboard, on the sign-in page",
		},
		{
			Method: post, Pattern: "/session/providers", Public: true, handle: h.sessions.begin, limit: maxSignIn,
			Who: "dashboard, when a person signs in at an identity provider",
		},
		{Method: get, Pattern: "/session", Scope: anyKey, handle: h.sessions.read, Who: "dashboard, when it is opened"},
		{Method: remove, Pattern: "/session", Scope: anyKey, handle: h.sessions.signOut, Who: "dashboard"},
		{
			Method: get, Pattern: "/signature-schemes", Scope: anyKey, handle: h.webhooks.signatureSchemes,
			Who: "dashboard, when a webhook is created; people who write a sender",
		},
		{
			Method: get, Pattern: "/occurrences", Scope: runsRead, handle: h.schedules.occurrences,
			Who: "dashboard, CLI",
		},
		{Method: get, Pattern: "/subjects", Scope: runsRead, handle: h.subjects.list, Who: "dashboard, CLI"},
		{Method: get, Pattern: "/subjects/{uid}", Scope: runsRead, handle: h.subjects.read, Who: "dashboard, CLI"},
		{
			Method: get, Pattern: "/schedule-times", Scope: anyKey, handle: h.schedules.times,
			Who: "dashboard, while a cron expression is typed",
		},
		{Method: get, Pattern: "/stats", Scope: runsRead, handle: h.runs.stats, Who: "dashboard, for its charts"},
		{Method: get, Pattern: "/limits", Scope: anyKey, handle: h.limits.list, Who: "SDKs and operators"},
		{
			Method: get, Pattern: "/downloads/{token}", Public: true, handle: h.downloads.serve, unhurried: true,
			Who: "clients with a signed link",
		},
		{
			Method: put, Pattern: "/uploads/{token}", Public: true, handle: h.attachments.upload, streamBody: true,
			Who: "clients with a signed link to upload a file",
		},
	}
}

// workerRoutes are a penstock.Control over HTTP. They are an interface between two parts of this
// program, with the version in the assignment. They are not part of the contract.
func workerRoutes(h *handlers) []Route {
	return []Route{
		{
			Method: post, Pattern: "/claim", Scope: worker, unlimited: true, unhurried: true, handle: h.control.claim,
			Who: "workers, waiting for work",
		},
		{
			Method: post, Pattern: "/heartbeat", Scope: worker, unlimited: true, unhurried: true, handle: h.control.heartbeat,
			Who: "workers, as long as they execute",
		},
		{
			Method: post, Pattern: "/append", Scope: worker, unlimited: true, unhurried: true,
			handle: h.control.appendEvents, limit: maxAppend,
			Who: "workers, with what the agent does",
		},
		{
			Method: post, Pattern: "/finish", Scope: worker, unlimited: true, unhurried: true, handle: h.control.finish,
			Who: "workers, at the end of a turn",
		},
		{
			Method: post, Pattern: "/adopt", Scope: worker, unlimited: true, unhurried: true, handle: h.control.adopt,
			Who: "workers that a launcher started",
		},
		{
			Method: post, Pattern: "/loss", Scope: worker, unlimited: true, unhurried: true, handle: h.control.reportLoss,
			Who: "launchers, when the process of an execution is gone",
		},
		{
			Method: post, Pattern: "/layers", Scope: worker, unlimited: true, unhurried: true,
			handle: h.control.reportLayers,
			Who:    "workers, when what they keep for later runs has changed",
		},
		{
			Method: post, Pattern: "/branches", Scope: worker, unlimited: true, unhurried: true,
			handle: h.control.claimBranches,
			Who:    "workers, before a run pushes to a forge",
		},
		{
			Method: post, Pattern: "/reserve", Scope: worker, unlimited: true, unhurried: true, handle: h.control.reserve,
			Who: "workers, before a call to a model",
		},
		{
			Method: post, Pattern: "/settle", Scope: worker, unlimited: true, unhurried: true, handle: h.control.settle,
			Who: "workers, after a call to a model",
		},
		{
			Method: get, Pattern: "/file", Scope: worker, unlimited: true, unhurried: true, handle: h.control.open,
			Who: "workers that prepare a workspace",
		},
		{
			Method: put, Pattern: "/save", Scope: worker, unlimited: true, unhurried: true,
			handle: h.control.save, streamBody: true,
			Who: "workers, with artifacts and sessions",
		},
	}
}

func serverRoutes(h *handlers) []Route {
	return []Route{
		{Method: get, Pattern: "/healthz", Public: true, plain: true, handle: h.health.live, Who: "process supervisors"},
		{Method: get, Pattern: "/readyz", Public: true, plain: true, handle: h.health.ready, Who: "load balancers"},
		{
			Method: get, Pattern: metricsPath, Scope: metricsRead, handle: h.metrics.serve,
			Who: "Prometheus; needs no key where Options.MetricsOpen is set",
		},
		{Method: get, Pattern: "/docs", Public: true, handle: h.docs.serve, Who: "people"},
		{Method: get, Pattern: "/docs/", Public: true, handle: h.docs.serve, Who: "people, and the links in errors"},
		{
			Method: get, Pattern: "/runs/{runId}", Public: true, handle: h.site.run,
			Who: "people who follow a run's session_link",
		},
		{Method: get, Pattern: "/{$}", Public: true, handle: h.site.front, Who: "people who open the address in a browser"},
		{
			Method: get, Pattern: dashboard, Public: true, handle: h.site.serve,
			Who: "browsers: the dashboard's pages and files",
		},
	}
}

func below(prefix string, routes []Route) []Route {
	for i := range routes {
		routes[i].Pattern = prefix + routes[i].Pattern
	}
	return routes
}
