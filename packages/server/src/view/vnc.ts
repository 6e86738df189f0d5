import type { Duplex } from 'node:stream';
import { ServiceError } from '@berth/contract';
import type { ViewCloseReason } from '@berth/contract/live-view';
import type { Upgrade } from '../http/call.ts';
import type { Clock } from '../lib/clock.ts';
import { NoDisplay } from '../runtime/runtime.ts';
import type { LiveSession, Machine } from '../sessions/sessions.ts';
import { closeSocket, countViewer, endOf, keepPulse, type Socket } from './viewer-socket.ts';

export type Hold = (close: (reason: ViewCloseReason) => void) => () => void;

/** Each is a client of the display server, which draws for all of them. */
const socketsMax = 10;
/** What a person says: a pasted text is the largest. What the display says is larger, and goes the other way. */
const messageBytesMax = 1024 * 1024;

/** Windows of `full_browser` sessions: a socket and the machine's display, spliced. Nothing is read but whether somebody acts. */
export class Vnc {
  readonly #clock: Clock;
  /** Sockets of each session, those on their way among them. */
  readonly #sockets = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Throws session_not_ready where there is no display to show. */
  async open(
    { session, machine }: { session: LiveSession; machine: Machine },
    { upgrade, hold }: { upgrade: Upgrade; hold: Hold },
  ): Promise<void> {
    const { sessionId } = session.record;
    if ((this.#sockets.get(sessionId) ?? 0) >= socketsMax) return closeSocket(await upgrade.accept(), 'limit');
    this.#count(sessionId, 1);
    const onOver = (): void => this.#count(sessionId, -1);
    try {
      const display = await openDisplay(machine);
      const { socket, stream } = await acceptFor(display, upgrade);
      keepPulse(socket, this.#clock);
      new Splice({ socket, stream, display }, session, onOver).start(hold);
    } catch (error) {
      onOver();
      throw error;
    }
  }

  #count(sessionId: string, by: 1 | -1): void {
    const count = (this.#sockets.get(sessionId) ?? 0) + by;
    if (count > 0) this.#sockets.set(sessionId, count);
    else this.#sockets.delete(sessionId);
  }
}

async function openDisplay({ vm }: Machine): Promise<Duplex> {
  try {
    return await vm.openVnc();
  } catch (error) {
    if (!(error instanceof NoDisplay)) throw error;
    throw new ServiceError('session_not_ready', 'The session’s window cannot be shown at the moment. Try again.', {
      cause: error,
      retryAfterSeconds: 1,
    });
  }
}

async function acceptFor(display: Duplex, upgrade: Upgrade): Promise<{ socket: Socket; stream: Duplex }> {
  // Until it is spliced, nobody else would hear of its failing.
  display.on('error', () => undefined);
  try {
    return await upgrade.acceptStream({ messageBytesMax });
  } catch (error) {
    display.destroy();
    throw error;
  }
}

interface Ends {
  socket: Socket;
  /** The socket as bytes. */
  stream: Duplex;
  display: Duplex;
}

/** Both ends of one window, and the one end of both. */
class Splice {
  readonly #ends: Ends;
  readonly #session: LiveSession;
  readonly #onOver: () => void;
  readonly #undo: (() => void)[] = [];
  #isOver = false;

  constructor(ends: Ends, session: LiveSession, onOver: () => void) {
    this.#ends = ends;
    this.#session = session;
    this.#onOver = onOver;
  }

  start(hold: Hold): void {
    countViewer({ session: this.#session, scope: 'vnc', by: 1 });
    this.#undo.push(hold((reason) => this.#end(reason)));
    const { signal } = this.#session.abort;
    const onSessionEnd = (): void => this.#end(endOf(this.#session));
    signal.addEventListener('abort', onSessionEnd, { once: true });
    this.#undo.push(() => signal.removeEventListener('abort', onSessionEnd));
    this.#join();
    if (signal.aborted) onSessionEnd();
  }

  #join(): void {
    const { socket, stream, display } = this.#ends;
    // An error is followed by the close, which ends the whole.
    stream.on('error', () => undefined);
    socket.once('close', () => {
      this.#end('session_ended');
      stream.destroy();
    });
    display.once('close', () => this.#end('browser_crashed'));
    stream.on('data', (chunk: Buffer) => {
      if (!this.#isOver && !onlyWatches(chunk)) this.#session.touch();
    });
    stream.pipe(display);
    // The socket has an end with a reason, which an end of the stream has not.
    display.pipe(stream, { end: false });
    if (display.destroyed) this.#end('browser_crashed');
  }

  #end(reason: ViewCloseReason): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { socket, stream, display } = this.#ends;
    for (const undo of this.#undo.splice(0)) undo();
    stream.unpipe(display);
    display.destroy();
    // Else the other side's goodbye would wait behind what nobody reads.
    stream.resume();
    closeSocket(socket, reason);
    countViewer({ session: this.#session, scope: 'vnc', by: -1 });
    this.#onOver();
  }
}

const updateRequest = 3;
const continuousUpdates = 150;
const fence = 248;

/**
 * Whether these messages of an RFB client do no more than ask for the picture:
 * that is watching, and keeps no session alive. Whatever is not plainly that
 * counts as a person's doing. Clients send messages whole.
 */
export function onlyWatches(chunk: Buffer): boolean {
  let at = 0;
  while (at < chunk.length) {
    const type = chunk[at];
    if (type === updateRequest || type === continuousUpdates) at += 10;
    else if (type === fence) at += 9 + (chunk[at + 8] ?? 0);
    else return false;
  }
  return at === chunk.length;
}
