import { readFileSync } from 'node:fs';
import { z } from 'zod';

/** null: unlimited. */
const limit = z.int().min(0).nullable();

/** Per calendar month in UTC. Absent: unlimited. */
const Limits = z.strictObject({
  actions: limit.default(null),
  egress_bytes: limit.default(null),
  browser_seconds: limit.default(null),
  captcha_solves: limit.default(null),
});
const noLimits = { actions: null, egress_bytes: null, browser_seconds: null, captcha_solves: null };

export const Tier = z.strictObject({
  /** Sessions alive at once. */
  concurrency_limit: limit,
  creates_per_minute: limit,
  requests_per_minute: limit,
  /** Requests with a login token, per organisation. */
  key_calls_per_minute: limit.default(null),
  /** Maximum `timeout_seconds` of a session. */
  max_session_seconds: z.int().min(30).max(86_400),
  /** Tabs in one session; null: the service's own limit. */
  tab_limit: z.int().min(1).max(100).nullable(),
  /** Whether managed and rotating proxies may be used. */
  premium_egress: z.boolean(),
  /** Days for which an ended recording is stored. */
  recording_retention_days: z.int().min(1).max(3650).default(30),
  /** Slots for waiting jobs that the owner gets for each one of an owner with the weight 1. */
  job_weight: z.int().min(1).max(100).default(1),
  limits: Limits.default(noLimits),
  /** Whether usage may exceed the limits and the balance of the wallet. */
  overage_allowed: z.boolean().default(false),
  /** Whether the limits apply. */
  enforced: z.boolean().default(true),
});
export type Tier = z.infer<typeof Tier> & { name: string };

const TiersFile = z.strictObject({
  default_tier: z.string(),
  tiers: z.record(z.string().min(1).max(64), Tier),
  /** Price ids of the payment provider, each with the tier that it buys. */
  prices: z.record(z.string().min(1).max(255), z.string()).default({}),
});
type TiersFile = z.infer<typeof TiersFile>;

const gigabyte = 1_000_000_000;
const hour = 3600;
const hosted = {
  requests_per_minute: 600,
  key_calls_per_minute: 30,
  tab_limit: null,
  premium_egress: false,
  overage_allowed: false,
  enforced: true,
};
const builtin: TiersFile['tiers'] = {
  free: {
    ...hosted,
    concurrency_limit: 3,
    creates_per_minute: 5,
    max_session_seconds: 900,
    recording_retention_days: 1,
    job_weight: 1,
    limits: { actions: 1000, egress_bytes: gigabyte, browser_seconds: 10 * hour, captcha_solves: 0 },
  },
  developer: {
    ...hosted,
    concurrency_limit: 25,
    creates_per_minute: 60,
    max_session_seconds: 6 * hour,
    recording_retention_days: 7,
    job_weight: 2,
    limits: { actions: 50_000, egress_bytes: 50 * gigabyte, browser_seconds: 500 * hour, captcha_solves: 1000 },
  },
  startup: {
    ...hosted,
    concurrency_limit: 100,
    creates_per_minute: 240,
    max_session_seconds: 6 * hour,
    recording_retention_days: 30,
    job_weight: 4,
    limits: { actions: 500_000, egress_bytes: 500 * gigabyte, browser_seconds: 5000 * hour, captcha_solves: 10_000 },
  },
  scale: {
    ...hosted,
    concurrency_limit: 250,
    creates_per_minute: 600,
    max_session_seconds: 24 * hour,
    premium_egress: true,
    recording_retention_days: 90,
    job_weight: 8,
    limits: { actions: 2_000_000, egress_bytes: 2000 * gigabyte, browser_seconds: 20_000 * hour, captcha_solves: 50_000 },
    overage_allowed: true,
  },
  self_hosted: {
    concurrency_limit: null,
    creates_per_minute: null,
    requests_per_minute: null,
    key_calls_per_minute: null,
    max_session_seconds: 24 * hour,
    tab_limit: null,
    premium_egress: true,
    recording_retention_days: 30,
    job_weight: 1,
    limits: noLimits,
    overage_allowed: false,
    enforced: false,
  },
};

export interface Tiers {
  default: string;
  names: string[];
  get(name: string): Tier | undefined;
  /** The price ids of the payment provider, each with the tier that it buys. */
  prices: ReadonlyMap<string, string>;
  /** The price id of a tier; the first if there are several. */
  priceOf(tier: string): string | undefined;
}

/**
 * Loads the plans from the operator's file, or the built-in ones. There, the
 * default tier is `self_hosted`, and `free` where billing is configured.
 *
 * @throws Error with the file's name for an invalid file
 */
export function loadTiers(file: string | null, { billing }: { billing: boolean }): Tiers {
  const table = file ? readTiers(file) : { default_tier: billing ? 'free' : 'self_hosted', tiers: builtin, prices: {} };
  const tiers = new Map(Object.entries(table.tiers).map(([name, tier]) => [name, { ...tier, name }]));
  const prices = new Map(Object.entries(table.prices));
  if (!tiers.has(table.default_tier)) throw new Error(`${file}: default_tier "${table.default_tier}" is not one of its tiers`);
  for (const [price, tier] of prices)
    if (!tiers.has(tier)) throw new Error(`${file}: prices."${price}" names "${tier}", which is not one of its tiers`);
  return {
    default: table.default_tier,
    names: [...tiers.keys()],
    get: (name) => tiers.get(name),
    prices,
    priceOf: (wanted) => [...prices].find(([, tier]) => tier === wanted)?.[0],
  };
}

function readTiers(file: string): TiersFile {
  let text: unknown;
  try {
    text = JSON.parse(readFileSync(file, 'utf8'));
  } catch (cause) {
    throw new Error(`BERTH_TIERS_FILE ${file} cannot be read as JSON`, { cause });
  }
  const parsed = TiersFile.safeParse(text);
  if (!parsed.success) throw new Error(`BERTH_TIERS_FILE ${file} is not valid:\n${z.prettifyError(parsed.error)}`);
  return parsed.data;
}
