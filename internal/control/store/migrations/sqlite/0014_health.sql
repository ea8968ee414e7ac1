-- +goose Up
-- How the runs of automations and schedules end, if they have settings about it. Whatever locks a row locks
-- no other one after it, except pauses.
CREATE TABLE health (
  source TEXT PRIMARY KEY, -- the automation or schedule
  team TEXT NOT NULL,
  enabled INTEGER NOT NULL, -- as its owner has set it
  pause_after INTEGER NOT NULL, -- failures in a row; 0: never
  since INTEGER NOT NULL, -- runs from before that do not count
  failures INTEGER NOT NULL, -- in a row
  last_run_id TEXT NOT NULL, -- of the last failure
  degraded_at INTEGER NOT NULL, -- 0: it is not
  paused_at INTEGER NOT NULL -- 0: it is not
);
-- How often failures have paused something of a team. It is part of the version of the team.
CREATE TABLE pauses (
  team TEXT PRIMARY KEY,
  n INTEGER NOT NULL
);
