import { spawn, type ChildProcess } from 'node:child_process';
import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { abortAfter } from '@berth/lib/deadline.ts';
import { confined } from '../host/confine.ts';
import { childrenOf, sendSignal } from '../host/processes.ts';
import { sendmsgNumbers, type Command } from '../process/jail.ts';
import { descriptors, serialBuffer, serialBytes } from './command.ts';
import { Qmp } from './qmp.ts';

/** Enough for the lines around a failure; for QEMU's log and the guest's console each. */
const tailBytes = 4 * 1024;
/** Processes of a namespace are reaped within about 20 ms after its first one dies; freeing a gigabyte takes longer. */
const reapGraceMs = 5000;
/** QEMU answers within milliseconds unless it has failed itself. */
const serialMsMax = 1000;

interface QemuExit {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** Last lines of QEMU's log and, if still readable, of the guest's console. */
  detail: string;
}

interface QemuFiles {
  memory?: number | undefined;
  state?: number | undefined;
}

/** One QEMU process in its jail. */
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
    // A guest that shuts down, for example by a panic, stays paused until its console is read.
    this.qmp.onEvent('SHUTDOWN', () => void this.readTail().then(() => this.kill()));
    this.exited = this.#watchExit();
  }

  /** Returns the last lines of QEMU's log and, if readable, of the guest's console. */
  async readTail(): Promise<string> {
    const said = await this.qmp
      .call('ringbuf-read', { device: serialBuffer, size: serialBytes }, { signal: abortAfter(serialMsMax) })
      .catch(() => '');
    if (typeof said === 'string') this.#serial = (this.#serial + said).slice(-tailBytes);
    return this.#tail();
  }

  /** Passes an open file to QEMU (getfd), under a name for later commands. */
  async passFile(name: string, descriptor: number): Promise<void> {
    await this.qmp.call(
      'getfd',
      { fdname: name },
      { send: (line) => sendWithDescriptor(socketOf(this.#child, descriptors.qmp), line, descriptor) },
    );
  }

  /** Resolves when none of its processes is left. Idempotent; callers share one promise. */
  kill(): Promise<void> {
    this.#killing ??= this.#end();
    return this.#killing;
  }

  #tail(): string {
    return [this.#log.trim(), this.#serial.trim()].filter(Boolean).join('\n');
  }

  async #watchExit(): Promise<QemuExit> {
    const exit = await exitOf(this.#child, (problem) => (this.#log += problem));
    for (const socket of [this.control, this.egress]) socket.destroy();
    this.qmp.close();
    return { ...exit, detail: `${exit.signal ? `signal ${exit.signal}` : `code ${exit.code}`}\n${this.#tail()}`.trim() };
  }

  async #end(): Promise<void> {
    await killQemu(this.#child, this.exited);
    this.#child.stderr?.destroy();
  }
}

/**
 * Starts in its own process group and session. Descriptor 2 is the log; those from
 * 6 on are files. The first two are a handshake: the jail reports that it is
 * ready, and the worker confirms that it is alive.
 */
export function spawnQemu(command: Command, { memory, state }: QemuFiles): ChildProcess {
  const { program, args, env } = confined(command);
  const child = spawn(program, args, {
    env,
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe', 'pipe', 'pipe', 'pipe', memory ?? 'ignore', state ?? 'ignore'],
  });
  // Without free descriptors there are no sockets, and the error event has no other listener.
  child.on('error', () => {});
  if (!(child.stdio as unknown)) throw new Error('QEMU could not be started: too many open files');
  child.stdin?.on('error', () => {});
  child.stdout?.once('data', () => child.stdin?.end('go\n')).resume();
  return child;
}

/** Resolves with the exit. A process that could not be started has no exit event. */
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
 * Kills the first process of the namespace. The kernel ends it only after all
 * others in the namespace, so the exit of the outer process proves that nothing is
 * left. After a grace period the outer one is killed as well, and the inner ones
 * get their parent-death signal.
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

/** Uses a helper process that shares the socket briefly and has exited when this resolves. */
async function sendWithDescriptor(socket: Socket, line: string, descriptor: number): Promise<void> {
  const script = readFileSync(new URL('./pass-descriptor.pl', import.meta.url), 'utf8');
  const args = ['-e', script, String(sendmsgNumbers[process.arch]), line];
  const helper = spawn('perl', args, { env: { PATH: '/usr/bin:/bin' }, cwd: '/', stdio: ['ignore', 'ignore', 'pipe', socket, descriptor] });
  // Node stops reading from a socket that it passes to a child.
  socket.resume();
  let problems = '';
  helper.stderr?.setEncoding('utf8').on('data', (text: string) => (problems += text));
  const { code } = await exitOf(helper, (problem) => (problems += problem));
  if (code !== 0) throw new Error(`a descriptor could not be passed: ${problems.trim()}`);
}

const socketOf = (child: ChildProcess, number: number): Socket => {
  const socket = child.stdio[number] as Socket;
  // A port breaks when QEMU exits, which `exited` reports.
  socket.on('error', () => {});
  return socket;
};
