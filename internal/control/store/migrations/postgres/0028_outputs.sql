-- +goose Up
-- What agents declare to be done on forges. Outputs of one thread are done one after the other.
CREATE TABLE outputs (
	uid TEXT NOT NULL PRIMARY KEY,
	team TEXT NOT NULL,
	run_id TEXT NOT NULL,
	owner TEXT NOT NULL, -- the thread, as in pushed_branches
	turn BIGINT NOT NULL,
	kind TEXT NOT NULL,
	state TEXT NOT NULL,
	connection TEXT NOT NULL, -- the uid of the forge
	target TEXT NOT NULL, -- JSON
	payload TEXT NOT NULL, -- JSON
	url TEXT NOT NULL,
	problem TEXT NOT NULL,
	queued_at BIGINT NOT NULL, -- the order within a thread
	due_at BIGINT NOT NULL, -- when it is tried, or when the lease of a try ends
	lease TEXT NOT NULL, -- of a try
	tries BIGINT NOT NULL,
	refused BIGINT NOT NULL, -- how often the forge has refused it, one after the other
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL
);
CREATE INDEX outputs_run ON outputs (run_id, created_at, uid);
CREATE INDEX outputs_due ON outputs (state, due_at);
CREATE INDEX outputs_team ON outputs (team, state, created_at, uid);
CREATE INDEX outputs_owner ON outputs (team, owner, state);

-- Pull requests that outputs have opened: one for each thread, repository and base branch.
CREATE TABLE pull_requests (
	team TEXT NOT NULL,
	repository TEXT NOT NULL, -- its URL, in lower case
	owner TEXT NOT NULL,
	base TEXT NOT NULL,
	branch TEXT NOT NULL,
	number BIGINT NOT NULL,
	url TEXT NOT NULL,
	written TEXT NOT NULL, -- SHA-256 of the title and the text that the forge had after the last change
	run_id TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL,
	PRIMARY KEY (team, repository, owner, base)
);
CREATE INDEX pull_requests_updated ON pull_requests (updated_at);
