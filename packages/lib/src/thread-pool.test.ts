import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { silentLog } from './log.ts';
import { ThreadError, ThreadPool } from './thread-pool.ts';

const folder = mkdtempSync(join(tmpdir(), 'berth-threads-'));
after(() => rmSync(folder, { recursive: true, force: true }));

/** A pool of one thread that runs the module. */
function poolOf(name: string, module: string | null, { isShort = false } = {}): ThreadPool<{ waitMs: number }, string> {
  const file = join(folder, `${name}.mjs`);
  if (module !== null) writeFileSync(file, module);
  const bounds = { threadsMax: 1, runMsMax: 20_000, heapMbMax: 64, waitingMax: 4, waitingSizeMax: 100 };
  return new ThreadPool({ file: pathToFileURL(file), ...bounds, isShort, log: silentLog });
}

/** Replies with the id of its thread. */
const working = `
  import { setTimeout } from 'node:timers/promises';
  import { threadId } from 'node:worker_threads';
  export default async ({ waitMs, started }) => {
    started.postMessage(null);
    await setTimeout(waitMs);
    return String(threadId);
  }`;

const call = (signal = new AbortController().signal) => ({ owner: 'a', size: 1, signal });
const reasonOf = async (work: Promise<unknown>): Promise<string> => {
  const error: unknown = await work.then(
    () => 'done',
    (thrown: unknown) => thrown,
  );
  return error instanceof ThreadError
    ? `${error.reason}: ${String((error.cause as Error | undefined)?.message).split('\n', 1)[0]}`
    : String(error);
};

const broken: Record<string, [module: string | null, said: RegExp]> = {
  'is missing': [null, /^failed: .*Cannot find module/],
  'imports what is missing': [`import './nowhere.mjs';`, /^failed: .*Cannot find module/],
  'is no module': ['export default (', /^failed: /],
  'throws as it is loaded': [`throw new Error('not here');`, /^failed: .*not here/],
  'exports no function': ['export const a = 1;', /^failed: /],
};
for (const [name, [module, said]] of Object.entries(broken))
  test(`work whose thread file ${name} has failed, at once and each time, and was not merely early`, { timeout: 25_000 }, async (t) => {
    const pool = poolOf(name.replaceAll(' ', '-'), module);
    t.after(() => pool.close());
    for (let turn = 0; turn < 2; turn += 1) assert.match(await reasonOf(pool.run({ waitMs: 0 }, call())), said);
  });

test('a thread that was stopped for a caller that left is another one for the next', async (t) => {
  const pool = poolOf('stopped', working);
  t.after(() => pool.close());
  const first = await pool.run({ waitMs: 0 }, call());
  const leaving = new AbortController();
  const left = pool.run({ waitMs: 60_000 }, call(leaving.signal));
  leaving.abort(new Error('left'));
  assert.equal(await reasonOf(left), 'Error: left');
  assert.notEqual(await pool.run({ waitMs: 0 }, call()), first);
});

test('short work runs to its end for a caller that left, and the thread stays', async (t) => {
  const pool = poolOf('short', working, { isShort: true });
  t.after(() => pool.close());
  const first = await pool.run({ waitMs: 0 }, call());
  const leaving = new AbortController();
  const left = pool.run({ waitMs: 50 }, call(leaving.signal));
  leaving.abort(new Error('left'));
  assert.equal(await reasonOf(left), 'done');
  assert.equal(await pool.run({ waitMs: 0 }, call()), first);
});
