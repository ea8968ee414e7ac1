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

	handle     func(*API, *call) error
	limit      int64 // of the body in bytes; 0: maxJSON
	unlimited  bool  // does not count against the rate of the key
	unhurried  bool  // has no request timeout: a stream, a long poll, a transfer, or reading a repository
	plain      bool  // also served over plain HTTP, because nothing in it is secret
	streamBody bool  // the handler reads the body itself
	status     int   // of the response that an idempotency key keeps; 0: 200
	showsOnce  bool  // the response has a secret that is shown once
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

	runsRead  = penstock.ScopeRunsRead
	runsWrite = penstock.ScopeRunsWrite
	factories = penstock.ScopeFactoriesRead
	manage    = penstock.ScopeFactoriesManage
	secrets   = penstock.ScopeSecretsManage
	keys      = penstock.ScopeKeysManage
	worker    = penstock.ScopeWorker

	metricsRead = penstock.ScopeMetricsRead

	admin = penstock.ScopeAdmin

	anyKey penstock.Scope = ""
)

// Routes lists every route of the server.
func Routes() []Route {
	return slices.Concat(
		below(Base+"/agent", runRoutes()),
		below(Base+"/agent", changesRoutes()),
		below(Base+"/agent", conversationRoutes()),
		below(Base+"/agent", resourceRoutes()),
		below(Base+"/factory", factoryRoutes()),
		below(Base+"/factory/{uid}/webhooks", webhookRoutes()),
		below(Base+"/factory-files", fileRoutes()),
		below(Base+"/agent/runs/{runId}", runSpendRoutes()),
		below(Base, spendRoutes()),
		below(Base, accessRoutes()),
		below(Base+"/worker", workerRoutes()),
		serverRoutes(),
	)
}

func runRoutes() []Route {
	return []Route{
		{
			Method: post, Pattern: "/runs", Scope: runsWrite, handle: (*API).createRun, limit: maxRun,
			Who: "clients that start work: SDKs, CLI, dashboard, CI",
		},
		{
			Method: post, Pattern: "/run", Scope: runsWrite, handle: (*API).createRunAlias, limit: maxRun,
			Who: "older clients; deprecated",
		},
		{Method: get, Pattern: "/runs", Scope: runsRead, handle: (*API).listRuns, Who: "dashboard and CLI, often"},
		{
			Method: get, Pattern: "/runs/{runId}", Scope: runsRead, OwnRun: true, handle: (*API).run,
			Who: "all clients; SDKs that poll; the agent itself",
		},
		{
			Method: post, Pattern: "/runs/{runId}/followups", Scope: runsWrite, handle: (*API).followUp, limit: maxRun,
			Who: "people who steer a run, or answer it",
		},
		{
			Method: post, Pattern: "/runs/{runId}/interrupt", Scope: runsWrite,
			handle: (*API).interruptRun, status: http.StatusAccepted,
			Who: "people who see an agent go wrong",
		},
		{
			Method: post, Pattern: "/runs/{runId}/attachments/prepare", Scope: runsWrite,
			handle: (*API).prepareAttachments, showsOnce: true,
			Who: "SDKs, before a follow-up with large files",
		},
		{
			Method: post, Pattern: "/runs/{runId}/cancel", Scope: runsWrite, handle: (*API).cancelRun,
			Who: "people and supervising programs",
		},
		{
			Method: get, Pattern: "/runs/{runId}/timeline", Scope: runsRead, OwnRun: true, handle: (*API).timeline,
			Who: "dashboard; people who check why a run is slow",
		},
		{
			Method: get, Pattern: "/runs/{runId}/network", Scope: runsRead, OwnRun: true, handle: (*API).runNetwork,
			Who: "dashboard, CLI",
		},
		{
			Method: get, Pattern: "/runs/{runId}/conversation", Scope: runsRead, OwnRun: true,
			handle: (*API).runConversation, unhurried: true,
			Who: "dashboard, CLI, the agent itself",
		},
		{
			Method: get, Pattern: "/runs/{runId}/transcript", Scope: runsRead, handle: (*API).transcript,
			Who: "people who debug an agent",
		},
		{
			Method: get, Pattern: "/runs/{runId}/events", Scope: runsRead, OwnRun: true, handle: (*API).events, unhurried: true,
			Who: "clients that watch a run",
		},
		{
			Method: get, Pattern: "/runs/{runId}/handoff/attachments", Scope: runsRead, handle: (*API).handoffAttachments,
			Who: "a session elsewhere that continues the work",
		},
		{
			Method: post, Pattern: "/runs/{runId}/artifacts", Scope: runsWrite, OwnRun: true,
			handle: (*API).addArtifact, status: http.StatusCreated, streamBody: true,
			Who: "the agent, with its execution's key",
		},
		{
			Method: get, Pattern: "/run-by-external-reference", Scope: runsRead, handle: (*API).runByReference,
			Who: "integrations that know only a pull request or ticket",
		},
	}
}

func changesRoutes() []Route {
	return []Route{
		{
			Method: get, Pattern: "/runs/{runId}/changes", Scope: runsRead, OwnRun: true, handle: (*API).runChanges,
			Who: "dashboard, CLI; people who review a run",
		},
		{
			Method: get, Pattern: "/runs/{runId}/changes/{repository}/patch", Scope: runsRead, OwnRun: true,
			handle: (*API).downloadPatch,
			Who:    "dashboard, CLI, git apply",
		},
	}
}

func conversationRoutes() []Route {
	return []Route{
		{
			Method: get, Pattern: "/conversations/{id}", Scope: runsRead, handle: (*API).conversation, unhurried: true,
			Who: "dashboard",
		},
		{
			Method: post, Pattern: "/conversations/{id}/followups", Scope: runsWrite,
			handle: (*API).followUpConversation, limit: maxRun,
			Who: "people who know only the conversation",
		},
		{
			Method: post, Pattern: "/conversations/{id}/interrupt", Scope: runsWrite,
			handle: (*API).interruptConversation, status: http.StatusAccepted,
			Who: "people who know only the conversation",
		},
		{
			Method: post, Pattern: "/conversations/{id}/attachments/prepare", Scope: runsWrite,
			handle: (*API).prepareConversationAttachments, showsOnce: true,
			Who: "SDKs, before a follow-up with large files",
		},
		{
			Method: get, Pattern: "/conversations/{id}/transcript", Scope: runsRead, handle: (*API).conversationTranscript,
			Who: "people who debug an agent",
		},
		{
			Method: get, Pattern: "/conversations/{id}/screenshots/{uid}/download", Scope: runsRead,
			handle: (*API).downloadScreenshot,
			Who:    "SDKs that show a conversation with its pictures",
		},
		{
			Method: get, Pattern: "/conversations/{id}/redirect", Public: true, handle: (*API).conversationRedirect,
			Who: "saved links",
		},
		{Method: get, Pattern: "/sessions/{uuid}/redirect", Public: true, handle: (*API).sessionRedirect, Who: "saved links"},
		{Method: get, Pattern: "/artifacts/{uid}", Scope: runsRead, handle: (*API).artifact, Who: "dashboard, SDKs"},
		{
			Method: get, Pattern: "/artifacts/{uid}/download", Scope: runsRead, handle: (*API).downloadArtifact,
			Who: "dashboard, SDKs, curl -L",
		},
	}
}

func resourceRoutes() []Route {
	return []Route{
		{
			Method: get, Pattern: "", Scope: runsRead, handle: (*API).skills, unhurried: true,
			Who: "dashboard, when a user starts a run",
		},
		{
			Method: get, Pattern: "/bundled-skills", Scope: runsRead, handle: (*API).bundledSkills,
			Who: "dashboard, when a user starts a run; programs that group usage by skill",
		},
		{Method: get, Pattern: "/models", Scope: runsRead, handle: (*API).models, Who: "dashboard, when a user starts a run"},
		{
			Method: get, Pattern: "/network", Scope: runsRead, handle: (*API).networkPolicy,
			Who: "CLI; people who check why a host is refused",
		},
		{
			Method: get, Pattern: "/harnesses", Scope: runsRead, handle: (*API).harnesses,
			Who: "dashboard, when a user starts a run; people who check why a run waits",
		},
		{
			Method: get, Pattern: "/connected-self-hosted-workers", Scope: runsRead, handle: (*API).workers,
			Who: "operators; people who check why a run waits",
		},
		{
			Method: post, Pattern: "/environments", Scope: manage, handle: (*API).createEnvironment, status: http.StatusCreated,
			Who: "dashboard, CLI",
		},
		{Method: get, Pattern: "/environments", Scope: runsRead, handle: (*API).listEnvironments, Who: "dashboard, CLI"},
		{Method: get, Pattern: "/environments/{uid}", Scope: runsRead, handle: (*API).environment, Who: "dashboard, CLI"},
		{
			Method: put, Pattern: "/environments/{uid}", Scope: manage, handle: (*API).replaceEnvironment,
			Who: "dashboard, CLI",
		},
		{
			Method: remove, Pattern: "/environments/{uid}", Scope: manage, handle: (*API).deleteEnvironment,
			Who: "dashboard, CLI",
		},
		{
			Method: post, Pattern: "/identities", Scope: manage, handle: (*API).createIdentity, status: http.StatusCreated,
			Who: "dashboard, CLI",
		},
		{Method: get, Pattern: "/identities", Scope: runsRead, handle: (*API).listIdentities, Who: "dashboard, CLI"},
		{Method: get, Pattern: "/identities/{uid}", Scope: runsRead, handle: (*API).identity, Who: "dashboard, CLI"},
		{Method: put, Pattern: "/identities/{uid}", Scope: manage, handle: (*API).updateIdentity, Who: "dashboard, CLI"},
		{Method: remove, Pattern: "/identities/{uid}", Scope: manage, handle: (*API).deleteIdentity, Who: "dashboard, CLI"},
		{
			Method: post, Pattern: "/schedules", Scope: runsWrite, handle: (*API).createSchedule, status: http.StatusCreated,
			Who: "dashboard, CLI",
		},
		{Method: get, Pattern: "/schedules", Scope: runsRead, handle: (*API).listSchedules, Who: "dashboard, CLI"},
		{Method: get, Pattern: "/schedules/{id}", Scope: runsRead, handle: (*API).schedule, Who: "dashboard, CLI"},
		{Method: put, Pattern: "/schedules/{id}", Scope: runsWrite, handle: (*API).replaceSchedule, Who: "dashboard, CLI"},
		{Method: remove, Pattern: "/schedules/{id}", Scope: runsWrite, handle: (*API).deleteSchedule, Who: "dashboard, CLI"},
		{
			Method: post, Pattern: "/schedules/{id}/pause", Scope: runsWrite, handle: (*API).pauseSchedule,
			Who: "dashboard, CLI",
		},
		{
			Method: post, Pattern: "/schedules/{id}/resume", Scope: runsWrite, handle: (*API).resumeSchedule,
			Who: "dashboard, CLI",
		},
	}
}

func factoryRoutes() []Route {
	return []Route{
		{
			Method: post, Pattern: "", Scope: manage, handle: (*API).createFactory, status: http.StatusCreated,
			Who: "dashboard, CLI",
		},
		{
			Method: get, Pattern: "", Scope: factories, handle: (*API).listFactories,
			Who: "dashboard, CLI, programs that look for an agent",
		},
		{Method: get, Pattern: "/{uid}", Scope: factories, handle: (*API).factory, Who: "dashboard, CLI"},
		{Method: patch, Pattern: "/{uid}", Scope: manage, handle: (*API).updateFactory, Who: "dashboard, CLI"},
		{Method: remove, Pattern: "/{uid}", Scope: manage, handle: (*API).deleteFactory, Who: "dashboard, CLI"},
		{
			Method: get, Pattern: "/{uid}/definition", Scope: factories, handle: (*API).definition,
			Who: "dashboard, CLI, people who edit the files elsewhere",
		},
		{
			Method: get, Pattern: "/{uid}/definition/history", Scope: factories, handle: (*API).history,
			Who: "dashboard; people who check earlier changes",
		},
		{
			Method: get, Pattern: "/{uid}/definition/history/{revision}", Scope: factories, handle: (*API).revision,
			Who: "dashboard; people who revert a change",
		},
		{
			Method: put, Pattern: "/{uid}/definition", Scope: manage, handle: (*API).applyDefinition,
			Who: "dashboard, CLI, CI that deploys a factory",
		},
		{
			Method: post, Pattern: "/{uid}/sync", Scope: manage, handle: (*API).syncFactory, unhurried: true,
			Who: "CLI, CI that has pushed a commit, Git hosts",
		},
		{
			Method: post, Pattern: "/{uid}/runs", Scope: runsWrite, handle: (*API).dispatchRun,
			Who: "clients that give work to a factory: trackers, CI, people",
		},
		{
			Method: post, Pattern: "/{uid}/automations", Scope: manage,
			handle: (*API).createAutomation, status: http.StatusCreated,
			Who: "dashboard, CLI",
		},
		{Method: get, Pattern: "/{uid}/automations", Scope: factories, handle: (*API).listAutomations, Who: "dashboard, CLI"},
		{
			Method: get, Pattern: "/{uid}/automations/{auid}", Scope: factories, handle: (*API).automation,
			Who: "dashboard, CLI; people who check why no run started",
		},
		{
			Method: patch, Pattern: "/{uid}/automations/{auid}", Scope: manage, handle: (*API).updateAutomation,
			Who: "dashboard, CLI",
		},
		{
			Method: remove, Pattern: "/{uid}/automations/{auid}", Scope: manage, handle: (*API).deleteAutomation,
			Who: "dashboard, CLI",
		},
		{
			Method: post, Pattern: "/{uid}/automations/{auid}/run", Scope: runsWrite, handle: (*API).runAutomation,
			Who: "people who try an automation, or do not want to wait for its event",
		},
		{
			Method: post, Pattern: "/{uid}/test-filter", Scope: manage, handle: (*API).testFilter,
			Who: "people who write a filter",
		},
	}
}

func fileRoutes() []Route {
	return []Route{
		{
			Method: get, Pattern: "/schemas", Public: true, handle: (*API).schemaVersions,
			Who: "editors and generators of a factory's files",
		},
		{
			Method: get, Pattern: "/schemas/v1alpha1", Public: true, handle: (*API).schemas,
			Who: "editors and generators of a factory's files",
		},
		{
			Method: get, Pattern: "/schemas/{version}/{document}", Public: true, handle: (*API).schema,
			Who: "editors, by the address in a file's first line",
		},
		{
			Method: post, Pattern: "/validate", Public: true, KeyRead: true, handle: (*API).validateFiles,
			Who: "dashboard; CI of a repository with a factory, and agents that write one, without a key",
		},
	}
}

func webhookRoutes() []Route {
	return []Route{
		{
			Method: post, Pattern: "", Scope: manage, handle: (*API).createWebhook, status: http.StatusCreated, showsOnce: true,
			Who: "dashboard, CLI",
		},
		{Method: get, Pattern: "", Scope: manage, handle: (*API).listWebhooks, Who: "dashboard, CLI"},
		{Method: get, Pattern: "/{wuid}", Scope: manage, handle: (*API).webhook, Who: "dashboard, CLI"},
		{Method: patch, Pattern: "/{wuid}", Scope: manage, handle: (*API).updateWebhook, Who: "dashboard, CLI"},
		{Method: remove, Pattern: "/{wuid}", Scope: manage, handle: (*API).deleteWebhook, Who: "dashboard, CLI"},
		{
			Method: post, Pattern: "/{wuid}/rotate-secret", Scope: manage, handle: (*API).rotateWebhookSecret, showsOnce: true,
			Who: "dashboard, CLI, programs that rotate",
		},
		{
			Method: post, Pattern: "/{wuid}/test-delivery", Scope: manage,
			handle: (*API).sendTestDelivery, status: http.StatusCreated,
			Who: "dashboard, CLI; people who set up a webhook",
		},
		{
			Method: post, Pattern: "/{wuid}/verify-request", Scope: manage, handle: (*API).verifyWebhookRequest,
			Who: "people who check why a delivery was rejected",
		},
		{Method: get, Pattern: "/{wuid}/deliveries", Scope: manage, handle: (*API).listDeliveries, Who: "dashboard, CLI"},
		{
			Method: get, Pattern: "/{wuid}/deliveries/{did}", Scope: manage, handle: (*API).delivery,
			Who: "dashboard, CLI; people who check why no run started",
		},
		{
			Method: get, Pattern: "/{wuid}/deliveries/{did}/payload", Scope: manage, handle: (*API).deliveryPayload,
			Who: "dashboard, CLI",
		},
		{
			Method: post, Pattern: "/{wuid}/deliveries/{did}/replay", Scope: manage,
			handle: (*API).replayDelivery, status: http.StatusCreated,
			Who: "people who fixed an automation",
		},
	}
}

func runSpendRoutes() []Route {
	return []Route{
		{
			Method: patch, Pattern: "", Scope: runsWrite, handle: (*API).updateRun,
			Who: "people who raise the budget of a run",
		},
		{
			Method: get, Pattern: "/usage", Scope: runsRead, OwnRun: true, handle: (*API).runUsage,
			Who: "dashboard, CLI; the agent itself",
		},
		{
			Method: get, Pattern: "/harness-usage", Scope: runsRead, OwnRun: true, handle: (*API).harnessUsage,
			Who: "clients that show the usage of Claude Code and Codex",
		},
		{
			Method: get, Pattern: "/calls", Scope: runsRead, OwnRun: true, handle: (*API).runCalls,
			Who: "people who check a bill",
		},
	}
}

func spendRoutes() []Route {
	return []Route{
		{
			Method: post, Pattern: "/budgets", Scope: admin, handle: (*API).createBudget, status: http.StatusCreated,
			Who: "dashboard, CLI",
		},
		{Method: get, Pattern: "/budgets", Scope: runsRead, handle: (*API).listBudgets, Who: "dashboard, CLI"},
		{Method: get, Pattern: "/budgets/{uid}", Scope: runsRead, handle: (*API).budget, Who: "dashboard, CLI"},
		{Method: patch, Pattern: "/budgets/{uid}", Scope: admin, handle: (*API).updateBudget, Who: "dashboard, CLI"},
		{Method: get, Pattern: "/usage", Scope: runsRead, handle: (*API).usage, Who: "dashboard, CLI, spreadsheets"},
		{Method: remove, Pattern: "/budgets/{uid}", Scope: admin, handle: (*API).deleteBudget, Who: "dashboard, CLI"},
	}
}

func accessRoutes() []Route {
	return []Route{
		{
			Method: post, Pattern: "/secrets", Scope: secrets, handle: (*API).createSecret, status: http.StatusCreated,
			Who: "dashboard, CLI",
		},
		{Method: get, Pattern: "/secrets", Scope: secrets, handle: (*API).listSecrets, Who: "dashboard, CLI"},
		{Method: get, Pattern: "/secrets/{name}", Scope: secrets, handle: (*API).secret, Who: "dashboard, CLI"},
		{
			Method: put, Pattern: "/secrets/{name}", Scope: secrets, handle: (*API).setSecret,
			Who: "dashboard, CLI, programs that rotate",
		},
		{Method: remove, Pattern: "/secrets/{name}", Scope: secrets, handle: (*API).deleteSecret, Who: "dashboard, CLI"},
		{
			Method: post, Pattern: "/keys", Scope: keys, handle: (*API).createKey, status: http.StatusCreated, showsOnce: true,
			Who: "admins",
		},
		{Method: get, Pattern: "/keys", Scope: keys, handle: (*API).listKeys, Who: "admins"},
		{Method: remove, Pattern: "/keys/{uid}", Scope: keys, handle: (*API).revokeKey, Who: "admins, in an emergency"},
		{
			Method: get, Pattern: "/me", Scope: anyKey, OwnRun: true, handle: (*API).me,
			Who: "clients that check the scopes of their key",
		},
		{
			Method: post, Pattern: "/session", Public: true, handle: (*API).signIn, limit: maxSignIn,
			Who: "dashboard, with a person's key",
		},
		{Method: get, Pattern: "/session", Scope: anyKey, handle: (*API).readSession, Who: "dashboard, when it is opened"},
		{Method: remove, Pattern: "/session", Scope: anyKey, handle: (*API).signOut, Who: "dashboard"},
		{
			Method: get, Pattern: "/signature-schemes", Scope: anyKey, handle: (*API).signatureSchemes,
			Who: "dashboard, when a webhook is created; people who write a sender",
		},
		{
			Method: get, Pattern: "/schedule-times", Scope: anyKey, handle: (*API).scheduleTimes,
			Who: "dashboard, while a cron expression is typed",
		},
		{Method: get, Pattern: "/stats", Scope: runsRead, handle: (*API).stats, Who: "dashboard, for its charts"},
		{Method: get, Pattern: "/limits", Scope: anyKey, handle: (*API).limits, Who: "SDKs and operators"},
		{
			Method: get, Pattern: "/downloads/{token}", Public: true, handle: (*API).download, unhurried: true,
			Who: "clients with a signed link",
		},
		{
			Method: put, Pattern: "/uploads/{token}", Public: true, handle: (*API).upload, streamBody: true,
			Who: "clients with a signed link to upload a file",
		},
	}
}

// workerRoutes are a penstock.Control over HTTP. They are an interface between two parts of this
// program, with the version in the assignment. They are not part of the contract.
func workerRoutes() []Route {
	return []Route{
		{
			Method: post, Pattern: "/claim", Scope: worker, unlimited: true, unhurried: true, handle: (*API).claim,
			Who: "workers, waiting for work",
		},
		{
			Method: post, Pattern: "/heartbeat", Scope: worker, unlimited: true, unhurried: true, handle: (*API).heartbeat,
			Who: "workers, as long as they execute",
		},
		{
			Method: post, Pattern: "/append", Scope: worker, unlimited: true, unhurried: true,
			handle: (*API).appendEvents, limit: maxAppend,
			Who: "workers, with what the agent does",
		},
		{
			Method: post, Pattern: "/finish", Scope: worker, unlimited: true, unhurried: true, handle: (*API).finish,
			Who: "workers, at the end of a turn",
		},
		{
			Method: post, Pattern: "/adopt", Scope: worker, unlimited: true, unhurried: true, handle: (*API).adopt,
			Who: "workers that a launcher started",
		},
		{
			Method: post, Pattern: "/loss", Scope: worker, unlimited: true, unhurried: true, handle: (*API).reportLoss,
			Who: "launchers, when the process of an execution is gone",
		},
		{
			Method: post, Pattern: "/reserve", Scope: worker, unlimited: true, unhurried: true, handle: (*API).reserveCall,
			Who: "workers, before a call to a model",
		},
		{
			Method: post, Pattern: "/settle", Scope: worker, unlimited: true, unhurried: true, handle: (*API).settleCall,
			Who: "workers, after a call to a model",
		},
		{
			Method: get, Pattern: "/file", Scope: worker, unlimited: true, unhurried: true, handle: (*API).openFile,
			Who: "workers that prepare a workspace",
		},
		{
			Method: put, Pattern: "/save", Scope: worker, unlimited: true, unhurried: true,
			handle: (*API).saveFile, streamBody: true,
			Who: "workers, with artifacts and sessions",
		},
	}
}

func serverRoutes() []Route {
	return []Route{
		{Method: get, Pattern: "/healthz", Public: true, plain: true, handle: (*API).health, Who: "process supervisors"},
		{Method: get, Pattern: "/readyz", Public: true, plain: true, handle: (*API).ready, Who: "load balancers"},
		{
			Method: get, Pattern: metricsPath, Scope: metricsRead, handle: (*API).scrape,
			Who: "Prometheus; needs no key where Options.MetricsOpen is set",
		},
		{Method: get, Pattern: "/docs", Public: true, handle: (*API).docs, Who: "people"},
		{Method: get, Pattern: "/docs/", Public: true, handle: (*API).docs, Who: "people, and the links in errors"},
		{
			Method: get, Pattern: "/runs/{runId}", Public: true, handle: (*API).runPage,
			Who: "people who follow a run's session_link",
		},
		{Method: get, Pattern: "/{$}", Public: true, handle: (*API).front, Who: "people who open the address in a browser"},
		{
			Method: get, Pattern: dashboard, Public: true, handle: (*API).dashboard,
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
