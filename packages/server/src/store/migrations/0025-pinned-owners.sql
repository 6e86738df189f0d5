-- The only worker that takes new work of an owner; null: any. It may be stopped, and then it has no row.
ALTER TABLE owners ADD COLUMN pinned_worker_id text;
CREATE INDEX owners_pinned ON owners (pinned_worker_id) WHERE pinned_worker_id IS NOT NULL;
