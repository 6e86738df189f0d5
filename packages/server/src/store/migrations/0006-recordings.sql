-- A row outlives its session's: who may open a recording is told by the row alone.
CREATE TABLE recordings (
  rec_id       text PRIMARY KEY,
  session_id   text NOT NULL,
  owner_id     text NOT NULL REFERENCES owners (owner_id),
  -- Whose disk it is on.
  worker_id    text NOT NULL,
  status       text NOT NULL CHECK (status IN ('recording', 'complete', 'incomplete', 'failed')),
  video        text CHECK (video IN ('hls', 'frames')),
  started_at   timestamptz NOT NULL,
  ended_at     timestamptz,
  duration_ms  bigint NOT NULL,
  size_bytes   bigint NOT NULL,
  truncated    boolean NOT NULL,
  expires_at   timestamptz,
  CHECK ((status = 'recording') = (ended_at IS NULL)),
  CHECK ((ended_at IS NULL) = (expires_at IS NULL))
);
CREATE INDEX recordings_by_session ON recordings (session_id);
CREATE INDEX recordings_by_worker ON recordings (worker_id);
CREATE INDEX recordings_running ON recordings (worker_id) WHERE status = 'recording';
CREATE INDEX recordings_expiring ON recordings (expires_at) WHERE expires_at IS NOT NULL;
