-- +goose Up
ALTER TABLE health ADD COLUMN expect_ms INTEGER NOT NULL DEFAULT 0; -- how often a run is expected to start; 0: not
ALTER TABLE health ADD COLUMN fired_at INTEGER NOT NULL DEFAULT 0; -- the last start, as far as it was looked at, or since when one is expected
ALTER TABLE health ADD COLUMN look_at INTEGER NOT NULL DEFAULT 0; -- when to look for a newer start
ALTER TABLE health ADD COLUMN silent_at INTEGER NOT NULL DEFAULT 0; -- since when none has started for too long; 0: it is not
CREATE INDEX health_look ON health (look_at) WHERE expect_ms > 0;
CREATE INDEX subjects_fresh ON subjects (automation_uid, updated_at);
