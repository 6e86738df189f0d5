-- What an operator looks for after a key has leaked.
CREATE INDEX audit_log_by_subject ON audit_log (subject, entry_id DESC) WHERE subject IS NOT NULL;
CREATE INDEX api_keys_by_last4 ON api_keys (last4);
