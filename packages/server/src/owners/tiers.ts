import { readFileSync } from 'node:fs';
import { z } from 'zod';

/** null: as much as it likes. */
const limit = z.int().min(0).nullable();

export const Tier = z.strictObject({
  /** Sessions alive at once. */
  concurrency_limit: limit,
  creates_per_minute: limit,
  requests_per_minute: limit,
  /** The longest `timeout_seconds` that a session may ask for. */
  max_session_seconds: z.int().min(30).max(86_400),
  /** Tabs in one session; null: the service's own limit. */
  tab_limit: z.int().min(1).max(100).nullable(),
  /** Whether managed and rotating proxies may be used. */
  premium_egress: z.boolean(),
  /** For how long a recording is kept after its end. Files that were written before there were any do not say. */
  recording_retention_days: z.int().min(1).max(3650).default(30),
});
export type Tier = z.infer<typeof Tier> & { name: string };

const TiersFile = z.strictObject({ default_tier: z.string(), tiers: z.record(z.string().min(1).max(64), Tier) });

const hosted = { requests_per_minute: 600, tab_limit: null, premium_egress: false };
const builtin: z.infer<typeof TiersFile> = {
  default_tier: 'self_hosted',
  tiers: {
    free: { ...hosted, concurrency_limit: 3, creates_per_minute: 5, max_session_seconds: 900, recording_retention_days: 1 },
    developer: { ...hosted, concurrency_limit: 25, creates_per_minute: 60, max_session_seconds: 21_600, recording_retention_days: 7 },
    startup: { ...hosted, concurrency_limit: 100, creates_per_minute: 240, max_session_seconds: 21_600, recording_retention_days: 30 },
    scale: { ...hosted, concurrency_limit: 250, creates_per_minute: 600, max_session_seconds: 86_400, premium_egress: true, recording_retention_days: 90 },
    self_hosted: {
      concurrency_limit: null,
      creates_per_minute: null,
      requests_per_minute: null,
      max_session_seconds: 86_400,
      tab_limit: null,
      premium_egress: true,
      recording_retention_days: 30,
    },
  },
};

export interface Tiers {
  default: string;
  names: string[];
  get(name: string): Tier | undefined;
}

/** The plan table: from the operator's file, else the built-in one. Throws with the file's name and what is wrong. */
export function loadTiers(file: string | null): Tiers {
  const table = file ? readTiers(file) : builtin;
  const tiers = new Map(Object.entries(table.tiers).map(([name, tier]) => [name, { ...tier, name }]));
  if (!tiers.has(table.default_tier)) throw new Error(`${file}: default_tier "${table.default_tier}" is not one of its tiers`);
  return { default: table.default_tier, names: [...tiers.keys()], get: (name) => tiers.get(name) };
}

function readTiers(file: string): z.infer<typeof TiersFile> {
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
