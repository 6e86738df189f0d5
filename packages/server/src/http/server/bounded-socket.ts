/** A WebSocket that is read in turns with all others, and whose memory is counted. */
import type { Duplex } from 'node:stream';
import { WebSocket } from 'ws';
import type { SocketBudgets } from '../limits/socket-budgets.ts';

/** Mask and lengths of a short client frame. */
const frameHeadBytes = 6;

export class BoundedSocket extends WebSocket {
  owner: string | null = null;
  sessionId = '';
  /** Received since the last complete message. */
  unfinishedBytes = 0;
  /** Pauses by the service itself; the handler has its own. */
  #holds = 0;
  #isPausedByHandler = false;
  #pong: Buffer | null = null;

  /** Called once, as soon as the handshake is complete. `connection` is what the socket reads from. */
  begin(connection: Duplex, { owner, sessionId }: { owner: string | null; sessionId: string }, budgets: SocketBudgets): void {
    this.owner = owner;
    this.sessionId = sessionId;
    const share = budgets.add(this);
    this.on('message', () => void (this.unfinishedBytes = 0));
    this.on('ping', (data: Buffer) => this.#answerPing(data, budgets));
    this.on('pong', (data: Buffer) => this.#countControl(data));
    // Before the library parses the chunk, and after it.
    connection.prependListener('data', (chunk: Buffer) => {
      this.unfinishedBytes += chunk.length;
      share.begin();
    });
    connection.on('data', (chunk: Buffer) => {
      budgets.enforce('unfinished', this);
      const pause = share.end(chunk.length, this.unfinishedBytes);
      if (pause) this.#holdUntil(pause);
    });
  }

  override pause(): void {
    this.#isPausedByHandler = true;
    super.pause();
  }

  override resume(): void {
    this.#isPausedByHandler = false;
    if (this.#holds === 0) super.resume();
  }

  /** Reads nothing until `release`, whatever the handler does. */
  hold(): void {
    this.#holds += 1;
    super.pause();
  }

  release(): void {
    this.#holds -= 1;
    if (this.#holds === 0 && !this.#isPausedByHandler) super.resume();
  }

  #holdUntil(pause: Promise<void>): void {
    this.hold();
    void pause.then(() => this.release());
  }

  /** One pong a turn, for the latest ping, as RFC 6455 (5.5.3) allows: a flood of pings costs and fills nothing. */
  #answerPing(data: Buffer, budgets: SocketBudgets): void {
    this.#countControl(data);
    if (this.#pong === null) {
      setImmediate(() => {
        if (this.readyState === this.OPEN && this.#pong) this.pong(this.#pong);
        this.#pong = null;
        budgets.enforce('unread', this);
      });
    }
    this.#pong = data;
  }

  #countControl(data: Buffer): void {
    this.unfinishedBytes = Math.max(0, this.unfinishedBytes - data.length - frameHeadBytes);
  }
}
