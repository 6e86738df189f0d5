-- The type of egress of all traffic of the meter; null where it was metered before.
ALTER TABLE usage_meters ADD COLUMN egress_type text;

-- Of a month.
CREATE INDEX credit_journal_by_age ON credit_journal USING brin (at);
-- What was given and taken back: few among the charges.
CREATE INDEX credit_journal_gifts ON credit_journal (at) WHERE from_account LIKE 'source:%' OR to_account LIKE 'source:%';
