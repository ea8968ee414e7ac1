-- +goose Up
-- The automation that waited for the event, if a factory's automations share the subject; '': the subject's own.
ALTER TABLE subject_events ADD COLUMN automation_uid TEXT NOT NULL DEFAULT '';
DROP INDEX subject_events_once;
CREATE UNIQUE INDEX subject_events_once ON subject_events (delivery_id, subject_uid, automation_uid);
CREATE INDEX subject_events_shared ON subject_events (automation_uid, decided_at) WHERE automation_uid <> '';
