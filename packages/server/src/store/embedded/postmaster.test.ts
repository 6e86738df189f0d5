import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { linkSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, beforeEach, describe, it } from 'node:test';
import { identifyServer, isAlive, processWith, readPostmaster, takeOverStaleLock } from './postmaster.ts';

const root = realpathSync(mkdtempSync(join(tmpdir(), 'berth-postmaster-')));
after(() => rmSync(root, { recursive: true }));
const uid = process.getuid?.() ?? 0;

let cluster = '';
beforeEach(() => {
  cluster = mkdtempSync(join(root, 'cluster-'));
});
const lockText = (pid: number | string, socketDir = join(root, 'socket')): string =>
  `${pid}\n${cluster}\n1\n5432\n${socketDir}\n\n  1 2\nready   \n`;
const write = (text: string): void => writeFileSync(join(cluster, 'postmaster.pid'), text);

/** A process that has exited and that its parent, which sleeps, does not reap. */
async function startZombie(): Promise<{ pid: number; end: () => void }> {
  const parent = spawn('perl', ['-e', '$| = 1; my $pid = fork; exit if !$pid; print "$pid\\n"; sleep 100'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const [line] = (await once(parent.stdout, 'data')) as [Buffer];
  const pid = Number(line);
  while (!/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'latin1'))) await new Promise((resolve) => setImmediate(resolve));
  return { pid, end: () => parent.kill('SIGKILL') };
}

describe('a lock file', () => {
  it('a lock file names the server that wrote it', () => {
    assert.equal(readPostmaster(cluster), undefined);
    write(lockText(4711));
    assert.deepEqual(readPostmaster(cluster), { pid: 4711, socketDir: join(root, 'socket'), ready: true });
  });

  for (const pid of [-1, -4711, 0, '1e3', '0x10', ' 7'])
    it(`a lock file that names the process ${pid} is not read`, () => {
      write(lockText(pid));
      assert.equal(readPostmaster(cluster), undefined);
    });

  it('a lock file that is a link or has a second name is not read', () => {
    const target = join(cluster, 'target');
    writeFileSync(target, lockText(4711));
    symlinkSync(target, join(cluster, 'postmaster.pid'));
    assert.equal(readPostmaster(cluster), undefined);
    rmSync(join(cluster, 'postmaster.pid'));
    linkSync(target, join(cluster, 'postmaster.pid'));
    assert.equal(readPostmaster(cluster), undefined);
  });

  it('a lock file of a zombie is taken over, and nothing else is written', async () => {
    const zombie = await startZombie();
    try {
      const socketDir = join(cluster, 'socket');
      mkdirSync(socketDir);
      const victim = join(cluster, 'victim');
      writeFileSync(victim, `${zombie.pid}\n`);
      symlinkSync(victim, join(socketDir, '.s.PGSQL.5432.lock'));
      write(lockText(zombie.pid, socketDir));
      takeOverStaleLock({ cluster, uid: uid + 1 }, socketDir);
      assert.equal(readPostmaster(cluster)?.pid, zombie.pid, 'a file of another user');
      takeOverStaleLock({ cluster, uid }, socketDir);
      assert.equal(readPostmaster(cluster)?.pid, process.pid);
      assert.equal(readFileSync(victim, 'utf8'), `${zombie.pid}\n`);
    } finally {
      zombie.end();
    }
  });
});

describe('a process', () => {
  it('a process is no server of the cluster because a file says so', async () => {
    const child = spawn('sleep', ['100'], { cwd: cluster });
    try {
      await once(child, 'spawn');
      assert.equal(identifyServer(child.pid ?? 0, { cluster, uid }), undefined);
      assert.equal(identifyServer(process.pid, { cluster: process.cwd(), uid }), undefined);
    } finally {
      child.kill('SIGKILL');
    }
  });

  it('a process is alive only with its own start time', () => {
    const own = processWith(process.pid) ?? assert.fail();
    assert.equal(isAlive(own), true);
    assert.equal(isAlive({ ...own, startTime: '1' }), false);
    assert.equal(processWith(2 ** 22 + 1), undefined);
  });
});
