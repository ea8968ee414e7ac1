-- +goose Up
ALTER TABLE conversations ADD COLUMN bound TEXT NOT NULL DEFAULT ''; -- what removed runs require of callers, JSON
-- Lists of keys that pay for runs, with commas around each UID.
ALTER TABLE api_keys ADD COLUMN makers TEXT NOT NULL DEFAULT ''; -- that made the key, the nearest first
ALTER TABLE schedules ADD COLUMN paid_by TEXT NOT NULL DEFAULT ''; -- the key that made it, and its makers
ALTER TABLE schedules ADD COLUMN changed_by TEXT NOT NULL DEFAULT ''; -- those that gave it its present form
ALTER TABLE automations ADD COLUMN paid_by TEXT NOT NULL DEFAULT ''; -- those that gave it its present form
ALTER TABLE repositories ADD COLUMN paid_by TEXT NOT NULL DEFAULT ''; -- the key that connected it, and its makers
ALTER TABLE runs ADD COLUMN payers TEXT NOT NULL DEFAULT ''; -- besides key_uid
ALTER TABLE runs ADD COLUMN senders TEXT NOT NULL DEFAULT ''; -- of follow-ups to its present execution
