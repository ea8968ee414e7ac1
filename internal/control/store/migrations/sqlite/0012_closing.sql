-- +goose Up
-- The time of the event that closed a subject; 0: it is open.
ALTER TABLE subjects ADD COLUMN closed_at INTEGER NOT NULL DEFAULT 0;
ALTER TABLE subjects ADD COLUMN opened_at INTEGER NOT NULL DEFAULT 0; -- the time of its newest event that may start runs
ALTER TABLE subjects ADD COLUMN closing INTEGER NOT NULL DEFAULT 0; -- 1: its run is to be cancelled
ALTER TABLE subject_events ADD COLUMN continues INTEGER NOT NULL DEFAULT 0; -- 1: it starts no run
CREATE INDEX subjects_closing ON subjects (uid) WHERE closing = 1;
