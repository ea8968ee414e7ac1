-- +goose Up
CREATE INDEX subject_events_calls ON subject_events (uid) WHERE kind <> 'delivery';
