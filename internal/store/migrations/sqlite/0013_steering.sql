-- +goose Up
-- The turn that somebody wants to end; of an earlier turn it says nothing.
ALTER TABLE queue ADD COLUMN interrupt INTEGER NOT NULL DEFAULT 0;

-- The ids of the attachments that go with a follow-up, a JSON array.
ALTER TABLE followups ADD COLUMN attachments TEXT NOT NULL DEFAULT '';

-- When one that no follow-up has named yet is removed; 0: never before its run.
ALTER TABLE attachments ADD COLUMN expires_at INTEGER NOT NULL DEFAULT 0;
CREATE INDEX attachments_expiring ON attachments (expires_at) WHERE expires_at > 0;
