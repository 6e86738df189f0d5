-- How long the sessions of a connect token wait for a client whose connection has dropped.
ALTER TABLE connect_tokens ADD COLUMN reconnect_seconds integer NOT NULL DEFAULT 0;

-- An address has one browser at a time, whichever worker runs it.
-- compatible: the version before never writes the setting
CREATE UNIQUE INDEX sessions_live_address ON sessions (owner_id, (settings -> 'reconnect' ->> 'address'))
  WHERE settings -> 'reconnect' IS NOT NULL AND status IN ('starting', 'ready');
