import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Store } from '../../../packages/server/src/store/store.ts';
import type { Bench } from '../../context.ts';
import { type Check, type Section, spread, summarize } from '../../figures.ts';
import { type InProcess, buildInProcess } from '../../in-process.ts';
import { waitForIdleCpu } from '../../proc.ts';

const clients = 64;
const roundsDefault = 5;
const debitsOfEach = 100;
/** Unmeasured, to prepare statements and read pages. */
const warmUpOfEach = 20;
const price = 10_000;
const ratePaced = 1500;
const pacedOfRound = 3000;
const initialCredits = 1e12;
const holdMs = 60_000;

/** An operation that is durable when it returns. */
interface Line {
  name: string;
  once(client: number): Promise<void>;
  ms: number[];
  rates: number[];
  failures: string[];
}

const lineOf = (name: string, once: Line['once']): Line => ({ name, once, ms: [], rates: [], failures: [] });

let operations = 0;

/** Reserves and commits the price of a call, as every metered call does. */
function debitLine(name: string, { app }: InProcess, ownerOf: (client: number) => string): Line {
  const { credits } = app;
  return lineOf(name, async (client) => {
    const request = { opId: `bench:${(operations += 1)}`, owner: ownerOf(client), amount: price };
    await credits.reserve({ ...request, ttlMs: holdMs });
    const { charged } = await credits.commit({ ...request, axis: 'action', allowOverdraft: false });
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

/** All clients, each as fast as possible. */
async function sendAll(line: Line, each: number): Promise<void> {
  const started = performance.now();
  const client = async (n: number): Promise<void> => {
    for (let i = 0; i < each; i += 1) await timed(line, n, performance.now());
  };
  await Promise.all(Array.from({ length: clients }, (_, n) => client(n)));
  line.rates.push((clients * each) / ((performance.now() - started) / 1000));
}

/** Sends operations at a fixed rate. Time counts from when each was due, even if no client was free. */
async function sendPaced(line: Line, count: number): Promise<void> {
  const started = performance.now();
  let next = 0;
  const client = async (n: number): Promise<void> => {
    for (let i = next++; i < count; i = next++) {
      const due = started + (1000 * i) / ratePaced;
      const early = due - performance.now();
      if (early > 0) await sleep(early);
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

/** Durable debits by many concurrent clients, compared with plain inserts. `--runs` is the number of rounds. */
export async function debits(bench: Bench): Promise<Section> {
  const service = await buildInProcess(bench.stage, { BERTH_CREDITS_ENFORCED: '1' });
  const { credits } = service.app;
  const owners = ['bench-all', ...Array.from({ length: clients }, (_, n) => `bench-${n}`)];
  for (const owner of owners) await credits.grant({ opId: `grant:${owner}`, owner, amount: initialCredits, note: null, actor: 'operator' });
  const flatOut = debitLine('one wallet', service, () => 'bench-all');
  const paced = debitLine(`one wallet, ${ratePaced} a second`, service, () => 'bench-all');
  const lines = [flatOut, debitLine(`${clients} wallets`, service, (client) => `bench-${client}`), await rawLine(service.store)];
  for (const line of lines) await sendAll(line, warmUpOfEach);
  for (const line of lines) line.ms.length = line.rates.length = 0;
  const rounds = bench.runs ?? roundsDefault;
  for (let round = 1; round <= rounds; round += 1) {
    bench.reportProgress(`round ${round} of ${rounds}`);
    for (const line of lines) {
      await waitForIdleCpu(3000);
      await sendAll(line, debitsOfEach);
    }
    await waitForIdleCpu(3000);
    await sendPaced(paced, pacedOfRound);
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
    notes: ['the clients run in the process of the service; a debit is a hold and its durable charge'],
  };
}
