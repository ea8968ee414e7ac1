package api

// ErrorInfo explains one error code. It is the content of the page /docs/errors/{code}.
type ErrorInfo struct {
	Code      string
	Title     string
	Status    int  // of the response; 0 for a code that only runs have
	Retryable bool // the same request, or the same run, may succeed later
	Run       bool // also found in a run's status_message
	State     string
	Meaning   string   // what happened, in Markdown
	Remedy    []string // how to fix it, most likely first, in Markdown
}

// FindError returns the entry of code; ok is false for an unknown code.
func FindError(code string) (info ErrorInfo, ok bool) {
	for _, e := range errorInfos {
		if e.Code == code {
			return e, true
		}
	}
	return ErrorInfo{}, false
}

// ErrorInfos lists every error code: first the codes of responses, by status, then the codes that
// only runs have. The caller may keep and change the slice.
func ErrorInfos() []ErrorInfo { return append([]ErrorInfo(nil), errorInfos...) }

const (
	failed  = "FAILED"
	errored = "ERROR"
)

var errorInfos = []ErrorInfo{
	{
		Code: "invalid_request", Title: "Invalid request", Status: 400,
		Meaning: "The request is malformed, or it breaks a rule of the operation. Nothing was stored or started.",
		Remedy: []string{
			"Check `errors` in the response. Each entry names a field by its JSON pointer (such as `/config/harness/type`) " +
				"and says what is wrong with it. For a query parameter, `detail` names the parameter.",
			"If you tried to cancel a run, it had already ended. Get the run to see its final state.",
			"If the error names `cursor`, the filters or the sort order changed after the cursor was created. Start again at " +
				"the first page.",
		},
	},
	{
		Code: "authentication_required", Title: "Authentication required", Status: 401, Run: true, State: errored,
		Meaning: "The request has no API key, or its key is unknown, expired or deleted. On a run, the server could not " +
			"authenticate to another service on the run's behalf.",
		Remedy: []string{
			"Send the complete key as `Authorization: Bearer psk_…`, without quotes.",
			"List the keys with `penstock key list`. Check that yours exists and has not expired.",
			"Create another key with `penstock key create`. A key is shown only once.",
		},
	},
	{
		Code: "not_authorized", Title: "Not authorized", Status: 403,
		Meaning: "The key is valid but does not allow this operation. It lacks a scope, or the operation is reserved for " +
			"admins or for one user.",
		Remedy: []string{
			"`detail` names the missing scope. `GET /api/v1/me` shows the scopes of your key.",
			"Ask someone with `keys:manage` for a key with that scope.",
			"Only admins, and agents with `on_behalf_of_enabled`, can use `on_behalf_of`.",
		},
	},
	{
		Code: "feature_not_available", Title: "Feature not available", Status: 403,
		Meaning: "This server does not support the feature, or its operator has disabled it.",
		Remedy:  []string{"`detail` names the feature. Ask the operator to enable it."},
	},
	{
		Code: "content_policy_violation", Title: "Content policy violation", Status: 403, Run: true, State: failed,
		Meaning: "A model provider, or a rule of the operator, rejected the content.",
		Remedy: []string{
			"Change the prompt. The same text will be rejected again.",
			"If the provider rejected it, choose a model of another provider.",
		},
	},
	{
		Code: "budget_exceeded", Title: "Budget exceeded", Status: 403, Run: true, State: failed,
		Meaning: "The next call to a model could cross a budget: the run's own `config.budget`, that of a run above it, or " +
			"a budget that runs share. The call was not sent. The run is BLOCKED, or FAILED if the budget's `action` is " +
			"`refuse`. The work of the run is kept, and follow-ups to a blocked run wait.",
		Remedy: []string{
			"The `budget` of the status message says which budget it is, what it has spent, and what the next call needs.",
			"Raise the run's own budget with `PATCH /api/v1/agent/runs/{runId}`, or a shared one with " +
				"`PATCH /api/v1/budgets/{uid}`. A blocked run continues within a second, and also when a new period begins.",
			"Send a follow-up to a run that FAILED, once the budget has room.",
		},
	},
	{
		Code: "resource_not_found", Title: "Resource not found", Status: 404,
		Meaning: "The resource does not exist, or it belongs to another team. A key sees only its own team.",
		Remedy: []string{
			"Check the id, and check that the key belongs to the right team (`GET /api/v1/me`).",
			"A run has no conversation or transcript until its agent starts. Wait for the state INPROGRESS.",
			"A signed link expires after 15 minutes. Request a new one from the same endpoint.",
		},
	},
	{
		Code: "method_not_allowed", Title: "Method not allowed", Status: 405,
		Meaning: "The path does not support this method.",
		Remedy:  []string{"The `Allow` header of the response lists the supported methods."},
	},
	{
		Code: "conflict", Title: "Conflict", Status: 409, Retryable: false,
		Meaning: "The request conflicts with the current state or with another request. Most often, its `Idempotency-Key` " +
			"was used before with another body, or the first request with that key is still in progress. If a retry can help, " +
			"the response has `retryable: true` and `X-Should-Retry: true`.",
		Remedy: []string{
			"With `X-Should-Retry: true`, wait a moment and send the same request with the same key again. It returns the " +
				"response to the first one.",
			"Otherwise, use a new `Idempotency-Key` for a new request, or get the resource again and apply your change to its " +
				"current state.",
		},
	},
	{
		Code: "payload_too_large", Title: "Payload too large", Status: 413,
		Meaning: "The body is larger than the limit: 10 MB, not counting a run's attachments, which can have 25 MB in " +
			"total. The operator can set other limits.",
		Remedy: []string{
			"`GET /api/v1/limits` shows the limits of this server.",
			"Put large files where the run can fetch them, such as in a repository of its environment.",
		},
	},
	{
		Code: "operation_not_supported", Title: "Operation not supported", Status: 422,
		Meaning: "The request is well-formed but cannot be applied to this resource. For example, a pull request has no " +
			"content to download.",
		Remedy: []string{"`detail` says why. A retry will not help."},
	},
	{
		Code: "invalid_definition", Title: "Invalid definition", Status: 422,
		Meaning: "A factory's files have errors. Nothing was applied. The factory keeps its last valid definition.",
		Remedy: []string{
			"Each diagnostic names the file and the line. For a misspelled name it also suggests the closest valid one.",
			"Check the files before you send them with `penstock factory validate`.",
		},
	},
	{
		Code: "rate_limited", Title: "Rate limited", Status: 429, Retryable: true,
		Meaning: "The key's request budget is used up. The request had no effect.",
		Remedy: []string{
			"Wait the number of seconds in `Retry-After`, then send the same request again.",
			"`RateLimit` in every response shows the remaining budget. To follow a run, use its event stream instead of " +
				"polling.",
			"If you need more requests, ask the operator for a larger budget.",
		},
	},
	{
		Code: "internal_error", Title: "Internal error", Status: 500, Retryable: true, Run: true, State: errored,
		Meaning: "The server failed. This is a bug in the server, not in your request. The server's log has the details " +
			"under the request id.",
		Remedy: []string{
			"Send the request again. With the same `Idempotency-Key`, it takes effect only once.",
			"If the error persists, give the operator the `X-Request-Id` of the response and, if present, its `trace_id`.",
		},
	},
	{
		Code: "resource_unavailable", Title: "Resource unavailable", Status: 503, Retryable: true, Run: true, State: errored,
		Meaning: "The server cannot handle the request now. The database is unreachable or full, or the server is starting " +
			"or stopping. No acknowledged request is lost. A run ends with this code if no suitable worker becomes available " +
			"in time. Its `status_message` names what was missing.",
		Remedy: []string{
			"Wait the number of seconds in `Retry-After`, then send the same request with the same `Idempotency-Key`.",
			"For a run, check which workers are connected (`GET /api/v1/agent/connected-self-hosted-workers`) and whether one " +
				"of them has the `harness` and `worker_host` of the run.",
			"The operator can find the cause with `penstock doctor`, at `/readyz` and in the log.",
		},
	},
	{
		Code: "environment_setup_failed", Title: "Environment setup failed", Run: true, State: failed,
		Meaning: "The workspace could not be prepared: a repository could not be cloned, a setup command failed, a skill " +
			"could not be fetched, or the worker has no sandbox. The agent was not started.",
		Remedy: []string{
			"The run's timeline shows each `setup_step` with its exit code and last output.",
			"Fix the command or the repository's URL in the environment, then send the run a follow-up or create it again.",
			"If the worker has no sandbox, the operator must install `bubblewrap` on it. `penstock doctor` shows what is " +
				"missing.",
		},
	},
	{
		Code: "agent_process_failed", Title: "Agent process failed", Run: true, State: failed,
		Meaning: "The agent process exited before it replied, or it returned an error. The message contains its last output.",
		Remedy: []string{
			"Read the message and the transcript of the run. The most common causes are a wrong API key and a wrong model name.",
			"Try the run with another model or another `harness`.",
			"Send a follow-up to start the agent again with the same conversation.",
		},
	},
	{
		Code: "agent_did_nothing", Title: "Agent did nothing", Run: true, State: failed,
		Meaning: "The agent ended its work as if it had succeeded, but it took no action, changed no file and has no " +
			"output, or every action failed. The run is FAILED because its automation has `on_hollow: fail`.",
		Remedy: []string{
			"`hollow_reason` of the run says what is missing, and the transcript what the agent wrote. An answer in words " +
				"is not an output.",
			"If every action failed, read their results. The most common causes are a denied permission, a blocked host and " +
				"a missing program.",
			"Send a follow-up that names what to do. The end of the run is then decided again.",
			"If runs of the automation may end without doing anything, set `on_hollow` to `alert` or `none`.",
		},
	},
	{
		Code: "infrastructure_timeout", Title: "Infrastructure timeout", Retryable: true, Run: true, State: errored,
		Meaning: "The worker that executed the run died or became unreachable, and the agent's session could not be " +
			"resumed on another worker.",
		Remedy: []string{
			"Send the run a follow-up, such as \"continue\", or create it again. The conversation so far is kept.",
			"If it happens often, check the memory of the worker's machine. A session uses 300 to 900 MB.",
		},
	},
	{
		Code: "external_authentication_required", Title: "External authentication required", Run: true, State: failed,
		Meaning: "The run needs to authenticate to another service, such as a Git host or an MCP server, but its " +
			"credentials are missing or invalid.",
		Remedy: []string{
			"The message names the service. Store the credential as a managed secret and name it in `config.secrets`, in the " +
				"environment or in the MCP server's `headers`.",
			"Check whether a token has expired.",
		},
	},
	{
		Code: "unpriced_model", Title: "Unpriced model", Run: true, State: failed,
		Meaning: "A cap on costs applies to the run, and its model has no known price. A model without a price is not " +
			"free, so the call was not sent.",
		Remedy: []string{
			"`penstock prices` shows the known prices. Ask the operator to set one with `prices:` of the provider in the " +
				"configuration, or to replace the list with `--prices`. A local provider can have `prices: free`.",
			"Or choose a model that has a price, or remove the cap.",
		},
	},
	{
		Code: "integration_not_configured", Title: "Integration not configured", Run: true, State: failed,
		Meaning: "The run uses an integration that is not set up on this server.",
		Remedy: []string{
			"The message names the integration. Ask the operator to set it up, or remove it from the configuration.",
		},
	},
}
