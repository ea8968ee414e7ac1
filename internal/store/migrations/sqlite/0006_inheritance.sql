-- +goose Up
-- What a run was made of when it was created: the revision of its factory's files and the agent's name in them, the runner, and
-- whether its environment or runner names a container image or the shape of a machine.
ALTER TABLE runs ADD COLUMN definition_revision INTEGER NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN agent_name TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN runner TEXT NOT NULL DEFAULT '';
ALTER TABLE runs ADD COLUMN image INTEGER NOT NULL DEFAULT 0;

-- The system that a run needs and a worker has, such as linux/x86_64; '' for any.
ALTER TABLE queue ADD COLUMN platform TEXT NOT NULL DEFAULT '';
ALTER TABLE workers ADD COLUMN platform TEXT NOT NULL DEFAULT '';

-- Of the lease that the execution has or had.
ALTER TABLE executions ADD COLUMN token TEXT NOT NULL DEFAULT '';
