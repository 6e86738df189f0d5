import type { Duplex } from 'node:stream';
import { ServiceError } from '@berth/contract';
import type { ViewCloseReason } from '@berth/contract/live-view';
import { abortAfter } from '@berth/lib/deadline.ts';
import type { Upgrade } from '../../http/call.ts';
import type { Clock } from '@berth/lib/clock.ts';
import { orAbort } from '@berth/lib/or-abort.ts';
import { NoDisplayError } from '@berth/machines';
import type { LiveSession, Machine, Sessions } from '../../sessions/sessions/sessions.ts';
import { closeSocket, countViewer, viewCloseReason, startHeartbeat, type Socket } from './live-view/viewer-socket.ts';

export type RegisterConnection = (close: (reason: ViewCloseReason) => void) => () => void;

/** Each socket is a client of the display server, which draws for all of them. */
const socketsMax = 10;
/** Maximum bytes of a viewer's message; pasted text is the largest. */
const messageBytesMax = 1024 * 1024;
/** Timeout of the connection to a display, which accepts a client at once. */
const probeTimeoutMs = 2000;

/** Splices sockets to the displays of `full_browser` sessions. Data is inspected only to detect user activity. */
export class Vnc {
  readonly #clock: Clock;
  readonly #sessions: Pick<Sessions, 'isHeld'>;
  /** Sockets by session, including those still opening. */
  readonly #sockets = new Map<string, number>();

  constructor({ clock, sessions }: { clock: Clock; sessions: Pick<Sessions, 'isHeld'> }) {
    this.#clock = clock;
    this.#sessions = sessions;
  }

  /** @throws ServiceError session_not_ready while the session has no display */
  async open(
    { session, machine }: { session: LiveSession; machine: Machine },
    { upgrade, registerConnection }: { upgrade: Upgrade; registerConnection: RegisterConnection },
  ): Promise<void> {
    const { sessionId } = session.record;
    if ((this.#sockets.get(sessionId) ?? 0) >= socketsMax) return closeSocket(await upgrade.accept(), 'limit');
    this.#count(sessionId, 1);
    const onEnd = (): void => this.#count(sessionId, -1);
    const isHeld = (): boolean => this.#sessions.isHeld(sessionId);
    try {
      const display = await openDisplay(machine);
      const { socket, stream } = await acceptStream(display, upgrade);
      startHeartbeat(socket, this.#clock);
      new DisplayRelay({ socket, stream, display, machine }, session, { isHeld, onEnd }).start(registerConnection);
    } catch (error) {
      onEnd();
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
    if (!(error instanceof NoDisplayError)) throw error;
    throw new ServiceError('session_not_ready', 'The browser window is not available yet. Try again in a moment.', {
      cause: error,
      retryAfterSeconds: 1,
    });
  }
}

async function acceptStream(display: Duplex, upgrade: Upgrade): Promise<{ socket: Socket; stream: Duplex }> {
  // Errors are ignored here, because nothing else handles them until it is spliced.
  display.on('error', () => undefined);
  try {
    return await upgrade.acceptStream({ messageBytesMax });
  } catch (error) {
    display.destroy();
    throw error;
  }
}

interface SpliceStreams {
  socket: Socket;
  /** The socket as a byte stream. */
  stream: Duplex;
  display: Duplex;
  machine: Machine;
}

interface SpliceEvents {
  /** Whether this worker still runs the session. Ends this where it does not. */
  isHeld(): boolean;
  onEnd(): void;
}

/** Connects a socket with a display and closes both together. */
class DisplayRelay {
  readonly #streams: SpliceStreams;
  readonly #session: LiveSession;
  readonly #events: SpliceEvents;
  readonly #undo: (() => void)[] = [];
  #hasEnded = false;

  constructor(streams: SpliceStreams, session: LiveSession, events: SpliceEvents) {
    this.#streams = streams;
    this.#session = session;
    this.#events = events;
  }

  start(registerConnection: RegisterConnection): void {
    countViewer({ session: this.#session, scope: 'vnc', by: 1 });
    this.#undo.push(registerConnection((reason) => this.#end(reason)));
    const { signal } = this.#session.abort;
    const onSessionEnd = (): void => this.#end(viewCloseReason(this.#session));
    signal.addEventListener('abort', onSessionEnd, { once: true });
    this.#undo.push(() => signal.removeEventListener('abort', onSessionEnd));
    this.#connect();
    if (signal.aborted) onSessionEnd();
  }

  #connect(): void {
    const { socket, stream, display } = this.#streams;
    // `close` follows every error and ends the splice.
    stream.on('error', () => undefined);
    socket.once('close', () => {
      this.#end('session_ended');
      stream.destroy();
    });
    display.once('close', () => void this.#onDisplayClosed());
    stream.on('data', (chunk: Buffer) => {
      // Checked before the chunk reaches the display: what comes first after a freeze may be a message.
      if (this.#events.isHeld() && !this.#hasEnded && !isWatchOnly(chunk)) this.#session.touch();
    });
    stream.pipe(display);
    // The socket is closed with a reason, which ending the stream would not send.
    display.pipe(stream, { end: false });
    if (display.destroyed) void this.#onDisplayClosed();
  }

  /** A display that still accepts clients has closed this one for what it sent. */
  async #onDisplayClosed(): Promise<void> {
    if (this.#hasEnded) return;
    try {
      const probe = openDisplay(this.#streams.machine).then((display) => void display.on('error', () => undefined).destroy());
      await orAbort(probe, abortAfter(probeTimeoutMs));
      this.#end('bad_message');
    } catch {
      this.#end('browser_crashed');
    }
  }

  #end(reason: ViewCloseReason): void {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    const { socket, stream, display } = this.#streams;
    for (const undo of this.#undo.splice(0)) undo();
    stream.unpipe(display);
    display.destroy();
    // Otherwise the other side's close frame would wait behind unread data.
    stream.resume();
    const { endedReason } = this.#session.record;
    closeSocket(socket, reason, reason === 'session_ended' && endedReason !== null ? endedReason : reason);
    countViewer({ session: this.#session, scope: 'vnc', by: -1 });
    this.#events.onEnd();
  }
}

const updateRequest = 3;
const continuousUpdates = 150;
const fence = 248;

/**
 * Whether these RFB client messages only request updates. Watching does not
 * keep a session alive; anything else counts as user activity. Clients send
 * whole messages.
 */
export function isWatchOnly(chunk: Buffer): boolean {
  let offset = 0;
  while (offset < chunk.length) {
    const type = chunk[offset];
    if (type === updateRequest || type === continuousUpdates) offset += 10;
    else if (type === fence) offset += 9 + (chunk[offset + 8] ?? 0);
    else return false;
  }
  return offset === chunk.length;
}
