-- What a worker reports with its heartbeat besides: that it stops, so that nothing is placed on it any more, and the
-- version of its file of regions, which is the same at all workers of a fleet. Null: a worker of a version that does not say.
ALTER TABLE workers
  ADD COLUMN stopping         boolean NOT NULL DEFAULT false,
  ADD COLUMN registry_version text;
