ALTER TABLE owners
  -- The plan that counts until then, whatever `tier` says.
  ADD COLUMN trial_tier           text,
  ADD COLUMN trial_ends_at        timestamptz,
  -- At the payment provider.
  ADD COLUMN customer_id          text,
  ADD COLUMN subscription_id      text,
  ADD COLUMN subscription_status  text,
  -- When that one began: an older one changes nothing while it lives.
  ADD COLUMN subscription_started_at timestamptz,
  -- When the newest event was made that has been applied: what is older changes nothing.
  ADD COLUMN billing_event_at     timestamptz,
  ADD CHECK ((trial_tier IS NULL) = (trial_ends_at IS NULL));

-- Refuses what is only ever added to.
CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION '% is only ever added to', TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END $$;

CREATE TABLE audit_log (
  entry_id  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  at        timestamptz NOT NULL,
  actor     text NOT NULL,
  action    text NOT NULL,
  owner_id  text,
  subject   text,
  details   jsonb NOT NULL DEFAULT '{}'
);
CREATE INDEX audit_log_by_owner ON audit_log (owner_id, entry_id DESC);
CREATE INDEX audit_log_by_actor ON audit_log (actor, entry_id DESC);
CREATE INDEX audit_log_by_age ON audit_log (at);
CREATE TRIGGER audit_log_fixed BEFORE UPDATE OR TRUNCATE ON audit_log FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
-- Kept for a year at least; what is older may be forgotten.
CREATE TRIGGER audit_log_kept BEFORE DELETE ON audit_log FOR EACH ROW
  WHEN (OLD.at > now() - interval '365 days') EXECUTE FUNCTION refuse_change();

-- What one session, or one way out of a worker, has used within a month. Its worker alone writes it, and only upwards.
CREATE TABLE usage_meters (
  meter_id        text NOT NULL,
  month           text NOT NULL,
  owner_id        text NOT NULL,
  actions         bigint NOT NULL,
  egress_bytes    bigint NOT NULL,
  browser_ms      bigint NOT NULL,
  sessions        bigint NOT NULL,
  captcha_solves  bigint NOT NULL,
  updated_at      timestamptz NOT NULL,
  PRIMARY KEY (meter_id, month)
);
CREATE INDEX usage_meters_by_month ON usage_meters (month, owner_id);
-- The sum of an owner's meters, kept with them in one transaction.
CREATE TABLE usage_months (
  owner_id        text NOT NULL,
  month           text NOT NULL,
  actions         bigint NOT NULL DEFAULT 0,
  egress_bytes    bigint NOT NULL DEFAULT 0,
  browser_ms      bigint NOT NULL DEFAULT 0,
  sessions        bigint NOT NULL DEFAULT 0,
  captcha_solves  bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (owner_id, month)
);

-- Millionths of a credit here and below. The sum of the journal for its owner, kept with it in one transaction.
CREATE TABLE wallets (
  owner_id  text PRIMARY KEY,
  balance   bigint NOT NULL DEFAULT 0,
  -- Of the balance: what is kept back for calls under way. The sum of the owner's holds.
  held      bigint NOT NULL DEFAULT 0 CHECK (held >= 0)
);
-- Each row moves an amount from one account to another, so that all accounts together are always zero.
CREATE TABLE credit_journal (
  entry_id      bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- What is charged or given, so that it happens once.
  op_id         text NOT NULL UNIQUE,
  at            timestamptz NOT NULL,
  owner_id      text NOT NULL,
  from_account  text NOT NULL,
  to_account    text NOT NULL CHECK (to_account <> from_account),
  amount        bigint NOT NULL CHECK (amount >= 0),
  details       jsonb NOT NULL DEFAULT '{}'
);
CREATE INDEX credit_journal_by_owner ON credit_journal (owner_id, entry_id);
CREATE TRIGGER credit_journal_fixed BEFORE UPDATE OR DELETE OR TRUNCATE ON credit_journal FOR EACH STATEMENT EXECUTE FUNCTION refuse_change();
CREATE TABLE credit_holds (
  op_id       text PRIMARY KEY,
  owner_id    text NOT NULL,
  amount      bigint NOT NULL CHECK (amount > 0),
  worker_id   text NOT NULL,
  created_at  timestamptz NOT NULL,
  expires_at  timestamptz NOT NULL
);
CREATE INDEX credit_holds_expiring ON credit_holds (expires_at);
CREATE INDEX credit_holds_by_worker ON credit_holds (worker_id);

CREATE TABLE credit_codes (
  code_id      text PRIMARY KEY,
  -- SHA-256 of the code. The code is nowhere.
  digest       bytea NOT NULL UNIQUE,
  amount       bigint NOT NULL CHECK (amount > 0),
  created_at   timestamptz NOT NULL,
  expires_at   timestamptz,
  redeemed_by  text,
  redeemed_at  timestamptz,
  CHECK ((redeemed_by IS NULL) = (redeemed_at IS NULL))
);
CREATE TABLE promo_codes (
  code_id      text PRIMARY KEY,
  digest       bytea NOT NULL UNIQUE,
  tier         text NOT NULL,
  trial_days   integer NOT NULL,
  created_at   timestamptz NOT NULL,
  expires_at   timestamptz,
  redeemed_by  text,
  redeemed_at  timestamptz,
  CHECK ((redeemed_by IS NULL) = (redeemed_at IS NULL))
);

-- Each event of the payment provider that was taken, so that it counts once.
CREATE TABLE billing_events (
  event_id     text PRIMARY KEY,
  owner_id     text,
  type         text NOT NULL,
  created_at   timestamptz NOT NULL,
  received_at  timestamptz NOT NULL,
  -- Whether it changed anything.
  applied      boolean NOT NULL
);
CREATE INDEX billing_events_by_age ON billing_events (received_at);
