-- +goose Up
ALTER TABLE workers ADD COLUMN launcher BIGINT NOT NULL DEFAULT 0; -- 1: it starts each run in a Pod
ALTER TABLE runs ADD COLUMN state_at BIGINT NOT NULL DEFAULT 0; -- when it got its state; 0: never moved since
