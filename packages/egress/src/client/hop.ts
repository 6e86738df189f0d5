/** One request and the head of its response, planned, dialled and guarded by the route on its own, and the bytes that it took. */
import type { Socket } from 'node:net';
import { authorityText } from '../names/addresses.ts';
import { failureFrom, HttpError } from './failure.ts';
import { webTarget, type WebTarget } from './target.ts';
import { sendPlanned, type Connections, type PlannedRequest, type PlannedResponse } from '../gate/connections.ts';
import type { MachineEgress } from '../upstreams/egress-route.ts';
import { EgressError } from '../policy.ts';
import { netErrors } from '../gate/refusal.ts';

export interface Hop extends Pick<PlannedRequest, 'url' | 'method' | 'headers' | 'body'> {
  ignoresTlsErrors: boolean;
}

export interface HopDeps {
  route: MachineEgress;
  connections: Connections;
  bytes: ByteCounter;
  signal: AbortSignal;
}

/** @throws HttpError, or the signal's reason */
export async function ask({ route, connections, bytes, signal }: HopDeps, { ignoresTlsErrors, ...hop }: Hop): Promise<PlannedResponse> {
  const target = webTarget(hop.url);
  try {
    const plan = await route.plan(target.host, target.port, { signal, isPlain: !target.secure });
    const answer = await sendPlanned(connections, {
      ...hop,
      plan,
      tls: target.secure ? { ignoresErrors: ignoresTlsErrors } : null,
      idleTimeoutMs: route.limits.idleTimeoutMs,
      signal,
      onTcpSocket: (socket) => bytes.add(socket),
    });
    if (!plan.usesAbsoluteForm || answer.response.statusCode !== 407) return answer;
    // A proxy that was asked for the whole address speaks for itself here.
    answer.drop();
    throw new HttpError('proxy_error', netErrors.proxy_credentials);
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    const failure = failureFrom(error, target);
    recordFailure(route, target, { error, failure });
    throw failure;
  }
}

/** The route records and logs why a host was not reached; a certificate error is not its refusal. */
function recordFailure(route: MachineEgress, { host, port }: WebTarget, { error, failure }: { error: unknown; failure: HttpError }): void {
  if (error instanceof EgressError) route.recordFailure(host, port, error);
  else if (failure.reason === 'connection_reset' || failure.reason === 'proxy_error')
    route.recordFailure(host, port, new EgressError(failure.reason, `${authorityText(host, port)}: ${failure.netError}`));
}

/** The bytes of a socket that were counted already; several requests use it one after the other. */
const countedBefore = new WeakMap<Socket, { bytesIn: number; bytesOut: number }>();

/** The sockets of a request, and the bytes that went over them for it. */
export class ByteCounter {
  readonly #used = new Set<Socket>();
  #bytesIn = 0;
  #bytesOut = 0;

  add(socket: Socket): void {
    this.#used.add(socket);
  }

  /** Counts what was used and lets go of it, so that others' bytes on it are not counted for this request. */
  count(): { bytesIn: number; bytesOut: number } {
    for (const socket of this.#used) {
      const before = countedBefore.get(socket) ?? { bytesIn: 0, bytesOut: 0 };
      this.#bytesIn += socket.bytesRead - before.bytesIn;
      this.#bytesOut += socket.bytesWritten - before.bytesOut;
      countedBefore.set(socket, { bytesIn: socket.bytesRead, bytesOut: socket.bytesWritten });
    }
    this.#used.clear();
    return { bytesIn: this.#bytesIn, bytesOut: this.#bytesOut };
  }
}
