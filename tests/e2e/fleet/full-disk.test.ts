/** The disk under the embedded database fills up: nothing that was acknowledged is lost, and the service says what is wrong. */
import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { after, before, describe, it } from 'node:test';
import { createKey, getCredits, grantCredits, health } from '@berth/contract';
import { Service, eventually, stopAll } from '../service.ts';

/** Size of the disk: enough for the files of a new database, its reserve, and a moment until it is full. */
const diskMegabytes = 320;

/** null where this user may not mount. */
function mountSmallDisk(): string | null {
  const folder = mkdtempSync(join(tmpdir(), 'berth-small-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${diskMegabytes}m,mode=0755`, 'none', folder], { stdio: 'ignore' });
    return folder;
  } catch {
    rmSync(folder, { recursive: true });
    return null;
  }
}

/** Writes until there is no room. */
function fill(path: string): void {
  const file = openSync(path, 'a', 0o600);
  let bytes = Buffer.alloc(1024 ** 2, 1);
  try {
    for (;;)
      try {
        writeSync(file, bytes);
      } catch {
        if (bytes.length <= 4096) return;
        bytes = bytes.subarray(0, bytes.length / 4);
      }
  } finally {
    closeSync(file);
  }
}

const disk = mountSmallDisk();

describe('a disk that fills up under the embedded database', { timeout: 300_000, skip: disk === null && 'may not mount' }, () => {
  const folder = disk ?? '';
  const dataDir = join(folder, 'data');
  let service: Service;
  before(async () => {
    mkdirSync(dataDir, { mode: 0o711 });
    const environment = { BERTH_DISK_FREE_MB_MIN: '32', BERTH_DISK_RESERVE_MB: '32' };
    service = await Service.start({ dataDir, environment });
  });
  after(async () => {
    await stopAll();
    execFileSync('umount', ['-l', folder]);
    rmSync(folder, { recursive: true, force: true });
  });

  it('a disk that fills up under the embedded database loses no credit that was acknowledged, answers 503 with the reason, and goes on when there is room', async () => {
    const { client } = service;
    const owner = 'saver';
    const key = (await client.call(createKey, { body: { owner } })).body.key ?? '';
    const granted = { acknowledged: 0, open: 0 };
    const statuses = new Map<string, number>();
    const grant = async (): Promise<number> => {
      const { status, body } = await client.call(grantCredits, { body: { owner, amount: 1 } });
      if (status === 200) granted.acknowledged += 1;
      else granted.open += 1;
      const code = status === 200 ? 'ok' : `${status} ${(body as { code?: string }).code}`;
      statuses.set(code, (statuses.get(code) ?? 0) + 1);
      return status;
    };
    while (granted.acknowledged < 20) await grant();

    const state = { isFull: true };
    const writers = [0, 1, 2].map(async () => {
      while (state.isFull) if ((await grant()) !== 200) await sleep(20);
    });
    const filler = join(folder, 'filler');
    // It is filled again and again: the service gives its reserve to the database, which gives room back when it starts.
    await eventually(
      'the database has failed',
      () => {
        fill(filler);
        return granted.open >= 30;
      },
      120_000,
    );
    const sick = await client.call(health, { key: null });
    assert.equal(sick.status, 503);
    assert.ok(sick.body.checks['disk']?.status === 'unhealthy' || sick.body.checks['store']?.status === 'unhealthy', sick.text);
    state.isFull = false;
    await Promise.all(writers);
    assert.deepEqual(
      [...statuses.keys()].filter((code) => !/^(ok|503 \w+)$/.test(code)),
      [],
      JSON.stringify([...statuses]),
    );

    rmSync(filler);
    await eventually('credits are granted again', async () => (await grant()) === 200, 120_000);
    const balance = async (): Promise<number> => (await client.call(getCredits, { key })).body.balance;
    const first = await balance();
    assert.ok(
      first >= granted.acknowledged && first <= granted.acknowledged + granted.open,
      `${first} of ${JSON.stringify(granted)}, ${JSON.stringify([...statuses])}`,
    );
    await eventually('the service is well', async () => (await client.call(health, { key: null })).status === 200, 120_000);
    assert.equal(await service.stop(), 0);
    service = await Service.start({ dataDir });
    assert.equal((await service.client.call(getCredits, { key })).body.balance, first);
  });
});
