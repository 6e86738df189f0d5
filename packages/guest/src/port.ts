/**
 * A port of virtio-serial as the machine sees it: a file of which a read gives
 * nothing while the host's end is closed, which is no end, for the host may come
 * again, and be another one: a machine is saved and its copies go on elsewhere.
 *
 * Node can wait for a socket and not for such a file, except with a thread that
 * is held by each read. A write that is held when the host goes is worse: it
 * ends with the next host, who did not ask for it. So the file is given to the
 * event loop as what libuv calls a pipe, which waits for both and holds nothing
 * back. Node has no public name for that. The image has a Node of its own, and
 * HTTP/2 is read and written without JavaScript on the way, three times as fast.
 */
import { constants, openSync, readdirSync, readFileSync, readSync } from 'node:fs';
import { Socket } from 'node:net';

/** An idle machine is never one whose host is away, so this costs only those that wait to be saved. */
const pollMs = 20;
const readBytes = 64 * 1024;
const portsPath = '/sys/class/virtio-ports';

/** The file of the port that the host calls so. Throws where there is none. */
export function findPort(name: string): string {
  const found = readdirSync(portsPath).find((port) => readFileSync(`${portsPath}/${port}/name`, 'latin1').trim() === name);
  if (found === undefined) throw new Error(`this machine has no port ${name}`);
  return `/dev/${found}`;
}

export class Port {
  readonly #open: () => number;
  readonly #onHost: (stream: Socket) => void;
  #stream: Socket | undefined;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  /** Calls back with a stream each time that a host has come: a new one only after the last has ended and that host has gone. */
  constructor(path: string, onHost: (stream: Socket) => void, flags: number = constants.O_RDWR) {
    this.#open = () => openSync(path, flags | constants.O_NONBLOCK);
    this.#onHost = onHost;
  }

  listen(): void {
    this.#awaitHost(this.#open());
  }

  close(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    this.#stream?.destroy();
  }

  #awaitHost(fd: number): void {
    const found = look(fd);
    if (found === 'away') this.#later(() => this.#awaitHost(fd));
    else this.#serve(fd, found);
  }

  #serve(fd: number, first: Buffer): void {
    const stream = streamOver(fd);
    this.#stream = stream;
    if (first.length > 0) stream.unshift(first);
    // Why it ended is told by nobody.
    stream.on('error', () => {}).once('close', () => this.#openAgain());
    this.#onHost(stream);
  }

  #openAgain(): void {
    if (this.#isOver) return;
    try {
      this.#awaitDeparture(this.#open());
    } catch (error) {
      // A program that is just being started may hold the file for a moment longer.
      if ((error as NodeJS.ErrnoException).code !== 'EBUSY') throw error;
      this.#later(() => this.#openAgain());
    }
  }

  /** Where we have hung up, the rest of what this host says is passed over. */
  #awaitDeparture(fd: number): void {
    if (look(fd) === 'away') this.#awaitHost(fd);
    else this.#later(() => this.#awaitDeparture(fd));
  }

  #later(work: () => void): void {
    this.#timer = setTimeout(work, pollMs);
  }
}

/** Whether there is a host, and what it has said; a host that is there may be silent. */
function look(fd: number): Buffer | 'away' {
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

/** A port has no half that could be closed alone. What is still to be said when it ends must not wait for the next host. */
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
