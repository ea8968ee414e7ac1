-- +goose Up
-- The issues and pull requests whose events have started runs, and the comments in which they say how they are.
CREATE TABLE forge_threads (
	run_id TEXT NOT NULL PRIMARY KEY,
	team TEXT NOT NULL,
	connection TEXT NOT NULL, -- the uid of the forge
	repository TEXT NOT NULL, -- owner/name
	repository_id BIGINT NOT NULL, -- whatever its name is
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

-- What people have told runs in comments, each once. What was done stays for a while, so that no comment counts again.
CREATE TABLE forge_commands (
	team TEXT NOT NULL,
	place TEXT NOT NULL, -- the forge and the id of the repository
	comment BIGINT NOT NULL,
	connection TEXT NOT NULL, -- the uid of the forge
	repository TEXT NOT NULL, -- owner/name
	number BIGINT NOT NULL, -- of the issue or pull request
	author TEXT NOT NULL,
	command TEXT NOT NULL, -- "": the text is a message
	message TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	done_at BIGINT NOT NULL, -- 0: not yet
	reaction TEXT NOT NULL, -- to the comment; "": none
	answer TEXT NOT NULL, -- a comment; "": none
	due_at BIGINT NOT NULL, -- when it is tried or, once it is done, its reaction and answer; 0: nothing is to be done
	lease TEXT NOT NULL, -- of a try
	leased_until BIGINT NOT NULL,
	tries BIGINT NOT NULL,
	PRIMARY KEY (team, place, comment)
);
CREATE INDEX forge_commands_open ON forge_commands (created_at) WHERE done_at = 0;
CREATE INDEX forge_commands_due ON forge_commands (due_at) WHERE due_at > 0;
CREATE INDEX forge_commands_done ON forge_commands (done_at);
CREATE INDEX forge_threads_number ON forge_threads (team, connection, number);
ALTER TABLE pull_requests ADD COLUMN repository_id BIGINT NOT NULL DEFAULT 0; -- 0: an earlier version has stored it
CREATE INDEX pull_requests_connection ON pull_requests (team, connection, number);
