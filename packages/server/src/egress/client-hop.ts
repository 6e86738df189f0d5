/** One request and the head of its reply: planned, dialled and guarded by the route on its own. */
import { request as httpRequest } from 'node:http';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { authorityText } from './addresses.ts';
import { failureFrom, HttpFailure } from './client-failure.ts';
import type { Connections, HopOptions, Wires } from './client-connections.ts';
import { webTarget } from './client-target.ts';
import type { WebTarget } from './client-target.ts';
import { toBasicCredentials } from './dial.ts';
import { EgressFailure } from './policy.ts';
import { headBytesMax } from './forward.ts';
import type { RoutePlan, MachineEgress } from './egress-route.ts';

export interface Hop {
  url: URL;
  method: string;
  /** Names and values in turn. */
  headers: readonly string[];
  body: Buffer | null;
  ignoreHttpsErrors: boolean;
}

export interface HopDeps {
  route: MachineEgress;
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
export async function ask(deps: HopDeps, hop: Hop): Promise<Answer> {
  const target = webTarget(hop.url);
  try {
    const plan = await deps.route.plan(target.host, target.port, { signal: deps.signal, isPlain: !target.secure });
    return await answerOf(deps, hop, { target, plan });
  } catch (error) {
    if (deps.signal.aborted) throw deps.signal.reason;
    const failure = failureFrom(error);
    recordFailure(deps.route, target, { error, failure });
    throw failure;
  }
}

/** The route records and logs why a host was not reached; a certificate error is not its refusal. */
function recordFailure(
  route: MachineEgress,
  { host, port }: WebTarget,
  { error, failure }: { error: unknown; failure: HttpFailure },
): void {
  if (error instanceof EgressFailure) route.recordFailure(host, port, error);
  else if (failure.reason === 'connection_reset' || failure.reason === 'proxy_error')
    route.recordFailure(host, port, new EgressFailure(failure.reason, `${authorityText(host, port)}: ${failure.netError}`));
}

interface ResolvedHop {
  target: WebTarget;
  plan: RoutePlan;
}

async function answerOf(deps: HopDeps, hop: Hop, resolved: ResolvedHop): Promise<Answer> {
  for (let attempt = 1; ; attempt += 1) {
    const outgoing = send(deps, hop, resolved);
    try {
      const response = await headOf(outgoing, deps.signal);
      // A proxy that was asked for the whole address speaks for itself here.
      if (resolved.plan.usesAbsoluteForm && response.statusCode === 407)
        throw new HttpFailure('proxy_error', 'net::ERR_PROXY_AUTH_UNSUPPORTED');
      return { response, drop: () => void outgoing.destroy() };
    } catch (error) {
      outgoing.destroy();
      const canRetry = outgoing.reusedSocket && attempt < attemptsMax && ['GET', 'HEAD', 'OPTIONS'].includes(hop.method);
      if (!canRetry || deps.signal.aborted || error instanceof HttpFailure) throw error;
    }
  }
}

function send({ route, connections, wires, signal }: HopDeps, hop: Hop, { target, plan }: ResolvedHop): ClientRequest {
  const path = `${hop.url.pathname}${hop.url.search}`;
  const credentials = plan.usesAbsoluteForm && plan.proxy ? toBasicCredentials(plan.proxy.upstream) : null;
  const options: HopOptions & { insecureHTTPParser: boolean; maxHeaderSize: number } = {
    agent: connections,
    method: hop.method,
    path: plan.usesAbsoluteForm ? `http://${hop.url.host}${path}` : path,
    headers: credentials === null ? hop.headers : [...hop.headers, 'Proxy-Authorization', credentials],
    setHost: false,
    maxHeaderSize: headBytesMax,
    // Browsers take sloppy replies, and this must find what they find.
    insecureHTTPParser: true,
    hop: { plan, secure: target.secure, ignoreHttpsErrors: hop.ignoreHttpsErrors, signal, wires },
  };
  const outgoing = httpRequest(options);
  outgoing.once('socket', (socket) => {
    // The agent's sockets have the timeout of idle ones, which is far too short for a reply.
    socket.setTimeout(route.limits.idleTimeoutMs);
    const wire = connections.wireOf(socket);
    if (wire) wires.add(wire);
  });
  outgoing.end(hop.body ?? undefined);
  return outgoing;
}

function headOf(outgoing: ClientRequest, signal: AbortSignal): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const onAbort = (): void => {
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
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  return promise.finally(() => signal.removeEventListener('abort', onAbort));
}
