/** Tunnels: ports of callers' own computers, each open to the browser of one session. */
import { tunnelCloseCodes, type openTunnel, type TunnelCloseReason } from '@berth/contract';
import type { OpenTunnel } from '@berth/egress';
import type { Audit } from '../../../accounts/audit/audit.ts';
import { actorOf, ownerOf } from '../../../accounts/principals/principals.ts';
import type { Call, Upgrade } from '../../../http/call.ts';
import type { Store } from '../../../store/store.ts';
import type { LiveSession } from '../live.ts';
import { closeReasonOf } from '../session.ts';
import type { RunningSession, Sessions } from '../sessions.ts';

/** Ports of one session. An application of several services has fewer. */
const tunnelsMax = 8;
/** Programs send frames of HTTP/2, several in a message. */
const messageBytesMax = 1024 * 1024;
/** Maximum wait for the other side's close frame, which may stand behind much that was not read. */
const closeTimeoutMs = 2000;

interface TunnelsDeps {
  sessions: Pick<Sessions, 'ready'>;
  audit: Audit;
  store: Store;
}

export class Tunnels {
  readonly #deps: TunnelsDeps;

  constructor(deps: TunnelsDeps) {
    this.#deps = deps;
  }

  /** Leads a port of the session's browser to the caller. Throws before the handshake; closes with a code and a reason after it. */
  async open({ principal, params, query, signal }: Call<typeof openTunnel>, upgrade: Upgrade): Promise<void> {
    const { sessions, audit, store } = this.#deps;
    const owner = ownerOf(principal);
    const running = await sessions.ready(owner, params.session_id, { signal });
    const { port } = query;
    const event = { actor: actorOf(principal), owner, subject: params.session_id, details: { port } };
    await audit.record(store, { ...event, action: 'tunnel.opened' });
    const { socket, stream } = await upgrade.acceptStream({ messageBytesMax });
    const { tunnels } = running.session;
    const isFull = !tunnels.has(port) && tunnels.size >= tunnelsMax;
    const close = closerOf({ socket, stream });
    if (isFull) return close('limit');
    // Reserved before it is open, so that as many at a time are counted.
    const connection = { credentialIds: principal.keyId === null ? [] : [principal.keyId], close };
    tunnels.get(port)?.close('replaced');
    tunnels.set(port, connection);
    socket.once('close', () => {
      if (tunnels.get(port) === connection) tunnels.delete(port);
    });
    const tunnel = await running.machine.egress.openTunnel(port, stream);
    tunnel.onClose(() => close(reasonOf(running)));
    socket.once('close', () => tunnel.close());
    closeIfOver(running.session, { tunnel, isClosed: socket.readyState !== socket.OPEN });
  }
}

type AcceptedStream = Awaited<ReturnType<Upgrade['acceptStream']>>;

/** The first reason counts. */
function closerOf({ socket, stream }: AcceptedStream): (reason: TunnelCloseReason) => void {
  return (reason) => {
    // Otherwise the other side's close frame would wait behind unread data.
    stream.resume();
    socket.close(tunnelCloseCodes[reason], reason);
    const timer = setTimeout(() => socket.terminate(), closeTimeoutMs).unref();
    socket.once('close', () => clearTimeout(timer));
  };
}

/** Why a tunnel has closed by itself: with the session's traffic, or for what its other end sent. */
function reasonOf({ session }: RunningSession): TunnelCloseReason {
  return session.end.state === 'begun'
    ? closeReasonOf(session.end.reason)
    : session.isFenced
      ? closeReasonOf('worker_lost')
      : 'bad_message';
}

/** The session, or the socket, may have ended while the tunnel was opened. */
function closeIfOver(session: LiveSession, { tunnel, isClosed }: { tunnel: OpenTunnel; isClosed: boolean }): void {
  if (isClosed || session.ending) tunnel.close();
}
