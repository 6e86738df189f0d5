/** A page's request headers, and the quiet of its network. The Network domain costs events, so it is on only while somebody needs it. */
import type { Connection } from '../cdp/connection.ts';
import type { Frames } from './frames.ts';
import { Deadline, lateError, type PageSession } from './session.ts';

const quietMs = 500;
/** Kept open by design: a page with one of these would never be quiet. */
const endless: ReadonlySet<string> = new Set(['EventSource', 'WebSocket', 'Media', 'Ping', 'Preflight']);
/** A page that asks for more at once is not quiet, however many more. */
const mostInFlight = 10_000;

const withoutBuffers = { maxTotalBufferSize: 0, maxResourceBufferSize: 0 };

export interface NetworkParts {
  connection: Connection;
  frames: Frames;
  sessionHeaders(): Readonly<Record<string, string>>;
  /** Whether the Network domain stays on afterwards: settings live in it, and listeners. */
  keepsNetwork(): boolean;
}

export class Network {
  readonly #parts: NetworkParts;
  #headers: Readonly<Record<string, string>> = {};

  constructor(parts: NetworkParts) {
    this.#parts = parts;
    parts.frames.onAttached((session) => {
      if (!this.#hasHeaders) return;
      session.sendQuietly('Network.enable', withoutBuffers);
      session.sendQuietly('Network.setExtraHTTPHeaders', { headers: this.#allHeaders() });
    });
  }

  get #hasHeaders(): boolean {
    return Object.keys(this.#headers).length > 0;
  }

  #allHeaders(): Record<string, string> {
    return { ...this.#parts.sessionHeaders(), ...this.#headers };
  }

  async setHeaders(headers: Readonly<Record<string, string>>, by: Deadline): Promise<void> {
    const { frames } = this.#parts;
    const { tab } = frames;
    const had = this.#hasHeaders;
    this.#headers = { ...headers };
    // They live in the Network domain, so a navigation must not turn it off.
    if (had !== this.#hasHeaders) tab.networkWatchers += had ? -1 : 1;
    // Only a frame that is told of when it comes has the headers from its start.
    if (this.#hasHeaders) await frames.follow(by);
    await Promise.all(frames.sessions().map((session) => this.#sendHeaders(session, by)));
    if (!this.#parts.keepsNetwork()) this.#turnOff();
  }

  async #sendHeaders(session: PageSession, by: Deadline): Promise<void> {
    const sent = [
      session.send('Network.enable', withoutBuffers, by),
      session.send('Network.setExtraHTTPHeaders', { headers: this.#allHeaders() }, by),
    ];
    try {
      await Promise.all(sent);
    } catch (error) {
      // A frame that goes away needs no headers.
      if (session === this.#parts.frames.main || by.signal.aborted) throw error;
    }
  }

  #turnOff(): void {
    for (const session of this.#parts.frames.sessions()) session.sendQuietly('Network.disable', undefined);
  }

  /** Also waits for the document's own loading, whose requests were made before anybody listened. @throws PageError `timeout` */
  async idle(options: { signal: AbortSignal; timeoutMs: number }): Promise<void> {
    const { connection, frames } = this.#parts;
    const by = new Deadline(options);
    const watch = new QuietWatch(connection, frames);
    try {
      for (const session of frames.sessions()) session.sendQuietly('Network.enable', withoutBuffers);
      // Told to begin, the browser tells again what the document has reached.
      await frames.main.send('Page.setLifecycleEventsEnabled', { enabled: true }, by);
      await watch.quiet(by);
    } finally {
      watch.end();
      frames.main.sendQuietly('Page.setLifecycleEventsEnabled', { enabled: false });
      if (!this.#parts.keepsNetwork()) this.#turnOff();
    }
  }
}

class QuietWatch {
  readonly #frames: Frames;
  readonly #inFlight = new Set<string>();
  readonly #quiet = Promise.withResolvers<void>();
  readonly #undo: (() => void)[] = [];
  #settled = false;
  #timer: NodeJS.Timeout | undefined;

  constructor(connection: Connection, frames: Frames) {
    this.#frames = frames;
    const ours = new Set(frames.sessions().map(({ id }) => id));
    const mine =
      <P>(act: (params: P) => void) =>
      (params: P, from: string | undefined): void => {
        if (from !== undefined && ours.has(from)) act(params);
      };
    this.#undo.push(
      connection.on(
        'Network.requestWillBeSent',
        mine(({ requestId, type }: { requestId: string; type?: string }) => this.#begin(requestId, type)),
      ),
      connection.on(
        'Network.loadingFinished',
        mine(({ requestId }: { requestId: string }) => this.#finish(requestId)),
      ),
      connection.on(
        'Network.loadingFailed',
        mine(({ requestId }: { requestId: string }) => this.#finish(requestId)),
      ),
      connection.on(
        'Page.lifecycleEvent',
        mine((event: { frameId: string; name: string }) => this.#onLifecycle(event)),
      ),
    );
  }

  async quiet(by: Deadline): Promise<void> {
    const { signal } = by;
    const either = AbortSignal.any([signal, this.#frames.tab.gone.signal]);
    const late = setTimeout(() => this.#quiet.reject(lateError(by.timeoutMs)), by.leftMs);
    const onAbort = (): void => this.#quiet.reject(either.reason);
    either.addEventListener('abort', onAbort, { once: true });
    this.#undo.push(
      () => clearTimeout(late),
      () => either.removeEventListener('abort', onAbort),
    );
    if (either.aborted) onAbort();
    await this.#quiet.promise;
  }

  end(): void {
    clearTimeout(this.#timer);
    for (const undo of this.#undo.splice(0)) undo();
  }

  #begin(requestId: string, type: string | undefined): void {
    if (this.#inFlight.size < mostInFlight && !endless.has(type ?? '')) this.#inFlight.add(requestId);
    this.#wait();
  }

  #finish(requestId: string): void {
    if (this.#inFlight.delete(requestId)) this.#wait();
  }

  #onLifecycle({ frameId, name }: { frameId: string; name: string }): void {
    if (frameId !== this.#frames.tab.id) return;
    if (name === 'init') this.#settled = false;
    else if (name === 'networkIdle') this.#settled = true;
    else return;
    this.#wait();
  }

  #wait(): void {
    clearTimeout(this.#timer);
    if (this.#settled && this.#inFlight.size === 0) this.#timer = setTimeout(() => this.#quiet.resolve(), quietMs);
  }
}
