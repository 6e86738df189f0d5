-- What the attempts of a strategy cost in all, in millionths of a credit.
ALTER TABLE site_strategies ADD COLUMN cost_micro bigint NOT NULL DEFAULT 0;
