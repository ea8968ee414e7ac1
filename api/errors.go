package api

// ErrorInfo explains one error code: what its page at /docs/errors/{code} says.
type ErrorInfo struct {
	Code      string
	Title     string
	Status    int  // of the answer; 0 for a code that only runs have
	Retryable bool // the same request, or the same run, may succeed later
	Run       bool // also found in a run's status_message
	State     string
	Meaning   string   // what has happened, in Markdown
	Remedy    []string // what to do, the likeliest first, in Markdown
}

// FindError is the entry of code; ok is false for a code that there is none of.
func FindError(code string) (info ErrorInfo, ok bool) {
	for _, e := range errorInfos {
		if e.Code == code {
			return e, true
		}
	}
	return ErrorInfo{}, false
}

// ErrorInfos lists every error code: those of answers by status, then those
// that only runs have. The caller may keep and change the slice.
func ErrorInfos() []ErrorInfo { return append([]ErrorInfo(nil), errorInfos...) }

const (
	failed  = "FAILED"
	errored = "ERROR"
)

var errorInfos = []ErrorInfo{
	{
		Code: "invalid_request", Title: "Invalid request", Status: 400,
		Meaning: "The request cannot be understood, or it breaks a rule of the operation. Nothing was stored and nothing was started.",
		Remedy: []string{
			"Read `errors` of the answer: each entry names a field by its JSON pointer (such as `/config/harness/type`) and says what is wrong with it. For a query parameter, `detail` names the parameter.",
			"If a cancel was answered like this, the run was over already. Read it to see how it ended.",
			"If `cursor` is named, the filters or the order have changed since the cursor was made. Begin again at the first page.",
		},
	},
	{
		Code: "authentication_required", Title: "Authentication required", Status: 401, Run: true, State: errored,
		Meaning: "The request has no API key, or one that is unknown, has expired or was deleted. On a run it means that the server itself could not sign in somewhere on the run's behalf.",
		Remedy: []string{
			"Send the key as `Authorization: Bearer psk_…`, whole and without quotes.",
			"List the keys with `penstock key list` and see whether yours is still there and has not expired.",
			"Create another key with `penstock key create`. A key is shown once and cannot be shown again.",
		},
	},
	{
		Code: "not_authorized", Title: "Not authorized", Status: 403,
		Meaning: "The key is good, but it may not do this: it lacks a scope, or what it asks for is kept to admins or to one user.",
		Remedy: []string{
			"`detail` names the scope that is missing. `GET /api/v1/me` says what your key may do.",
			"Ask somebody whose key has `keys:manage` for a key with that scope.",
			"`on_behalf_of` is for admins, and for agents with `on_behalf_of_enabled`.",
		},
	},
	{
		Code: "feature_not_available", Title: "Feature not available", Status: 403,
		Meaning: "This server does not offer the feature, or its operator has switched it off.",
		Remedy:  []string{"`detail` names the feature. Ask the operator whether it can be switched on."},
	},
	{
		Code: "content_policy_violation", Title: "Content policy violation", Status: 403, Run: true, State: failed,
		Meaning: "A model provider or a rule of the operator's refused the content.",
		Remedy: []string{
			"Change what is asked for. The same words will be refused again.",
			"Choose another model, if the refusal was that provider's.",
		},
	},
	{
		Code: "budget_exceeded", Title: "Budget exceeded", Status: 403, Run: true, State: failed,
		Meaning: "The run has used up the tokens or the money that `config.budget` allows, or the team's budget is used up. What the run had done is kept.",
		Remedy: []string{
			"Look at `request_usage` of the run to see what it used.",
			"Raise `config.budget` of the request, of the agent or of the automation, wherever `agent_config_sources` says that it came from, and create the run again.",
		},
	},
	{
		Code: "resource_not_found", Title: "Resource not found", Status: 404,
		Meaning: "There is no such thing, or it belongs to another team: a key sees its own team only, and is not told what others have.",
		Remedy: []string{
			"Check the id and that the key belongs to the right team (`GET /api/v1/me`).",
			"A conversation or a transcript does not exist until the run's agent has started. Wait for the state INPROGRESS.",
			"A signed link ends after 15 minutes. Ask for a new one where you got it.",
		},
	},
	{
		Code: "method_not_allowed", Title: "Method not allowed", Status: 405,
		Meaning: "The path exists, but not with this method.",
		Remedy:  []string{"The header `Allow` of the answer lists the methods that the path takes."},
	},
	{
		Code: "conflict", Title: "Conflict", Status: 409, Retryable: false,
		Meaning: "The request clashes with another one. Most often its `Idempotency-Key` was used before, with another body, or the first request under that key is still being carried out. Where a retry can help, the answer has `retryable: true` and `X-Should-Retry: true`.",
		Remedy: []string{
			"With `X-Should-Retry: true`, wait a moment and send the same request under the same key again. You get the first one's answer.",
			"Otherwise use a new `Idempotency-Key` for what is a new request, or read the thing again and repeat your change on what it is now.",
		},
	},
	{
		Code: "payload_too_large", Title: "Payload too large", Status: 413,
		Meaning: "The body is larger than the server takes: 10 MB, a run's attachments aside; those may be 25 MB in all. An operator may have set other limits.",
		Remedy: []string{
			"`GET /api/v1/limits` says what holds on this server.",
			"Put large files where the run can fetch them, such as a repository of its environment.",
		},
	},
	{
		Code: "operation_not_supported", Title: "Operation not supported", Status: 422,
		Meaning: "The request is well-formed, but what it asks for cannot be done with this thing. A pull request, for example, has nothing to download.",
		Remedy:  []string{"`detail` says why. Sending the request again will not help."},
	},
	{
		Code: "invalid_definition", Title: "Invalid definition", Status: 422,
		Meaning: "A factory's files have errors. Nothing was applied, and the factory goes on with its last valid definition.",
		Remedy: []string{
			"Each diagnostic names the file, the line and, where a name is misspelt, the nearest one that exists.",
			"Check the files before you send them with `penstock factory validate`.",
		},
	},
	{
		Code: "rate_limited", Title: "Rate limited", Status: 429, Retryable: true,
		Meaning: "The key has used up its requests for the moment. Nothing was done.",
		Remedy: []string{
			"Wait as many seconds as `Retry-After` says, then send the same request again.",
			"`RateLimit` in every answer says what is left. Watch a run by its event stream instead of asking again and again.",
			"Ask the operator for a larger budget if this is what your work needs.",
		},
	},
	{
		Code: "internal_error", Title: "Internal error", Status: 500, Retryable: true, Run: true, State: errored,
		Meaning: "The server has failed. It is a defect and not your doing; the server's log has the whole story under the request's id.",
		Remedy: []string{
			"Send the request again. With the same `Idempotency-Key` nothing happens twice.",
			"If it stays, give the operator the `X-Request-Id` of the answer, and its `trace_id` when it has one.",
		},
	},
	{
		Code: "resource_unavailable", Title: "Resource unavailable", Status: 503, Retryable: true, Run: true, State: errored,
		Meaning: "Something that is needed cannot be had now: the database cannot be reached or is full, or the server is starting or stopping. Nothing that was acknowledged is lost. A run ends like this when it has waited too long for a worker that can execute it; its `status_message` names what was missing.",
		Remedy: []string{
			"Wait as many seconds as `Retry-After` says, then send the same request again under the same `Idempotency-Key`.",
			"For a run, see which workers are connected (`GET /api/v1/agent/connected-self-hosted-workers`) and whether one of them has the `harness` and `worker_host` that the run asks for.",
			"The operator finds the cause with `penstock doctor`, at `/readyz` and in the log.",
		},
	},
	{
		Code: "environment_setup_failed", Title: "Environment setup failed", Run: true, State: failed,
		Meaning: "The workspace could not be prepared: a repository could not be cloned, a setup command failed, a skill could not be fetched, or no sandbox is to be had on the worker. The agent was not started.",
		Remedy: []string{
			"The timeline of the run has each `setup_step` with its exit code and its last output.",
			"Mend the command or the repository's address in the environment, then send the run a follow-up or create it again.",
			"If no sandbox is to be had, the operator installs `bubblewrap` on the worker. `penstock doctor` says what is missing.",
		},
	},
	{
		Code: "agent_process_failed", Title: "Agent process failed", Run: true, State: failed,
		Meaning: "The agent program ended before it had answered, or it answered with an error. The message has the last of what it wrote.",
		Remedy: []string{
			"Read the message and the transcript of the run. A wrong key or model name is the most frequent cause.",
			"Try the run with another model or another `harness`.",
			"A follow-up starts the agent again, on the same conversation.",
		},
	},
	{
		Code: "infrastructure_timeout", Title: "Infrastructure timeout", Retryable: true, Run: true, State: errored,
		Meaning: "The worker that executed the run has died or could no longer be reached, and the agent's session could not be resumed elsewhere.",
		Remedy: []string{
			"Send the run a follow-up, such as \"go on\", or create it again. The conversation so far is kept.",
			"If it happens often, look at the memory of the worker's machine: a session takes 300 to 900 MB.",
		},
	},
	{
		Code: "external_authentication_required", Title: "External authentication required", Run: true, State: failed,
		Meaning: "The run needs to sign in somewhere else, such as a Git host or an MCP server, and has no credentials for it, or wrong ones.",
		Remedy: []string{
			"The message names the place. Store a credential as a managed secret and name it in `config.secrets`, in the environment or in the MCP server's `headers`.",
			"See whether a token has expired.",
		},
	},
	{
		Code: "integration_not_configured", Title: "Integration not configured", Run: true, State: failed,
		Meaning: "The run uses an integration that nobody has set up on this server.",
		Remedy: []string{
			"The message names the integration. Ask the operator to set it up, or take it out of the configuration.",
		},
	},
}
