-- What the workers of a fleet have in common: the first worker stores its own, the others take it.
CREATE TABLE fleet_secrets (
  name        text PRIMARY KEY,
  value       text NOT NULL,
  created_at  timestamptz NOT NULL DEFAULT now()
);
-- Where other workers reach a worker's internal listener, as host:port. Null: it has none.
ALTER TABLE workers ADD COLUMN fleet_address text;
-- Cookies of view links, by the digest of their value, so that any worker of a fleet takes them.
CREATE TABLE view_cookies (
  digest   text PRIMARY KEY,
  link     jsonb NOT NULL,
  used_at  timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX view_cookies_by_use ON view_cookies (used_at);
