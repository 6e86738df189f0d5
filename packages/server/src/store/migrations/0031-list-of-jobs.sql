-- What a list shows of how a job ended, as JSON: its session, and its error without details. Results and errors may be large.
ALTER TABLE jobs ADD COLUMN outline bytea;
CREATE INDEX jobs_of_owner ON jobs (owner_id, created_at DESC, job_id DESC);
-- Few of many jobs are pending, and these are looked for most.
CREATE INDEX jobs_of_owner_pending ON jobs (owner_id, created_at DESC, job_id DESC) WHERE status = 'pending';
