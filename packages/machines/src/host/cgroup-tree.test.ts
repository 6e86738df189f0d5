import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { findCgroupTrees, groupsAround } from './cgroup-tree.ts';

const folder = mkdtempSync(join(tmpdir(), 'cgroup-tree-test-'));
after(() => rmSync(folder, { recursive: true }));

/** The trees found by a process with these /proc files. */
function findIn(files: { cgroup: string[]; mountinfo: string[] }) {
  for (const [name, lines] of Object.entries(files)) writeFileSync(join(folder, name), lines.map((line) => `${line}\n`).join(''));
  return findCgroupTrees(folder);
}

const second = '30 23 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate';
const firstMemory = '35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory';
const firstCpu = '36 31 0:33 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct';

describe('the control groups of this service', () => {
  it('the control groups of the service are all in one tree on a host with cgroup v2', () => {
    const trees = findIn({ cgroup: ['0::/system.slice/berth.service'], mountinfo: ['22 1 0:21 / / rw - ext4 /dev/vda rw', second] });
    const tree = { version: 2, top: '/sys/fs/cgroup', own: '/sys/fs/cgroup/system.slice/berth.service' };
    assert.deepEqual(Object.fromEntries(trees), { unified: tree, memory: tree, cpu: tree, pids: tree });
    assert.deepEqual(trees.get('memory') && groupsAround(trees.get('memory') ?? assert.fail()), [
      tree.own,
      '/sys/fs/cgroup/system.slice',
      '/sys/fs/cgroup',
    ]);
  });

  it('the control groups of the service are each where their controller is on a host with cgroup v1', () => {
    const trees = findIn({ cgroup: ['5:cpu,cpuacct:/', '4:memory:/jobs/7', '1:name=systemd:/x'], mountinfo: [firstMemory, firstCpu] });
    assert.deepEqual(Object.fromEntries(trees), {
      memory: { version: 1, top: '/sys/fs/cgroup/memory', own: '/sys/fs/cgroup/memory/jobs/7' },
      cpu: { version: 1, top: '/sys/fs/cgroup/cpu,cpuacct', own: '/sys/fs/cgroup/cpu,cpuacct' },
    });
    assert.deepEqual(groupsAround(trees.get('cpu') ?? assert.fail()), ['/sys/fs/cgroup/cpu,cpuacct']);
  });

  it('the control groups of the service are of both generations where a host has both', () => {
    const unified = '41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw';
    const trees = findIn({ cgroup: ['4:memory:/jobs/7', '0::/service'], mountinfo: [firstMemory, unified] });
    assert.deepEqual(
      [trees.get('memory')?.version, trees.get('pids')?.version, trees.get('unified')?.own],
      [1, 2, '/sys/fs/cgroup/unified/service'],
    );
  });

  it('the control groups of the service are found in a container, which sees only a part of them', () => {
    const inDocker = findIn({
      cgroup: ['4:memory:/docker/abc/inner'],
      mountinfo: ['35 31 0:32 /docker/abc /sys/fs/cgroup/memory ro - cgroup cgroup rw,memory'],
    });
    assert.equal(inDocker.get('memory')?.own, '/sys/fs/cgroup/memory/inner');
    const elsewhere = findIn({ cgroup: ['0::/../other'], mountinfo: [second] });
    assert.equal(elsewhere.get('memory')?.own, '/sys/fs/cgroup');
    const foreign = findIn({ cgroup: ['0::/docker/xyz'], mountinfo: ['30 23 0:26 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup2 rw'] });
    assert.equal(foreign.get('memory')?.own, '/sys/fs/cgroup');
  });

  it('the control groups of the service do not change when it has moved to its leaf', () => {
    const trees = findIn({ cgroup: ['0::/system.slice/berth.service/berth-service'], mountinfo: [second] });
    assert.equal(trees.get('memory')?.own, '/sys/fs/cgroup/system.slice/berth.service');
    assert.equal(findIn({ cgroup: ['0::/berth-service'], mountinfo: [second] }).get('memory')?.own, '/sys/fs/cgroup');
  });

  it('control groups are found below a folder with a blank in its name, and nowhere where there are none', () => {
    const trees = findIn({ cgroup: ['0::/a'], mountinfo: ['30 23 0:26 / /mnt/my\\040groups rw - cgroup2 none rw'] });
    assert.equal(trees.get('memory')?.own, '/mnt/my groups/a');
    assert.equal(findIn({ cgroup: ['0::/a'], mountinfo: [] }).size, 0);
    assert.equal(findCgroupTrees(join(folder, 'missing')).size, 0);
  });
});
