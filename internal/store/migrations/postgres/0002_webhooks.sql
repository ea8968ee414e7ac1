-- +goose Up
CREATE TABLE factories (
  uid TEXT PRIMARY KEY, team TEXT NOT NULL, name TEXT NOT NULL, folded TEXT NOT NULL, alias TEXT NOT NULL DEFAULT '',
  folded_alias TEXT NOT NULL DEFAULT '', description TEXT NOT NULL DEFAULT '', source TEXT NOT NULL, foreman_uid TEXT NOT NULL,
  data TEXT NOT NULL DEFAULT '', revision BIGINT NOT NULL DEFAULT 1, created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL, deleted_at BIGINT NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX factories_name ON factories (team, folded) WHERE deleted_at = 0;
CREATE UNIQUE INDEX factories_alias ON factories (team, folded_alias) WHERE deleted_at = 0 AND folded_alias <> '';
CREATE INDEX identities_factory ON identities (factory_uid) WHERE factory_uid <> '';

CREATE TABLE automations (
  uid TEXT PRIMARY KEY, team TEXT NOT NULL, factory_uid TEXT NOT NULL, name TEXT NOT NULL, enabled BIGINT NOT NULL,
  environment_id TEXT NOT NULL DEFAULT '', data TEXT NOT NULL,
  created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX automations_name ON automations (factory_uid, name);
CREATE INDEX automations_environment ON automations (environment_id) WHERE environment_id <> '';

-- Which webhook an automation's trigger selects: a webhook's UID, or its name.
CREATE TABLE automation_webhooks (
  factory_uid TEXT NOT NULL, webhook TEXT NOT NULL, automation_uid TEXT NOT NULL, PRIMARY KEY (factory_uid, webhook, automation_uid)
);
CREATE INDEX automation_webhooks_automation ON automation_webhooks (automation_uid);

-- Which schedules an automation fires with.
CREATE TABLE automation_schedules (
  schedule_id TEXT NOT NULL, automation_uid TEXT NOT NULL, PRIMARY KEY (schedule_id, automation_uid)
);
CREATE INDEX automation_schedules_automation ON automation_schedules (automation_uid);

-- A clock of an automation: its n-th trigger. next_at is 0 while it cannot fire; version is the team's when the clock was set.
CREATE TABLE automation_clocks (
  automation_uid TEXT NOT NULL, n BIGINT NOT NULL, next_at BIGINT NOT NULL, last_at BIGINT NOT NULL DEFAULT 0, last_error TEXT NOT NULL DEFAULT '',
  version BIGINT NOT NULL, PRIMARY KEY (automation_uid, n)
);
CREATE INDEX automation_clocks_next ON automation_clocks (next_at) WHERE next_at > 0;

-- number is what the index of the log has in place of the UID.
CREATE TABLE webhooks (
  number BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, uid TEXT NOT NULL UNIQUE, team TEXT NOT NULL, factory_uid TEXT NOT NULL, name TEXT NOT NULL, label TEXT NOT NULL, auth_mode TEXT NOT NULL,
  scheme TEXT NOT NULL DEFAULT '', signature TEXT NOT NULL DEFAULT '', secret_name TEXT NOT NULL, delivery_id_header TEXT NOT NULL DEFAULT '',
  replay_guard BIGINT NOT NULL DEFAULT 0, secret_refresh TEXT NOT NULL, enabled BIGINT NOT NULL, pending BIGINT NOT NULL DEFAULT 0,
  created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL, deleted_at BIGINT NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX webhooks_name ON webhooks (factory_uid, name) WHERE deleted_at = 0;
CREATE INDEX webhooks_secret ON webhooks (team, secret_name) WHERE deleted_at = 0;

-- The values that a webhook takes now, its own copies: what becomes of the managed secret does not reach it by itself.
CREATE TABLE webhook_secrets (
  webhook_uid TEXT NOT NULL, n BIGINT NOT NULL, sealed BYTEA NOT NULL, expires_at BIGINT NOT NULL DEFAULT 0, last_used_at BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (webhook_uid, n)
);

-- The moments of a webhook's last admitted and last logged deliveries, as far as its limits look back; last_delivery_at as far as it is folded.
CREATE TABLE webhook_meters (
  webhook_uid TEXT PRIMARY KEY, moments TEXT NOT NULL, last_delivery_at BIGINT NOT NULL DEFAULT 0
);

-- Deliveries of a quarter of an hour, by what became of them.
CREATE TABLE webhook_counts (
  webhook_uid TEXT NOT NULL, quarter BIGINT NOT NULL, kind TEXT NOT NULL, n BIGINT NOT NULL, PRIMARY KEY (webhook_uid, quarter, kind)
);

-- What is yet to be added to webhook_counts and to webhook_meters.last_delivery_at, a row for each commit:
-- [{"w": webhook_uid, "q": quarter, "k": kind, "n": n, "t": last_delivery_at}, ...]. Deliveries to
-- many webhooks that are committed together touch no row of each, and commits wait for none of each other.
CREATE TABLE webhook_tallies (
  n BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, counts TEXT NOT NULL
);

-- Addresses from which deliveries were accepted.
CREATE TABLE webhook_senders (
  webhook_uid TEXT NOT NULL, client_ip TEXT NOT NULL, last_at BIGINT NOT NULL, PRIMARY KEY (webhook_uid, client_ip)
);

-- The log, in the order in which deliveries were recorded. webhook is its number, outcome that of its kind, so that an entry of the log's index is a quarter of
-- what it would be with both in words: deliveries to many webhooks are put between others, each on a page of its own.
CREATE TABLE deliveries (
  n BIGINT GENERATED ALWAYS AS IDENTITY, webhook BIGINT NOT NULL, outcome BIGINT NOT NULL, id TEXT NOT NULL UNIQUE, received_at BIGINT NOT NULL, reason TEXT NOT NULL DEFAULT '',
  size BIGINT NOT NULL, http_status BIGINT NOT NULL, identity_source TEXT NOT NULL DEFAULT '', identity TEXT NOT NULL DEFAULT '', -- of the key that it claimed
  duplicate_of TEXT NOT NULL DEFAULT '', replay_of TEXT NOT NULL DEFAULT '', matches TEXT NOT NULL DEFAULT '', headers TEXT NOT NULL DEFAULT '', sha256 TEXT NOT NULL DEFAULT '',
  client_ip TEXT NOT NULL, body BYTEA, PRIMARY KEY (webhook, outcome, n) -- body: of an accepted one
);
ALTER TABLE deliveries ALTER COLUMN body SET STORAGE EXTERNAL;
ALTER TABLE deliveries SET (toast_tuple_target = 8160); -- a body that fits into a page stays in its row

-- What many deliveries meant to the automations alike; deliveries.matches names it by its hash. last_at is up to a day late.
CREATE TABLE delivery_verdicts (
  webhook_uid TEXT NOT NULL, hash TEXT NOT NULL, matches TEXT NOT NULL, last_at BIGINT NOT NULL, PRIMARY KEY (webhook_uid, hash)
);

-- Bodies of deliveries that are no longer in the log, of which a run reads each.
CREATE TABLE payloads (
  delivery_id TEXT PRIMARY KEY, body BYTEA NOT NULL
);
ALTER TABLE payloads ALTER COLUMN body SET STORAGE EXTERNAL;

-- By what an accepted delivery is known again; value is it, or a hash. expires_at is 0 where it holds as long as the entry in the log. Not by webhook first: ids of one kind of sender begin with the time, so that those of all webhooks come beside each other.
CREATE TABLE delivery_keys (
  webhook_uid TEXT NOT NULL, source TEXT NOT NULL, value TEXT NOT NULL, delivery_id TEXT NOT NULL, received_at BIGINT NOT NULL, expires_at BIGINT NOT NULL,
  PRIMARY KEY (source, value, webhook_uid)
);
CREATE INDEX delivery_keys_expiry ON delivery_keys (expires_at) WHERE expires_at > 0;
