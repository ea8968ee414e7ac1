-- +goose Up
-- What runs were told about the checks of their pull requests.
ALTER TABLE pull_requests ADD COLUMN checked TEXT NOT NULL DEFAULT ''; -- the last commit whose failed checks a run was told of
ALTER TABLE pull_requests ADD COLUMN red BIGINT NOT NULL DEFAULT 0; -- how many such commits, since a person spoke to the run
CREATE INDEX pull_requests_owner ON pull_requests (team, owner);
