-- What flows have learned about the elements of sites. Never shared between owners.
CREATE TABLE skills (
  skill_id              text PRIMARY KEY,
  owner_id              text NOT NULL REFERENCES owners (owner_id),
  -- Registrable domain.
  domain                text NOT NULL,
  task                  text NOT NULL,
  step                  text NOT NULL,
  version               integer NOT NULL,
  quarantined           boolean NOT NULL,
  selectors             jsonb NOT NULL,
  fingerprint           jsonb NOT NULL,
  learned_at            timestamptz NOT NULL,
  -- What healing found, until enough runs have verified it.
  candidate             jsonb,
  success_count         integer NOT NULL,
  failure_count         integer NOT NULL,
  consecutive_failures  integer NOT NULL,
  last_used_at          timestamptz NOT NULL,
  last_healed_at        timestamptz,
  created_at            timestamptz NOT NULL,
  UNIQUE (owner_id, domain, task, step)
);
CREATE INDEX skills_by_owner ON skills (owner_id, created_at DESC, skill_id DESC);
CREATE INDEX skills_by_use ON skills (owner_id, last_used_at DESC);

-- Each element that was found again, or was not, although none of the step's selectors matched.
CREATE TABLE skill_heals (
  heal_id        text PRIMARY KEY,
  owner_id       text NOT NULL REFERENCES owners (owner_id),
  domain         text NOT NULL,
  task           text NOT NULL,
  step           text NOT NULL,
  run_id         text NOT NULL,
  from_selector  text NOT NULL,
  to_selector    text,
  level          integer,
  score          double precision,
  result         text NOT NULL,
  created_at     timestamptz NOT NULL
);
CREATE INDEX skill_heals_by_time ON skill_heals (created_at DESC);
