import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { newUid } from '../host/users.ts';
import { hiddenFolder, jailCommand } from './jail.ts';

describe('what a jail hides', () => {
  const folder = mkdtempSync(join(tmpdir(), 'jail-test-'));
  after(() => rmSync(folder, { recursive: true }));

  it('a jail covers a folder of the host with an empty one that nobody writes to', () => {
    writeFileSync(join(folder, 'ptrace_scope'), '1\n');
    const script = 'ls -A "$1"; touch "$1/new" 2>/dev/null || echo refused';
    const args = ['--dev-bind', '/', '/', ...hiddenFolder(folder), '--', '/bin/sh', '-c', script, 'test', folder];
    assert.equal(execFileSync('bwrap', args, { encoding: 'utf8' }), 'refused\n');
  });

  it('a jail covers nothing where the host has no such folder', () => {
    assert.deepEqual(hiddenFolder(join(folder, 'missing')), []);
  });

  // Without its crash reporter, Chromium ends at its start where it finds Yama.
  it('a jail hides Yama from the browser, if the kernel has it', () => {
    const { program, args, env } = jailCommand(
      {
        id: 'vm_test',
        dataDigest: 'test',
        uid: newUid(),
        hostDownloadsPath: folder,
        hostUploadsPath: folder,
        hostDisplayPath: null,
        chromiumPath: '/usr/lib/chromium/chromium',
      },
      ['/bin/sh', '-c', 'test -e /proc/sys/kernel/hostname && ! test -e /proc/sys/kernel/yama/ptrace_scope'],
    );
    const { status, stderr } = spawnSync(program, args, { env, encoding: 'utf8', stdio: ['ignore', 'ignore', 'pipe', 'pipe', 'pipe'] });
    assert.equal(status, 0, stderr);
  });
});
