-- +goose Up
-- The key of the file of a saved session, sealed; empty: the file is in clear, saved by an earlier version.
ALTER TABLE conversations ADD COLUMN sealed_key BYTEA NOT NULL DEFAULT '';
