-- How many machines a region keeps warm. Without a row it is what its workers were started with.
CREATE TABLE pool_targets (
  region      text NOT NULL,
  kind        text NOT NULL CHECK (kind IN ('headless', 'full_browser')),
  target      integer NOT NULL CHECK (target BETWEEN 0 AND 1000),
  updated_at  timestamptz NOT NULL,
  updated_by  text NOT NULL,
  PRIMARY KEY (region, kind)
);

-- What a machine is made of, for the inventory of a region that has several workers.
ALTER TABLE machines ADD COLUMN runtime text;
ALTER TABLE machines ADD COLUMN outdated boolean NOT NULL DEFAULT false;
CREATE INDEX machines_by_region ON machines (region);
