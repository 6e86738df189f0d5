import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { silentLog, type Log } from '@berth/lib/log.ts';
import { allDone, Startup } from './startup.ts';
import { ShownKeys, welcome } from './welcome.ts';

describe('the steps of a start', () => {
  it('the steps of a start are logged as they begin, named while they run, and measured', async () => {
    const lines: [object, string][] = [];
    const log: Log = { ...silentLog, info: (fields, message) => void lines.push([fields, message]) };
    const startup = new Startup(log);
    assert.equal(startup.note, 'beginning');
    const gate = Promise.withResolvers<number>();
    const first = startup.step('opening one', () => gate.promise);
    const second = startup.step('opening two', () => gate.promise);
    assert.equal(startup.note, 'opening one and opening two');
    gate.resolve(7);
    assert.deepEqual(await Promise.all([first, second]), [7, 7]);
    assert.equal(startup.note, 'beginning');
    startup.finish();
    assert.deepEqual(
      lines.map(([, message]) => message),
      ['opening one', 'opening two', 'started'],
    );
    const { steps_ms: steps = {} } = (lines.at(-1)?.[0] ?? {}) as { steps_ms?: object };
    assert.deepEqual(Object.keys(steps), ['opening one', 'opening two']);
  });

  it('the steps of a start are all waited for when one fails', async () => {
    const slow = Promise.withResolvers<string>();
    const outcome = allDone([Promise.reject(new Error('no')), slow.promise]).catch((error: unknown) => String(error));
    let isOver = false;
    void outcome.then(() => (isOver = true));
    await new Promise((resolve) => setImmediate(resolve));
    assert.equal(isOver, false);
    slow.resolve('late');
    assert.equal(await outcome, 'Error: no');
  });
});

describe('the keys', () => {
  const folder = mkdtempSync(join(tmpdir(), 'berth-keys-'));
  after(() => rmSync(folder, { recursive: true }));

  it('each key counts as shown only when it was printed', () => {
    const file = join(folder, 'shown-keys');
    assert.equal(new ShownKeys(file).has('one'), false);
    new ShownKeys(file).add(['one', 'two']);
    new ShownKeys(file).add(['three']);
    assert.deepEqual(
      ['one', 'two', 'three', 'four'].map((secret) => new ShownKeys(file).has(secret)),
      [true, true, true, false],
    );
  });

  it('keys are printed once, and never in the line to paste', () => {
    const options = { address: 'http://127.0.0.1:8080', keyFile: "/data/it's/api-key", signIn: false, signInLink: null, warnings: [] };
    const first = welcome({ ...options, keys: [{ name: 'API key (owner local)', secret: 'brt_live_1' }] });
    assert.ok(first.includes('API key (owner local):  brt_live_1'), first.join('\n'));
    assert.ok(first.some((line) => line.startsWith('Shown only once.')));
    assert.ok(first.at(-1)?.includes(`$(cat '/data/it'\\''s/api-key')`));
    assert.ok(!welcome({ ...options, keys: [] }).some((line) => line.includes('Shown only once')));
  });
});
