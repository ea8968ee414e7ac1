-- +goose Up
-- The webhook that the server made the secret for, also once that is gone; '': none. Runs never get such a secret.
ALTER TABLE secrets ADD COLUMN webhook_uid TEXT NOT NULL DEFAULT '';
-- A secret is older than a webhook that was given it, and made within the request that makes a webhook.
UPDATE secrets SET webhook_uid = COALESCE((
  SELECT min(w.uid) FROM webhooks w
  WHERE w.team = secrets.team AND w.secret_name = secrets.name
    AND secrets.created_at >= w.created_at AND secrets.created_at < w.created_at + 60000
), '');

-- Whether the key that connected a repository managed secrets, so that its webhooks may name any.
ALTER TABLE repositories ADD COLUMN names_secrets INTEGER NOT NULL DEFAULT 0;
UPDATE repositories SET names_secrets = 1 WHERE secret <> '';
