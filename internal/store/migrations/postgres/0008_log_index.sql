-- +goose Up
-- The primary key of deliveries stays the index of the log.
SELECT 1;
