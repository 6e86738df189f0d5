CREATE TABLE jobs (
  job_id       text PRIMARY KEY,
  owner_id     text NOT NULL REFERENCES owners (owner_id),
  session_id   text NOT NULL,
  worker_id    text NOT NULL,
  kind         text NOT NULL,
  status       text NOT NULL CHECK (status IN ('pending', 'ok', 'blocked', 'error')),
  -- JSON as bytes, here and below: pages hold U+0000, which neither text nor jsonb takes.
  subject      bytea NOT NULL,
  progress     bytea NOT NULL,
  result       bytea,
  error        bytea,
  usage        jsonb,
  created_at   timestamptz NOT NULL,
  started_at   timestamptz,
  finished_at  timestamptz,
  -- Past this the job is over, whatever has become of its worker.
  overdue_at   timestamptz NOT NULL,
  -- When the result is dropped, and when it was: what is left then only tells that there was a job.
  expires_at   timestamptz,
  dropped_at   timestamptz,
  CHECK ((status = 'pending') = (finished_at IS NULL)),
  CHECK ((finished_at IS NULL) = (expires_at IS NULL))
);
CREATE INDEX jobs_pending ON jobs (worker_id) WHERE status = 'pending';
CREATE INDEX jobs_overdue ON jobs (overdue_at) WHERE status = 'pending';
CREATE INDEX jobs_expiring ON jobs (expires_at) WHERE dropped_at IS NULL AND expires_at IS NOT NULL;
CREATE INDEX jobs_dropped ON jobs (dropped_at) WHERE dropped_at IS NOT NULL;
