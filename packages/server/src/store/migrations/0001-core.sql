CREATE TABLE owners (
  owner_id    text PRIMARY KEY,
  tier        text NOT NULL,
  created_at  timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE api_keys (
  key_id        text PRIMARY KEY,
  owner_id      text NOT NULL REFERENCES owners (owner_id),
  name          text,
  -- SHA-256 of the raw key. The raw key is nowhere.
  digest        bytea NOT NULL UNIQUE,
  last4         text NOT NULL,
  created_at    timestamptz NOT NULL,
  created_by    text NOT NULL,
  last_used_at  timestamptz,
  expires_at    timestamptz,
  revoked_at    timestamptz
);
CREATE INDEX api_keys_by_owner ON api_keys (owner_id, created_at DESC);

CREATE TABLE workers (
  worker_id     text PRIMARY KEY,
  region        text NOT NULL,
  url           text NOT NULL,
  started_at    timestamptz NOT NULL,
  heartbeat_at  timestamptz NOT NULL
);

CREATE TABLE sessions (
  session_id            text PRIMARY KEY,
  owner_id              text NOT NULL REFERENCES owners (owner_id),
  key_id                text,
  worker_id             text NOT NULL,
  status                text NOT NULL CHECK (status IN ('starting', 'ready', 'ending', 'ended', 'failed')),
  ended_reason          text,
  region                text NOT NULL,
  name                  text,
  metadata              jsonb NOT NULL DEFAULT '{}',
  -- What was asked for, without secrets: all that a reply repeats.
  settings              jsonb NOT NULL,
  -- What was last seen of a session: all that a reply tells once the session is over.
  last_seen             jsonb NOT NULL DEFAULT '{}',
  timeout_seconds       integer NOT NULL,
  idle_timeout_seconds  integer NOT NULL,
  created_at            timestamptz NOT NULL,
  started_at            timestamptz,
  last_activity_at      timestamptz NOT NULL,
  expires_at            timestamptz NOT NULL,
  ended_at              timestamptz
);
CREATE INDEX sessions_by_owner ON sessions (owner_id, created_at DESC, session_id DESC);
CREATE INDEX sessions_by_age ON sessions (created_at DESC, session_id DESC);
CREATE INDEX sessions_live ON sessions (worker_id) WHERE status IN ('starting', 'ready', 'ending');
CREATE INDEX sessions_ended ON sessions (ended_at) WHERE ended_at IS NOT NULL;
-- A name is unique among an owner's live sessions, and free again as soon as one is ended.
CREATE UNIQUE INDEX sessions_live_name ON sessions (owner_id, name) WHERE name IS NOT NULL AND status IN ('starting', 'ready');

-- The anchor of a machine: written before its first process starts, removed after its last is gone.
CREATE TABLE machines (
  vm_id        text PRIMARY KEY,
  worker_id    text NOT NULL,
  region       text NOT NULL,
  kind         text NOT NULL,
  state        text NOT NULL CHECK (state IN ('warming', 'ready', 'assigned', 'draining', 'failed')),
  session_id   text,
  created_at   timestamptz NOT NULL,
  ready_at     timestamptz
);
CREATE INDEX machines_by_worker ON machines (worker_id);

CREATE TABLE idempotency_keys (
  scope         text NOT NULL,
  key           text NOT NULL,
  request_hash  bytea NOT NULL,
  status        integer,
  body          jsonb,
  created_at    timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (scope, key)
);
CREATE INDEX idempotency_keys_by_age ON idempotency_keys (created_at);
