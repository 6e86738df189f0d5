-- A job that any worker can run has its request here until it ends, sealed with the fleet's key: requests hold secrets.
-- NULL: only the worker that accepted it can run it. No worker has a job while its `worker_id` is empty.
ALTER TABLE jobs
  ADD COLUMN request bytea,
  -- How often it was started.
  ADD COLUMN attempts smallint NOT NULL DEFAULT 0,
  -- Since when other workers may start it.
  ADD COLUMN offered_at timestamptz,
  -- When it began to change a page, or to be charged: from then on no other worker runs it.
  ADD COLUMN touched_at timestamptz;
