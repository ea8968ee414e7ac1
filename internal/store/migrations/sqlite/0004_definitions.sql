-- +goose Up
-- What a factory was defined by at each revision: a file is as it is from revision since on, and until before ended; 0: still.
CREATE TABLE definition_files (
  factory_uid TEXT NOT NULL, path TEXT NOT NULL, since INTEGER NOT NULL, ended INTEGER NOT NULL DEFAULT 0, content BLOB NOT NULL,
  PRIMARY KEY (factory_uid, path, since)
);

-- One row for each revision: who made it, and what it changed.
CREATE TABLE definitions (
  factory_uid TEXT NOT NULL, revision INTEGER NOT NULL, author TEXT NOT NULL, summary TEXT NOT NULL, created_at INTEGER NOT NULL,
  PRIMARY KEY (factory_uid, revision)
) WITHOUT ROWID;
