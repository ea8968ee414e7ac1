-- +goose Up
-- Of endpoints that post with the bot token of a Slack app.
ALTER TABLE event_endpoints ADD COLUMN channel TEXT NOT NULL DEFAULT '';
ALTER TABLE event_endpoints ADD COLUMN may_answer TEXT NOT NULL DEFAULT ''; -- ids of Slack users, with commas around each
ALTER TABLE event_endpoints ADD COLUMN paid_by TEXT NOT NULL DEFAULT ''; -- keys that pay for what an answer causes
-- The thread of each run in the channel of an endpoint.
CREATE TABLE endpoint_threads (
  endpoint_uid TEXT NOT NULL,
  run_id TEXT NOT NULL,
  channel TEXT NOT NULL, -- of the endpoint, when the thread began
  posted_to TEXT NOT NULL, -- the id of the channel, as Slack says
  ts TEXT NOT NULL, -- of the message that began it
  used_at INTEGER NOT NULL,
  PRIMARY KEY (endpoint_uid, run_id)
);
CREATE INDEX endpoint_threads_old ON endpoint_threads (used_at);
