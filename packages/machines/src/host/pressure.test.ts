import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, describe, it } from 'node:test';
import { createHostReader, processorsHere } from './pressure.ts';

const megabyte = 1024 ** 2;
const folder = mkdtempSync(join(tmpdir(), 'host-pressure-test-'));
after(() => rmSync(folder, { recursive: true }));
let hosts = 0;

/** A host as files, by path. Those in `groups/` are its control groups: v2, or the memory and cpu trees of v1. */
function makeHost(files: Record<string, string>, { version = 2, own = '/' }: { version?: 1 | 2; own?: string } = {}) {
  const root = join(folder, `host-${(hosts += 1)}`);
  const put = (path: string, text: string): void => {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), `${text}\n`);
  };
  const mount = (path: string, type: string, options: string): string => `30 23 0:26 / ${join(root, path)} rw - ${type} ${type} ${options}`;
  const [mounts, groups] =
    version === 2
      ? [[mount('groups', 'cgroup2', 'rw')], [`0::${own}`]]
      : [
          [mount('groups/memory', 'cgroup', 'rw,memory'), mount('groups/cpu', 'cgroup', 'rw,cpu')],
          [`4:memory:${own}`, `1:cpu:${own}`],
        ];
  put('self/mountinfo', mounts.join('\n'));
  put('self/cgroup', groups.join('\n'));
  for (const [path, text] of Object.entries(files)) put(path, text);
  return { procPath: root, put };
}

const meminfo = (megabytes: number): string =>
  `MemTotal:       99999999 kB\nMemFree:          100 kB\nMemAvailable:   ${megabytes * 1024} kB`;
const stall = (percent: string): string =>
  `some avg10=${percent} avg60=1.00 avg300=2.00 total=3\nfull avg10=0.50 avg60=0.00 avg300=0.00 total=1`;
const bytes = (megabytes: number): string => String(megabytes * megabyte);
const available = (host: { procPath: string }): number | null => {
  const read = createHostReader(host)().memoryAvailableBytes;
  return read === null ? null : read / megabyte;
};

describe('memory that is available', () => {
  it('available memory is that of the host, where nobody limits the service', () => {
    assert.equal(available(makeHost({ meminfo: meminfo(4000) })), 4000);
    assert.equal(
      available(makeHost({ meminfo: meminfo(4000), 'groups/a/memory.max': 'max', 'groups/a/memory.current': bytes(100) }, { own: '/a' })),
      4000,
    );
    const first = {
      meminfo: meminfo(4000),
      'groups/memory/memory.limit_in_bytes': '9223372036854771712',
      'groups/memory/memory.usage_in_bytes': '1',
    };
    assert.equal(available(makeHost(first, { version: 1 })), 4000);
  });

  it('available memory is what the service’s own control group still may take, page cache that nobody uses not counted', () => {
    const second = {
      'groups/a/memory.max': bytes(1000),
      'groups/a/memory.current': bytes(700),
      'groups/a/memory.stat': `anon 1\ninactive_file ${bytes(200)}`,
    };
    assert.equal(available(makeHost({ meminfo: meminfo(4000), ...second }, { own: '/a' })), 500);
    const first = {
      'groups/memory/a/memory.limit_in_bytes': bytes(1000),
      'groups/memory/a/memory.usage_in_bytes': bytes(700),
      'groups/memory/a/memory.stat': `inactive_file 5\ntotal_inactive_file ${bytes(100)}`,
    };
    assert.equal(available(makeHost({ meminfo: meminfo(4000), ...first }, { version: 1, own: '/a' })), 400);
  });

  it('available memory is that of the tightest group around the service, or of the host, whichever has least', () => {
    const nested = {
      'groups/a/memory.max': bytes(2000),
      'groups/a/memory.current': bytes(1900),
      'groups/a/b/memory.max': bytes(1000),
      'groups/a/b/memory.current': bytes(500),
    };
    assert.equal(available(makeHost({ meminfo: meminfo(4000), ...nested }, { own: '/a/b' })), 100);
    assert.equal(available(makeHost({ meminfo: meminfo(50), ...nested }, { own: '/a/b' })), 50);
    const slowed = { 'groups/a/memory.max': bytes(2000), 'groups/a/memory.high': bytes(1500), 'groups/a/memory.current': bytes(1600) };
    assert.equal(available(makeHost({ meminfo: meminfo(4000), ...slowed }, { own: '/a' })), 0);
  });

  it('available memory is null where the kernel does not report it', () => {
    assert.equal(available({ procPath: join(folder, 'nowhere') }), null);
  });
});

describe('time that is lost waiting', () => {
  it('pressure is the host’s, where the kernel does not report it per group', () => {
    const { procPath } = makeHost({ 'pressure/memory': stall('3.25'), 'pressure/cpu': stall('81.00') });
    const { memoryStallPercent, cpuStallPercent } = createHostReader({ procPath })();
    assert.deepEqual([memoryStallPercent, cpuStallPercent], [3.25, 81]);
  });

  it('pressure is the service’s own, even if a neighbour stalls within its own limits', () => {
    const files = {
      'pressure/memory': stall('60.00'),
      'pressure/cpu': stall('90.00'),
      'groups/a/memory.pressure': stall('1.00'),
      'groups/a/cpu.pressure': stall('2.00'),
    };
    const { memoryStallPercent, cpuStallPercent } = createHostReader(makeHost(files, { own: '/a' }))();
    assert.deepEqual([memoryStallPercent, cpuStallPercent], [1, 2]);
  });

  it('pressure is unknown where the kernel keeps no account of it', () => {
    const { memoryStallPercent, cpuStallPercent } = createHostReader({ procPath: join(folder, 'nowhere') })();
    assert.deepEqual([memoryStallPercent, cpuStallPercent], [null, null]);
  });
});

describe('a host that is read again', () => {
  it('a host that is read again has its current values', () => {
    const { procPath, put } = makeHost({ meminfo: meminfo(4000) });
    const read = createHostReader({ procPath });
    assert.equal(read().memoryAvailableBytes, 4000 * megabyte);
    put('meminfo', meminfo(3000));
    assert.equal(read().memoryAvailableBytes, 3000 * megabyte);
  });

  it('memory, pressure and processors have values on this machine', () => {
    const { memoryAvailableBytes } = createHostReader()();
    assert.ok(memoryAvailableBytes !== null && memoryAvailableBytes > 0);
    assert.ok(processorsHere() > 0 && processorsHere() <= availableParallelism());
  });
});

describe('processors that may be used', () => {
  it('available processors are no more than the tightest group around the service has time for', () => {
    const second = { 'groups/cpu.max': 'max 100000', 'groups/a/cpu.max': '50000 100000', 'groups/a/b/cpu.max': '80000 100000' };
    assert.equal(processorsHere(makeHost(second, { own: '/a/b' })), 0.5);
    const first = {
      'groups/cpu/a/cpu.cfs_quota_us': '25000',
      'groups/cpu/a/cpu.cfs_period_us': '100000',
      'groups/cpu/cpu.cfs_quota_us': '-1',
    };
    assert.equal(processorsHere(makeHost(first, { version: 1, own: '/a' })), 0.25);
  });

  it('available processors are all that there are, where no group has less', () => {
    assert.equal(processorsHere(makeHost({})), availableParallelism());
    assert.equal(
      processorsHere(makeHost({ 'groups/cpu/cpu.cfs_quota_us': '-1', 'groups/cpu/cpu.cfs_period_us': '100000' }, { version: 1 })),
      availableParallelism(),
    );
  });
});
