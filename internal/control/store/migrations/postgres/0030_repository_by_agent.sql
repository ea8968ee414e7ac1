-- +goose Up
-- Whether the key of an agent has named the repository of a factory. Its files cannot name repositories for runs.
ALTER TABLE repositories ADD COLUMN by_agent BIGINT NOT NULL DEFAULT 0;
