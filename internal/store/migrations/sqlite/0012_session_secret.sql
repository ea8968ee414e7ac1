-- +goose Up
-- A session also needs a secret that is in no cookie; secret_hash is its hash. Browsers with a session from before have none: they sign in again.
DROP TABLE sessions;
CREATE TABLE sessions (
  hash TEXT NOT NULL PRIMARY KEY, secret_hash TEXT NOT NULL, key_uid TEXT NOT NULL, created_at INTEGER NOT NULL, used_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX sessions_key ON sessions (key_uid);
CREATE INDEX sessions_created ON sessions (created_at);
CREATE INDEX sessions_used ON sessions (used_at);
