-- +goose Up
-- Which pull requests of a factory are open, as far as the forge was asked.
ALTER TABLE pull_requests ADD COLUMN factory_uid TEXT NOT NULL DEFAULT '';
ALTER TABLE pull_requests ADD COLUMN connection TEXT NOT NULL DEFAULT ''; -- the uid of the forge
ALTER TABLE pull_requests ADD COLUMN is_open BIGINT NOT NULL DEFAULT 1;
ALTER TABLE pull_requests ADD COLUMN seen_at BIGINT NOT NULL DEFAULT 0; -- when the forge was last asked
UPDATE pull_requests SET
	factory_uid = COALESCE((SELECT r.factory_uid FROM runs r WHERE r.id = pull_requests.run_id), ''),
	connection = COALESCE((SELECT max(o.connection) FROM outputs o WHERE o.run_id = pull_requests.run_id), '');
CREATE INDEX pull_requests_open ON pull_requests (factory_uid, is_open);
CREATE INDEX pull_requests_seen ON pull_requests (is_open, seen_at);
