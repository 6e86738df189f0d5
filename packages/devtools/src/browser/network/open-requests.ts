/**
 * The requests of some sessions that count for network idle: those that are to end.
 * Event streams, WebSockets, media, beacons and long polls are open by design, and
 * would keep a page from ever being idle.
 */
import type { Protocol } from 'devtools-protocol';
import type { Connection } from '../cdp/connection.ts';

/** The network is idle after this long without a request that counts, as for the browser's own event. */
export const idleMs = 500;
/** A request that is open for longer is a long poll, or one that a visitor would not wait for either. */
export const longOpenMs = 5000;
const endlessTypes: ReadonlySet<string> = new Set(['EventSource', 'WebSocket', 'Media', 'Ping', 'Preflight']);
/** Streams that are read by `fetch`, and pictures of cameras. */
export const endlessMedia: ReadonlySet<string> = new Set([
  'text/event-stream',
  'multipart/x-mixed-replace',
  'application/x-ndjson',
  'application/stream+json',
]);
/** Requests beyond this are not counted. */
const openMax = 10_000;

interface OpenRequestsDeps {
  connection: Connection;
  isOwnSession(sessionId: string): boolean;
  /** Called when nothing that counts has been open for `idleMs`. */
  onIdle(): void;
}

export class OpenRequests {
  readonly #deps: OpenRequestsDeps;
  /** The timer after which each counts no longer. */
  readonly #open = new Map<string, NodeJS.Timeout>();
  readonly #undo: (() => void)[];
  #timer: NodeJS.Timeout | undefined;
  #isIdle = false;

  constructor(deps: OpenRequestsDeps) {
    this.#deps = deps;
    const { connection } = deps;
    const ifOwn =
      <P extends { requestId: string }>(act: (params: P) => void) =>
      (params: P, from: string | undefined): void => {
        if (from !== undefined && deps.isOwnSession(from)) act(params);
      };
    this.#undo = [
      connection.on(
        'Network.requestWillBeSent',
        ifOwn(({ requestId, type }: { requestId: string; type?: string }) => this.#begin(requestId, type)),
      ),
      connection.on(
        'Network.responseReceived',
        ifOwn(({ requestId, response }: Protocol.Network.ResponseReceivedEvent) => {
          if (endlessMedia.has(response.mimeType.toLowerCase())) this.#finish(requestId);
        }),
      ),
      connection.on(
        'Network.loadingFinished',
        ifOwn(({ requestId }) => this.#finish(requestId)),
      ),
      connection.on(
        'Network.loadingFailed',
        ifOwn(({ requestId }) => this.#finish(requestId)),
      ),
    ];
  }

  get isIdle(): boolean {
    return this.#isIdle;
  }

  /** Begins the time without requests anew, such as for a document that has just loaded. */
  restart(): void {
    clearTimeout(this.#timer);
    this.#isIdle = false;
    if (this.#open.size > 0) return;
    this.#timer = setTimeout(() => {
      this.#isIdle = true;
      this.#deps.onIdle();
    }, idleMs);
  }

  end(): void {
    clearTimeout(this.#timer);
    for (const timer of this.#open.values()) clearTimeout(timer);
    this.#open.clear();
    for (const undo of this.#undo.splice(0)) undo();
  }

  #begin(requestId: string, type: string | undefined): void {
    if (endlessTypes.has(type ?? '')) return;
    // A redirect continues under the same id, and its time goes on.
    if (this.#open.size < openMax && !this.#open.has(requestId)) {
      const longMs = this.#deps.connection.timeoutScale.ms(longOpenMs);
      this.#open.set(
        requestId,
        setTimeout(() => this.#finish(requestId), longMs),
      );
    }
    this.restart();
  }

  #finish(requestId: string): void {
    const timer = this.#open.get(requestId);
    if (timer === undefined) return;
    clearTimeout(timer);
    this.#open.delete(requestId);
    this.restart();
  }
}
