-- How many jobs of its owner come before an offered one, by the weight of the owner's plan: workers take the smallest first.
ALTER TABLE jobs ADD COLUMN offer_rank integer NOT NULL DEFAULT 0;
CREATE INDEX jobs_offered ON jobs (offer_rank, offered_at)
  WHERE status = 'pending' AND started_at IS NULL AND offered_at IS NOT NULL;
