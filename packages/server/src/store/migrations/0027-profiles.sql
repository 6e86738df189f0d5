-- What browsers keep between sessions.
CREATE TABLE profiles (
  profile_id    text PRIMARY KEY,
  owner_id      text NOT NULL REFERENCES owners (owner_id),
  name          text NOT NULL,
  -- Compressed and encrypted, for this owner and this profile. Null: nothing was saved yet.
  content       bytea,
  -- Before that.
  size_bytes    integer NOT NULL DEFAULT 0,
  cookies       integer NOT NULL DEFAULT 0,
  origins       integer NOT NULL DEFAULT 0,
  version       integer NOT NULL DEFAULT 0,
  created_at    timestamptz NOT NULL,
  saved_at      timestamptz,
  last_used_at  timestamptz
);
CREATE UNIQUE INDEX profiles_by_name ON profiles (owner_id, name);

-- The profile that the session saves at its end: null again once it has.
ALTER TABLE sessions ADD COLUMN writes_profile_id text;
-- One at a time. It is the session's state that locks a profile, so a session that is recovered after a crash unlocks it.
-- compatible: the version before leaves the column null
CREATE UNIQUE INDEX sessions_profile_writer ON sessions (writes_profile_id) WHERE status IN ('starting', 'ready', 'ending');
CREATE VIEW profile_writers AS
  SELECT writes_profile_id AS profile_id, session_id, status
  FROM sessions
  WHERE writes_profile_id IS NOT NULL AND status IN ('starting', 'ready', 'ending');
