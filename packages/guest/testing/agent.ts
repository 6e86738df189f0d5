/** The agent without a machine: a real browser, and sockets in place of ports. */
import { once } from 'node:events';
import { chownSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import {
  connect,
  performServerHandshake,
  type ClientHttp2Session,
  type ClientHttp2Stream,
  type IncomingHttpHeaders,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import { createConnection, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { guestRequests, Identity } from '@berth/contract/guest';
import { Egress } from '../src/agent/egress.ts';
import { imagePaths, Machine, InvalidStateError, type MachineDeps, type MachinePaths } from '../src/agent/machine.ts';
import { serve } from '../src/agent/server.ts';
import { eventually } from '@berth/lib/testing/eventually.ts';

/** Accepts every identity without applying it to this host. */
const fakeIdentities: MachineDeps['identities'] = {
  assume: async ({ time_ms, machine_id, boot_id }) => ({ time_ms, machine_id, boot_id }),
  warmUp: async () => {},
};

export interface AgentResponse {
  status: number;
  headers: Record<string, unknown>;
  bytes: Buffer;
  json: Record<string, unknown>;
}

export class AgentUnderTest {
  readonly paths: MachinePaths;
  readonly egress = new Egress(0);
  readonly machine: Machine;
  /** Unexpected errors of the agent. */
  readonly errors: unknown[] = [];
  #host: { control: ClientHttp2Session; port: Socket } | undefined;

  constructor() {
    this.paths = createPaths();
    this.machine = new Machine({ paths: this.paths, egress: this.egress, identities: fakeIdentities });
  }

  /** Connects a new host; the previous one disconnects. */
  async connect(): Promise<void> {
    this.#disconnect();
    const [port, inside] = await streamPair();
    serve(inside, this.machine, (error) => this.errors.push(error));
    const control = connect('http://agent', { createConnection: () => port }).on('error', () => {});
    this.#host = { control, port };
  }

  /** Connects the host to the egress port and accepts connections there. */
  async connectGate(onStream: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void): Promise<ServerHttp2Session> {
    const [host, inside] = await streamPair();
    this.egress.attachHost(inside);
    const session = performServerHandshake(host, { settings: { maxConcurrentStreams: 1000 } });
    return session.on('error', () => {}).on('stream', onStream);
  }

  async request({ method, path }: { method: string; path: string }, body?: object | Buffer | string): Promise<AgentResponse> {
    const stream = this.#request({ method, path });
    // Start reading now: data unread at the end of the stream is discarded.
    const [answered, read] = [headersOf(stream), buffer(stream)];
    stream.end(typeof body === 'object' && !Buffer.isBuffer(body) ? JSON.stringify(body) : body);
    const [headers, bytes] = await Promise.all([answered, read]);
    const json =
      headers['content-length'] === undefined && bytes.length > 0 ? (JSON.parse(bytes.toString()) as Record<string, unknown>) : {};
    return { status: Number(headers[':status']), headers, bytes, json };
  }

  /** Returns a duplex stream, or the status if the agent refused. */
  async open({ method, path }: (typeof guestRequests)['devtools' | 'vnc']): Promise<ClientHttp2Stream | number> {
    const stream = this.#request({ method, path });
    stream.on('error', () => {});
    const status = Number((await headersOf(stream))[':status']);
    return status === 200 ? stream : status;
  }

  /** Pids of the browser's processes, the outermost first. */
  browserProcesses(): number[] {
    const parents = new Map(
      readdirSync('/proc')
        .filter((name) => /^\d+$/.test(name))
        .map((pid) => [Number(pid), parentOf(Number(pid))]),
    );
    const outermost = [...parents.keys()].find((pid) => {
      const command = readIfThere(`/proc/${pid}/cmdline`);
      return command.startsWith(this.paths.chromiumPath) && command.includes(this.paths.home) && !command.includes('--type=');
    });
    const tree = outermost === undefined ? [] : [outermost];
    for (const pid of tree) for (const [child, parent] of parents) if (parent === pid) tree.push(child);
    return tree;
  }

  async close(): Promise<void> {
    this.#disconnect();
    this.egress.close();
    this.#closePipe();
    await this.machine.exit().catch(() => undefined);
    rmSync(join(this.paths.home, '..'), { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }

  /** Closes the pipe of a browser if nobody has taken it. */
  #closePipe(): void {
    try {
      this.machine.takePipe().destroy();
    } catch (error) {
      if (!(error instanceof InvalidStateError)) throw error;
    }
  }

  #request({ method, path }: { method: string; path: string }): ClientHttp2Stream {
    if (!this.#host) throw new Error('no host is connected');
    return this.#host.control.request({ ':method': method, ':path': path }, { endStream: false });
  }

  #disconnect(): void {
    this.#host?.control.destroy();
    this.#host?.port.destroy();
  }
}

export const statusOf = (pid: number, field: string): string =>
  new RegExp(`^${field}:[ \\t]*(.*)$`, 'm').exec(readIfThere(`/proc/${pid}/status`))?.[1] ?? '';

const parentOf = (pid: number): number => Number(statusOf(pid, 'PPid'));

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}

/** Both ends of a connection of this host. */
export async function streamPair(): Promise<[Socket, Socket]> {
  const folder = mkdtempSync(join(tmpdir(), 'guest-port-'));
  const server = createServer().listen(join(folder, 'socket'));
  await once(server, 'listening');
  const [one, [other]] = await Promise.all([connectTo(join(folder, 'socket')), once(server, 'connection') as Promise<[Socket]>]);
  server.close();
  rmSync(folder, { recursive: true });
  for (const each of [one, other]) each.on('error', () => {});
  return [one, other];
}

async function connectTo(path: string): Promise<Socket> {
  const socket = createConnection(path);
  await once(socket, 'connect');
  return socket;
}

function headersOf(stream: ClientHttp2Stream): Promise<Record<string, unknown>> {
  return new Promise((resolve, reject) => {
    stream.once('response', resolve).once('error', reject);
    stream.once('close', () => reject(new Error('no answer')));
  });
}

/** Folders as in the image, for a user of this host. */
function createPaths(): MachinePaths {
  const { uid, chromiumPath } = imagePaths;
  const folder = mkdtempSync(join(tmpdir(), 'guest-agent-'));
  const paths = Object.fromEntries(
    (['downloads', 'uploads', 'display', 'home'] as const).map((name) => [name, join(folder, name)]),
  ) as Record<'downloads' | 'uploads' | 'display' | 'home', string>;
  for (const path of Object.values(paths)) mkdirSync(path);
  for (const path of [folder, paths.downloads, paths.display, paths.home]) chownSync(path, uid, uid);
  return { uid, chromiumPath, ...paths };
}

export const someIdentity = (): Identity => ({
  entropy: Buffer.alloc(64, 1).toString('base64'),
  time_ms: 1_800_000_000_000,
  machine_id: '0123456789abcdef0123456789abcdef',
  boot_id: '00000000-0000-4000-8000-000000000000',
  hostname: 'berth-1',
});

/** Polls for a change in another process, which emits no event. */
export async function until(isTrue: () => boolean | Promise<boolean>, deadlineMs: number): Promise<void> {
  await eventually('another process has changed', isTrue, deadlineMs);
}
