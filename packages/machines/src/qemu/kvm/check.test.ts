import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it, test } from 'node:test';
import { ManualClock } from '@berth/lib/clock.ts';
import { checkKvm, usersRefusal } from './check.ts';

describe('whether KVM works', () => {
  let dataDir: string;
  let clock: ManualClock;
  let boots: number;
  beforeEach(() => {
    dataDir = mkdtempSync(join(tmpdir(), 'kvm-answer-test-'));
    clock = new ManualClock();
    boots = 0;
  });
  afterEach(() => rmSync(dataDir, { recursive: true }));

  const ask = (
    { closed = null, hangs = null }: { closed?: string | null; hangs?: string | null },
    qemuPath = '/usr/bin/qemu',
  ): Promise<string | null> =>
    checkKvm(
      { imagesDir: '/images', qemuPath, dataDir, clock },
      { permissions: async () => closed, boot: async () => ((boots += 1), hangs) },
    );

  it('KVM is not tried again for an hour where a guest hung', async () => {
    assert.equal(await ask({ hangs: 'it hangs' }), 'it hangs');
    clock.advance(3_599_000);
    assert.equal(await ask({}), 'it hangs');
    assert.equal(boots, 1);
    clock.advance(2000);
    assert.equal(await ask({}), null);
  });

  it('KVM is tried at once with another QEMU', async () => {
    await ask({ hangs: 'it hangs' });
    assert.equal(await ask({}, '/opt/qemu'), null);
  });

  it('KVM is tried at once when its device has been opened to machines', async () => {
    assert.equal(await ask({ closed: 'it can be opened by root alone' }), 'it can be opened by root alone');
    assert.equal(boots, 0);
    assert.equal(await ask({}), null);
  });

  it('KVM is tried at each start where it works', async () => {
    assert.equal(await ask({}), null);
    assert.equal(await ask({ hangs: 'no more' }), 'no more');
  });
});

test('KVM can be used by machines where everybody may open it, or a group that is not root', () => {
  assert.equal(usersRefusal({ mode: 0o20666, gid: 0 }), null);
  assert.equal(usersRefusal({ mode: 0o20660, gid: 108 }), null);
});

test('KVM that belongs to root alone is refused, with what to do about it', () => {
  for (const permissions of [
    { mode: 0o20600, gid: 0 },
    { mode: 0o20660, gid: 0 },
    { mode: 0o20640, gid: 108 },
  ])
    assert.match(usersRefusal(permissions) ?? '', /chgrp kvm .*chmod 660/);
});
