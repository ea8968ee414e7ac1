-- +goose Up
-- Branches that runs have pushed to forges. Each belongs to one thread.
CREATE TABLE pushed_branches (
	team TEXT NOT NULL,
	repository TEXT NOT NULL, -- its URL, in lower case
	name TEXT NOT NULL,
	owner TEXT NOT NULL, -- subject: and the uid of a subject, or run: and the id of a run
	run_id TEXT NOT NULL, -- the last run that has pushed it
	wanted TEXT NOT NULL, -- the commit of the last push, which may have failed
	seen BIGINT NOT NULL, -- 1: the forge had the branch after a push of this thread
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL,
	PRIMARY KEY (team, repository, name)
);
CREATE INDEX pushed_branches_updated ON pushed_branches (updated_at);
CREATE INDEX pushed_branches_owner ON pushed_branches (team, repository, owner);
