-- +goose Up
-- version counts the values that a secret was given, 0: none yet. sealed is the present one, for this team, name and version.
CREATE TABLE secrets (
  team TEXT NOT NULL, name TEXT NOT NULL, version INTEGER NOT NULL DEFAULT 0, sealed BLOB NOT NULL,
  created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL, created_by TEXT NOT NULL, updated_by TEXT NOT NULL,
  last_used_at INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (team, name)
) WITHOUT ROWID;

-- What names a secret, besides webhooks, which have one each: agents, schedules, automations.
CREATE TABLE secret_uses (
  team TEXT NOT NULL, secret TEXT NOT NULL, kind TEXT NOT NULL, uid TEXT NOT NULL, PRIMARY KEY (team, secret, kind, uid)
) WITHOUT ROWID;
CREATE INDEX secret_uses_user ON secret_uses (kind, uid);
