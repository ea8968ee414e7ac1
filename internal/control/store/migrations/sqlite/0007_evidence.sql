-- +goose Up
ALTER TABLE runs ADD COLUMN evidence TEXT NOT NULL DEFAULT ''; -- JSON, of when a worker last left the run; '': none has
ALTER TABLE runs ADD COLUMN hollow TEXT NOT NULL DEFAULT ''; -- why it did nothing although it SUCCEEDED; '': it did something
