-- +goose Up
-- Lists of subjects, and the search for old ones, follow their uids, which begin with the time of creation.
DROP INDEX subjects_team;
DROP INDEX subjects_updated;
