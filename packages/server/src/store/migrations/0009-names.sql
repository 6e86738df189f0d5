-- The strategies `slower_pacing` and `other_egress` are now `throttle` and `rotate_egress`.
UPDATE site_strategies SET strategy = 'throttle' WHERE strategy = 'slower_pacing';
UPDATE site_strategies SET strategy = 'rotate_egress' WHERE strategy = 'other_egress';
UPDATE site_health SET best_strategy = 'throttle' WHERE best_strategy = 'slower_pacing';
UPDATE site_health SET best_strategy = 'rotate_egress' WHERE best_strategy = 'other_egress';
UPDATE selfheal_hours SET name = 'healed:throttle' WHERE name = 'healed:slower_pacing';
UPDATE selfheal_hours SET name = 'healed:rotate_egress' WHERE name = 'healed:other_egress';
UPDATE block_events SET facts = jsonb_set(facts, '{strategy}', '"throttle"') WHERE facts->>'strategy' = 'slower_pacing';
UPDATE block_events SET facts = jsonb_set(facts, '{strategy}', '"rotate_egress"') WHERE facts->>'strategy' = 'other_egress';
UPDATE block_events SET facts = jsonb_set(facts, '{resolvedBy}', '"throttle"') WHERE facts->>'resolvedBy' = 'slower_pacing';
UPDATE block_events SET facts = jsonb_set(facts, '{resolvedBy}', '"rotate_egress"') WHERE facts->>'resolvedBy' = 'other_egress';

ALTER TABLE block_events RENAME COLUMN facts TO details;
