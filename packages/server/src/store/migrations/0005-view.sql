-- When the links to a session were last taken back: those that were made until then are dead. Outlives the session, as its recordings do.
CREATE TABLE view_revocations (
  session_id  text PRIMARY KEY,
  revoked_at  timestamptz NOT NULL
);
