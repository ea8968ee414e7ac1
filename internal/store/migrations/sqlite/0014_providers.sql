-- +goose Up
-- The provider of the model that the built-in agent works with, such as anthropic/; '' where any worker will do.
ALTER TABLE queue ADD COLUMN provider TEXT NOT NULL DEFAULT '';

-- The providers that the worker has keys for: ,anthropic/,openai/, and the like; '' where it did not say.
ALTER TABLE workers ADD COLUMN providers TEXT NOT NULL DEFAULT '';
