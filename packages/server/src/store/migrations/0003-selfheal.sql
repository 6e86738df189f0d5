-- One row for each attempt that was blocked.
CREATE TABLE block_events (
  event_id    text PRIMARY KEY,
  created_at  timestamptz NOT NULL,
  owner_id    text NOT NULL,
  domain      text NOT NULL,
  type        text NOT NULL,
  -- All else that is told of it. Of the address that it came from only a keyed hash.
  facts       jsonb NOT NULL
);
CREATE INDEX block_events_by_age ON block_events (created_at DESC);
CREATE INDEX block_events_by_owner ON block_events (owner_id, created_at DESC);
CREATE INDEX block_events_by_domain ON block_events (domain, created_at DESC);

-- How an owner fares with a site. Changed only under the lock of its row, which guards the site's strategies too.
CREATE TABLE site_health (
  owner_id            text NOT NULL,
  domain              text NOT NULL,
  -- The last 50 attempts, oldest first: [start in epoch ms, outcome, duration in ms].
  recent              jsonb NOT NULL DEFAULT '[]',
  -- Made of `recent`, for sorting: what the site is when it is in no cooldown.
  state               text NOT NULL DEFAULT 'unknown',
  success_rate        double precision,
  consecutive_blocks  integer NOT NULL DEFAULT 0,
  -- In a row: the next is twice as long.
  cooldowns           integer NOT NULL DEFAULT 0,
  cooldown_until      timestamptz,
  last_ok_at          timestamptz,
  last_block_at       timestamptz,
  last_block_type     text,
  vendor              text,
  best_strategy       text,
  updated_at          timestamptz NOT NULL,
  PRIMARY KEY (owner_id, domain)
);

CREATE TABLE site_strategies (
  owner_id      text NOT NULL,
  domain        text NOT NULL,
  strategy      text NOT NULL,
  attempts      bigint NOT NULL,
  successes     bigint NOT NULL,
  blocks        bigint NOT NULL,
  errors        bigint NOT NULL,
  duration_ms   bigint NOT NULL,
  recent        jsonb NOT NULL,
  last_used_at  timestamptz NOT NULL,
  PRIMARY KEY (owner_id, domain, strategy)
);

-- Totals of all owners and sites, by the hour.
CREATE TABLE selfheal_hours (
  hour   timestamptz NOT NULL,
  name   text NOT NULL,
  count  bigint NOT NULL,
  PRIMARY KEY (hour, name)
);
