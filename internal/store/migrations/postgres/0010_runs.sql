-- +goose Up
-- The id of the skill that a run came from, as the list of skills has it; '' where it is not of a repository, or was not found
-- when the run was created.
ALTER TABLE runs ADD COLUMN skill_id TEXT NOT NULL DEFAULT '';
CREATE INDEX runs_skill_id ON runs (team, skill_id, created_at) WHERE skill_id <> '';
