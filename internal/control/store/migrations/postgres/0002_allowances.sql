-- +goose Up
-- The requests of the last minute, of each key that several servers limit together.
CREATE TABLE allowances (
  name TEXT PRIMARY KEY,
  windows TEXT NOT NULL, -- JSON
  expires_at BIGINT NOT NULL
);
CREATE INDEX allowances_expires ON allowances (expires_at);
