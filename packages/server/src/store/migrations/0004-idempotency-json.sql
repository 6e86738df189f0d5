-- Answers of fetches hold whatever pages hold, U+0000 among it, which jsonb refuses.
ALTER TABLE idempotency_keys ALTER COLUMN body TYPE json;
