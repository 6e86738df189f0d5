/** What the live view's socket and the window's have in common: a pulse, a place among those who watch, and an end. */
import { viewCloseCodes, type ViewCloseReason } from '@berth/contract/live-view';
import type { Upgrade } from '../http/call.ts';
import type { Clock } from '../lib/clock.ts';
import { closeReasonOf, type LiveSession } from '../sessions/sessions.ts';

export type Socket = Awaited<ReturnType<Upgrade['accept']>>;

/** Often enough that no proxy in between takes a quiet socket for a dead one. */
const pingMs = 20_000;
/** So many in a row without an answer, and nobody is there any more, or nobody who reads. */
const unansweredMax = 3;
/** How long the other side gets to say goodbye. */
const closeMs = 2000;

/**
 * Asks a socket's other side again and again whether it is there, and cuts off
 * one that is gone without a word. Ends with the socket.
 */
export function keepPulse(socket: Socket, clock: Clock, onRoundTrip: (ms: number) => void = () => undefined): void {
  let unanswered = 0;
  let askedMs = 0;
  const ask = (): void => {
    if (unanswered >= unansweredMax) return socket.terminate();
    if (socket.readyState !== socket.OPEN) return;
    unanswered += 1;
    askedMs = clock.monotonicMs();
    socket.ping();
  };
  socket.on('pong', () => {
    // An answer to an earlier question says nothing about how long the way is.
    if (unanswered === 1) onRoundTrip(clock.monotonicMs() - askedMs);
    unanswered = 0;
  });
  const timer = setInterval(ask, pingMs).unref();
  socket.once('close', () => clearInterval(timer));
  ask();
}

/** Closes with the reason's code. One who does not answer that is cut off. */
export function closeSocket(socket: Socket, reason: ViewCloseReason): void {
  socket.on('error', () => undefined);
  socket.close(viewCloseCodes[reason], reason);
  const timer = setTimeout(() => socket.terminate(), closeMs).unref();
  socket.once('close', () => clearTimeout(timer));
}

/** Counts somebody who watches, or no longer does, and tells it. */
export function countViewer({
  session,
  scope,
  by,
}: {
  session: Pick<LiveSession, 'viewers' | 'events'>;
  scope: 'view' | 'control' | 'vnc';
  by: 1 | -1;
}): void {
  session.viewers += by;
  session.events.tell(by === 1 ? 'viewer.joined' : 'viewer.left', { viewers: session.viewers, scope });
}

/** How sockets close when their session is over. */
export function endOf({ record: { endedReason } }: Pick<LiveSession, 'record'>): ViewCloseReason {
  const reason = endedReason ? closeReasonOf(endedReason) : 'session_ended';
  return reason === 'service_restart' || reason === 'browser_crashed' ? reason : 'session_ended';
}
