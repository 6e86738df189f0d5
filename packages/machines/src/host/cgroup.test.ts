import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { silentLog } from '@berth/lib/log.ts';
import { findCgroupTrees, type CgroupTree, type Controller } from './cgroup-tree.ts';
import { MachineCgroups, killCounter, type MachineCgroup, type MachineLimits } from './cgroup.ts';
import { childrenOf, readProcess, sendSignal } from './processes.ts';
import { until } from '../../testing/machines.ts';

const megabyte = 1024 ** 2;
const limits: MachineLimits = { memoryBytes: 64 * megabyte, cpus: null, processes: 32 };
const trees = findCgroupTrees();
/** Unique to this run: other runs may use the same host. */
const name = `berth-test-${process.pid}`;
const canBound = await MachineCgroups.open(name, silentLog).then(async (groups) => {
  await groups?.close();
  return groups?.controllers ?? [];
});
const needs = (...wanted: Controller[]) =>
  wanted.every((controller) => canBound.includes(controller))
    ? {}
    : { skip: `no control groups can be made here for ${wanted.join(', ')}` };
const folderOf = (controller: Controller, ...names: string[]): string => join(trees.get(controller)?.own ?? '', ...names);

/** Processes that start their work on a signal, after they have joined a group. */
const begun: ChildProcess[] = [];
function startWaiting(perl: string): ChildProcess {
  const child = spawn('perl', ['-e', `<STDIN>; $| = 1; ${perl}`], { stdio: ['pipe', 'pipe', 'ignore'] });
  begun.push(child);
  return child;
}
const begin = (child: ChildProcess): void => void child.stdin?.write('\n');
const end = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill('SIGKILL');
  await once(child, 'exit');
};

describe('a machine in a control group', needs('memory'), () => {
  let groups: MachineCgroups;
  before(async () => {
    groups = (await MachineCgroups.open(name, silentLog)) ?? assert.fail('no control groups');
  });
  after(async () => {
    await Promise.all(begun.map(end));
    for (const id of await groups.list()) await groups.remove(id);
    await groups.close();
    for (const { own } of trees.values()) assert.ok(!existsSync(join(own, name)), `${own} holds nothing of ours`);
  });

  const withGroup = async (id: string, overrides: Partial<MachineLimits>, work: (group: MachineCgroup) => Promise<void>): Promise<void> => {
    const group = await groups.create(id, { ...limits, ...overrides });
    try {
      await work(group);
    } finally {
      await Promise.all(begun.map(end));
      await group.remove();
    }
  };

  it('a machine that takes too much memory loses a process, alone, and it is counted', async () => {
    await withGroup('vm_bomb', {}, async (bomb) => {
      await withGroup('vm_neighbour', {}, async (neighbour) => {
        const [one, other] = [
          startWaiting(`my @all; push @all, 'x' x ${megabyte} while 1;`),
          startWaiting(`my $some = 'x' x (20 * ${megabyte}); sleep 100;`),
        ];
        await Promise.all([bomb.join(one.pid ?? 0), neighbour.join(other.pid ?? 0)]);
        const counters = [bomb, neighbour, null].map(killCounter);
        begin(one);
        begin(other);
        const [, signal] = (await once(one, 'exit')) as [number | null, string | null];
        assert.equal(signal, 'SIGKILL');
        const [ofBomb, ofNeighbour, ofHost = 0] = await Promise.all(counters.map((count) => count()));
        assert.deepEqual([ofBomb, ofNeighbour], [1, 0]);
        assert.ok(ofHost >= 1);
        assert.equal(other.exitCode ?? other.signalCode, null);
      });
    });
  });

  it('a machine in a control group cannot have more processes than its limit', needs('pids'), async () => {
    await withGroup('vm_forks', { processes: 8 }, async (group) => {
      const child = startWaiting(
        `my $n = 0; while (defined(my $pid = fork)) { if (!$pid) { sleep 100; exit } last if ++$n == 50 } print "$n\\n"; sleep 100;`,
      );
      await group.join(child.pid ?? 0);
      begin(child);
      const [output] = (await once(child.stdout ?? assert.fail(), 'data')) as [Buffer];
      assert.equal(output.toString().trim(), '7');
      for (const pid of childrenOf(child.pid ?? 0)) sendSignal(pid, 'SIGKILL');
    });
  });

  it('a machine in a control group gets no more processor time than its limit', needs('cpu'), async () => {
    await withGroup('vm_busy', { cpus: 0.2 }, async (group) => {
      const child = startWaiting('print "now"; 1 while 1;');
      await group.join(child.pid ?? 0);
      const atWork = once(child.stdout ?? assert.fail(), 'data');
      begin(child);
      await atWork;
      const [startMs, ticksBefore] = [performance.now(), ticksOf(child)];
      const ticks = (): number => ticksOf(child) - ticksBefore;
      await until(() => performance.now() - startMs >= 1000 && ticks() > 0, 30_000);
      const seconds = ticks() / 100 / ((performance.now() - startMs) / 1000);
      assert.ok(seconds < 0.3, `${seconds} of a processor`);
    });
  });

  it('a machine in the background yields to one in use, until it is in use itself', needs('cpu'), async () => {
    await withGroup('vm_used', {}, async (used) => {
      await withGroup('vm_ahead', {}, async (ahead) => {
        assert.equal(await ahead.setWeight('background'), true);
        const [one, other] = [startWaiting('print "now"; 1 while 1;'), startWaiting('print "now"; 1 while 1;')];
        await Promise.all([used.join(one.pid ?? 0), ahead.join(other.pid ?? 0), pin(one), pin(other)]);
        const atWork = [one, other].map((child) => once(child.stdout ?? assert.fail(), 'data'));
        begin(one);
        begin(other);
        await Promise.all(atWork);
        const bothWork = async (): Promise<{ used: number; ahead: number }> => {
          const [usedBefore, aheadBefore] = [ticksOf(one), ticksOf(other)];
          await until(() => ticksOf(one) - usedBefore >= 50, 30_000);
          return { used: ticksOf(one) - usedBefore, ahead: ticksOf(other) - aheadBefore };
        };
        const unequal = await bothWork();
        assert.ok(unequal.ahead * 5 < unequal.used, JSON.stringify(unequal));
        await ahead.setWeight('normal');
        const equal = await bothWork();
        assert.ok(equal.ahead * 2 > equal.used, JSON.stringify(equal));
      });
    });
  });

  it('the control group of a machine includes earlier and later children of its first process', async () => {
    await withGroup('vm_family', {}, async (group) => {
      const child = spawn('sh', ['-c', 'sleep 100 & read -r line; sleep 100 & wait'], { stdio: ['pipe', 'ignore', 'ignore'] });
      begun.push(child);
      const pid = child.pid ?? 0;
      await until(() => childrenOf(pid).length === 1, 20_000);
      await group.join(pid);
      begin(child);
      await until(() => childrenOf(pid).length === 2, 20_000);
      const inside = readFileSync(join(folderOf('memory', name, 'vm_family'), 'cgroup.procs'), 'latin1')
        .trim()
        .split('\n')
        .map(Number);
      assert.deepEqual(
        inside.toSorted((a, b) => a - b),
        [pid, ...childrenOf(pid)].toSorted((a, b) => a - b),
      );
      for (const each of childrenOf(pid)) sendSignal(each, 'SIGKILL');
    });
  });

  it('a machine may have exited before it joins its control group', async () => {
    await withGroup('vm_ended', {}, async (group) => {
      const child = spawn('true');
      await once(child, 'exit');
      await group.join(child.pid ?? 0);
    });
  });

  it('a machine is waited for, not killed, when its control group is removed', async () => {
    const group = await groups.create('vm_slow', limits);
    const child = startWaiting('sleep 100;');
    await group.join(child.pid ?? 0);
    let isRemoved = false;
    const removed = group.remove().then(() => (isRemoved = true));
    assert.equal(group.remove(), group.remove());
    await until(() => readProcess(child.pid ?? 0)?.dead === false, 20_000);
    assert.equal(isRemoved, false);
    await end(child);
    await removed;
    assert.ok(!(await groups.list()).includes('vm_slow'));
  });

  it('a machine beside a process of the service does not get the share of idle ones', needs('cpu'), async () => {
    const idle = await Promise.all(Array.from({ length: 8 }, (_, index) => groups.create(`vm_idle${index}`, limits)));
    await withGroup('vm_spins', {}, async (group) => {
      const [inside, outside] = [startWaiting('print "now"; 1 while 1;'), startWaiting('print "now"; 1 while 1;')];
      await Promise.all([group.join(inside.pid ?? 0), pin(inside), pin(outside)]);
      const atWork = [inside, outside].map((child) => once(child.stdout ?? assert.fail(), 'data'));
      begin(inside);
      begin(outside);
      await Promise.all(atWork);
      const before = [ticksOf(inside), ticksOf(outside)] as const;
      await until(() => ticksOf(inside) - before[0] >= 50, 30_000);
      // Half each; an eighth with a weight for each machine.
      assert.ok(ticksOf(outside) - before[1] >= 25, `${ticksOf(outside) - before[1]} beside 50`);
    });
    await Promise.all(idle.map((group) => group.remove()));
  });

  it('a machine leaves no control group when its limits cannot be set', async () => {
    await assert.rejects(groups.create('vm_wrong', { ...limits, memoryBytes: -5 }), /control group of vm_wrong could not be created/);
    assert.deepEqual(await groups.list(), []);
  });
});

describe('what a dead worker left', () => {
  it(
    'control groups of a dead worker are removed at the next start, except those with running processes, which are listed',
    needs('memory'),
    async () => {
      const mine = `${name}-dead`;
      const dead = (await MachineCgroups.open(mine, silentLog)) ?? assert.fail();
      const other = (await MachineCgroups.open(`${name}-other`, silentLog)) ?? assert.fail();
      const [alive] = [
        await dead.create('vm_alive', limits),
        await dead.create('vm_empty', limits),
        await other.create('vm_foreign', limits),
      ];
      const child = startWaiting('sleep 100;');
      await alive.join(child.pid ?? 0);
      const next = (await MachineCgroups.open(mine, silentLog)) ?? assert.fail();
      assert.deepEqual(await next.list(), ['vm_alive']);
      assert.deepEqual(await other.list(), ['vm_foreign']);
      await end(child);
      await next.remove('vm_alive');
      assert.deepEqual(await next.list(), []);
      await other.remove('vm_foreign');
      for (const groups of [next, other]) await groups.close();
      assert.ok(!existsSync(folderOf('memory', mine)));
    },
  );
});

describe('a host with control groups of the second generation', () => {
  const root = mkdtempSync(join(tmpdir(), 'cgroup-test-'));
  after(() => rmSync(root, { recursive: true }));
  const own = join(root, 'service');
  const put = (path: string, text: string): void => {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  };
  const read = (...path: string[]): string => readFileSync(join(own, ...path), 'latin1');
  const tree: CgroupTree = { version: 2, top: root, own };
  const open = () =>
    MachineCgroups.open('berth-1', silentLog, {
      trees: new Map((['memory', 'cpu', 'pids'] as const).map((controller) => [controller, tree])),
      memoryBytesMax: 4096 * megabyte,
    });

  it('a machine’s limits are in the files that a kernel with cgroup v2 reads', async () => {
    put(join(own, 'cgroup.controllers'), 'cpuset cpu io memory pids\n');
    put(join(own, 'cgroup.subtree_control'), 'cpu\n');
    put(join(own, 'berth-1', 'cgroup.subtree_control'), '\n');
    const groups = (await open()) ?? assert.fail();
    assert.deepEqual(groups.controllers, ['memory', 'cpu', 'pids', 'io']);
    assert.equal(read('cgroup.subtree_control'), '+memory +pids +io');
    assert.equal(read('berth-1', 'cgroup.subtree_control'), '+memory +cpu +pids +io');
    assert.equal(read('berth-1', 'memory.max'), String(4096 * megabyte));
    const group = await groups.create('vm_a', { memoryBytes: 512 * megabyte, cpus: 1.5, processes: 64 });
    await group.join(process.pid);
    await group.setWeight('background');
    const files = readdirSync(join(own, 'berth-1', 'vm_a')).map((file) => [file, read('berth-1', 'vm_a', file)]);
    assert.deepEqual(Object.fromEntries(files), {
      'cgroup.procs': expectedProcs(),
      'cpu.max': '150000 100000',
      'cpu.weight': '10',
      'io.weight': '10',
      'memory.max': String(512 * megabyte),
      'memory.oom.group': '1',
      'memory.swap.max': '0',
      'pids.max': '64',
    });
    put(join(own, 'berth-1', 'vm_a', 'memory.events'), 'low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 0\n');
    assert.equal(await group.oomKills(), 2);
    assert.deepEqual(await groups.list(), ['vm_a']);
  });

  it('machines run without limits on a host with cgroup v2 that lends the service no controllers', async () => {
    put(join(own, 'cgroup.controllers'), 'hugetlb\n');
    assert.equal(await open(), null);
    assert.equal(await MachineCgroups.open('berth-1', silentLog, { trees: new Map() }), null);
  });
});

/** Pins a process to one processor: elsewhere there may be room for two. */
const pin = (child: ChildProcess) => once(spawn('taskset', ['-p', '1', String(child.pid)], { stdio: 'ignore' }), 'exit');
const ticksOf = ({ pid }: ChildProcess): number => readProcess(pid ?? 0)?.cpuTicks ?? 0;
/** The stand-in keeps what was written last, which is the last process that was taken in. */
const expectedProcs = (): string => String(childrenOf(process.pid).at(-1) ?? process.pid);
