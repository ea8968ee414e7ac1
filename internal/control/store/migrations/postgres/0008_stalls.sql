-- +goose Up
ALTER TABLE runs ADD COLUMN progress_at BIGINT NOT NULL DEFAULT 0; -- when its last event of progress was stored, or it last moved
ALTER TABLE runs ADD COLUMN progress_seq BIGINT NOT NULL DEFAULT 0; -- last_seq as far as progress_at is known; a lower one: the previous release has appended
ALTER TABLE runs ADD COLUMN stalled TEXT NOT NULL DEFAULT ''; -- JSON, if it works without progress; '': it does not
ALTER TABLE queue ADD COLUMN back_at BIGINT NOT NULL DEFAULT 0; -- when the worker last renewed a lease that had expired
