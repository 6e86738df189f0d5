/** Connections to the internal listeners of other workers: kept open, and only to who proves to be the worker. */
import { Agent, request as httpsRequest } from 'node:https';
import type { ClientRequest, IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { PeerCertificate } from 'node:tls';
import { ServiceError } from '@berth/contract';
import type { Log } from '@berth/lib/log.ts';
import type { Credentials } from './credentials.ts';
import type { Directory } from './directory.ts';
import { workersOf } from './tls.ts';

export interface ConnectionsDeps {
  credentials: Credentials;
  directory: Directory;
  log: Log;
}

export interface PeerRequest {
  workerId: string;
  method: string;
  target: string;
  /** Names and values in turn. */
  headers: string[];
  signal: AbortSignal;
  /** Writes the body and ends the request. */
  write(request: ClientRequest): void;
  /** Whether it may be sent a second time where a connection was closed under it. */
  isSafe: boolean;
  /** Whether it can be written again, if nothing of it was sent. */
  isRepeatable: boolean;
}

export type PeerReply =
  | { response: IncomingMessage; upgraded: null }
  | { response: IncomingMessage; upgraded: { socket: Duplex; head: Buffer } };

/** Another machine of the same network answers within milliseconds. */
const connectMs = 3000;
const idleMs = 60_000;
const freeSocketsMax = 64;
const retryAfterSeconds = 1;

interface PeerAgent {
  address: string;
  agent: Agent;
}

export class Connections {
  readonly #deps: ConnectionsDeps;
  /** Agents by worker id. */
  readonly #agents = new Map<string, PeerAgent>();
  /** Requests and WebSockets that are open, by worker id: whichever agent they began with, which may have been replaced since. */
  readonly #open = new Map<string, Set<ClientRequest | Duplex>>();

  constructor(deps: ConnectionsDeps) {
    this.#deps = deps;
    deps.directory.onSilent((workerId) => this.drop(workerId));
    // Connections that are open go on; new ones present the new certificate.
    deps.credentials.onChanged(() => this.#retire());
  }

  /** Resolves with the head of the response. @throws ServiceError worker_unreachable */
  async send(request: PeerRequest): Promise<PeerReply> {
    const { workerId } = request;
    const { directory } = this.#deps;
    const address = await directory.addressOf(workerId);
    if (address === undefined) throw unreachable(workerId, { isSent: false });
    const peer = this.#peerAt(workerId, address);
    try {
      return await this.#exchange(peer, request);
    } catch (error) {
      if (!(error instanceof WorkerUnreachableError)) throw error;
      const { isReused, isSent, cause } = error;
      if (isReused && request.isSafe && !request.signal.aborted) return this.#sendAgain(request, address);
      // A worker that has restarted may be at another address than a moment ago.
      const current = isSent || !request.isRepeatable ? undefined : await directory.rereadAddressOf(workerId, address);
      if (current !== undefined && !request.signal.aborted) return this.#sendAgain(request, current);
      this.#deps.log.warn({ err: cause, worker: workerId }, 'request not forwarded');
      throw unreachable(workerId, { isSent: isSent && !request.isSafe, cause });
    }
  }

  /** A connection that was kept open may be closed by the time that it is used: a new one decides. */
  async #sendAgain(request: PeerRequest, address: string): Promise<PeerReply> {
    const { workerId } = request;
    try {
      return await this.#exchange(this.#create(workerId, address), request);
    } catch (error) {
      if (!(error instanceof WorkerUnreachableError)) throw error;
      throw unreachable(workerId, { isSent: error.isSent && !request.isSafe, cause: error.cause });
    }
  }

  #exchange({ address, agent }: PeerAgent, request: PeerRequest): Promise<PeerReply> {
    const { workerId } = request;
    const open = this.#open.get(workerId) ?? new Set();
    this.#open.set(workerId, open);
    return exchange(address, agent, request, (each) => {
      open.add(each);
      each.once('close', () => {
        open.delete(each);
        if (open.size === 0 && this.#open.get(workerId) === open) this.#open.delete(workerId);
      });
    });
  }

  /** Ends all connections to a worker: what waits for it fails at once. */
  drop(workerId: string): void {
    this.#agents.get(workerId)?.agent.destroy();
    this.#agents.delete(workerId);
    for (const each of this.#open.get(workerId) ?? []) each.destroy();
  }

  close(): void {
    for (const workerId of new Set([...this.#agents.keys(), ...this.#open.keys()])) this.drop(workerId);
  }

  #peerAt(workerId: string, address: string): PeerAgent {
    const existing = this.#agents.get(workerId);
    if (existing?.address === address) return existing;
    const created = this.#create(workerId, address);
    this.#agents.set(workerId, created);
    return created;
  }

  #create(workerId: string, address: string): PeerAgent {
    const { cert, key, ca } = this.#deps.credentials.current;
    const agent = new Agent({
      keepAlive: true,
      maxFreeSockets: freeSocketsMax,
      timeout: idleMs,
      scheduling: 'lifo',
      noDelay: true,
      // Each connection proves anew who is there.
      maxCachedSessions: 0,
      minVersion: 'TLSv1.3',
      cert,
      key,
      ca,
      checkServerIdentity: (_, certificate) => checkWorker(workerId, certificate),
    });
    return { address, agent };
  }

  /** Agents hold the certificate with which they connect. */
  #retire(): void {
    for (const [workerId, { address }] of this.#agents) this.#agents.set(workerId, this.#create(workerId, address));
  }
}

/** Whether the other end is the worker whose row has its address. */
function checkWorker(workerId: string, certificate: PeerCertificate): Error | undefined {
  return workersOf(certificate).includes(workerId) ? undefined : new Error(`the certificate does not name ${workerId}`);
}

/** No response came. */
class WorkerUnreachableError extends Error {
  /** Whether a connection was open before. */
  readonly isReused: boolean;
  /** Whether anything may have reached the other worker. */
  readonly isSent: boolean;

  constructor(cause: Error, { isReused, isSent }: { isReused: boolean; isSent: boolean }) {
    super('the other worker did not respond', { cause });
    this.isReused = isReused;
    this.isSent = isSent;
  }
}

function exchange(
  address: string,
  agent: Agent,
  { method, target, headers, signal, write }: PeerRequest,
  onOpen: (opened: ClientRequest | Duplex) => void,
): Promise<PeerReply> {
  const at = address.lastIndexOf(':');
  const host = address.slice(0, at).replace(/^\[|\]$/g, '');
  return new Promise((resolve, reject) => {
    let isConnected = false;
    const sent = httpsRequest({ host, port: Number(address.slice(at + 1)), method, path: target, headers, agent, signal });
    onOpen(sent);
    sent.on('socket', (socket) => {
      isConnected = sent.reusedSocket;
      if (isConnected) return;
      const timer = setTimeout(() => sent.destroy(new Error('the connection took too long')), connectMs);
      socket.once('secureConnect', () => (isConnected = true));
      for (const event of ['secureConnect', 'close']) socket.once(event, () => clearTimeout(timer));
    });
    // An error after the response ends its body, whose reader sees it.
    sent.on('error', (error) => reject(new WorkerUnreachableError(error, { isReused: sent.reusedSocket, isSent: isConnected })));
    sent.on('response', (response) => resolve({ response, upgraded: null }));
    sent.on('upgrade', (response, socket, head) => {
      onOpen(socket);
      resolve({ response, upgraded: { socket, head } });
    });
    write(sent);
  });
}

/** `isSent`: it may have had its effect, so that it must not be repeated blindly. */
function unreachable(workerId: string, { isSent, cause }: { isSent: boolean; cause?: unknown }): ServiceError {
  const hint = isSent ? 'It may have received the request: read the state of the session before you repeat it.' : 'Try again in a moment.';
  return new ServiceError('worker_unreachable', `The session runs on another worker, which cannot be reached. ${hint}`, {
    details: { worker_id: workerId },
    retryable: !isSent,
    ...(isSent ? {} : { retryAfterSeconds }),
    cause,
  });
}
