-- +goose Up
ALTER TABLE webhooks ADD COLUMN dedup_body_window TEXT NOT NULL DEFAULT ''; -- a duration; '': that of the server
ALTER TABLE webhooks ADD COLUMN retry_unmatched BIGINT NOT NULL DEFAULT 0;
ALTER TABLE webhooks ADD COLUMN setup_pings BIGINT NOT NULL DEFAULT 0;
ALTER TABLE deliveries ADD COLUMN detail TEXT NOT NULL DEFAULT ''; -- why it was rejected, in words
ALTER TABLE deliveries ADD COLUMN raw BYTEA; -- the bytes as they were sent; NULL: they are those of body
ALTER TABLE payloads ADD COLUMN raw BYTEA;
