-- +goose Up
-- A browser that has signed in with an API key; what it may do is read from the key each time. hash is that of its cookie.
CREATE TABLE sessions (
  hash TEXT NOT NULL PRIMARY KEY, key_uid TEXT NOT NULL, created_at INTEGER NOT NULL, used_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX sessions_key ON sessions (key_uid);
CREATE INDEX sessions_created ON sessions (created_at);
CREATE INDEX sessions_used ON sessions (used_at);
