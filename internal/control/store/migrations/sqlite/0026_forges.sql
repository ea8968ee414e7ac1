-- +goose Up
-- Connections to hosts of repositories.
CREATE TABLE forges (
	uid TEXT PRIMARY KEY,
	team TEXT NOT NULL,
	name TEXT NOT NULL,
	provider TEXT NOT NULL,
	url TEXT NOT NULL,
	auth TEXT NOT NULL,
	bot TEXT NOT NULL, -- JSON; '': the forge has not answered yet
	sealed BLOB NOT NULL, -- JSON: the tokens
	read_token INTEGER NOT NULL, -- whether there is one that can only read
	factories TEXT NOT NULL, -- uids, with commas around each; '': all runs of the team
	repositories TEXT NOT NULL, -- owner/name or owner/*, with commas around each; '': all
	status TEXT NOT NULL,
	problem TEXT NOT NULL,
	expires_at INTEGER NOT NULL, -- of the token; 0: it does not, or the forge does not say
	checked_at INTEGER NOT NULL, -- when the forge last answered; 0: never
	due_at INTEGER NOT NULL, -- when it is checked again
	created_at INTEGER NOT NULL,
	updated_at INTEGER NOT NULL
);
CREATE UNIQUE INDEX forges_name ON forges (team, name);
CREATE INDEX forges_due ON forges (due_at);
