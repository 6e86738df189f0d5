/** What the service holds in memory for WebSockets, bounded for each socket, each session and the worker. */
import { closeCodes } from '@berth/contract';
import { ReadingShare } from '../body/reading-share.ts';

const mebibyte = 1024 * 1024;

export interface SocketLimits {
  /** Sent and not yet read by the client. */
  unread: { socket: number; session: number; worker: number };
  /** Received of messages that are not complete. A single message has its own maximum. */
  unfinished: { session: number; worker: number };
}

/** Each is exceeded by one message at most: the one that is refused next. */
export const defaultSocketLimits: SocketLimits = {
  unread: { socket: 128 * mebibyte, session: 256 * mebibyte, worker: 512 * mebibyte },
  unfinished: { session: 128 * mebibyte, worker: 512 * mebibyte },
};

/** Share of a limit below which an amount starts no sum over all sockets; it counts in the sum. */
const ignoredShare = 1 / 128;

/** An open WebSocket, as far as it is counted. */
export interface CountedSocket {
  readonly owner: string | null;
  readonly sessionId: string;
  readonly unfinishedBytes: number;
  readonly bufferedAmount: number;
  readonly readyState: number;
  readonly OPEN: number;
  /** Reads nothing any more. */
  hold(): void;
  close(code: number, reason: string): void;
  once(event: 'close', listener: () => void): unknown;
}

type Figure = 'unread' | 'unfinished';
const bytesOf: Record<Figure, (socket: CountedSocket) => number> = {
  unread: (socket) => socket.bufferedAmount,
  unfinished: (socket) => socket.unfinishedBytes,
};

export class SocketBudgets {
  readonly #limits: SocketLimits;
  readonly #sockets = new Set<CountedSocket>();
  /** Shares of the owners with open sockets. */
  readonly #shares = new Map<string | null, ReadingShare>();

  constructor(limits: SocketLimits) {
    this.#limits = limits;
  }

  /** Returns the share of its owner. */
  add(socket: CountedSocket): ReadingShare {
    const share = this.#shares.get(socket.owner) ?? new ReadingShare();
    this.#shares.set(socket.owner, share);
    this.#sockets.add(socket);
    socket.once('close', () => {
      this.#sockets.delete(socket);
      if (![...this.#sockets].some(({ owner }) => owner === socket.owner)) this.#shares.delete(socket.owner);
    });
    return share;
  }

  /** Closes the sockets that hold too much: this one, the largest of its session, or the largest of the owner who holds most. */
  enforce(figure: Figure, socket: CountedSocket): void {
    const limits = this.#limits[figure];
    const bytes = bytesOf[figure];
    if ('socket' in limits && bytes(socket) > limits.socket) return this.#close(figure, socket);
    if (bytes(socket) < limits.session * ignoredShare) return;
    const open = [...this.#sockets].filter((each) => each.readyState === each.OPEN);
    const ofSession = open.filter((each) => each.sessionId === socket.sessionId);
    if (sumOf(ofSession, bytes) > limits.session) return this.#close(figure, largestOf(ofSession, bytes));
    if (sumOf(open, bytes) <= limits.worker) return;
    const owners = Map.groupBy(open, (each) => each.owner);
    const [heaviest = []] = [...owners.values()].toSorted((one, other) => sumOf(other, bytes) - sumOf(one, bytes));
    this.#close(figure, largestOf(heaviest, bytes));
  }

  #close(figure: Figure, socket: CountedSocket | undefined): void {
    if (!socket) return;
    if (figure === 'unfinished') {
      this.#shares.get(socket.owner)?.onRefused();
      // The rest of the message stays unread until the library terminates the connection.
      socket.hold();
    }
    socket.close(closeCodes.limit, 'limit');
  }
}

const sumOf = (sockets: readonly CountedSocket[], bytes: (socket: CountedSocket) => number): number =>
  sockets.reduce((sum, socket) => sum + bytes(socket), 0);

const largestOf = (sockets: readonly CountedSocket[], bytes: (socket: CountedSocket) => number): CountedSocket | undefined =>
  sockets.toSorted((one, other) => bytes(other) - bytes(one))[0];
