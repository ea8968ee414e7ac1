-- +goose Up
-- Principals that are persons or service accounts are members of the team. The others are agents and automations.
ALTER TABLE principals ADD COLUMN member TEXT NOT NULL DEFAULT ''; -- user, service_account; "": none
ALTER TABLE principals ADD COLUMN issuer TEXT NOT NULL DEFAULT ''; -- of the person's identity provider
ALTER TABLE principals ADD COLUMN subject TEXT NOT NULL DEFAULT ''; -- the person's sub there
ALTER TABLE principals ADD COLUMN disabled_at BIGINT NOT NULL DEFAULT 0;
UPDATE principals SET member = 'user' WHERE type = 'user';
CREATE UNIQUE INDEX principals_subject ON principals (team, issuer, subject) WHERE issuer <> '';
CREATE INDEX principals_member ON principals (team, member, created_at) WHERE member <> '';

-- The groups of persons, as their identity provider has named them last.
CREATE TABLE principal_groups (
	principal TEXT NOT NULL,
	name TEXT NOT NULL, -- without line breaks
	PRIMARY KEY (principal, name)
);

-- Roles of persons, groups and service accounts in a team.
CREATE TABLE grants (
	uid TEXT NOT NULL PRIMARY KEY,
	team TEXT NOT NULL,
	subject_type TEXT NOT NULL, -- user, group, service_account
	subject TEXT NOT NULL, -- the uid of a principal, or the name of a group
	role TEXT NOT NULL,
	created_at BIGINT NOT NULL,
	created_by TEXT NOT NULL -- the uid of a principal; "": a migration
);
CREATE UNIQUE INDEX grants_once ON grants (team, subject_type, subject, role);
-- Until now, every person was an admin.
INSERT INTO grants (uid, team, subject_type, subject, role, created_at, created_by)
	SELECT 'admin:' || uid, team, 'user', uid, 'admin', created_at, ''
	FROM principals
	WHERE type = 'user';
