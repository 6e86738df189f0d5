import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { childrenOf, sendSignal } from '../host/processes.ts';
import { sendmsgNumbers } from '../process/jail.ts';
import type { Command } from '../process/jail.ts';
import { descriptors, serialBuffer, serialBytes } from './command.ts';
import { Qmp } from './qmp.ts';

/** Enough for the lines around a failure, of QEMU's own words and of the guest's console each. */
const tailBytes = 4 * 1024;
/** A namespace's processes are reaped within some 20 ms of its first one's death; one with a gigabyte of memory to give back may take longer. */
const reapGraceMs = 5000;
/** QEMU answers within milliseconds unless it is the one that has failed. */
const serialMsMax = 1000;

export interface QemuExit {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** The last lines of QEMU's own log and, where they could still be read, of the guest's console. */
  detail: string;
}

export interface QemuFiles {
  memory?: number | undefined;
  state?: number | undefined;
}

/** One QEMU in its jail, from its start to the proof that nothing of it is left. */
export class QemuProcess {
  readonly pid: number | null;
  readonly exited: Promise<QemuExit>;
  readonly qmp: Qmp;
  /** The host's ends of the guest's ports. */
  readonly control: Duplex;
  readonly egress: Duplex;

  readonly #child: ChildProcess;
  #log = '';
  #serial = '';
  #killing: Promise<void> | undefined;

  constructor(command: Command, files: QemuFiles = {}) {
    this.#child = spawnQemu(command, files);
    this.pid = this.#child.pid ?? null;
    this.qmp = new Qmp(socketOf(this.#child, descriptors.qmp));
    this.control = socketOf(this.#child, descriptors.control);
    this.egress = socketOf(this.#child, descriptors.egress);
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#log = (this.#log + text).slice(-tailBytes);
    });
    // A guest that ends, by a panic for one, is kept standing until its last words are read.
    this.qmp.onEvent('SHUTDOWN', () => void this.lastWords().then(() => this.kill()));
    this.exited = this.#watchExit();
  }

  /** The last lines of QEMU's own log and, as far as they can be had, of the guest's console. */
  async lastWords(): Promise<string> {
    const said = await this.qmp
      .call('ringbuf-read', { device: serialBuffer, size: serialBytes }, { signal: AbortSignal.timeout(serialMsMax) })
      .catch(() => '');
    if (typeof said === 'string') this.#serial = (this.#serial + said).slice(-tailBytes);
    return this.#words();
  }

  /** Gives QEMU an open file by a name that other commands know it by. */
  async giveFile(name: string, descriptor: number): Promise<void> {
    await this.qmp.call(
      'getfd',
      { fdname: name },
      { send: (line) => sendWithDescriptor(socketOf(this.#child, descriptors.qmp), line, descriptor) },
    );
  }

  /** Resolves when no process of it is left. Idempotent; callers share one promise. */
  kill(): Promise<void> {
    this.#killing ??= this.#end();
    return this.#killing;
  }

  #words(): string {
    return [this.#log.trim(), this.#serial.trim()].filter(Boolean).join('\n');
  }

  async #watchExit(): Promise<QemuExit> {
    const exit = await exitOf(this.#child, (problem) => (this.#log += problem));
    for (const socket of [this.control, this.egress]) socket.destroy();
    this.qmp.close();
    return { ...exit, detail: `${exit.signal ? `signal ${exit.signal}` : `code ${exit.code}`}\n${this.#words()}`.trim() };
  }

  async #end(): Promise<void> {
    await killQemu(this.#child, this.exited);
    this.#child.stderr?.destroy();
  }
}

/**
 * In a group and session of its own. Descriptor 2 is its log; those from 6 on
 * are files. The first two are for a word at the start: the jail says that it
 * stands, and is told that we do.
 */
export function spawnQemu({ program, args, env }: Command, { memory, state }: QemuFiles): ChildProcess {
  const child = spawn(program, args, {
    env,
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe', 'pipe', 'pipe', 'pipe', memory ?? 'ignore', state ?? 'ignore'],
  });
  // Where the host has no descriptors left there are no sockets either, and the error comes when nobody else would listen.
  child.on('error', () => {});
  if (!(child.stdio as unknown)) throw new Error('QEMU could not be started: too many open files');
  child.stdin?.on('error', () => {});
  child.stdout?.once('data', () => child.stdin?.end('go\n')).resume();
  return child;
}

/** A process that could not be started at all ends without an exit. */
export function exitOf(child: ChildProcess, onProblem: (problem: string) => void): Promise<Omit<QemuExit, 'detail'>> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve({ code, signal }));
    child.on('error', (error) => {
      onProblem(error.message);
      if (child.pid === undefined) resolve({ code: null, signal: null });
    });
  });
}

/**
 * Kills the namespace's first process and leaves the outer one to see it: the
 * kernel lets the first one go only after all others are gone, so the outer
 * one's exit proves that nothing is left. One that does not see it in time is
 * killed as well, and takes the inner ones along by their parent-death signal.
 */
export async function killQemu(child: ChildProcess, exited: Promise<unknown>): Promise<void> {
  const { pid } = child;
  if (pid !== undefined && child.exitCode === null && child.signalCode === null) {
    const inner = childrenOf(pid);
    if (inner.length === 0) sendSignal(-pid, 'SIGKILL');
    for (const first of inner) sendSignal(first, 'SIGKILL');
    sendSignal(pid, 'SIGCONT');
  }
  const grace = new AbortController();
  void sleep(reapGraceMs, undefined, { signal: grace.signal }).then(
    () => pid !== undefined && sendSignal(-pid, 'SIGKILL'),
    () => {},
  );
  await exited;
  grace.abort();
}

/** By a helper that shares the socket for a moment, and is gone when this resolves. */
async function sendWithDescriptor(socket: Socket, line: string, descriptor: number): Promise<void> {
  const script = readFileSync(new URL('./pass-descriptor.pl', import.meta.url), 'utf8');
  const args = ['-e', script, String(sendmsgNumbers[process.arch]), line];
  const helper = spawn('perl', args, { env: { PATH: '/usr/bin:/bin' }, cwd: '/', stdio: ['ignore', 'ignore', 'pipe', socket, descriptor] });
  // Node reads no more from a socket that it has handed to a child.
  socket.resume();
  let problems = '';
  helper.stderr?.setEncoding('utf8').on('data', (text: string) => (problems += text));
  const { code } = await exitOf(helper, (problem) => (problems += problem));
  if (code !== 0) throw new Error(`a descriptor could not be passed: ${problems.trim()}`);
}

const socketOf = (child: ChildProcess, number: number): Socket => {
  const socket = child.stdio[number] as Socket;
  // A port breaks when QEMU ends: that is told by `exited`.
  socket.on('error', () => {});
  return socket;
};
