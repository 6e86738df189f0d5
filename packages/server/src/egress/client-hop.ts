/** One request and the head of its reply: routed, dialled and guarded by the way on its own. */
import { request as httpRequest } from 'node:http';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { authorityText } from './addresses.ts';
import { failureFrom, HttpFailure } from './client-failure.ts';
import type { Connections, HopOptions, Wires } from './client-connections.ts';
import { webTarget } from './client-target.ts';
import type { WebTarget } from './client-target.ts';
import { basicCredentials } from './dial.ts';
import { EgressFailure } from './policy.ts';
import { headBytesMax } from './forward.ts';
import type { Route, Way } from './way.ts';

export interface Hop {
  url: URL;
  method: string;
  /** Names and values in turn. */
  headers: readonly string[];
  body: Buffer | null;
  ignoreHttpsErrors: boolean;
}

export interface HopParts {
  way: Way;
  connections: Connections;
  wires: Wires;
  signal: AbortSignal;
}

export interface Answer {
  response: IncomingMessage;
  /** Gives up the connection with what of the body has not been read. */
  drop: () => void;
}

/** A kept connection that was closed as it was taken is replaced; beyond this many the site closes them on purpose. */
const attemptsMax = 5;

/** Replies of 1xx before the real one. An honest site sends one or two. */
const informationMax = 32;

/** Throws {@link HttpFailure}, or the signal's reason. */
export async function ask(parts: HopParts, hop: Hop): Promise<Answer> {
  const target = webTarget(hop.url);
  try {
    const route = await parts.way.route(target.host, target.port, { signal: parts.signal, plain: !target.secure });
    return await answerOf(parts, hop, { target, route });
  } catch (error) {
    if (parts.signal.aborted) throw parts.signal.reason;
    const failure = failureFrom(error);
    note(parts.way, target, { error, failure });
    throw failure;
  }
}

/** The way keeps and logs why a host was not reached; what is wrong with a certificate is no refusal of its. */
function note(way: Way, { host, port }: WebTarget, { error, failure }: { error: unknown; failure: HttpFailure }): void {
  if (error instanceof EgressFailure) way.note(host, port, error);
  else if (failure.reason === 'connection_reset' || failure.reason === 'proxy_error')
    way.note(host, port, new EgressFailure(failure.reason, `${authorityText(host, port)}: ${failure.netError}`));
}

interface Asked {
  target: WebTarget;
  route: Route;
}

async function answerOf(parts: HopParts, hop: Hop, asked: Asked): Promise<Answer> {
  for (let attempt = 1; ; attempt += 1) {
    const outgoing = send(parts, hop, asked);
    try {
      const response = await headOf(outgoing, parts.signal);
      // A proxy that was asked for the whole address speaks for itself here.
      if (asked.route.absoluteForm && response.statusCode === 407) throw new HttpFailure('proxy_error', 'net::ERR_PROXY_AUTH_UNSUPPORTED');
      return { response, drop: () => void outgoing.destroy() };
    } catch (error) {
      outgoing.destroy();
      const repeats = outgoing.reusedSocket && attempt < attemptsMax && ['GET', 'HEAD', 'OPTIONS'].includes(hop.method);
      if (!repeats || parts.signal.aborted || error instanceof HttpFailure) throw error;
    }
  }
}

function send({ way, connections, wires, signal }: HopParts, hop: Hop, { target, route }: Asked): ClientRequest {
  const path = `${hop.url.pathname}${hop.url.search}`;
  const credentials = route.absoluteForm && route.via ? basicCredentials(route.via.upstream) : null;
  const options: HopOptions & { insecureHTTPParser: boolean; maxHeaderSize: number } = {
    agent: connections,
    method: hop.method,
    path: route.absoluteForm ? `http://${hop.url.host}${path}` : path,
    headers: credentials === null ? hop.headers : [...hop.headers, 'Proxy-Authorization', credentials],
    setHost: false,
    maxHeaderSize: headBytesMax,
    // Browsers take sloppy replies, and this must find what they find.
    insecureHTTPParser: true,
    hop: { route, secure: target.secure, ignoreHttpsErrors: hop.ignoreHttpsErrors, signal, wires },
  };
  const outgoing = httpRequest(options);
  outgoing.once('socket', (socket) => {
    // The agent's sockets have the timeout of idle ones, which is far too short for a reply.
    socket.setTimeout(way.limits.idleMs);
    const wire = connections.wireOf(socket);
    if (wire) wires.add(wire);
  });
  outgoing.end(hop.body ?? undefined);
  return outgoing;
}

function headOf(outgoing: ClientRequest, signal: AbortSignal): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const giveUp = (): void => {
    reject(signal.reason);
    outgoing.destroy();
  };
  let informed = 0;
  outgoing.on('error', reject);
  outgoing.on('information', () => {
    informed += 1;
    if (informed > informationMax) outgoing.destroy(new EgressFailure('connection_reset', 'the site sends heads without end'));
  });
  outgoing.once('response', (response) => resolve(response.on('error', () => {})));
  outgoing.once('close', () => reject(new EgressFailure('connection_reset', 'the site closed the connection without a reply')));
  signal.addEventListener('abort', giveUp, { once: true });
  if (signal.aborted) giveUp();
  return promise.finally(() => signal.removeEventListener('abort', giveUp));
}
