-- +goose Up
ALTER TABLE conversations ADD COLUMN bound TEXT NOT NULL DEFAULT ''; -- what removed runs require of callers, JSON
