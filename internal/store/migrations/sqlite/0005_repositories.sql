-- +goose Up
-- The repository that defines a factory. place is by what a push notice names it. commit_id is the newest commit whose result is known, applied the one in
-- force, head the branch that is followed; version is the team's when the commit was judged. asked counts who wants it to be looked at, done those who were served.
CREATE TABLE repositories (
  factory_uid TEXT PRIMARY KEY, team TEXT NOT NULL, url TEXT NOT NULL, place TEXT NOT NULL, branch TEXT NOT NULL, path TEXT NOT NULL, secret TEXT NOT NULL,
  head TEXT NOT NULL DEFAULT '', commit_id TEXT NOT NULL DEFAULT '', applied TEXT NOT NULL DEFAULT '', result TEXT NOT NULL DEFAULT '', detail TEXT NOT NULL DEFAULT '',
  findings TEXT NOT NULL DEFAULT '', version INTEGER NOT NULL DEFAULT 0, problem TEXT NOT NULL DEFAULT '', failures INTEGER NOT NULL DEFAULT 0, checked_at INTEGER NOT NULL DEFAULT 0,
  asked INTEGER NOT NULL DEFAULT 0, done INTEGER NOT NULL DEFAULT 0, next_at INTEGER NOT NULL DEFAULT 0, token TEXT NOT NULL DEFAULT '', lease_until INTEGER NOT NULL DEFAULT 0
) WITHOUT ROWID;
CREATE INDEX repositories_next ON repositories (next_at);
CREATE INDEX repositories_place ON repositories (team, place) WHERE place <> '';
CREATE INDEX repositories_secret ON repositories (team, secret) WHERE secret <> '';

-- What became of the commits of a factory's repository, the n-th that was looked at.
CREATE TABLE repository_commits (
  factory_uid TEXT NOT NULL, n INTEGER NOT NULL, commit_id TEXT NOT NULL, author TEXT NOT NULL, message TEXT NOT NULL, committed_at INTEGER NOT NULL,
  result TEXT NOT NULL, detail TEXT NOT NULL, findings TEXT NOT NULL, revision INTEGER NOT NULL, created_at INTEGER NOT NULL, PRIMARY KEY (factory_uid, n)
) WITHOUT ROWID;

-- A webhook that is suspended takes no deliveries, whatever the files say.
ALTER TABLE webhooks ADD COLUMN suspended INTEGER NOT NULL DEFAULT 0;
