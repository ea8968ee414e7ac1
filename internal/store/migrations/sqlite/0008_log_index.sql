-- +goose Up
-- The log by webhook and outcome, of deliveries up to deliveries_logged.n; those that came since are put in together, several times a second. An index of SQLite's own
-- would put each in with its delivery: of 1,000 webhooks, each into a page of its own.
DROP INDEX deliveries_log;
CREATE TABLE deliveries_log (
  webhook INTEGER NOT NULL, outcome INTEGER NOT NULL, n INTEGER NOT NULL, PRIMARY KEY (webhook, outcome, n)
) WITHOUT ROWID;
INSERT INTO deliveries_log SELECT webhook, outcome, n FROM deliveries ORDER BY webhook, outcome, n;

CREATE TABLE deliveries_logged (
  n INTEGER NOT NULL
);
INSERT INTO deliveries_logged SELECT COALESCE(max(n), 0) FROM deliveries;

-- SQLite gives numbers at the end again once their deliveries are gone.
-- +goose StatementBegin
CREATE TRIGGER deliveries_removed AFTER DELETE ON deliveries BEGIN
  DELETE FROM deliveries_log WHERE webhook = old.webhook AND outcome = old.outcome AND n = old.n;
  UPDATE deliveries_logged SET n = (SELECT COALESCE(max(n), 0) FROM deliveries) WHERE n > (SELECT COALESCE(max(n), 0) FROM deliveries);
END;
-- +goose StatementEnd
