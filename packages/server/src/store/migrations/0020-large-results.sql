-- Size of a result that is in object storage and not in `result`; null: it is in the row.
ALTER TABLE jobs ADD COLUMN result_bytes integer;
