/** The connections of one client, all opened by its route and kept for the next request of the same kind. */
import { Agent } from 'node:http';
import type { ClientRequestArgs } from 'node:http';
import { isIP } from 'node:net';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import { connect as connectTls } from 'node:tls';
import type { TLSSocket } from 'node:tls';
import { handshakeFailure } from './client-failure.ts';
import { toConnectionKey } from './egress-route.ts';
import type { RoutePlan, MachineEgress } from './egress-route.ts';

/** What a connection is opened for, beside what Node's agent wants to know. */
export interface HopOptions extends ClientRequestArgs {
  hop: { plan: RoutePlan; secure: boolean; ignoreHttpsErrors: boolean; signal: AbortSignal; wires: Wires };
}

/** Idle connections of a client in all: some twenty sites' worth, so that a batch over many sites is not left with hundreds. */
const idleMax = 64;
/** As many for one site as a batch of small pages asks at once. */
const idlePerSiteMax = 16;

export class Connections extends Agent {
  readonly #route: MachineEgress;
  readonly #ca: string | undefined;
  readonly #wireOf = new WeakMap<Duplex, Socket>();

  constructor(route: MachineEgress, ca: string | undefined) {
    super({ keepAlive: true, maxFreeSockets: idlePerSiteMax, timeout: route.limits.keepAliveMs });
    this.#route = route;
    this.#ca = ca;
  }

  override getName(options?: Partial<HopOptions>): string {
    const hop = options?.hop;
    return hop ? `${hop.secure ? 'tls' : 'plain'} ${hop.ignoreHttpsErrors} ${toConnectionKey(hop.plan)}` : '';
  }

  override createConnection(options: ClientRequestArgs, answer: (error: Error | null, stream: Duplex) => void): undefined {
    this.#open((options as HopOptions).hop).then(
      (stream) => answer(null, stream),
      (error: Error) => answer(error, undefined as never),
    );
  }

  override keepSocketAlive(stream: Duplex): boolean {
    const idle = Object.values(this.freeSockets).reduce((sum, sockets) => sum + (sockets?.length ?? 0), 0);
    // Node answers with whether it keeps the socket; its types have not heard of that.
    const keeps = super.keepSocketAlive(stream) as unknown as boolean;
    return idle < idleMax && keeps;
  }

  /** The connection below a stream on which bytes are counted. */
  wireOf(stream: Duplex): Socket | undefined {
    return this.#wireOf.get(stream);
  }

  async #open({ plan, secure, ignoreHttpsErrors, signal, wires }: HopOptions['hop']): Promise<Socket> {
    let wire: Socket | undefined;
    const raw = await this.#route.open(plan, signal, (socket) => wires.add((wire = socket)));
    const stream = secure ? await this.#secure(raw, { host: plan.target.host, ignoreHttpsErrors, signal }) : raw;
    if (wire) this.#wireOf.set(stream, wire);
    return stream;
  }

  async #secure(
    raw: Socket,
    { host, ignoreHttpsErrors, signal }: { host: string; ignoreHttpsErrors: boolean; signal: AbortSignal },
  ): Promise<TLSSocket> {
    const name = isIP(host) === 0 ? { servername: host } : {};
    const ca = this.#ca === undefined ? {} : { ca: this.#ca };
    const secure = connectTls({ socket: raw, host, ...name, ...ca, ALPNProtocols: ['http/1.1'], rejectUnauthorized: !ignoreHttpsErrors });
    secure.on('error', () => {}).once('close', () => raw.destroy());
    raw.once('close', () => secure.destroy());
    await waitForHandshake(secure, signal);
    return secure;
  }
}

/** Resolves when the handshake is done. Throws an HttpFailure, or the signal's reason. */
function waitForHandshake(secure: TLSSocket, signal: AbortSignal): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const onAbort = (): void => {
    reject(signal.reason);
    secure.destroy();
  };
  const failed = (error: unknown): void => reject(handshakeFailure(error));
  const closed = (): void => failed(Object.assign(new Error('closed in the handshake'), { code: 'ECONNRESET' }));
  secure.once('secureConnect', resolve).once('error', failed).once('close', closed);
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
  return promise.finally(() => {
    signal.removeEventListener('abort', onAbort);
    secure.off('secureConnect', resolve).off('error', failed).off('close', closed);
  });
}

/** The bytes of a connection that were counted already; several requests use it one after the other. */
const countedBefore = new WeakMap<Socket, { bytesIn: number; bytesOut: number }>();

/** The connections of a request, and the bytes that went over them for it. */
export class Wires {
  readonly #used = new Set<Socket>();
  #bytesIn = 0;
  #bytesOut = 0;

  add(wire: Socket): void {
    this.#used.add(wire);
  }

  /** Counts what was used and lets go of it, so that others' bytes on it are not counted for this request. */
  count(): { bytesIn: number; bytesOut: number } {
    for (const wire of this.#used) {
      const before = countedBefore.get(wire) ?? { bytesIn: 0, bytesOut: 0 };
      this.#bytesIn += wire.bytesRead - before.bytesIn;
      this.#bytesOut += wire.bytesWritten - before.bytesOut;
      countedBefore.set(wire, { bytesIn: wire.bytesRead, bytesOut: wire.bytesWritten });
    }
    this.#used.clear();
    return { bytesIn: this.#bytesIn, bytesOut: this.#bytesOut };
  }
}
