-- +goose Up
-- Receivers of messages about events.
CREATE TABLE event_endpoints (
  uid TEXT PRIMARY KEY,
  team TEXT NOT NULL,
  origin TEXT NOT NULL, -- of the URL, which may be a credential
  sealed BYTEA NOT NULL, -- JSON: the URL and the secrets
  events TEXT NOT NULL, -- types, with commas around each; '': all
  factory_uids TEXT NOT NULL, -- with commas around each; '': all
  description TEXT NOT NULL,
  format TEXT NOT NULL,
  enabled BIGINT NOT NULL,
  disabled_reason TEXT NOT NULL, -- why the server disabled it
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  last_success_at BIGINT NOT NULL DEFAULT 0,
  last_failure_at BIGINT NOT NULL DEFAULT 0,
  failing_since BIGINT NOT NULL DEFAULT 0, -- no attempt has succeeded since; 0: the last one did
  waits_until BIGINT NOT NULL DEFAULT 0, -- nothing is sent before this
  token TEXT NOT NULL DEFAULT '', -- of the server that sends to it
  lease_until BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX event_endpoints_enabled ON event_endpoints (uid) WHERE enabled = 1;
-- What is sent to each, written with what it is about.
CREATE TABLE endpoint_messages (
  endpoint_uid TEXT NOT NULL,
  id TEXT NOT NULL, -- begins with its time; the same for each endpoint
  type TEXT NOT NULL,
  happened_at BIGINT NOT NULL,
  data TEXT NOT NULL, -- JSON
  path TEXT NOT NULL, -- of what it is about, in the API
  state TEXT NOT NULL, -- waiting, delivered, failed
  attempts BIGINT NOT NULL, -- since it was written or replayed
  next_at BIGINT NOT NULL, -- of the next attempt, while it waits
  PRIMARY KEY (endpoint_uid, id)
);
CREATE INDEX endpoint_messages_due ON endpoint_messages (endpoint_uid, next_at, id) WHERE state = 'waiting';
CREATE INDEX endpoint_messages_state ON endpoint_messages (endpoint_uid, state);
CREATE INDEX endpoint_messages_old ON endpoint_messages (happened_at);
CREATE TABLE endpoint_attempts (
  uid TEXT PRIMARY KEY, -- begins with its time
  endpoint_uid TEXT NOT NULL,
  message_id TEXT NOT NULL,
  type TEXT NOT NULL,
  attempt BIGINT NOT NULL,
  at BIGINT NOT NULL,
  status BIGINT NOT NULL, -- 0: no answer
  error TEXT NOT NULL,
  answer TEXT NOT NULL,
  took_ms BIGINT NOT NULL,
  next_at BIGINT NOT NULL
);
CREATE INDEX endpoint_attempts_endpoint ON endpoint_attempts (endpoint_uid, uid);
CREATE INDEX endpoint_attempts_old ON endpoint_attempts (at);
