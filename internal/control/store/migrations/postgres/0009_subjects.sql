-- +goose Up
-- What events are about. A row is the claim of its subject: one run at most works on it at a time.
CREATE TABLE subjects (
  uid TEXT PRIMARY KEY,
  team TEXT NOT NULL,
  claim TEXT NOT NULL, -- SHA-256 of scope, source and values, hex
  subject TEXT NOT NULL, -- as people read it
  automation_uid TEXT NOT NULL, -- whose event came last
  factory_uid TEXT NOT NULL,
  webhook_uid TEXT NOT NULL,
  rules TEXT NOT NULL, -- JSON, of the latest event
  run_id TEXT NOT NULL, -- the newest run
  events BIGINT NOT NULL,
  followups BIGINT NOT NULL, -- of events, since a person last spoke
  interrupt BIGINT NOT NULL, -- 1: an event asks to end the turn
  interrupted_at BIGINT NOT NULL,
  first_at BIGINT NOT NULL, -- when the first event came that waits; 0: none waits
  due_at BIGINT NOT NULL, -- when what waits may start something; 0: nothing waits
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX subjects_claim ON subjects (claim);
CREATE INDEX subjects_team ON subjects (team, uid);
CREATE INDEX subjects_automation ON subjects (automation_uid, uid);
CREATE INDEX subjects_due ON subjects (due_at) WHERE due_at > 0;
CREATE INDEX subjects_updated ON subjects (updated_at);
CREATE TABLE subject_events (
  uid TEXT PRIMARY KEY, -- begins with its time
  subject_uid TEXT NOT NULL,
  delivery_id TEXT NOT NULL,
  due_at BIGINT NOT NULL,
  decided_at BIGINT NOT NULL, -- 0: it waits
  fate TEXT NOT NULL,
  reason TEXT NOT NULL,
  run_id TEXT NOT NULL, -- the run that has it
  followup_id TEXT NOT NULL, -- '': it came with the first prompt
  paid_by TEXT NOT NULL -- keys that pay for it besides those of the automation
);
CREATE UNIQUE INDEX subject_events_once ON subject_events (delivery_id, subject_uid);
CREATE INDEX subject_events_subject ON subject_events (subject_uid, uid);
CREATE INDEX subject_events_run ON subject_events (run_id, followup_id, uid) WHERE run_id <> '';
CREATE INDEX subject_events_waiting ON subject_events (subject_uid, uid) WHERE fate = 'waiting';
ALTER TABLE runs ADD COLUMN subject_uid TEXT NOT NULL DEFAULT ''; -- of the claim; '': none
ALTER TABLE runs ADD COLUMN subject TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN continues TEXT NOT NULL DEFAULT ''; -- the run on the same subject that ended before
ALTER TABLE runs ADD COLUMN events_count BIGINT NOT NULL DEFAULT 0; -- events that it has received, or will with its first prompt
CREATE INDEX runs_of_subject ON runs (subject_uid) WHERE subject_uid <> '';
CREATE INDEX runs_subject ON runs (team, subject) WHERE subject <> '';
ALTER TABLE queue ADD COLUMN ready_at BIGINT NOT NULL DEFAULT 0; -- no worker claims it before this
