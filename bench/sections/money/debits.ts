import { setTimeout as wait } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Store } from '../../../packages/server/src/store/store.ts';
import type { Bench } from '../../context.ts';
import { type Check, type Section, spread, summarize } from '../../figures.ts';
import { type InProcess, buildInProcess } from '../../in-process.ts';
import { calm } from '../../proc.ts';

const clients = 64;
const roundsDefault = 5;
const debitsOfEach = 100;
/** Before the first round: statements are prepared, pages are read. */
const warmUpOfEach = 20;
const price = 10_000;
const ratePaced = 1500;
const pacedOfRound = 3000;
const plenty = 1e12;
const holdMs = 60_000;

/** Something that is done and durable when it returns. */
interface Line {
  name: string;
  once(client: number): Promise<void>;
  ms: number[];
  rates: number[];
  failures: string[];
}

const lineOf = (name: string, once: Line['once']): Line => ({ name, once, ms: [], rates: [], failures: [] });

let operations = 0;

/** Holds the price of a call back and takes it, as every metered call does. */
function debitLine(name: string, { app }: InProcess, ownerOf: (client: number) => string): Line {
  const { credits } = app;
  return lineOf(name, async (client) => {
    const order = { opId: `bench:${(operations += 1)}`, owner: ownerOf(client), amount: price };
    await credits.reserve({ ...order, ttlMs: holdMs });
    const { charged } = await credits.commit({ ...order, axis: 'action', mayOwe: false });
    if (charged !== price) throw new Error(`${charged} of ${price} were charged`);
  });
}

interface RawTable {
  bench_rows: { op_id: string; owner_id: string; amount: number };
}

async function rawLine(store: Store): Promise<Line> {
  const tables = store.tables<RawTable>();
  await sql`create table bench_rows (op_id text primary key, owner_id text not null, amount bigint not null)`.execute(tables);
  return lineOf('raw: one row, one commit', async (client) => {
    const row = { op_id: `bench:${(operations += 1)}`, owner_id: `owner-${client}`, amount: price };
    await tables.insertInto('bench_rows').values(row).execute();
  });
}

async function timed(line: Line, client: number, since: number): Promise<void> {
  await line.once(client).then(
    () => line.ms.push(performance.now() - since),
    (error: unknown) => line.failures.push(String(error)),
  );
}

/** All clients, each as fast as it is answered. */
async function shoot(line: Line, each: number): Promise<void> {
  const started = performance.now();
  const client = async (n: number): Promise<void> => {
    for (let i = 0; i < each; i += 1) await timed(line, n, performance.now());
  };
  await Promise.all(Array.from({ length: clients }, (_, n) => client(n)));
  line.rates.push((clients * each) / ((performance.now() - started) / 1000));
}

/** So many a second, whatever comes of those before. Time counts from when each was due, also where no client was free for it. */
async function shootPaced(line: Line, count: number): Promise<void> {
  const started = performance.now();
  let next = 0;
  const client = async (n: number): Promise<void> => {
    for (let i = next++; i < count; i = next++) {
      const due = started + (1000 * i) / ratePaced;
      const early = due - performance.now();
      if (early > 0) await wait(early);
      await timed(line, n, due);
    }
  };
  await Promise.all(Array.from({ length: clients }, (_, n) => client(n)));
  line.rates.push(count / ((performance.now() - started) / 1000));
}

function checksOf(flatOut: Line, paced: Line): Check[] {
  const failed = flatOut.failures.length + paced.failures.length;
  return [
    {
      what: `durable debits a second, ${clients} clients`,
      measured: summarize(flatOut.rates).p50,
      target: 1500,
      rule: 'at least',
      unit: '',
    },
    {
      what: `durable debit p99, ${clients} clients, ${ratePaced} a second`,
      measured: summarize(paced.ms).p99,
      target: 15,
      rule: 'at most',
      unit: 'ms',
    },
    {
      what: `durable debit p99, ${clients} clients, flat out`,
      measured: summarize(flatOut.ms).p99,
      target: 15,
      rule: 'at most',
      unit: 'ms',
    },
    { what: 'failed debits', measured: failed, target: 0, rule: 'at most', unit: '' },
  ];
}

/** Debits by many clients at once, each durable before it is told, beside plain inserts that commit each for itself. `--runs` is the number of rounds. */
export async function debits(bench: Bench): Promise<Section> {
  const service = await buildInProcess(bench.stage, { BERTH_CREDITS_ENFORCED: '1' });
  const { credits } = service.app;
  const owners = ['bench-all', ...Array.from({ length: clients }, (_, n) => `bench-${n}`)];
  for (const owner of owners) await credits.grant({ opId: `grant:${owner}`, owner, amount: plenty, note: null, actor: 'operator' });
  const flatOut = debitLine('one wallet', service, () => 'bench-all');
  const paced = debitLine(`one wallet, ${ratePaced} a second`, service, () => 'bench-all');
  const lines = [flatOut, debitLine(`${clients} wallets`, service, (client) => `bench-${client}`), await rawLine(service.store)];
  for (const line of lines) await shoot(line, warmUpOfEach);
  for (const line of lines) line.ms.length = line.rates.length = 0;
  const rounds = bench.runs ?? roundsDefault;
  for (let round = 1; round <= rounds; round += 1) {
    bench.say(`round ${round} of ${rounds}`);
    for (const line of lines) {
      await calm(3000);
      await shoot(line, debitsOfEach);
    }
    await calm(3000);
    await shootPaced(paced, pacedOfRound);
  }
  await service.close();
  return {
    name: `money: durable debits by ${clients} clients`,
    columns: ['p50 / p95 / p99', 'n', 'failed', 'ms', 'a second'],
    rows: [...lines, paced].map(({ name, ms, failures, rates }) => [
      name,
      ms.length,
      failures.length,
      spread(ms),
      Math.round(summarize(rates).p50),
    ]),
    checks: checksOf(flatOut, paced),
    notes: ['the clients run in the process of the service; a debit is a hold and its charge, the charge on disk when it is told'],
  };
}
