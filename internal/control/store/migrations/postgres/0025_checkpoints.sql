-- +goose Up
-- What is saved of a run's workspace after a turn.
CREATE TABLE checkpoints (
	uid TEXT PRIMARY KEY,
	run_id TEXT NOT NULL,
	turn BIGINT NOT NULL, -- by its message, from 1; 0: what the run was forked from
	prompt_id TEXT NOT NULL,
	harness TEXT NOT NULL,
	session_id TEXT NOT NULL, -- '': the harness has none
	prepared TEXT NOT NULL, -- JSON
	files BIGINT NOT NULL,
	bytes BIGINT NOT NULL,
	created_at BIGINT NOT NULL,
	superseded BIGINT NOT NULL DEFAULT 0, -- the run went back to an earlier turn
	restore BIGINT NOT NULL DEFAULT 0 -- later turns begin with it although the workspace may be newer, until one has ended; 0: none
);
CREATE UNIQUE INDEX checkpoints_turn ON checkpoints (run_id, turn);

-- Files of checkpoints, packed.
CREATE TABLE packs (
	uid TEXT PRIMARY KEY, -- of the checkpoint with which it came
	blob TEXT NOT NULL,
	size BIGINT NOT NULL,
	sealed_key BYTEA NOT NULL,
	created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX packs_blob ON packs (blob);

-- Which packs a checkpoint needs.
CREATE TABLE checkpoint_packs (
	checkpoint_uid TEXT NOT NULL,
	n BIGINT NOT NULL,
	pack_uid TEXT NOT NULL,
	PRIMARY KEY (checkpoint_uid, n)
);
CREATE INDEX checkpoint_packs_pack ON checkpoint_packs (pack_uid);

ALTER TABLE runs ADD COLUMN forked_from TEXT NOT NULL DEFAULT ''; -- JSON
ALTER TABLE runs ADD COLUMN fork_group TEXT NOT NULL DEFAULT '';
CREATE INDEX runs_fork_group ON runs (fork_group) WHERE fork_group <> '';
