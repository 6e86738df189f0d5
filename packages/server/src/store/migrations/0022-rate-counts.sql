-- What each worker of a fleet has counted in the current minute, by limit and caller. Lost in a crash, and then counted again.
CREATE UNLOGGED TABLE rate_counts (
  scope      text NOT NULL,
  worker_id  text NOT NULL,
  calls      integer NOT NULL,
  ends_at    timestamptz NOT NULL,
  PRIMARY KEY (scope, worker_id)
);
