-- +goose Up
ALTER TABLE subject_events ADD COLUMN kind TEXT NOT NULL DEFAULT 'delivery';
ALTER TABLE subject_events ADD COLUMN call TEXT NOT NULL DEFAULT ''; -- JSON, until a run has it: what the call asked for
