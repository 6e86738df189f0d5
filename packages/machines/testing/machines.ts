/** Helpers for tests of the process runtime, seen from the host. */
import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, readlinkSync } from 'node:fs';
import type { Duplex } from 'node:stream';
import { silentLog } from '@berth/lib/log.ts';
import { eventually } from '@berth/lib/testing/eventually.ts';
import { readEnvironment, readProcesses, withDescendants } from '../src/host/processes.ts';
import type { ProcessRuntimeOptions } from '../src/process/process.ts';
import { newVmSpec, type CdpClient } from './runtime-suite.ts';
import type { VmKind } from '../src/runtime.ts';

export const chromiumPath = '/usr/lib/chromium/chromium';

export const optionsFor = (dataDir: string, overrides: Partial<ProcessRuntimeOptions> = {}): ProcessRuntimeOptions => ({
  dataDir,
  workerId: 'wrk_test',
  chromiumPath,
  log: silentLog,
  ...overrides,
});

/** Running processes of a machine. */
export const processesOf = (id: string): number[] => {
  const all = readProcesses();
  const seeds = new Set(all.filter(({ pid }) => readEnvironment(pid).get('BERTH_VM') === id).map(({ pid }) => pid));
  return withDescendants(seeds, all).map(({ pid }) => pid);
};

/** What the kernel says of a process; empty once it has gone, as those of a browser do at any time. */
export function readOf(pid: number, name: 'cgroup' | 'cmdline' | 'comm' | 'oom_score_adj' | 'status'): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8');
  } catch {
    return '';
  }
}

/** User namespace of a process; empty once it has gone. */
export function userNamespaceOf(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/ns/user`);
  } catch {
    return '';
  }
}

/** Field of a process's status; empty once it has gone. */
export const statusOf = (pid: number, field: string): string =>
  new RegExp(`^${field}:\\s+(\\S+)`, 'm').exec(readOf(pid, 'status'))?.[1] ?? '';

/** Polls for a change in another process, which emits no event. */
export async function until(isTrue: () => boolean | Promise<boolean>, deadlineMs: number): Promise<void> {
  await eventually('another process has changed', isTrue, deadlineMs);
}

/** Acts as every site: records request lines and answers `hello`; closes the connection for `/refused`. */
export const recordRequests =
  (asked: string[]) =>
  (connection: Duplex): void => {
    connection.on('error', () => {});
    connection.once('data', (bytes: Buffer) => {
      const line = bytes.toString().split('\r\n')[0] ?? '';
      asked.push(line);
      if (line.includes('/refused')) connection.destroy();
      else connection.end('HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 5\r\nConnection: close\r\n\r\nhello');
    });
  };

export async function evaluate(cdp: CdpClient, page: string, expression: string): Promise<unknown> {
  const { result } = await cdp.call('Runtime.evaluate', { expression, awaitPromise: true, returnByValue: true }, page);
  return (result as { value?: unknown }).value;
}

/** Boots a machine in a separate worker process, which the test kills. */
export async function bootInAnotherWorker(
  dataDir: string,
  { kind = 'headless', jail = 'auto' }: { kind?: VmKind; jail?: 'auto' | 'none' } = {},
): Promise<{ id: string; worker: ChildProcess }> {
  const spec = newVmSpec();
  const options = JSON.stringify({ dataDir, workerId: 'wrk_killed', chromiumPath, jail });
  const script = `
    const { createProcessRuntime } = await import(${JSON.stringify(new URL('../src/process/process.ts', import.meta.url).href)});
    const { silentLog } = await import(${JSON.stringify(new URL('../../lib/src/log.ts', import.meta.url).href)});
    const runtime = await createProcessRuntime({ ...${options}, log: silentLog });
    const order = { id: ${JSON.stringify(spec.id)}, kind: ${JSON.stringify(kind)}, priority: 'normal', acceptEgress: () => {} };
    await runtime.boot(order, { signal: new AbortController().signal });
    process.stdout.write('booted');
    setInterval(() => {}, 1000);`;
  const worker = spawn(process.execPath, ['--input-type=module', '--eval', script], { stdio: ['ignore', 'pipe', 'inherit'] });
  assert.ok(worker.stdout);
  await once(worker.stdout, 'data');
  return { id: spec.id, worker };
}
