-- An owner's usage of a day (UTC), written with its month in one transaction.
CREATE TABLE usage_days (
  owner_id        text NOT NULL,
  day             date NOT NULL,
  actions         bigint NOT NULL DEFAULT 0,
  egress_bytes    bigint NOT NULL DEFAULT 0,
  browser_ms      bigint NOT NULL DEFAULT 0,
  sessions        bigint NOT NULL DEFAULT 0,
  captcha_solves  bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (owner_id, day)
);
CREATE INDEX usage_days_by_age ON usage_days (day);
-- Usage before this migration counts for the day on which its meter was last written.
INSERT INTO usage_days
SELECT owner_id,
  least(
    greatest((updated_at AT TIME ZONE 'UTC')::date, to_date(month, 'YYYY-MM')),
    (to_date(month, 'YYYY-MM') + interval '1 month - 1 day')::date
  ) AS day,
  sum(actions), sum(egress_bytes), sum(browser_ms), sum(sessions), sum(captcha_solves)
FROM usage_meters GROUP BY 1, 2;
