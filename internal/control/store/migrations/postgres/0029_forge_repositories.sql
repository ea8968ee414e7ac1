-- +goose Up
-- Which repository of a connection has a name that definitions use. A repository that gets the name of another
-- one later brings no events.
CREATE TABLE forge_repositories (
	forge_uid TEXT NOT NULL,
	path TEXT NOT NULL, -- owner/name, in lower case
	repository BIGINT NOT NULL, -- its id on the forge
	other BIGINT NOT NULL DEFAULT 0, -- the id of another repository that has come with the name; 0: none has
	PRIMARY KEY (forge_uid, path)
);
CREATE INDEX forge_repositories_id ON forge_repositories (forge_uid, repository);
CREATE INDEX pull_requests_number ON pull_requests (team, repository, number);
