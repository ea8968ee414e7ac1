-- +goose Up
ALTER TABLE runs ADD COLUMN on_hollow TEXT NOT NULL DEFAULT ''; -- what its automation says about hollow runs; '': alert
