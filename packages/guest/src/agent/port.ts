/**
 * A virtio-serial port inside the machine: a file whose reads return 0 while the
 * host's end is closed. That is not the end, as a host may connect again, and it
 * may be another one: a machine is saved and its copies run elsewhere.
 *
 * Node can poll sockets but not such a file, except with one blocked thread per
 * read. A blocked write is worse: it would complete with the next host. So the
 * file is given to libuv as a pipe, which polls both directions. Node has no
 * public API for that, but the image ships its own Node, and HTTP/2 over a native
 * handle is three times as fast.
 */
import { constants, openSync, readdirSync, readFileSync, readSync } from 'node:fs';
import { Socket } from 'node:net';

/** Only machines that wait to be saved poll; an idle machine has a host. */
const pollMs = 20;
const readBytes = 64 * 1024;
const portsPath = '/sys/class/virtio-ports';

/** Returns the device file of a port by name. Throws if there is none. */
export function findPort(name: string): string {
  const match = readdirSync(portsPath).find((port) => readFileSync(`${portsPath}/${port}/name`, 'latin1').trim() === name);
  if (match === undefined) throw new Error(`this machine has no port ${name}`);
  return `/dev/${match}`;
}

export class Port {
  readonly #open: () => number;
  readonly #onHost: (stream: Socket) => void;
  #stream: Socket | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isClosed = false;

  /** Calls `onHost` with a stream for each host that connects, after the stream of the previous one has ended and it has disconnected. */
  constructor(path: string, onHost: (stream: Socket) => void, flags: number = constants.O_RDWR) {
    this.#open = () => openSync(path, flags | constants.O_NONBLOCK);
    this.#onHost = onHost;
  }

  listen(): void {
    this.#awaitHost(this.#open());
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    this.#stream?.destroy();
  }

  #awaitHost(fd: number): void {
    const first = readHost(fd);
    if (first === 'away') this.#later(() => this.#awaitHost(fd));
    else this.#serve(fd, first);
  }

  #serve(fd: number, first: Buffer): void {
    const stream = streamOver(fd);
    this.#stream = stream;
    if (first.length > 0) stream.unshift(first);
    // Errors carry no information here; `close` follows.
    stream.on('error', () => {}).once('close', () => this.#openAgain());
    this.#onHost(stream);
  }

  #openAgain(): void {
    if (this.#isClosed) return;
    try {
      this.#awaitHostLeft(this.#open());
    } catch (error) {
      // A program that is being started may hold the file briefly.
      if ((error as NodeJS.ErrnoException).code !== 'EBUSY') throw error;
      this.#later(() => this.#openAgain());
    }
  }

  /** Discards what this host still sends after we closed the stream. */
  #awaitHostLeft(fd: number): void {
    if (readHost(fd) === 'away') this.#awaitHost(fd);
    else this.#later(() => this.#awaitHostLeft(fd));
  }

  #later(work: () => void): void {
    this.#timer = setTimeout(work, pollMs);
  }
}

/** Returns what the host has sent, which may be nothing, or `away` without a host. */
function readHost(fd: number): Buffer | 'away' {
  const bytes = Buffer.allocUnsafe(readBytes);
  try {
    const length = readSync(fd, bytes);
    return length === 0 ? 'away' : bytes.subarray(0, length);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EAGAIN') return bytes.subarray(0, 0);
    throw error;
  }
}

interface Pipes {
  Pipe: new (type: number) => { open(fd: number): void };
  constants: { SOCKET: number };
}

/** A port cannot be half-closed. Data still unsent when it ends must not wait for the next host. */
class PortStream extends Socket {
  override _final(callback: () => void): void {
    callback();
    this.destroy();
  }
}

/** The stream closes the file. */
function streamOver(fd: number): Socket {
  const { Pipe, constants } = (process as unknown as { binding(name: 'pipe_wrap'): Pipes }).binding('pipe_wrap');
  const handle = new Pipe(constants.SOCKET);
  handle.open(fd);
  return new PortStream({ handle } as object);
}
