-- What other workers need to know of one to place work on it. Its heartbeat writes all of this but `state`, which is the operator's.
ALTER TABLE workers
  ADD COLUMN version text NOT NULL DEFAULT '',
  ADD COLUMN kinds text[] NOT NULL DEFAULT '{}',
  ADD COLUMN state text NOT NULL DEFAULT 'active' CHECK (state IN ('active', 'cordoned', 'draining')),
  ADD COLUMN state_by text,
  ADD COLUMN drain_until timestamptz,
  ADD COLUMN sessions integer NOT NULL DEFAULT 0,
  ADD COLUMN sessions_max integer NOT NULL DEFAULT 0,
  -- How many more machines fit into memory; null where it cannot be read.
  ADD COLUMN machines_left integer,
  ADD COLUMN admitting boolean NOT NULL DEFAULT false,
  ADD COLUMN processors_busy boolean NOT NULL DEFAULT false,
  ADD COLUMN warm jsonb NOT NULL DEFAULT '{}',
  -- Reserved since the last heartbeat, and between the one before it and that: a reservation lasts until the next heartbeat but one.
  ADD COLUMN reserved_now integer NOT NULL DEFAULT 0,
  ADD COLUMN reserved_before integer NOT NULL DEFAULT 0;
-- Each placement updates a row: in place, as long as its page has room.
ALTER TABLE workers SET (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);

-- An owner's sessions by worker: counted for its limit, and to spread them.
CREATE INDEX sessions_live_by_owner ON sessions (owner_id, worker_id) WHERE status IN ('starting', 'ready');
