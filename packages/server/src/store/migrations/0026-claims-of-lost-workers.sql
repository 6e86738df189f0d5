-- Who runs the request that has claimed a key, so that a claim ends with its worker and not with its deadline.
ALTER TABLE idempotency_keys
  ADD COLUMN worker_id text,
  -- The process, as in `workers.lease_holder`.
  ADD COLUMN holder text,
  -- The claim that these columns describe: a version that knows nothing of them takes claims over without changing them.
  ADD COLUMN held_from timestamptz,
  -- Null: it has not begun to be charged and has submitted no job, so it may run anew. Otherwise what it names, to be read.
  ADD COLUMN effect jsonb;
CREATE INDEX idempotency_keys_running ON idempotency_keys (worker_id) WHERE status IS NULL;
