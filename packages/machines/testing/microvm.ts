/** Helpers for tests of virtual machines, seen from the host. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, realpathSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { silentLog } from '@berth/lib/log.ts';
import { childrenOf } from '../src/host/processes.ts';
import { machinePath } from '../src/host/machine-folder.ts';
import { newVmSpec } from './runtime-suite.ts';
import type { Vm } from '../src/runtime.ts';
import { processesOf } from './machines.ts';
import type { QemuRuntimeOptions } from '../src/qemu/qemu.ts';

const given = process.env['BERTH_IMAGES_DIR'];
if (!given || !existsSync(join(given, 'current')))
  throw new Error('These tests need an image. Build one with npm run image and set BERTH_IMAGES_DIR.');
/** Folder of the images to test with. */
export const imagesDir: string = given;

/** Number of copies to compare. Each takes about ten seconds under emulation; run with fifty once. */
export const copies = Number(process.env['BERTH_TEST_COPIES'] ?? 3);

/** A first template on a busy host that emulates it. */
export const firstBootMsMax = 500_000;

export const optionsFor = (dataDir: string, overrides: Partial<QemuRuntimeOptions> = {}): QemuRuntimeOptions => ({
  dataDir,
  workerId: 'wrk_test',
  imagesDir,
  qemuPath: '/usr/bin/qemu-system-x86_64',
  memoryMb: 1024,
  cpus: 1,
  accelerator: 'tcg',
  log: silentLog,
  ...overrides,
});

export const newDataDir = (): string => mkdtempSync(join(tmpdir(), 'microvm-'));

/** The image once more, to be spoilt: its files are links, its templates are copies. */
export function copyImage(parent: string): { imagesDir: string; folder: string } {
  const source = realpathSync(join(imagesDir, 'current'));
  const copies = mkdtempSync(join(parent, 'images-'));
  const folder = join(copies, basename(source));
  mkdirSync(folder);
  for (const { name } of readdirSync(source, { withFileTypes: true }).filter((entry) => entry.isFile()))
    symlinkSync(join(source, name), join(folder, name));
  if (existsSync(join(source, 'templates'))) cpSync(join(source, 'templates'), join(folder, 'templates'), { recursive: true });
  symlinkSync(basename(source), join(copies, 'current'));
  return { imagesDir: copies, folder };
}

/** QEMU itself, inside its jail. */
export function qemuOf(vm: Vm): number {
  let pid = vm.pid ?? 0;
  for (let [child] = childrenOf(pid); child !== undefined; [child] = childrenOf(pid)) pid = child;
  return pid;
}

/** Whatever is left of a machine: processes, its folder, its control groups. */
export const residueOf = (dataDir: string, id: string): string[] => [
  ...processesOf(id).map((pid) => `process ${pid}`),
  ...(existsSync(machinePath(dataDir, id)) ? ['folder'] : []),
  ...globSync(`/sys/fs/cgroup/{,*/,*/*/}berth-*/${id}`),
];

/** A field of /proc/<pid>/status. */
export const statusOf = (pid: number, field: string): string =>
  new RegExp(`^${field}:[ \\t]*(.*)$`, 'm').exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? '';

export interface AnotherWorker {
  worker: ChildProcess;
  /** One in use, one kept warm, and one that has begun to start. */
  ids: string[];
}

/** A worker that is a process of its own, to be killed. */
export async function startAnotherWorker(dataDir: string): Promise<AnotherWorker> {
  const ids = ['normal', 'background', 'normal'].map(() => newVmSpec().id);
  const { log: _, ...options } = optionsFor(dataDir, { workerId: 'wrk_killed' });
  const script = `
    const { createQemuRuntime } = await import(${JSON.stringify(new URL('../src/qemu/qemu.ts', import.meta.url).href)});
    const { silentLog } = await import(${JSON.stringify(new URL('../../lib/src/log.ts', import.meta.url).href)});
    const runtime = await createQemuRuntime({ ...${JSON.stringify(options)}, log: silentLog });
    const [live, warm, starting] = ${JSON.stringify(ids)};
    const signal = AbortSignal.timeout(${firstBootMsMax});
    const boot = (id, priority) => runtime.boot({ id, kind: 'headless', priority, acceptEgress: () => {} }, { signal });
    await boot(live, 'normal');
    await boot(warm, 'background');
    void boot(starting, 'normal');
    process.stdout.write('booted');
    setInterval(() => {}, 1000);`;
  const worker = spawn(process.execPath, ['--input-type=module', '--eval', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  assert.ok(worker.stdout);
  await once(worker.stdout, 'data');
  return { worker, ids };
}
