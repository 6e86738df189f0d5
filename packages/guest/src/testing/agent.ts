/** The agent as its host finds it, without a machine around it: a real browser, and streams in the place of ports. */
import { once } from 'node:events';
import { chownSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { connect, performServerHandshake } from 'node:http2';
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders, ServerHttp2Session, ServerHttp2Stream } from 'node:http2';
import { createConnection, createServer } from 'node:net';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import type { guestRequests, Identity } from '@berth/contract/guest';
import { Egress } from '../egress.ts';
import { imagePlace, Machine, NotNow } from '../machine.ts';
import type { MachineParts, MachinePlace } from '../machine.ts';
import { serve } from '../server.ts';

/** Takes what it is told as taken: this host keeps its own time and names. */
const onPaper: MachineParts['identities'] = {
  take: async ({ time_ms, machine_id, boot_id }) => ({ time_ms, machine_id, boot_id }),
  rehearse: async () => {},
};

export interface Answer {
  status: number;
  headers: Record<string, unknown>;
  bytes: Buffer;
  json: Record<string, unknown>;
}

export class AgentUnderTest {
  readonly place: MachinePlace;
  readonly egress = new Egress(0);
  readonly machine: Machine;
  /** What the agent has found wrong with itself. */
  readonly complaints: unknown[] = [];
  #host: { control: ClientHttp2Session; port: Socket } | undefined;

  constructor() {
    this.place = newPlace();
    this.machine = new Machine({ place: this.place, egress: this.egress, identities: onPaper });
  }

  /** A host comes; the one before has left. */
  async connect(): Promise<void> {
    this.#leave();
    const [port, inside] = await streamPair();
    serve(inside, this.machine, (error) => this.complaints.push(error));
    const control = connect('http://agent', { createConnection: () => port }).on('error', () => {});
    this.#host = { control, port };
  }

  /** The host comes to the port of egress, and takes connections there. */
  async meetGate(onStream: (stream: ServerHttp2Stream, headers: IncomingHttpHeaders) => void): Promise<ServerHttp2Session> {
    const [host, inside] = await streamPair();
    this.egress.meet(inside);
    const session = performServerHandshake(host, { settings: { maxConcurrentStreams: 1000 } });
    return session.on('error', () => {}).on('stream', onStream);
  }

  async ask({ method, path }: { method: string; path: string }, body?: object | Buffer | string): Promise<Answer> {
    const stream = this.#request({ method, path });
    // What nobody has begun to read by its end is thrown away.
    const [answered, read] = [headersOf(stream), buffer(stream)];
    stream.end(typeof body === 'object' && !Buffer.isBuffer(body) ? JSON.stringify(body) : body);
    const [headers, bytes] = await Promise.all([answered, read]);
    const json =
      headers['content-length'] === undefined && bytes.length > 0 ? (JSON.parse(bytes.toString()) as Record<string, unknown>) : {};
    return { status: Number(headers[':status']), headers, bytes, json };
  }

  /** A stream both ways, when the agent has taken it; its status where it has not. */
  async open({ method, path }: (typeof guestRequests)['devtools' | 'vnc']): Promise<ClientHttp2Stream | number> {
    const stream = this.#request({ method, path });
    stream.on('error', () => {});
    const status = Number((await headersOf(stream))[':status']);
    return status === 200 ? stream : status;
  }

  /** Pids of the browser's processes, the outermost first; none when there is no browser. */
  browserProcesses(): number[] {
    const parents = new Map(
      readdirSync('/proc')
        .filter((name) => /^\d+$/.test(name))
        .map((pid) => [Number(pid), parentOf(Number(pid))]),
    );
    const outermost = [...parents.keys()].find((pid) => {
      const command = readIfThere(`/proc/${pid}/cmdline`);
      return command.startsWith(this.place.chromiumPath) && command.includes(this.place.home) && !command.includes('--type=');
    });
    const found = outermost === undefined ? [] : [outermost];
    for (const pid of found) for (const [child, parent] of parents) if (parent === pid) found.push(child);
    return found;
  }

  async close(): Promise<void> {
    this.#leave();
    this.egress.close();
    this.#letGo();
    await this.machine.exit().catch(() => undefined);
    rmSync(join(this.place.home, '..'), { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }

  /** Of a browser that nobody has had. */
  #letGo(): void {
    try {
      this.machine.takePipe().destroy();
    } catch (error) {
      if (!(error instanceof NotNow)) throw error;
    }
  }

  #request({ method, path }: { method: string; path: string }): ClientHttp2Stream {
    if (!this.#host) throw new Error('the host has not come');
    return this.#host.control.request({ ':method': method, ':path': path }, { endStream: false });
  }

  #leave(): void {
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

/** Folders as the image has them, for a user of this host. */
function newPlace(): MachinePlace {
  const { uid, chromiumPath } = imagePlace;
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

/** Waits for what another process does: there is no event to wait for. */
export async function until(isTrue: () => boolean | Promise<boolean>, deadlineMs: number): Promise<void> {
  const deadline = performance.now() + deadlineMs;
  while (!(await isTrue())) {
    if (performance.now() > deadline) throw new Error(`not within ${deadlineMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
