-- How long a job may wait, and when its worker left it to any other: one that no worker takes in that time ends. Null: a job
-- of a version that does not say; it ends when it is overdue.
ALTER TABLE jobs
  ADD COLUMN queue_ms_max integer,
  ADD COLUMN released_at timestamptz;
