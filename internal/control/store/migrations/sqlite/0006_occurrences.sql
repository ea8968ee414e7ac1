-- +goose Up
-- What was due to start work, and what became of it. Deliveries have their own log.
CREATE TABLE occurrences (
  uid TEXT PRIMARY KEY, -- begins with the time of its row
  team TEXT NOT NULL,
  kind TEXT NOT NULL,
  source TEXT NOT NULL, -- the schedule, or the automation whose own clock it was; also in the column schedule_id of runs
  schedule_id TEXT NOT NULL,
  automation_uid TEXT NOT NULL,
  clock TEXT NOT NULL, -- of an automation's own clock: its time zone and cron expression
  moment TEXT NOT NULL, -- the first occurrence of those that are decided together
  due_at INTEGER NOT NULL,
  decided_at INTEGER NOT NULL, -- 0: it waits
  fate TEXT NOT NULL,
  reason TEXT NOT NULL,
  missed TEXT NOT NULL, -- JSON, of missed times
  run_ids TEXT NOT NULL,
  owner TEXT NOT NULL -- of a personal schedule; '': the team's
);
-- One fate for each time. Missed ones may come again, if a clock that was ahead has counted them.
CREATE UNIQUE INDEX occurrences_due ON occurrences (source, automation_uid, clock, due_at) WHERE fate <> 'missed';
CREATE INDEX occurrences_decided_until ON occurrences (source, automation_uid, clock, due_at);
CREATE INDEX occurrences_team ON occurrences (team, uid);
CREATE INDEX occurrences_fate ON occurrences (team, fate, uid);
CREATE INDEX occurrences_schedule ON occurrences (schedule_id, uid);
CREATE INDEX occurrences_automation ON occurrences (automation_uid, uid);
CREATE INDEX occurrences_waiting ON occurrences (source, uid) WHERE fate = 'waiting';
CREATE INDEX occurrences_newest ON occurrences (source, automation_uid, uid);
CREATE INDEX occurrences_decided ON occurrences (decided_at);
ALTER TABLE runs ADD COLUMN ended_before INTEGER NOT NULL DEFAULT 0; -- 1: it has ended once; somebody may have continued it
CREATE INDEX runs_live ON runs (schedule_id, created_at)
WHERE schedule_id <> '' AND parent_id = '' AND ended_before = 0 AND state NOT IN ('SUCCEEDED', 'FAILED', 'ERROR', 'CANCELLED');
