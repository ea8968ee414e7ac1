-- +goose Up
-- The webhooks that accept none of the deliveries that come, each of which was announced once.
CREATE TABLE failing_webhooks (
  webhook_uid TEXT PRIMARY KEY,
  since INTEGER NOT NULL
);
