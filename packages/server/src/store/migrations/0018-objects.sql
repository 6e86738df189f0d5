-- Which database objects in object storage belong to: a bucket may be shared.
CREATE TABLE installation (
  installation_id  text NOT NULL
);
CREATE UNIQUE INDEX installation_is_one ON installation ((true));
INSERT INTO installation (installation_id) VALUES (replace(gen_random_uuid()::text, '-', ''));

-- When the files were in object storage, from which every worker serves them; null: they are on their worker's disk.
ALTER TABLE recordings ADD COLUMN uploaded_at timestamptz;
CREATE INDEX recordings_not_uploaded ON recordings (worker_id, ended_at) WHERE uploaded_at IS NULL;
