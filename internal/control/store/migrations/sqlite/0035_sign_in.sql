-- +goose Up
-- Attempts to sign in at an identity provider that are under way.
CREATE TABLE sign_ins (
	state TEXT NOT NULL PRIMARY KEY, -- SHA-256 of the parameter, hex
	browser TEXT NOT NULL, -- SHA-256 of the browser's cookie, hex
	provider TEXT NOT NULL, -- its name in the configuration
	return_to TEXT NOT NULL, -- a path of the dashboard
	expires_at BIGINT NOT NULL
);
CREATE INDEX sign_ins_expiry ON sign_ins (expires_at);

-- 1: the key of a person's sessions that began at an identity provider. Nobody has its secret.
ALTER TABLE api_keys ADD COLUMN sign_in BIGINT NOT NULL DEFAULT 0;
-- When a person last signed in at an identity provider; 0: never.
ALTER TABLE principals ADD COLUMN signed_in_at BIGINT NOT NULL DEFAULT 0;
