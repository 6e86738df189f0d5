/** Shared by the live view's and the VNC sockets: heartbeat, viewer count and close. */
import { viewCloseCodes, type ViewCloseReason } from '@berth/contract/live-view';
import type { Upgrade } from '../../../http/call.ts';
import type { Clock } from '@berth/lib/clock.ts';
import { closeReasonOf, type LiveSession } from '../../../sessions/sessions/sessions.ts';

export type Socket = Awaited<ReturnType<Upgrade['accept']>>;

/** Interval of pings, shorter than the idle timeouts of common proxies. */
const pingIntervalMs = 20_000;
/** Maximum unanswered pings: after these the other side is dead or does not read. */
const missedPongsMax = 3;
/** Maximum wait for the other side's close frame. */
const closeTimeoutMs = 2000;

/** Pings a socket regularly and terminates it when the pongs stop. Ends with the socket. */
export function startHeartbeat(socket: Socket, clock: Clock, onRoundTrip: (ms: number) => void = () => undefined): void {
  let pendingPings = 0;
  let pingedMs = 0;
  const ping = (): void => {
    if (pendingPings >= missedPongsMax) return socket.terminate();
    if (socket.readyState !== socket.OPEN) return;
    pendingPings += 1;
    pingedMs = clock.monotonicMs();
    socket.ping();
  };
  socket.on('pong', () => {
    // A late pong of an earlier ping does not measure the round trip.
    if (pendingPings === 1) onRoundTrip(clock.monotonicMs() - pingedMs);
    pendingPings = 0;
  });
  const timer = setInterval(ping, pingIntervalMs).unref();
  socket.once('close', () => clearInterval(timer));
  ping();
}

/** Closes with the reason's code, and a text that may say more. Terminates the socket when the other side does not answer. */
export function closeSocket(socket: Socket, reason: ViewCloseReason, text: string = reason): void {
  socket.on('error', () => undefined);
  socket.close(viewCloseCodes[reason], text);
  const timer = setTimeout(() => socket.terminate(), closeTimeoutMs).unref();
  socket.once('close', () => clearTimeout(timer));
}

/** Updates the session's viewer count and emits the event. */
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
  session.events.emit(by === 1 ? 'viewer.joined' : 'viewer.left', { viewers: session.viewers, scope });
}

/** Returns the close reason of sockets whose session has ended. */
export function viewCloseReason({ record: { endedReason } }: Pick<LiveSession, 'record'>): ViewCloseReason {
  const reason = endedReason ? closeReasonOf(endedReason) : 'session_ended';
  return reason === 'service_restart' || reason === 'browser_crashed' ? reason : 'session_ended';
}
