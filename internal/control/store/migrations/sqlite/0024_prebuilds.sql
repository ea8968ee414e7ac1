-- +goose Up
-- The prepared workspaces that workers keep for environments, as their last reports say. A retired row stays
-- as long as a worker may still have the workspace.
CREATE TABLE prebuilds (
  folder TEXT NOT NULL, -- of a worker
  worker_host TEXT NOT NULL,
  environment_id TEXT NOT NULL,
  uid TEXT NOT NULL,
  state TEXT NOT NULL,
  reason TEXT NOT NULL,
  mode TEXT NOT NULL,
  heads TEXT NOT NULL, -- JSON
  parents TEXT NOT NULL, -- the uids that it was made from, with commas around each
  image_digest TEXT NOT NULL,
  bytes INTEGER NOT NULL,
  files INTEGER NOT NULL,
  duration_ms INTEGER NOT NULL,
  built_at INTEGER NOT NULL,
  last_used_at INTEGER NOT NULL, -- 0: never
  uses INTEGER NOT NULL,
  report TEXT NOT NULL, -- the last one that has it
  reported_at INTEGER NOT NULL,
  retired_at INTEGER NOT NULL, -- when it was deleted; 0: it was not
  retired_for TEXT NOT NULL, -- what was deleted: this uid, or one of the parents
  gone_at INTEGER NOT NULL, -- when its worker no longer had it; 0: it has
  PRIMARY KEY (folder, worker_host, environment_id, uid)
);
CREATE INDEX prebuilds_environment ON prebuilds (environment_id);
