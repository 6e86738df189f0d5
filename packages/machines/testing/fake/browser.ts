/**
 * A fake browser: enough of DevTools for tests of everything above the runtime.
 * The address decides the outcome: `http://status-404.test/` answers 404,
 * `http://fail-ERR_NAME_NOT_RESOLVED.test/` fails with that error,
 * `http://title.test/?a\ud800` has the title in its query, which may have escapes of JSON,
 * cookies of `refused.test` are refused, `http://download.test/` is a file, `http://hang.test/` never answers,
 * `http://overtaken.test/` is replaced, the first time, by what the page before requested,
 * `http://mute.test/` loads a page that answers no call, all others load at once.
 */
import { randomBytes, randomUUID } from 'node:crypto';
import type { Duplex } from 'node:stream';
import { acceptedDomains, acceptedMethods, asksPage, fixedAnswers } from './commands.ts';
import { FakePage, Pending, type Json } from './page.ts';
import { FakeScreen } from './screen.ts';

interface Session {
  id: string | undefined;
  /** undefined for sessions of the browser itself. */
  page: FakePage | undefined;
  /** Where this session's attach and detach events go. */
  parent: Session | undefined;
  autoAttach: boolean;
  waitForDebugger: boolean;
  discovers: boolean;
  lifecycle: boolean;
  enabled: Set<string>;
  screen: FakeScreen;
}

interface FakeDownload {
  guid: string;
  url: string;
  suggestedFilename: string;
  bytes: number;
  state: 'inProgress' | 'completed' | 'canceled';
}

interface Request {
  id: number;
  method: string;
  params?: Json;
  sessionId?: string;
}

class ProtocolError extends Error {
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const newTargetId = (): string => randomBytes(16).toString('hex').toUpperCase();
const defaultContextId = newTargetId();

export class FakeBrowser {
  readonly #pipe: Duplex;
  readonly #onClose: () => void;
  /** Mouse and keyboard commands of all pages, in order. */
  readonly inputs: { method: string; params: Json }[] = [];
  /** Calls that mute pages have received. */
  unanswered = 0;
  readonly #root: Session = newSession(undefined, undefined, undefined, () => {});
  readonly #sessions = new Map<string, Session>();
  readonly #pages = new Map<string, FakePage>();
  readonly #contexts = new Set<string>([defaultContextId]);
  readonly #failing = new Map<string, string>();
  #delayedTabs: (() => void)[] | null = null;
  #unread = '';

  /** `onClose` is called on Browser.close. */
  constructor(pipe: Duplex, onClose: () => void) {
    this.#pipe = pipe;
    this.#onClose = onClose;
    pipe.setEncoding('utf8');
    pipe.on('error', () => {});
    pipe.on('data', (text: string) => this.#read(text));
  }

  /** Stops reading, like a browser stopped by SIGSTOP. */
  freeze(): void {
    this.#pipe.pause();
  }

  thaw(): void {
    this.#pipe.resume();
  }

  /** Delays new tabs until the returned function is called, like a browser that is busy with a heavy page. */
  delayTabs(): () => void {
    const delayed: (() => void)[] = [];
    this.#delayedTabs = delayed;
    return () => {
      this.#delayedTabs = null;
      for (const open of delayed) open();
    };
  }

  /** The next command of this method fails, as one does whose target closes meanwhile. */
  failNext(method: string, answer = 'Target closed'): void {
    this.#failing.set(method, answer);
  }

  /** Crashes the renderer of a page: clients get the event, the page stays. */
  crashPage(targetId: string): void {
    for (const session of this.#sessionsOf(targetId)) this.#event(session, 'Inspector.targetCrashed', {});
    for (const session of this.#browserSessions())
      if (session.discovers) this.#event(session, 'Target.targetCrashed', { targetId, status: 'crashed', errorCode: 11 });
  }

  /** Emits the events of a download. The test provides the bytes itself. */
  download({ guid, url, suggestedFilename, bytes, state }: FakeDownload): void {
    const [page] = this.#pages.values();
    this.#event(this.#root, 'Browser.downloadWillBegin', { frameId: page?.targetId ?? '', guid, url, suggestedFilename });
    this.#event(this.#root, 'Browser.downloadProgress', {
      guid,
      totalBytes: bytes,
      receivedBytes: state === 'completed' ? bytes : 1,
      state,
    });
  }

  /** An address of download.test is a file: the load is aborted, and the download announced after the reply. */
  #navigate(page: FakePage, url: string): Json | Pending {
    if (URL.parse(url)?.hostname !== 'download.test') return page.navigate(url);
    const event = { frameId: page.targetId, guid: randomUUID(), url, suggestedFilename: 'file.bin' };
    setImmediate(() => this.#event(this.#root, 'Browser.downloadWillBegin', event));
    return { frameId: page.targetId, errorText: 'net::ERR_ABORTED', isDownload: true };
  }

  /** Writes a line to the console of every page. */
  write(text: string, level: 'log' | 'warning' | 'error' = 'log'): void {
    for (const session of this.#sessions.values()) {
      if (!session.page || !session.enabled.has('Console')) continue;
      const message = { source: 'console-api', level, text, url: session.page.url, line: 1, column: 1 };
      this.#event(session, 'Console.messageAdded', { message });
    }
  }

  /** Draws a new picture on every page with a screencast. */
  draw(picture: Buffer): void {
    for (const { screen } of this.#sessions.values()) screen.draw(picture.toString('base64'));
  }

  /** Parameters of the active screencasts. */
  get screencasts(): Json[] {
    return [...this.#sessions.values()].flatMap(({ screen: { options } }) => (options ? [options] : []));
  }

  /** Pages with a navigation that never ends. */
  get hangingPages(): number {
    return [...this.#pages.values()].filter(({ isHanging }) => isHanging).length;
  }

  get pageUrls(): string[] {
    return [...this.#pages.values()].map(({ url }) => url);
  }

  #read(text: string): void {
    const messages = (this.#unread + text).split('\0');
    this.#unread = messages.pop() ?? '';
    for (const message of messages) this.#answer(JSON.parse(message) as Request);
  }

  #answer({ id, method, params = {}, sessionId }: Request): void {
    const session = sessionId === undefined ? this.#root : this.#sessions.get(sessionId);
    const reply = (body: Json): void => this.#send({ id, ...body, ...(sessionId === undefined ? {} : { sessionId }) });
    if (!session) return reply({ error: { code: -32001, message: 'Session with given id not found.' } });
    try {
      const result = this.#call(session, method, params);
      if (result instanceof Pending) result.resolve = (late) => reply({ result: late });
      else reply({ result });
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      reply({ error: { code: error.code, message: error.message } });
    }
  }

  #call(session: Session, method: string, params: Json): Json | Pending {
    const [domain = '', name = ''] = method.split('.');
    const failure = this.#failing.get(method);
    if (this.#failing.delete(method)) throw new ProtocolError(-32000, failure ?? '');
    if (domain === 'Target' && !acceptedMethods.has(method)) return this.#callTarget(session, name, params);
    if (method === 'Browser.close') {
      // The answer is sent first, then the machine ends.
      setImmediate(this.#onClose);
      return {};
    }
    // Never resolved: the caller times out.
    if (session.page?.isMute === true && asksPage.has(method)) {
      this.unanswered += 1;
      return new Pending();
    }
    if (fixedAnswers[method]) return fixedAnswers[method];
    if (method === 'Storage.setCookies' && JSON.stringify(params).includes('refused.test'))
      throw new ProtocolError(-32602, 'Invalid cookie fields');
    if (domain === 'Input') this.inputs.push({ method, params });
    if (session.page && (domain === 'Page' || domain === 'Runtime') && !acceptedMethods.has(method))
      return this.#callPage(session, session.page, { method, params });
    if (name === 'enable') session.enabled.add(domain);
    if (acceptedMethods.has(method) || acceptedDomains.has(domain)) return {};
    throw new ProtocolError(-32601, `'${method}' wasn't found`);
  }

  #callTarget(session: Session, name: string, params: Json): Json | Pending {
    switch (name) {
      case 'setDiscoverTargets':
        session.discovers = params.discover === true;
        if (session.discovers)
          for (const page of this.#pages.values()) this.#event(session, 'Target.targetCreated', { targetInfo: this.#info(page) });
        return {};
      case 'setAutoAttach':
        session.autoAttach = params.autoAttach === true;
        session.waitForDebugger = params.waitForDebuggerOnStart === true;
        if (session.autoAttach && !session.page) for (const page of this.#pages.values()) this.#autoAttach(session, page, false);
        return {};
      case 'getTargets':
        return { targetInfos: [...this.#pages.values()].map((page) => this.#info(page)) };
      case 'getTargetInfo':
        return {
          targetInfo:
            session.page || params.targetId
              ? this.#info(session.page ?? this.#page(params))
              : { targetId: 'browser', type: 'browser', title: '', url: '', attached: true, canAccessOpener: false },
        };
      case 'createTarget':
        return this.#create(params);
      case 'closeTarget':
        this.#close(this.#page(params));
        return { success: true };
      case 'activateTarget':
        this.#page(params);
        return {};
      case 'attachToTarget':
        return { sessionId: this.#attach(session, this.#page(params), false) };
      case 'attachToBrowserTarget':
        return { sessionId: this.#attach(session, undefined, false) };
      case 'detachFromTarget': {
        const ended = this.#sessions.get(textOf(params.sessionId));
        if (!ended) throw new ProtocolError(-32602, 'No session with given id');
        this.#detach(ended);
        return {};
      }
      case 'createBrowserContext': {
        const browserContextId = newTargetId();
        this.#contexts.add(browserContextId);
        return { browserContextId };
      }
      case 'getBrowserContexts':
        return {
          browserContextIds: [...this.#contexts].filter((id) => id !== defaultContextId),
          defaultBrowserContextId: defaultContextId,
        };
      case 'disposeBrowserContext':
        if (!this.#contexts.delete(textOf(params.browserContextId))) throw new ProtocolError(-32602, 'Failed to find context with id');
        for (const page of this.#pages.values()) if (page.browserContextId === params.browserContextId) this.#close(page);
        return {};
      default:
        throw new ProtocolError(-32601, `'Target.${name}' wasn't found`);
    }
  }

  #callPage(session: Session, page: FakePage, { method, params }: { method: string; params: Json }): Json | Pending {
    switch (method) {
      case 'Page.enable':
        session.enabled.add('Page');
        return {};
      case 'Page.disable':
        session.enabled.delete('Page');
        return {};
      case 'Page.setLifecycleEventsEnabled':
        session.lifecycle = params.enabled === true;
        if (session.lifecycle) for (const event of page.lifecycleEvents) this.#event(session, 'Page.lifecycleEvent', event);
        return {};
      case 'Page.startScreencast':
        return session.screen.start(params);
      case 'Page.stopScreencast':
        return session.screen.stop();
      case 'Page.screencastFrameAck':
        return session.screen.acknowledge();
      case 'Page.getFrameTree':
        return { frameTree: { frame: page.frame() } };
      case 'Page.getNavigationHistory':
        return page.navigationHistory();
      case 'Page.navigate':
        return this.#navigate(page, textOf(params.url));
      case 'Page.reload':
        page.navigate(page.url);
        return {};
      case 'Page.navigateToHistoryEntry':
        page.goTo(Number(params.entryId));
        return {};
      case 'Page.stopLoading':
        page.stop();
        return {};
      case 'Page.close':
        this.#close(page);
        return {};
      case 'Runtime.enable':
        this.#event(session, 'Runtime.executionContextCreated', {
          context: {
            id: 1,
            uniqueId: '1.1',
            origin: page.url,
            name: '',
            auxData: { isDefault: true, type: 'default', frameId: page.targetId },
          },
        });
        return {};
      case 'Page.getLayoutMetrics':
        return page.layout();
      case 'Runtime.callFunctionOn':
        // This function waits for errors of the page, and fake pages throw none.
        if (textOf(params.functionDeclaration).includes("let all = ''")) return new Pending();
        return { result: page.callFunction(textOf(params.functionDeclaration)) };
      case 'Runtime.evaluate':
        return { result: page.evaluate(textOf(params.expression)) };
      default:
        throw new ProtocolError(-32601, `'${method}' wasn't found`);
    }
  }

  #create(params: Json): Json | Pending {
    const open = (): Json => ({ targetId: this.#open(params).targetId });
    if (!this.#delayedTabs) return open();
    const late = new Pending();
    this.#delayedTabs.push(() => late.resolve(open()));
    return late;
  }

  #open(params: Json): FakePage {
    const browserContextId = textOf(params.browserContextId) || defaultContextId;
    if (!this.#contexts.has(browserContextId)) throw new ProtocolError(-32602, 'Failed to find browser context');
    const page: FakePage = new FakePage(newTargetId(), browserContextId, {
      event: (domain, method, body) => this.#pageEvent(page, { domain, method, body }),
      changed: () => {
        this.#announce('Target.targetInfoChanged', { targetInfo: this.#info(page) });
        for (const { screen } of this.#sessionsOf(page.targetId)) screen.draw();
      },
    });
    this.#pages.set(page.targetId, page);
    this.#announce('Target.targetCreated', { targetInfo: this.#info(page) });
    for (const session of this.#browserSessions()) if (session.autoAttach) this.#autoAttach(session, page, session.waitForDebugger);
    const url = textOf(params.url);
    if (url !== '' && url !== 'about:blank') page.navigate(url);
    return page;
  }

  #close(page: FakePage): void {
    if (!this.#pages.delete(page.targetId)) return;
    page.stop();
    for (const session of this.#sessionsOf(page.targetId)) this.#detach(session);
    this.#announce('Target.targetDestroyed', { targetId: page.targetId });
  }

  #autoAttach(parent: Session, page: FakePage, waitingForDebugger: boolean): void {
    const attached = [...this.#sessions.values()].some((session) => session.parent === parent && session.page === page);
    if (!attached) this.#attach(parent, page, waitingForDebugger);
  }

  #attach(parent: Session, page: FakePage | undefined, waitingForDebugger: boolean): string {
    const session: Session = newSession(randomBytes(16).toString('hex').toUpperCase(), page, parent, (frame) =>
      this.#event(session, 'Page.screencastFrame', frame),
    );
    this.#sessions.set(session.id ?? '', session);
    const targetInfo = page
      ? this.#info(page)
      : { targetId: 'browser', type: 'browser', title: '', url: '', attached: true, canAccessOpener: false };
    this.#event(parent, 'Target.attachedToTarget', { sessionId: session.id, targetInfo, waitingForDebugger });
    if (page) this.#announce('Target.targetInfoChanged', { targetInfo });
    return session.id ?? '';
  }

  #detach(session: Session): void {
    if (!this.#sessions.delete(session.id ?? '')) return;
    for (const child of [...this.#sessions.values()]) if (child.parent === session) this.#detach(child);
    this.#event(session.parent ?? this.#root, 'Target.detachedFromTarget', {
      sessionId: session.id,
      ...(session.page ? { targetId: session.page.targetId } : {}),
    });
  }

  #page(params: Json): FakePage {
    const page = this.#pages.get(textOf(params.targetId));
    if (!page) throw new ProtocolError(-32602, 'No target with given id found');
    return page;
  }

  #info(page: FakePage): Json {
    const { targetId, title, url, browserContextId } = page;
    return {
      targetId,
      type: 'page',
      title,
      url,
      attached: this.#sessionsOf(targetId).length > 0,
      canAccessOpener: false,
      browserContextId,
    };
  }

  #sessionsOf(targetId: string): Session[] {
    return [...this.#sessions.values()].filter(({ page }) => page?.targetId === targetId);
  }

  #browserSessions(): Session[] {
    return [this.#root, ...[...this.#sessions.values()].filter(({ page }) => !page)];
  }

  #announce(method: string, params: Json): void {
    for (const session of this.#browserSessions()) if (session.discovers) this.#event(session, method, params);
  }

  #pageEvent(page: FakePage, { domain, method, body }: { domain: string; method: string; body: Json }): void {
    for (const session of this.#sessionsOf(page.targetId)) {
      if (domain === 'lifecycle' ? session.lifecycle : session.enabled.has(domain)) this.#event(session, method, body);
    }
  }

  #event(session: Session, method: string, params: Json): void {
    this.#send({ method, params, ...(session.id === undefined ? {} : { sessionId: session.id }) });
  }

  #send(message: Json): void {
    if (this.#pipe.writable) this.#pipe.write(`${JSON.stringify(message)}\0`);
  }
}

const newSession = (
  id: string | undefined,
  page: FakePage | undefined,
  parent: Session | undefined,
  onFrame: (params: Json) => void,
): Session => ({
  id,
  page,
  parent,
  autoAttach: false,
  waitForDebugger: false,
  discovers: false,
  lifecycle: false,
  enabled: new Set(),
  screen: new FakeScreen(onFrame),
});
