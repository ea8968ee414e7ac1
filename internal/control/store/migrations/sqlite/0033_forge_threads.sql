-- +goose Up
-- The issues and pull requests whose events have started runs, and the comments in which they say how they are.
CREATE TABLE forge_threads (
	run_id TEXT NOT NULL PRIMARY KEY,
	team TEXT NOT NULL,
	connection TEXT NOT NULL, -- the uid of the forge
	repository TEXT NOT NULL, -- owner/name
	number BIGINT NOT NULL,
	cause BIGINT NOT NULL, -- the comment that has started the run; 0: another event
	comment BIGINT NOT NULL, -- the id of the status comment; 0: none yet
	shown TEXT NOT NULL, -- SHA-256 of its text
	changes BIGINT NOT NULL, -- how often the run has changed its state
	due_at BIGINT NOT NULL, -- 0: the comment says what is to be said
	lease TEXT NOT NULL, -- of a try
	leased_until BIGINT NOT NULL,
	tries BIGINT NOT NULL, -- since it was written last
	refused BIGINT NOT NULL -- how often the forge has refused it since then
);
CREATE INDEX forge_threads_due ON forge_threads (due_at) WHERE due_at > 0;
