-- +goose Up
-- How often a run has lost its worker, and since when what it needs cannot be gathered; 0: it can.
ALTER TABLE runs ADD COLUMN times_lost BIGINT NOT NULL DEFAULT 0;
ALTER TABLE runs ADD COLUMN not_given_since BIGINT NOT NULL DEFAULT 0;

-- Whether the run's reference to its skill is a bare name that was found to mean one: the name alone may mean another elsewhere.
ALTER TABLE runs ADD COLUMN skill_found BIGINT NOT NULL DEFAULT 0;
UPDATE runs SET skill_found = 1
WHERE skill NOT LIKE '%:%' AND (skill_info LIKE '%"bundled_skill_id"%' OR skill_info LIKE '%"full_path"%');

-- Whether admin is among the scopes.
ALTER TABLE api_keys ADD COLUMN admin BIGINT NOT NULL DEFAULT 0;
UPDATE api_keys SET admin = 1 WHERE scopes LIKE '%"admin"%';

-- How many of the runs that a delivery started are still there.
ALTER TABLE deliveries ADD COLUMN runs BIGINT NOT NULL DEFAULT 0;
UPDATE deliveries SET runs = (length(matches) - length(replace(matches, '"run_id":"', ''))) / length('"run_id":"');
