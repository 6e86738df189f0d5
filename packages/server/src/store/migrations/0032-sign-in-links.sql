-- Links that sign a person in to the dashboard once. A row that is deleted is a link that was used.
CREATE TABLE sign_in_links (
  digest      bytea PRIMARY KEY,
  owner_id    text NOT NULL REFERENCES owners (owner_id),
  -- Who asked for it, as in the audit log.
  actor       text NOT NULL,
  created_at  timestamptz NOT NULL,
  expires_at  timestamptz NOT NULL
);
CREATE INDEX sign_in_links_of_owner ON sign_in_links (owner_id, created_at);
