-- Credentials for addresses. One is deleted when it is revoked; the audit log has who did so.
CREATE TABLE connect_tokens (
  token_id      text PRIMARY KEY,
  owner_id      text NOT NULL REFERENCES owners (owner_id),
  -- The API key that created it, on which it depends.
  key_id        text NOT NULL REFERENCES api_keys (key_id),
  name          text,
  -- SHA-256 of the raw token. The raw token is nowhere.
  digest        bytea NOT NULL UNIQUE,
  last4         text NOT NULL,
  created_at    timestamptz NOT NULL,
  last_used_at  timestamptz,
  expires_at    timestamptz
);
CREATE INDEX connect_tokens_by_owner ON connect_tokens (owner_id, created_at DESC);
