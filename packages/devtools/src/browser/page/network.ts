/** A page's request headers and network idle. The Network domain causes many events, so it is on only while needed. */
import type { Connection, Params } from '../cdp/connection.ts';
import type { Frames } from './frames.ts';
import { longOpenMs, OpenRequests } from '../network/open-requests.ts';
import { Deadline } from '@berth/lib/deadline.ts';
import { orAbort } from '@berth/lib/or-abort.ts';
import { toHeaderSettings } from '../network/header-settings.ts';
import { timeoutError, type PageSession } from './session.ts';

interface NetworkDeps {
  connection: Connection;
  frames: Frames;
  sessionHeaders(): Readonly<Record<string, string>>;
  /** undefined: as the session's settings say. */
  userAgentOverride(userAgent: string | undefined): Params<'Emulation.setUserAgentOverride'>;
  /** Whether the Network domain must stay on afterwards, for settings or listeners. */
  shouldKeepNetwork(): boolean;
}

export class Network {
  readonly #deps: NetworkDeps;
  #headers: Readonly<Record<string, string>> = {};
  #userAgent: string | undefined;

  constructor(deps: NetworkDeps) {
    this.#deps = deps;
    deps.frames.onAttached((session) => {
      if (this.#userAgent !== undefined) session.sendNoReply('Emulation.setUserAgentOverride', deps.userAgentOverride(this.#userAgent));
      if (!this.#hasHeaders) return;
      session.sendNoReply('Network.enable', deps.frames.tab.networkBuffers);
      session.sendNoReply('Network.setExtraHTTPHeaders', { headers: this.#allHeaders() });
    });
  }

  get #hasHeaders(): boolean {
    return Object.keys(this.#headers).length > 0;
  }

  #allHeaders(): Record<string, string> {
    return { ...this.#deps.sessionHeaders(), ...this.#headers };
  }

  async setHeaders(headers: Readonly<Record<string, string>>, by: Deadline): Promise<void> {
    const { frames } = this.#deps;
    const { tab } = frames;
    const hadHeaders = this.#hasHeaders;
    const { referer, userAgent, extraHeaders } = toHeaderSettings(headers);
    this.#headers = extraHeaders;
    tab.referer = referer;
    const changesAgent = userAgent !== this.#userAgent;
    this.#userAgent = userAgent;
    // They live in the Network domain, so a navigation must not turn it off.
    if (hadHeaders !== this.#hasHeaders) tab.networkWatchers += hadHeaders ? -1 : 1;
    // A frame has the headers from its start only if we attach to it when it is created.
    if (this.#hasHeaders || userAgent !== undefined) await frames.follow(by);
    if (changesAgent) await frames.main.send('Emulation.setUserAgentOverride', this.#deps.userAgentOverride(userAgent), by);
    if (changesAgent)
      for (const session of frames.sessions())
        if (session !== frames.main) session.sendNoReply('Emulation.setUserAgentOverride', this.#deps.userAgentOverride(userAgent));
    await Promise.all(frames.sessions().map((session) => this.#sendHeaders(session, by)));
    if (!this.#deps.shouldKeepNetwork()) this.#turnOff();
  }

  async #sendHeaders(session: PageSession, by: Deadline): Promise<void> {
    const sent = [
      session.send('Network.enable', this.#deps.frames.tab.networkBuffers, by),
      session.send('Network.setExtraHTTPHeaders', { headers: this.#allHeaders() }, by),
    ];
    try {
      await Promise.all(sent);
    } catch (error) {
      // The frame may be removed meanwhile.
      if (session === this.#deps.frames.main || by.signal.aborted) throw error;
    }
  }

  #turnOff(): void {
    for (const session of this.#deps.frames.sessions()) session.sendNoReply('Network.disable', undefined);
  }

  /** Waits until the network is idle, and the document, whose requests may have started before. @throws PageError `timeout` */
  async idle(options: { signal: AbortSignal; timeoutMs: number }): Promise<void> {
    const { connection, frames } = this.#deps;
    const by = new Deadline(options);
    const watch = new IdleWatch(connection, frames);
    try {
      for (const session of frames.sessions()) session.sendNoReply('Network.enable', frames.tab.networkBuffers);
      // Enabling replays the lifecycle events of the document.
      await frames.main.send('Page.setLifecycleEventsEnabled', { enabled: true }, by);
      await watch.waitForIdle(by);
    } finally {
      watch.end();
      frames.main.sendNoReply('Page.setLifecycleEventsEnabled', { enabled: false });
      if (!this.#deps.shouldKeepNetwork()) this.#turnOff();
    }
  }
}

class IdleWatch {
  readonly #frames: Frames;
  readonly #longMs: number;
  readonly #requests: OpenRequests;
  readonly #idle = Promise.withResolvers<void>();
  readonly #undo: (() => void)[] = [];
  #isDocumentIdle = false;
  #loadTimer: NodeJS.Timeout | undefined;

  constructor(connection: Connection, frames: Frames) {
    this.#frames = frames;
    this.#longMs = connection.timeoutScale.ms(longOpenMs);
    const ownSessions = new Set(frames.sessions().map(({ id }) => id));
    const isOwnSession = (sessionId: string): boolean => ownSessions.has(sessionId);
    this.#requests = new OpenRequests({ connection, isOwnSession, onIdle: () => this.#check() });
    this.#undo.push(
      () => this.#requests.end(),
      connection.on('Page.lifecycleEvent', (event: { frameId: string; name: string }, from: string | undefined) => {
        if (from !== undefined && isOwnSession(from)) this.#onLifecycle(event);
      }),
    );
  }

  async waitForIdle(by: Deadline): Promise<void> {
    const signal = AbortSignal.any([by.signal, this.#frames.tab.closed.signal]);
    const reason = (): Error => timeoutError(by.timeoutMs);
    await Deadline.run({ signal, timeoutMs: by.leftMs, reason }, (either) => orAbort(this.#idle.promise, either.signal));
  }

  end(): void {
    clearTimeout(this.#loadTimer);
    for (const undo of this.#undo.splice(0)) undo();
  }

  /** The requests of a document that began before this watch are not known: the browser knows when they end, and a long poll does not. */
  #onLifecycle({ frameId, name }: { frameId: string; name: string }): void {
    if (frameId !== this.#frames.tab.id) return;
    if (name === 'init') {
      this.#isDocumentIdle = false;
      clearTimeout(this.#loadTimer);
    } else if (name === 'networkIdle') this.#isDocumentIdle = true;
    else if (name === 'load') {
      clearTimeout(this.#loadTimer);
      this.#loadTimer = setTimeout(() => {
        this.#isDocumentIdle = true;
        this.#check();
      }, this.#longMs);
    } else return;
    this.#requests.restart();
  }

  #check(): void {
    if (this.#isDocumentIdle && this.#requests.isIdle) this.#idle.resolve();
  }
}
