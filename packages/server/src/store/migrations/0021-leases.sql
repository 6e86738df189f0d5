-- A worker holds its lease while its heartbeat changes. Another worker that has seen the same heartbeat for the whole lease
-- takes it: it raises the epoch, and whatever the worker ran in the old epoch is over.
ALTER TABLE workers
  ADD COLUMN lease_epoch bigint NOT NULL DEFAULT 0,
  -- How long the same heartbeat must be seen. The default is for versions that know no leases.
  ADD COLUMN lease_ms integer NOT NULL DEFAULT 30000,
  -- The process that holds the lease, and its data folder.
  ADD COLUMN lease_holder text,
  ADD COLUMN data_folder text,
  -- The last heartbeat of a worker whose lease was taken. Its next heartbeat makes it a live worker again.
  ADD COLUMN lost_heartbeat timestamptz;

-- Joined in the statement that lists the rows of lost workers: one that has returned meanwhile owns new rows.
CREATE VIEW lost_workers AS SELECT worker_id FROM workers WHERE lost_heartbeat = heartbeat_at;
