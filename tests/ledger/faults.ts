/** Faults that are injected into the service under test. */
import type { Random } from './random.ts';

/** Tables with billing and permission data, where a fault does most harm. */
export const tables = [
  'credit_journal',
  'wallets',
  'credit_holds',
  'credit_codes',
  'promo_codes',
  'billing_events',
  'usage_meters',
  'usage_months',
  'audit_log',
  'api_keys',
  'owners',
  'idempotency_keys',
  'sessions',
] as const;
export type Table = (typeof tables)[number];

export interface FaultPoint {
  /** A statement that names the table, or the commit of a transaction that did. */
  at: 'statement' | 'commit';
  table: Table;
  /** When the fault happens: before the statement is sent, while its result is unknown, or after its result. */
  moment: 'before' | 'sent' | 'after';
  /** Which matching statement or commit, counted from 1. */
  nth: number;
}

/** `kill`: SIGKILL of the process. `cut`: the database drops the connection. `slow`: the statement takes `slowMs`. */
export type InjectedFault = FaultPoint & { what: 'kill' | 'cut' | 'slow' };

export const slowMs = 500;

/** One run of the service, from start to exit. */
export interface RunPlan {
  faults: InjectedFault[];
  /** The parent kills the run after this many replies; null disables this. */
  repliesMax: number | null;
  /** How far the wall clock has jumped since the previous run. */
  jumpMs: number;
  /** Whether it starts as a new worker, and the previous worker never returns. */
  isNewWorker: boolean;
  /** How many workers serve at once. Faults hit the first; all exit with it. */
  workers: 1 | 2;
}

const minuteMs = 60_000;
/** Within this time idempotency keys claimed by a killed run expire. */
const usualJumpMs = 10 * minuteMs;
const jumps = { usual: usualJumpMs, hour: 60 * minuteMs, back: -60 * minuteMs, month: 31 * 24 * 60 * minuteMs };

/** The weight of faults on each table, and how many statements and commits name it in 100 requests. */
const measures: Record<Table, { weight: number; statements: number; commits: number }> = {
  credit_journal: { weight: 8, statements: 11, commits: 5 },
  wallets: { weight: 6, statements: 12, commits: 6 },
  credit_holds: { weight: 6, statements: 12, commits: 5 },
  credit_codes: { weight: 3, statements: 9, commits: 8 },
  promo_codes: { weight: 2, statements: 7, commits: 3 },
  billing_events: { weight: 3, statements: 12, commits: 10 },
  usage_meters: { weight: 2, statements: 6, commits: 2 },
  usage_months: { weight: 2, statements: 6, commits: 2 },
  audit_log: { weight: 3, statements: 37, commits: 32 },
  api_keys: { weight: 2, statements: 6, commits: 5 },
  owners: { weight: 2, statements: 60, commits: 12 },
  idempotency_keys: { weight: 6, statements: 34, commits: 0 },
  sessions: { weight: 3, statements: 36, commits: 21 },
};
const weights = Object.fromEntries(tables.map((table) => [table, measures[table].weight])) as Record<Table, number>;

function makePoint(random: Random, requests: number): FaultPoint {
  const table = random.weighted(weights);
  const { statements, commits } = measures[table];
  const at = commits > 0 && random.chance(0.35) ? 'commit' : 'statement';
  const times = ((at === 'commit' ? commits : statements) * requests) / 100;
  return { at, table, moment: random.pick(['before', 'sent', 'after']), nth: random.integer(1, Math.max(1, Math.ceil(times))) };
}

/** Plans the runs for this many requests. Every run but the last ends by a kill. */
export function createRunPlans(random: Random, requests: number): RunPlan[] {
  const kills = random.integer(3, 5);
  const isShared = random.chance(0.25);
  // The clock jumps to another month at most once: of earlier months only sums are stored.
  const monthAt = random.chance(0.25) ? random.integer(1, kills - 1) : null;
  // A kill loses some of the requests.
  const each = Math.ceil((1.2 * requests) / (kills + 1));
  return Array.from({ length: kills + 1 }, (_, run) => {
    const isLast = run === kills;
    const disturbances = Array.from({ length: random.integer(0, 3) }, (): InjectedFault => ({
      ...makePoint(random, each),
      what: random.chance(0.6) ? 'cut' : 'slow',
    }));
    const kill: InjectedFault[] = isLast ? [] : [{ ...makePoint(random, each), what: 'kill' }];
    const jump = run === monthAt ? 'month' : random.weighted({ usual: 12, hour: 2, back: isLast ? 0 : 1 });
    return {
      // Idempotency keys claimed by a cut transaction expire in the next run, so another run must follow.
      faults: isLast ? disturbances.filter(({ what }) => what === 'slow') : [...disturbances, ...kill],
      repliesMax: isLast ? null : random.integer(each, 2 * each),
      // The last run is later than every clock before it.
      jumpMs: isLast ? 3 * jumps.hour : jumps[jump],
      isNewWorker: run > 0 && random.chance(0.2),
      workers: isShared && run > 0 ? 2 : 1,
    };
  });
}

export const formatFault = ({ what, at, table, moment, nth }: InjectedFault): string =>
  `${what} ${moment === 'sent' ? 'with' : moment} ${at} ${nth} on ${table}`;
