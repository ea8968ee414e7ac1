-- +goose Up
-- Teams, and who acts in them.

CREATE TABLE teams (
  uid TEXT PRIMARY KEY,
  name TEXT NOT NULL,
  version INTEGER NOT NULL DEFAULT 1, -- changes with everything that deliveries are evaluated with
  created_at INTEGER NOT NULL
);
INSERT INTO teams (uid, name, created_at) VALUES ('default', 'Default', 0);

CREATE TABLE principals (
  uid TEXT PRIMARY KEY,
  team TEXT NOT NULL,
  type TEXT NOT NULL,
  display_name TEXT NOT NULL DEFAULT '',
  email TEXT NOT NULL DEFAULT '',
  photo_url TEXT NOT NULL DEFAULT '',
  created_at INTEGER NOT NULL
);

CREATE TABLE api_keys (
  uid TEXT PRIMARY KEY,
  team TEXT NOT NULL,
  principal TEXT NOT NULL,
  name TEXT NOT NULL,
  prefix TEXT NOT NULL,
  hash TEXT NOT NULL UNIQUE,
  scopes TEXT NOT NULL,
  admin INTEGER NOT NULL DEFAULT 0, -- whether admin is among the scopes
  agent_uid TEXT NOT NULL DEFAULT '',
  created_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL DEFAULT 0,
  revoked_at INTEGER NOT NULL DEFAULT 0,
  last_used_at INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX api_keys_team ON api_keys (team, created_at);

-- A browser that has signed in with an API key. What it may do is read from the key each time.
CREATE TABLE sessions (
  hash TEXT NOT NULL PRIMARY KEY, -- of its cookie
  secret_hash TEXT NOT NULL, -- of a secret that is in no cookie
  key_uid TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  used_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX sessions_key ON sessions (key_uid);
CREATE INDEX sessions_created ON sessions (created_at);
CREATE INDEX sessions_used ON sessions (used_at);

CREATE TABLE settings (
  name TEXT PRIMARY KEY,
  value TEXT NOT NULL
);
-- Databases of development builds lack it: their schema has the same version numbers, and other tables.
INSERT INTO settings (name, value) VALUES ('schema', '1');

-- Responses to requests with an Idempotency-Key.
CREATE TABLE idempotency (
  scope TEXT PRIMARY KEY,
  status INTEGER NOT NULL,
  response BLOB NOT NULL, -- sealed, with the hash of the request's body, which may hold secrets
  expires_at INTEGER NOT NULL
);
CREATE INDEX idempotency_expires ON idempotency (expires_at);

-- Runs, and what they have.

CREATE TABLE runs (
  id TEXT PRIMARY KEY,
  team TEXT NOT NULL,
  state TEXT NOT NULL,
  title TEXT NOT NULL,
  prompt TEXT NOT NULL,
  prompt_state TEXT NOT NULL,
  mode TEXT NOT NULL DEFAULT '',
  interactive INTEGER NOT NULL DEFAULT 0,
  source TEXT NOT NULL,
  creator TEXT NOT NULL,
  executor TEXT NOT NULL,
  personal INTEGER NOT NULL DEFAULT 0,

  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  started_at INTEGER NOT NULL DEFAULT 0,
  finished_at INTEGER NOT NULL DEFAULT 0,
  run_ms INTEGER NOT NULL DEFAULT 0, -- how long workers have held it, but for the stretch under way
  held_at INTEGER NOT NULL DEFAULT 0, -- when that began
  execution_id INTEGER NOT NULL,
  last_seq INTEGER NOT NULL, -- of its events
  resumable INTEGER NOT NULL DEFAULT 0,
  times_lost INTEGER NOT NULL DEFAULT 0, -- how often it has lost its worker
  not_given_since INTEGER NOT NULL DEFAULT 0, -- since when what it needs cannot be gathered; 0: it can
  status_message TEXT NOT NULL DEFAULT '',
  session_id TEXT NOT NULL DEFAULT '',
  location TEXT NOT NULL DEFAULT '',
  usage TEXT NOT NULL DEFAULT '',
  sealed INTEGER NOT NULL DEFAULT 0, -- 1: each sandbox so far was proved to be; 2: one was not; 0: none was checked

  config TEXT NOT NULL,
  config_sources TEXT NOT NULL,
  name TEXT NOT NULL DEFAULT '',
  model_id TEXT NOT NULL DEFAULT '',
  environment_id TEXT NOT NULL DEFAULT '',
  harness TEXT NOT NULL,
  worker_host TEXT NOT NULL DEFAULT '',
  runner TEXT NOT NULL DEFAULT '',
  network TEXT NOT NULL DEFAULT '', -- the layers that are fixed when it is created
  image INTEGER NOT NULL DEFAULT 0, -- whether its environment or runner names a container image or a shape of machine
  agent_name TEXT NOT NULL DEFAULT '', -- in the files of its factory
  definition_revision INTEGER NOT NULL DEFAULT 0, -- of those files
  skill TEXT NOT NULL DEFAULT '', -- the reference to it
  skill_id TEXT NOT NULL DEFAULT '', -- as the list of skills has it; '': not of a repository, or not found
  skill_found INTEGER NOT NULL DEFAULT 0, -- whether the reference is a bare name that was found to mean a skill
  skill_info TEXT NOT NULL DEFAULT '',
  metadata TEXT NOT NULL DEFAULT '',

  schedule_id TEXT NOT NULL DEFAULT '',
  schedule_info TEXT NOT NULL DEFAULT '',
  automation_id TEXT NOT NULL DEFAULT '',
  webhook_uid TEXT NOT NULL DEFAULT '',
  delivery_id TEXT NOT NULL DEFAULT '',
  factory_uid TEXT NOT NULL DEFAULT '',
  trigger_url TEXT NOT NULL DEFAULT '',
  conversation_id TEXT NOT NULL,
  parent_id TEXT NOT NULL DEFAULT '',
  root_id TEXT NOT NULL,
  depth INTEGER NOT NULL DEFAULT 0,

  key_uid TEXT NOT NULL DEFAULT '', -- of the key whose request created it
  agent_uid TEXT NOT NULL DEFAULT '',
  max_cost INTEGER NOT NULL DEFAULT 0, -- its own budget, in nano-dollars; 0: no cap
  max_tokens INTEGER NOT NULL DEFAULT 0, -- 0: no cap
  inherited TEXT NOT NULL DEFAULT '', -- the runs above it, and their scopes of budgets, the nearest first
  blocked_budget TEXT NOT NULL DEFAULT '', -- the budget that must have room before it continues; or the id of a run
  needed_cost INTEGER NOT NULL DEFAULT 0, -- the room that it needs
  needed_tokens INTEGER NOT NULL DEFAULT 0
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
CREATE INDEX runs_skill_id ON runs (team, skill_id, created_at) WHERE skill_id <> '';
CREATE INDEX runs_conversation ON runs (conversation_id);
CREATE INDEX runs_blocked ON runs (blocked_budget) WHERE blocked_budget <> '';

CREATE TABLE run_metadata (
  team TEXT NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  run_id TEXT NOT NULL,
  PRIMARY KEY (team, key, value, run_id)
) WITHOUT ROWID;

CREATE TABLE run_ancestors (
  ancestor TEXT NOT NULL,
  run_id TEXT NOT NULL,
  PRIMARY KEY (ancestor, run_id)
) WITHOUT ROWID;
CREATE INDEX run_ancestors_run ON run_ancestors (run_id);

-- What the search finds, in lower case; written after the run, never with it.
CREATE TABLE run_search (
  n INTEGER PRIMARY KEY,
  run_id TEXT NOT NULL UNIQUE,
  text TEXT NOT NULL
);
CREATE VIRTUAL TABLE run_fts USING fts5 (
  text, content = 'run_search', content_rowid = 'n', tokenize = 'trigram', columnsize = 0
);

-- One row for each run that waits for a worker or is held by one.
CREATE TABLE queue (
  run_id TEXT PRIMARY KEY,
  team TEXT NOT NULL,
  enqueued_at INTEGER NOT NULL,
  harness TEXT NOT NULL,
  worker_host TEXT NOT NULL,
  image INTEGER NOT NULL DEFAULT 0,
  platform TEXT NOT NULL DEFAULT '', -- the system that it needs, such as linux/x86_64; '': any
  provider TEXT NOT NULL DEFAULT '', -- of the built-in agent's model, such as anthropic/; '': any worker will do
  token TEXT NOT NULL DEFAULT '', -- of the lease; '': the run waits
  worker_id TEXT NOT NULL DEFAULT '',
  agent_key TEXT NOT NULL DEFAULT '',
  lease_until INTEGER NOT NULL DEFAULT 0,
  appended INTEGER NOT NULL DEFAULT 0, -- how many of the lease's events are in the log
  turn INTEGER NOT NULL DEFAULT 1,
  tallied INTEGER NOT NULL DEFAULT 0, -- the last turn whose usage was counted
  interrupt INTEGER NOT NULL DEFAULT 0 -- the turn that somebody wants to end; an earlier turn means nothing
) WITHOUT ROWID;
CREATE INDEX queue_waiting ON queue (enqueued_at, run_id) WHERE token = '';
CREATE INDEX queue_leases ON queue (lease_until) WHERE token <> '';
CREATE INDEX queue_agent_key ON queue (agent_key) WHERE agent_key <> '';

CREATE TABLE workers (
  id TEXT PRIMARY KEY,
  host TEXT NOT NULL,
  local INTEGER NOT NULL,
  version TEXT NOT NULL,
  platform TEXT NOT NULL DEFAULT '',
  harnesses TEXT NOT NULL, -- ,builtin,command,
  providers TEXT NOT NULL DEFAULT '', -- whose keys it has: ,anthropic/,openai/, and the like; '': it did not say
  strict_image INTEGER NOT NULL,
  agents TEXT NOT NULL DEFAULT '', -- those installed, JSON
  capacity INTEGER NOT NULL,
  busy INTEGER NOT NULL,
  connected_at INTEGER NOT NULL,
  last_seen_at INTEGER NOT NULL
);

CREATE TABLE executions (
  session_id TEXT PRIMARY KEY,
  run_id TEXT NOT NULL,
  execution_id INTEGER NOT NULL,
  conversation_id TEXT NOT NULL,
  worker_id TEXT NOT NULL,
  host TEXT NOT NULL,
  token TEXT NOT NULL DEFAULT '', -- of its lease, until nothing may be added to the log after its end
  started_at INTEGER NOT NULL,
  ended_at INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX executions_run ON executions (run_id, execution_id);
CREATE INDEX executions_live ON executions (conversation_id) WHERE ended_at = 0;

CREATE TABLE events (
  run_id TEXT NOT NULL,
  seq INTEGER NOT NULL,
  execution_id INTEGER NOT NULL,
  type TEXT NOT NULL,
  at INTEGER NOT NULL,
  key TEXT NOT NULL DEFAULT '', -- the id of a message, or what a timeline event tells of
  data TEXT NOT NULL,
  PRIMARY KEY (run_id, seq)
) WITHOUT ROWID;
CREATE INDEX events_delta ON events (run_id, key) WHERE type = 'message_delta';

-- What the executions of a run exchanged with each host.
CREATE TABLE run_hosts (
  run_id TEXT NOT NULL,
  execution_id INTEGER NOT NULL,
  host TEXT NOT NULL,
  port INTEGER NOT NULL,
  mode TEXT NOT NULL,
  requests INTEGER NOT NULL,
  bytes_in INTEGER NOT NULL,
  bytes_out INTEGER NOT NULL,
  refused INTEGER NOT NULL,
  reason TEXT NOT NULL,
  PRIMARY KEY (run_id, execution_id, host, port, mode)
) WITHOUT ROWID;

-- The ledger: every call to a model. Rows outlive their runs.
CREATE TABLE calls (
  id TEXT NOT NULL PRIMARY KEY,
  team TEXT NOT NULL,
  run_id TEXT NOT NULL,
  execution_id INTEGER NOT NULL,
  token TEXT NOT NULL, -- hash of the token of its lease
  state TEXT NOT NULL, -- reserved, settled, or unsent, which cost nothing
  created_at INTEGER NOT NULL,
  settled_at INTEGER NOT NULL DEFAULT 0,
  provider TEXT NOT NULL,
  model TEXT NOT NULL,
  factory_uid TEXT NOT NULL DEFAULT '', -- these four: of its run, or else of the nearest run above that has one
  agent_uid TEXT NOT NULL DEFAULT '',
  automation_id TEXT NOT NULL DEFAULT '',
  key_uid TEXT NOT NULL DEFAULT '',
  inherited TEXT NOT NULL DEFAULT '', -- of its run
  calls INTEGER NOT NULL DEFAULT 1, -- more than one for calls of a removed run, which are summed up
  reported INTEGER NOT NULL DEFAULT 0, -- by the agent after its turn, so nothing was reserved
  estimated INTEGER NOT NULL DEFAULT 0, -- the stream was cut: the amounts are upper bounds
  unknown INTEGER NOT NULL DEFAULT 0, -- the provider reported nothing: the amounts are those of the reservation
  unpriced INTEGER NOT NULL DEFAULT 0, -- the cost is not known, and 0 here
  capped INTEGER NOT NULL DEFAULT 0, -- a cap limited its output
  output_limit INTEGER NOT NULL DEFAULT 0, -- of one completion, in tokens
  reserved_cost INTEGER NOT NULL DEFAULT 0, -- costs are in nano-dollars
  reserved_tokens INTEGER NOT NULL DEFAULT 0,

  -- While it is reserved, these are upper bounds.
  cost INTEGER NOT NULL DEFAULT 0,
  cost_input INTEGER NOT NULL DEFAULT 0,
  cost_cache_read INTEGER NOT NULL DEFAULT 0,
  cost_cache_write INTEGER NOT NULL DEFAULT 0,
  cost_output INTEGER NOT NULL DEFAULT 0,
  cost_tools INTEGER NOT NULL DEFAULT 0,
  tokens INTEGER NOT NULL DEFAULT 0, -- of all kinds
  tokens_input INTEGER NOT NULL DEFAULT 0,
  tokens_cache_read INTEGER NOT NULL DEFAULT 0,
  tokens_cache_write INTEGER NOT NULL DEFAULT 0,
  tokens_output INTEGER NOT NULL DEFAULT 0,
  tokens_reasoning INTEGER NOT NULL DEFAULT 0 -- part of the output
);
CREATE INDEX calls_team ON calls (team, created_at);
CREATE INDEX calls_run ON calls (run_id, execution_id);
CREATE INDEX calls_open ON calls (run_id) WHERE state = 'reserved';

CREATE TABLE budgets (
  uid TEXT NOT NULL PRIMARY KEY,
  team TEXT NOT NULL,
  scope TEXT NOT NULL,
  scope_uid TEXT NOT NULL DEFAULT '', -- '': the team
  period TEXT NOT NULL,
  time_zone TEXT NOT NULL,
  max_cost INTEGER NOT NULL, -- in nano-dollars
  action TEXT NOT NULL,
  notify_at TEXT NOT NULL DEFAULT '',
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
);
CREATE INDEX budgets_scope ON budgets (team, scope_uid);

-- What was spent of a budget in one of its periods. An account equals the sum of the calls that were made in its period.
CREATE TABLE budget_accounts (
  budget TEXT NOT NULL, -- its UID, or the id of a run for its own
  period_start INTEGER NOT NULL,
  spent_cost INTEGER NOT NULL DEFAULT 0, -- of settled calls
  spent_tokens INTEGER NOT NULL DEFAULT 0,
  reserved_cost INTEGER NOT NULL DEFAULT 0, -- of calls that are not settled
  reserved_tokens INTEGER NOT NULL DEFAULT 0,
  notified INTEGER NOT NULL DEFAULT 0, -- the highest threshold that was reported, in nano-dollars
  PRIMARY KEY (budget, period_start)
) WITHOUT ROWID;

CREATE TABLE followups (
  id TEXT PRIMARY KEY,
  run_id TEXT NOT NULL,
  message TEXT NOT NULL,
  mode TEXT NOT NULL DEFAULT '',
  state TEXT NOT NULL,
  redelivered INTEGER NOT NULL DEFAULT 0,
  attachments TEXT NOT NULL DEFAULT '', -- their ids, a JSON array
  creator TEXT NOT NULL,
  created_at INTEGER NOT NULL
);
CREATE INDEX followups_run ON followups (run_id, id);

CREATE TABLE attachments (
  id TEXT PRIMARY KEY,
  run_id TEXT NOT NULL,
  n INTEGER NOT NULL,
  path TEXT NOT NULL,
  filename TEXT NOT NULL,
  mime_type TEXT NOT NULL,
  size INTEGER NOT NULL,
  blob TEXT NOT NULL,
  expires_at INTEGER NOT NULL DEFAULT 0 -- when one that no follow-up has named yet is removed; 0: never before its run
);
CREATE INDEX attachments_run ON attachments (run_id, n);
CREATE INDEX attachments_expiring ON attachments (expires_at) WHERE expires_at > 0;

CREATE TABLE artifacts (
  uid TEXT PRIMARY KEY,
  run_id TEXT NOT NULL,
  team TEXT NOT NULL,
  type TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  data TEXT NOT NULL,
  url TEXT NOT NULL DEFAULT '',
  size INTEGER NOT NULL, -- of the content in bytes
  content TEXT NOT NULL DEFAULT '',
  blob TEXT NOT NULL DEFAULT ''
);
CREATE INDEX artifacts_run ON artifacts (run_id, created_at, uid);
CREATE INDEX artifacts_type ON artifacts (type, run_id);
CREATE INDEX artifacts_url ON artifacts (team, url) WHERE url <> '';

-- What a run has changed in its repositories, as of its latest turn.
CREATE TABLE changes (
  run_id TEXT PRIMARY KEY,
  updated_at INTEGER NOT NULL,
  upload TEXT NOT NULL, -- id of the call that saved them
  repositories TEXT NOT NULL,
  blob TEXT NOT NULL -- with all patches
);

-- The saved session of each conversation.
CREATE TABLE conversations (
  id TEXT PRIMARY KEY,
  team TEXT NOT NULL,
  harness TEXT NOT NULL,
  session_id TEXT NOT NULL,
  blob TEXT NOT NULL,
  size INTEGER NOT NULL,
  sealed_key BLOB NOT NULL DEFAULT x'', -- of its file; empty: the file is in clear
  updated_at INTEGER NOT NULL
);

-- What runs are made of. folded is a name as names are compared: in lower case.

CREATE TABLE environments (
  uid TEXT PRIMARY KEY,
  team TEXT NOT NULL,
  name TEXT NOT NULL,
  folded TEXT NOT NULL,
  config TEXT NOT NULL,
  setup_failed INTEGER NOT NULL DEFAULT 0,
  creator TEXT NOT NULL,
  editor TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  deleted_at INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX environments_team ON environments (team) WHERE deleted_at = 0;
CREATE UNIQUE INDEX environments_name ON environments (team, folded) WHERE deleted_at = 0 AND folded <> '';

CREATE TABLE identities (
  uid TEXT PRIMARY KEY,
  team TEXT NOT NULL,
  name TEXT NOT NULL,
  folded TEXT NOT NULL,
  factory_uid TEXT NOT NULL DEFAULT '',
  environment_id TEXT NOT NULL DEFAULT '',
  data TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  deleted_at INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX identities_name ON identities (team, folded, factory_uid) WHERE deleted_at = 0;
CREATE INDEX identities_environment ON identities (environment_id) WHERE environment_id <> '';
CREATE INDEX identities_factory ON identities (factory_uid) WHERE factory_uid <> '';

CREATE TABLE secrets (
  team TEXT NOT NULL,
  name TEXT NOT NULL,
  version INTEGER NOT NULL DEFAULT 0, -- counts the values that it was given; 0: none yet
  sealed BLOB NOT NULL, -- the present value, for this team, name and version
  webhook_uid TEXT NOT NULL DEFAULT '', -- that the server made it for, though it be gone; runs never get such a secret
  hosts TEXT NOT NULL DEFAULT '', -- to which the proxy of a sealed run may send it
  created_by TEXT NOT NULL,
  updated_by TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  last_used_at INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (team, name)
) WITHOUT ROWID;

-- What names a secret besides webhooks, which have one each.
CREATE TABLE secret_uses (
  team TEXT NOT NULL,
  secret TEXT NOT NULL,
  kind TEXT NOT NULL, -- agent, schedule, automation or factory
  uid TEXT NOT NULL,
  PRIMARY KEY (team, secret, kind, uid)
) WITHOUT ROWID;
CREATE INDEX secret_uses_user ON secret_uses (kind, uid);

CREATE TABLE schedules (
  id TEXT PRIMARY KEY,
  team TEXT NOT NULL,
  name TEXT NOT NULL,
  folded TEXT NOT NULL,
  cron TEXT NOT NULL,
  enabled INTEGER NOT NULL,
  environment_id TEXT NOT NULL DEFAULT '',
  data TEXT NOT NULL,
  personal INTEGER NOT NULL DEFAULT 0,
  version INTEGER NOT NULL DEFAULT 1, -- changes with what a caller says
  created_by TEXT NOT NULL,
  updated_by TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  last_at INTEGER NOT NULL DEFAULT 0,
  next_at INTEGER NOT NULL DEFAULT 0, -- 0: it is paused
  last_error TEXT NOT NULL DEFAULT ''
);
CREATE INDEX schedules_team ON schedules (team, folded);
CREATE INDEX schedules_next ON schedules (next_at) WHERE enabled = 1;
CREATE INDEX schedules_environment ON schedules (environment_id) WHERE environment_id <> '';

-- Factories, and the files that define them.

CREATE TABLE factories (
  uid TEXT PRIMARY KEY,
  team TEXT NOT NULL,
  name TEXT NOT NULL,
  folded TEXT NOT NULL,
  alias TEXT NOT NULL DEFAULT '',
  folded_alias TEXT NOT NULL DEFAULT '',
  description TEXT NOT NULL DEFAULT '',
  source TEXT NOT NULL,
  foreman_uid TEXT NOT NULL,
  data TEXT NOT NULL DEFAULT '',
  revision INTEGER NOT NULL DEFAULT 1,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  deleted_at INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX factories_name ON factories (team, folded) WHERE deleted_at = 0;
CREATE UNIQUE INDEX factories_alias ON factories (team, folded_alias) WHERE deleted_at = 0 AND folded_alias <> '';

-- A file is as it is from one revision on, and until before another; ended is 0 while there is none.
CREATE TABLE definition_files (
  factory_uid TEXT NOT NULL,
  path TEXT NOT NULL,
  since INTEGER NOT NULL,
  ended INTEGER NOT NULL DEFAULT 0,
  content BLOB NOT NULL,
  PRIMARY KEY (factory_uid, path, since)
);

-- Who made a revision, and what it changed.
CREATE TABLE definitions (
  factory_uid TEXT NOT NULL,
  revision INTEGER NOT NULL,
  author TEXT NOT NULL,
  summary TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (factory_uid, revision)
) WITHOUT ROWID;

-- The repository that defines a factory.
CREATE TABLE repositories (
  factory_uid TEXT PRIMARY KEY,
  team TEXT NOT NULL,
  url TEXT NOT NULL,
  place TEXT NOT NULL, -- by what a push notice names it
  branch TEXT NOT NULL,
  path TEXT NOT NULL,
  secret TEXT NOT NULL,
  names_secrets INTEGER NOT NULL DEFAULT 0, -- whether its webhooks may name any, as its connecting key could
  head TEXT NOT NULL DEFAULT '', -- the branch that is followed
  commit_id TEXT NOT NULL DEFAULT '', -- the newest whose result is known
  applied TEXT NOT NULL DEFAULT '', -- the active one
  result TEXT NOT NULL DEFAULT '',
  detail TEXT NOT NULL DEFAULT '',
  findings TEXT NOT NULL DEFAULT '',
  version INTEGER NOT NULL DEFAULT 0, -- of the team when the commit was judged
  problem TEXT NOT NULL DEFAULT '',
  failures INTEGER NOT NULL DEFAULT 0,
  checked_at INTEGER NOT NULL DEFAULT 0,
  asked INTEGER NOT NULL DEFAULT 0, -- counts requests to check it
  done INTEGER NOT NULL DEFAULT 0, -- counts those that were served
  next_at INTEGER NOT NULL DEFAULT 0,
  token TEXT NOT NULL DEFAULT '',
  lease_until INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX repositories_next ON repositories (next_at);
CREATE INDEX repositories_place ON repositories (team, place) WHERE place <> '';
CREATE INDEX repositories_secret ON repositories (team, secret) WHERE secret <> '';

-- What became of the commits of a repository, the n-th that was checked.
CREATE TABLE repository_commits (
  factory_uid TEXT NOT NULL,
  n INTEGER NOT NULL,
  commit_id TEXT NOT NULL,
  author TEXT NOT NULL,
  message TEXT NOT NULL,
  committed_at INTEGER NOT NULL,
  result TEXT NOT NULL,
  detail TEXT NOT NULL,
  findings TEXT NOT NULL,
  revision INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (factory_uid, n)
) WITHOUT ROWID;

-- Automations, and what triggers them.

CREATE TABLE automations (
  uid TEXT PRIMARY KEY,
  team TEXT NOT NULL,
  factory_uid TEXT NOT NULL,
  name TEXT NOT NULL,
  enabled INTEGER NOT NULL,
  environment_id TEXT NOT NULL DEFAULT '',
  data TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL
);
CREATE UNIQUE INDEX automations_name ON automations (factory_uid, name);
CREATE INDEX automations_environment ON automations (environment_id) WHERE environment_id <> '';

-- Which webhooks an automation's triggers select: a webhook's UID, its name, or scheme: and a signature scheme.
CREATE TABLE automation_webhooks (
  factory_uid TEXT NOT NULL,
  webhook TEXT NOT NULL,
  automation_uid TEXT NOT NULL,
  PRIMARY KEY (factory_uid, webhook, automation_uid)
) WITHOUT ROWID;
CREATE INDEX automation_webhooks_automation ON automation_webhooks (automation_uid);

-- Which schedules an automation fires with.
CREATE TABLE automation_schedules (
  schedule_id TEXT NOT NULL,
  automation_uid TEXT NOT NULL,
  PRIMARY KEY (schedule_id, automation_uid)
) WITHOUT ROWID;
CREATE INDEX automation_schedules_automation ON automation_schedules (automation_uid);

-- The n-th trigger of an automation, one that fires by time.
CREATE TABLE automation_clocks (
  automation_uid TEXT NOT NULL,
  n INTEGER NOT NULL,
  next_at INTEGER NOT NULL, -- 0: it cannot fire
  last_at INTEGER NOT NULL DEFAULT 0,
  last_error TEXT NOT NULL DEFAULT '',
  version INTEGER NOT NULL, -- of the team when the clock was set
  PRIMARY KEY (automation_uid, n)
) WITHOUT ROWID;
CREATE INDEX automation_clocks_next ON automation_clocks (next_at) WHERE next_at > 0;

-- Webhooks, and what is delivered to them.

CREATE TABLE webhooks (
  number INTEGER PRIMARY KEY, -- which stands for the UID in the log
  uid TEXT NOT NULL UNIQUE,
  team TEXT NOT NULL,
  factory_uid TEXT NOT NULL,
  name TEXT NOT NULL,
  label TEXT NOT NULL,
  auth_mode TEXT NOT NULL,
  scheme TEXT NOT NULL DEFAULT '',
  signature TEXT NOT NULL DEFAULT '',
  secret_name TEXT NOT NULL,
  secret_refresh TEXT NOT NULL,
  delivery_id_header TEXT NOT NULL DEFAULT '',
  replay_guard INTEGER NOT NULL DEFAULT 0,
  enabled INTEGER NOT NULL,
  suspended INTEGER NOT NULL DEFAULT 0, -- it takes no deliveries, whatever the files say
  pending INTEGER NOT NULL DEFAULT 0,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  deleted_at INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX webhooks_name ON webhooks (factory_uid, name) WHERE deleted_at = 0;
CREATE INDEX webhooks_secret ON webhooks (team, secret_name) WHERE deleted_at = 0;

-- The values that a webhook takes now, its own copies: a change of the managed secret does not reach it by itself.
CREATE TABLE webhook_secrets (
  webhook_uid TEXT NOT NULL,
  n INTEGER NOT NULL,
  sealed BLOB NOT NULL,
  expires_at INTEGER NOT NULL DEFAULT 0,
  last_used_at INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (webhook_uid, n)
) WITHOUT ROWID;

CREATE TABLE webhook_rates (
  webhook_uid TEXT PRIMARY KEY,
  windows TEXT NOT NULL -- JSON: {"admitted": [{"at": Unix second, "n": deliveries}, ...], "logged": {outcome: [...]}}
) WITHOUT ROWID;

-- Deliveries of a quarter of an hour, by what became of them, and when the last one came.
CREATE TABLE webhook_counts (
  webhook_uid TEXT NOT NULL,
  quarter INTEGER NOT NULL,
  kind TEXT NOT NULL,
  committer INTEGER NOT NULL DEFAULT 0, -- which has counted them, of those of a server
  n INTEGER NOT NULL,
  last_at INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (webhook_uid, quarter, kind, committer)
) WITHOUT ROWID;

-- Addresses from which deliveries were accepted.
CREATE TABLE webhook_senders (
  webhook_uid TEXT NOT NULL,
  client_ip TEXT NOT NULL,
  last_at INTEGER NOT NULL,
  PRIMARY KEY (webhook_uid, client_ip)
) WITHOUT ROWID;

-- The log, in the order in which deliveries were recorded. It has numbers for webhooks and outcomes, so that an entry
-- of its index is a quarter of what it would be in words: deliveries to many webhooks are put between others, each on
-- a page of its own.
CREATE TABLE deliveries (
  n INTEGER PRIMARY KEY,
  webhook INTEGER NOT NULL,
  outcome INTEGER NOT NULL,
  id TEXT NOT NULL UNIQUE,
  received_at INTEGER NOT NULL,
  reason TEXT NOT NULL DEFAULT '',
  size INTEGER NOT NULL,
  http_status INTEGER NOT NULL,
  identity_source TEXT NOT NULL DEFAULT '',
  identity TEXT NOT NULL DEFAULT '', -- of the key that it claimed
  duplicate_of TEXT NOT NULL DEFAULT '',
  replay_of TEXT NOT NULL DEFAULT '',
  matches TEXT NOT NULL DEFAULT '', -- JSON
  runs INTEGER NOT NULL DEFAULT 0, -- how many of the runs that it started are still there
  headers TEXT NOT NULL DEFAULT '',
  sha256 TEXT NOT NULL DEFAULT '',
  client_ip TEXT NOT NULL,
  body BLOB -- of an accepted one
);

CREATE INDEX deliveries_log ON deliveries (webhook, outcome); -- and n, which SQLite adds

-- Bodies of deliveries that are no longer in the log, each of which a run reads. With rowids: without, each body would
-- take a page of its own beside the tree.
CREATE TABLE payloads (
  delivery_id TEXT PRIMARY KEY,
  body BLOB NOT NULL
);

-- By what an accepted delivery is known again. Not by webhook first: the ids of one kind of sender begin with the time,
-- so that those of all webhooks come beside each other.
CREATE TABLE delivery_keys (
  webhook_uid TEXT NOT NULL,
  source TEXT NOT NULL,
  value TEXT NOT NULL, -- the identity, or a hash of it
  delivery_id TEXT NOT NULL,
  received_at INTEGER NOT NULL,
  expires_at INTEGER NOT NULL, -- 0: with the entry in the log
  PRIMARY KEY (source, value, webhook_uid)
) WITHOUT ROWID;
CREATE INDEX delivery_keys_expiry ON delivery_keys (expires_at) WHERE expires_at > 0;
