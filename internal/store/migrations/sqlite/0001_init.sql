-- +goose Up
CREATE TABLE teams (
  uid TEXT PRIMARY KEY, name TEXT NOT NULL, created_at INTEGER NOT NULL,
  version INTEGER NOT NULL DEFAULT 1 -- changes with everything that deliveries are evaluated with
);
INSERT INTO teams (uid, name, created_at) VALUES ('default', 'Default', 0);

CREATE TABLE principals (
  uid TEXT PRIMARY KEY, team TEXT NOT NULL, type TEXT NOT NULL, display_name TEXT NOT NULL DEFAULT '',
  email TEXT NOT NULL DEFAULT '', photo_url TEXT NOT NULL DEFAULT '', created_at INTEGER NOT NULL
);

CREATE TABLE api_keys (
  uid TEXT PRIMARY KEY, team TEXT NOT NULL, principal TEXT NOT NULL, name TEXT NOT NULL, prefix TEXT NOT NULL,
  hash TEXT NOT NULL UNIQUE, scopes TEXT NOT NULL, agent_uid TEXT NOT NULL DEFAULT '', created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL DEFAULT 0, revoked_at INTEGER NOT NULL DEFAULT 0, last_used_at INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX api_keys_team ON api_keys (team, created_at);

CREATE TABLE runs (
  id TEXT PRIMARY KEY, team TEXT NOT NULL, state TEXT NOT NULL, title TEXT NOT NULL, prompt TEXT NOT NULL,
  mode TEXT NOT NULL DEFAULT '', interactive INTEGER NOT NULL DEFAULT 0, source TEXT NOT NULL,
  created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, started_at INTEGER NOT NULL DEFAULT 0,
  finished_at INTEGER NOT NULL DEFAULT 0, run_ms INTEGER NOT NULL DEFAULT 0, held_at INTEGER NOT NULL DEFAULT 0,
  execution_id INTEGER NOT NULL, last_seq INTEGER NOT NULL, prompt_state TEXT NOT NULL,
  resumable INTEGER NOT NULL DEFAULT 0, creator TEXT NOT NULL, executor TEXT NOT NULL, personal INTEGER NOT NULL DEFAULT 0,
  config TEXT NOT NULL, config_sources TEXT NOT NULL, name TEXT NOT NULL DEFAULT '', model_id TEXT NOT NULL DEFAULT '',
  environment_id TEXT NOT NULL DEFAULT '', harness TEXT NOT NULL, worker_host TEXT NOT NULL DEFAULT '',
  skill TEXT NOT NULL DEFAULT '', skill_info TEXT NOT NULL DEFAULT '', schedule_id TEXT NOT NULL DEFAULT '',
  schedule_info TEXT NOT NULL DEFAULT '', automation_id TEXT NOT NULL DEFAULT '', webhook_uid TEXT NOT NULL DEFAULT '', delivery_id TEXT NOT NULL DEFAULT '',
  factory_uid TEXT NOT NULL DEFAULT '', trigger_url TEXT NOT NULL DEFAULT '', conversation_id TEXT NOT NULL,
  parent_id TEXT NOT NULL DEFAULT '', root_id TEXT NOT NULL, depth INTEGER NOT NULL DEFAULT 0,
  metadata TEXT NOT NULL DEFAULT '', status_message TEXT NOT NULL DEFAULT '', session_id TEXT NOT NULL DEFAULT '',
  location TEXT NOT NULL DEFAULT '', usage TEXT NOT NULL DEFAULT ''
);
CREATE INDEX runs_updated ON runs (team, updated_at, id);
CREATE INDEX runs_created ON runs (team, created_at, id);
CREATE INDEX runs_state ON runs (team, state, updated_at, id);
CREATE INDEX runs_name ON runs (team, name, state, updated_at, id) WHERE name <> '';
CREATE INDEX runs_schedule ON runs (schedule_id, created_at) WHERE schedule_id <> '';
CREATE INDEX runs_factory ON runs (factory_uid, updated_at) WHERE factory_uid <> '';
CREATE INDEX runs_automation ON runs (automation_id, updated_at) WHERE automation_id <> '';
CREATE INDEX runs_environment ON runs (environment_id, created_at) WHERE environment_id <> '';
CREATE INDEX runs_skill ON runs (team, skill, created_at) WHERE skill <> '';
CREATE INDEX runs_conversation ON runs (conversation_id);

CREATE TABLE run_metadata (
  team TEXT NOT NULL, key TEXT NOT NULL, value TEXT NOT NULL, run_id TEXT NOT NULL,
  PRIMARY KEY (team, key, value, run_id)
) WITHOUT ROWID;

CREATE TABLE run_ancestors (
  ancestor TEXT NOT NULL, run_id TEXT NOT NULL, PRIMARY KEY (ancestor, run_id)
) WITHOUT ROWID;
CREATE INDEX run_ancestors_run ON run_ancestors (run_id);

-- One row for each run that waits for a worker or is held by one.
CREATE TABLE queue (
  run_id TEXT PRIMARY KEY, team TEXT NOT NULL, enqueued_at INTEGER NOT NULL, harness TEXT NOT NULL,
  worker_host TEXT NOT NULL, image INTEGER NOT NULL DEFAULT 0, token TEXT NOT NULL DEFAULT '', worker_id TEXT NOT NULL DEFAULT '',
  lease_until INTEGER NOT NULL DEFAULT 0, agent_key TEXT NOT NULL DEFAULT '',
  appended INTEGER NOT NULL DEFAULT 0, turn INTEGER NOT NULL DEFAULT 1, tallied INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX queue_waiting ON queue (enqueued_at, run_id) WHERE token = '';
CREATE INDEX queue_leases ON queue (lease_until) WHERE token <> '';
CREATE INDEX queue_agent_key ON queue (agent_key) WHERE agent_key <> '';

CREATE TABLE events (
  run_id TEXT NOT NULL, seq INTEGER NOT NULL, execution_id INTEGER NOT NULL, type TEXT NOT NULL, at INTEGER NOT NULL,
  key TEXT NOT NULL DEFAULT '', data TEXT NOT NULL, PRIMARY KEY (run_id, seq)
) WITHOUT ROWID;
CREATE INDEX events_delta ON events (run_id, key) WHERE type = 'message_delta';

CREATE TABLE followups (
  id TEXT PRIMARY KEY, run_id TEXT NOT NULL, message TEXT NOT NULL, mode TEXT NOT NULL DEFAULT '', state TEXT NOT NULL,
  redelivered INTEGER NOT NULL DEFAULT 0, creator TEXT NOT NULL, created_at INTEGER NOT NULL
);
CREATE INDEX followups_run ON followups (run_id, id);

CREATE TABLE attachments (
  id TEXT PRIMARY KEY, run_id TEXT NOT NULL, n INTEGER NOT NULL, path TEXT NOT NULL, filename TEXT NOT NULL,
  mime_type TEXT NOT NULL, size INTEGER NOT NULL, blob TEXT NOT NULL
);
CREATE INDEX attachments_run ON attachments (run_id, n);

CREATE TABLE artifacts (
  uid TEXT PRIMARY KEY, run_id TEXT NOT NULL, team TEXT NOT NULL, type TEXT NOT NULL, created_at INTEGER NOT NULL,
  data TEXT NOT NULL, url TEXT NOT NULL DEFAULT '', content TEXT NOT NULL DEFAULT '', blob TEXT NOT NULL DEFAULT ''
);
CREATE INDEX artifacts_run ON artifacts (run_id, created_at, uid);
CREATE INDEX artifacts_type ON artifacts (type, run_id);
CREATE INDEX artifacts_url ON artifacts (team, url) WHERE url <> '';

CREATE TABLE executions (
  session_id TEXT PRIMARY KEY, run_id TEXT NOT NULL, execution_id INTEGER NOT NULL, conversation_id TEXT NOT NULL,
  worker_id TEXT NOT NULL, host TEXT NOT NULL, started_at INTEGER NOT NULL, ended_at INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX executions_run ON executions (run_id, execution_id);
CREATE INDEX executions_live ON executions (conversation_id) WHERE ended_at = 0;

CREATE TABLE conversations (
  id TEXT PRIMARY KEY, team TEXT NOT NULL, harness TEXT NOT NULL, session_id TEXT NOT NULL, blob TEXT NOT NULL,
  size INTEGER NOT NULL, updated_at INTEGER NOT NULL
);

-- folded is the name as it is compared: in lower case.
CREATE TABLE environments (
  uid TEXT PRIMARY KEY, team TEXT NOT NULL, folded TEXT NOT NULL, config TEXT NOT NULL, created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL, setup_failed INTEGER NOT NULL DEFAULT 0, creator TEXT NOT NULL, editor TEXT NOT NULL,
  deleted_at INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX environments_team ON environments (team) WHERE deleted_at = 0;
CREATE UNIQUE INDEX environments_name ON environments (team, folded) WHERE deleted_at = 0 AND folded <> '';

CREATE TABLE identities (
  uid TEXT PRIMARY KEY, team TEXT NOT NULL, name TEXT NOT NULL, folded TEXT NOT NULL, factory_uid TEXT NOT NULL DEFAULT '',
  environment_id TEXT NOT NULL DEFAULT '', data TEXT NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
  deleted_at INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX identities_name ON identities (team, folded, factory_uid) WHERE deleted_at = 0;
CREATE INDEX identities_environment ON identities (environment_id) WHERE environment_id <> '';

-- next_at is 0 while a schedule is paused; version changes with every change of what a caller says.
CREATE TABLE schedules (
  id TEXT PRIMARY KEY, team TEXT NOT NULL, name TEXT NOT NULL, folded TEXT NOT NULL, cron TEXT NOT NULL, enabled INTEGER NOT NULL,
  environment_id TEXT NOT NULL DEFAULT '', data TEXT NOT NULL, personal INTEGER NOT NULL DEFAULT 0, version INTEGER NOT NULL DEFAULT 1,
  created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, created_by TEXT NOT NULL, updated_by TEXT NOT NULL,
  last_at INTEGER NOT NULL DEFAULT 0, next_at INTEGER NOT NULL DEFAULT 0, last_error TEXT NOT NULL DEFAULT ''
);
CREATE INDEX schedules_team ON schedules (team, folded);
CREATE INDEX schedules_next ON schedules (next_at) WHERE enabled = 1;
CREATE INDEX schedules_environment ON schedules (environment_id) WHERE environment_id <> '';

CREATE TABLE workers (
  id TEXT PRIMARY KEY, host TEXT NOT NULL, local INTEGER NOT NULL, version TEXT NOT NULL, harnesses TEXT NOT NULL, -- ,builtin,command,
  strict_image INTEGER NOT NULL, capacity INTEGER NOT NULL, busy INTEGER NOT NULL, connected_at INTEGER NOT NULL, last_seen_at INTEGER NOT NULL
);

-- answer is sealed, with the hash of the request's body: of a body that holds a secret it would tell too much.
CREATE TABLE idempotency (
  scope TEXT PRIMARY KEY, status INTEGER NOT NULL, answer BLOB NOT NULL, expires_at INTEGER NOT NULL
);
CREATE INDEX idempotency_expires ON idempotency (expires_at);

-- What the search finds, in lower case; written after the run, never with it.
CREATE TABLE run_search (
  n INTEGER PRIMARY KEY, run_id TEXT NOT NULL UNIQUE, text TEXT NOT NULL
);
CREATE VIRTUAL TABLE run_fts USING fts5 (text, content = 'run_search', content_rowid = 'n', tokenize = 'trigram', columnsize = 0);

CREATE TABLE settings (
  name TEXT PRIMARY KEY, value TEXT NOT NULL
);
