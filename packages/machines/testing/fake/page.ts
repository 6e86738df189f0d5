export type Json = Record<string, unknown>;

/** A deferred answer: of a hanging navigation when the page is stopped, of a mute page never. */
export class Pending {
  resolve: (result: Json) => void = () => {};
}

const snapshotOf = ({ html, title }: FakePage): Json => ({
  html,
  title,
  truncated: false,
  isHidden: false,
  hasFrames: false,
  framesLeftOut: 0,
  gaps: [],
});
const pageProbeOf = ({ html, title, url }: FakePage): Json => ({
  probe: { selectors: [], visibleCaptcha: null, presentCaptcha: null, visibleTextLength: 1000, title },
  html,
  url,
  documentStart: 1,
  statusCode: 200,
});

const noVitals = { ttfbMs: 1, domContentLoadedMs: 2, loadMs: 3, fcpMs: null, lcpMs: null, lcpElement: null, cls: 0, tbtMs: 0 };
const inspectedOf = ({ url, title }: FakePage): Json => ({
  url,
  title,
  textChars: title.length,
  localStorage: [],
  sessionStorage: [],
  hasServiceWorker: false,
  vitals: noVitals,
  images: [],
  links: url.startsWith('http') ? [new URL('/next', url).href] : [],
  dataBlobs: [],
});

const treeOf = ({ title }: FakePage): Json => ({
  title,
  nodes: [
    { depth: 0, role: 'heading', name: title, states: { level: '1' } },
    { depth: 0, role: 'link', name: 'Next', ref: 1 },
  ],
  isTruncated: false,
  nextRef: 2,
  hosts: 0,
  frames: 0,
});

/** Answers to our own page functions. The first entry whose word is in the function's source applies. */
const answers: [word: string, answer: (page: FakePage) => unknown][] = [
  ['inspectDocument', inspectedOf],
  ['visibleToo', (page) => ({ probe: pageProbeOf(page), whole: snapshotOf(page), visible: snapshotOf(page), full: null })],
  ['takeSnapshot', snapshotOf],
  ['documentStart', pageProbeOf],
  [
    'localStorage.getItem',
    ({ url }) => (url.startsWith('http') ? { origin: new URL(url).origin, items: [{ name: 'theme', value: 'dark' }] } : null),
  ],
  ['hidesContent', () => ({ innerWidth: 1280, innerHeight: 720, scale: 1, hidesContent: false })],
  ['width: innerWidth', () => ({ width: 1280, height: 720 })],
  ['return readTree(...given)', treeOf],
  ['return resolveRef(...given)', () => ({ isFound: false, isKnown: false, nextRef: 3, near: [] })],
  ['return find(...given)', () => ({ index: -1, count: 0, visible: false })],
  ['return pageText(...given)', ({ title }) => title],
  ['return testExpression(...given)', () => false],
  ['[scrollX, scrollY]', () => [0, 0]],
  ["'activeElement'", () => ({ inFrame: false, text: 'selected' })],
  ['more: scrollY', () => ({ more: false, height: 720 })],
];

interface FakePageEvents {
  /** Sent to sessions that have called `enable` of `domain`. */
  event: (domain: 'Page' | 'Network' | 'lifecycle', method: string, body: Json) => void;
  changed: () => void;
}

/** One page of the fake browser: its address, its history, and the events of a navigation in the order of Chromium. */
export class FakePage {
  readonly targetId: string;
  readonly browserContextId: string;
  readonly #events: FakePageEvents;
  readonly #history: string[] = ['about:blank'];
  #lifecycleEvents: Json[] = [];
  #position = 0;
  #loader = 0;
  #wasOvertaken = false;
  #pending: { navigation: Pending; requestId: string } | undefined;

  constructor(targetId: string, browserContextId: string, events: FakePageEvents) {
    this.targetId = targetId;
    this.browserContextId = browserContextId;
    this.#events = events;
  }

  get url(): string {
    return this.#history[this.#position] ?? 'about:blank';
  }

  get title(): string {
    const { hostname = '', search = '' } = URL.parse(this.url) ?? {};
    return hostname === 'title.test' ? String(JSON.parse(`"${decodeURIComponent(search.slice(1))}"`)) : hostname;
  }

  get html(): string {
    const { title } = this;
    return `<html><head><title>${title}</title></head><body><h1>${title}</h1><p>A page.</p><a href="/next">Next</a></body></html>`;
  }

  /** Whether a navigation to `hang.test` is in progress. */
  get isHanging(): boolean {
    return this.#pending !== undefined;
  }

  /** A mute page has loaded but answers no call. */
  get isMute(): boolean {
    return URL.parse(this.url)?.hostname === 'mute.test';
  }

  layout(): Json {
    const view = { pageX: 0, pageY: 0, clientWidth: 1280, clientHeight: 720 };
    return {
      cssLayoutViewport: view,
      cssVisualViewport: { ...view, offsetX: 0, offsetY: 0, scale: 1 },
      cssContentSize: { x: 0, y: 0, width: 1280, height: 720 },
    };
  }

  /** Serialised like the answers of our page functions: `v` and the value. */
  callFunction(declaration: string): Json {
    if (declaration.includes('return globalThis')) return { type: 'object', objectId: `${this.#loaderId}.world` };
    const answer = answers.find(([word]) => declaration.includes(word))?.[1];
    return { type: 'string', value: `v${answer ? JSON.stringify(answer(this)) : ''}` };
  }

  frame(): Json {
    const { targetId, url } = this;
    return {
      id: targetId,
      loaderId: this.#loaderId,
      url,
      domainAndRegistry: '',
      securityOrigin: URL.parse(url)?.origin ?? '://',
      mimeType: 'text/html',
      secureContextType: 'InsecureScheme',
      crossOriginIsolatedContextType: 'NotIsolated',
      gatedAPIFeatures: [],
    };
  }

  navigationHistory(): Json {
    const entries = this.#history.map((url, id) => ({
      id,
      url,
      userTypedURL: url,
      title: URL.parse(url)?.hostname ?? '',
      transitionType: 'typed',
    }));
    return { currentIndex: this.#position, entries };
  }

  goTo(position: number): void {
    this.#position = position;
    this.#load(this.url);
  }

  navigate(address: string): Json | Pending {
    this.stop();
    const parsed = URL.parse(address);
    if (!parsed) return { frameId: this.targetId, errorText: 'net::ERR_INVALID_URL' };
    const host = parsed.hostname;
    this.#loader += 1;
    if (host === 'hang.test') {
      this.#pending = { navigation: new Pending(), requestId: this.#loaderId };
      this.#request(parsed.href);
      return this.#pending.navigation;
    }
    if (host === 'overtaken.test' && !this.#wasOvertaken) return this.#overtake(parsed.href);
    // The parser lower-cases host names; error names are upper case.
    const failure = /^fail-([a-z0-9_]+)\.test$/.exec(host)?.[1]?.toUpperCase();
    if (failure) return this.#fail(parsed.href, `net::${failure}`);
    if (parsed.href !== this.url) {
      this.#history.splice(this.#position + 1, Infinity, parsed.href);
      this.#position += 1;
    }
    this.#load(parsed.href);
    return { frameId: this.targetId, loaderId: this.#loaderId };
  }

  /** Ends a navigation that has no answer yet, as the stop button does. */
  stop(): void {
    const pending = this.#pending;
    this.#pending = undefined;
    if (!pending) return;
    const { targetId: frameId } = this;
    this.#events.event('Network', 'Network.loadingFailed', {
      requestId: pending.requestId,
      timestamp: now(),
      type: 'Document',
      errorText: 'net::ERR_ABORTED',
      canceled: true,
    });
    pending.navigation.resolve({ frameId, loaderId: pending.requestId, errorText: 'net::ERR_ABORTED' });
    this.#events.event('Page', 'Page.frameStoppedLoading', { frameId });
  }

  evaluate(expression: string): Json {
    const asked = expression
      .trim()
      .replace(/;$/, '')
      .replace(/^window\./, '');
    if (asked === 'document.title') return { type: 'string', value: this.title };
    if (/^(document\.)?(location(\.href)?|URL)$/.test(asked)) return { type: 'string', value: this.url };
    return { type: 'undefined' };
  }

  get #loaderId(): string {
    return `${this.targetId}.${this.#loader}`;
  }

  #request(url: string): void {
    const { targetId: frameId } = this;
    this.#events.event('Page', 'Page.frameStartedLoading', { frameId });
    const request = { url, method: 'GET', headers: {}, initialPriority: 'VeryHigh', referrerPolicy: 'strict-origin-when-cross-origin' };
    const body = {
      requestId: this.#loaderId,
      loaderId: this.#loaderId,
      documentURL: url,
      request,
      timestamp: now(),
      wallTime: now(),
      initiator: { type: 'other' },
      redirectHasExtraInfo: false,
      type: 'Document',
      frameId,
      hasUserGesture: false,
    };
    this.#events.event('Network', 'Network.requestWillBeSent', body);
  }

  #fail(url: string, errorText: string): Json {
    const { targetId: frameId } = this;
    this.#request(url);
    this.#events.event('Network', 'Network.loadingFailed', {
      requestId: this.#loaderId,
      timestamp: now(),
      type: 'Document',
      errorText,
      canceled: false,
    });
    this.#events.event('Page', 'Page.frameStoppedLoading', { frameId });
    if (errorText !== 'net::ERR_ABORTED') this.#showError(url);
    return { frameId, loaderId: this.#loaderId, errorText };
  }

  /** The page before began a navigation, which is committed right after the requested one and never loads. */
  #overtake(url: string): Json {
    this.#wasOvertaken = true;
    const { targetId: frameId } = this;
    const [loaderId, otherId] = [this.#loaderId, `${this.#loaderId}.other`];
    const other = { frameId, loaderId: otherId, url: 'http://other.test/', navigationType: 'differentDocument' };
    this.#request(url);
    this.#events.event('Page', 'Page.frameStartedNavigating', other);
    setImmediate(() => {
      for (const id of [loaderId, otherId])
        this.#events.event('Page', 'Page.frameNavigated', { frame: { ...this.frame(), loaderId: id }, type: 'Navigation' });
    });
    return { frameId, loaderId };
  }

  /** Commits an error page right after the reply, as Chromium does. */
  #showError(unreachableUrl: string): void {
    const loaderId = this.#loaderId;
    const frame = { ...this.frame(), url: 'chrome-error://chromewebdata/', securityOrigin: '://', unreachableUrl };
    setImmediate(() => {
      if (loaderId === this.#loaderId) this.#events.event('Page', 'Page.frameNavigated', { frame, type: 'Navigation' });
    });
  }

  #load(url: string): void {
    const { targetId: frameId } = this;
    const requestId = this.#loaderId;
    const status = Number(/^status-(\d{3})\.test$/.exec(URL.parse(url)?.hostname ?? '')?.[1] ?? 200);
    if (/^https?:/.test(url)) {
      this.#request(url);
      const response = {
        url,
        status,
        statusText: '',
        headers: { 'content-type': 'text/html' },
        mimeType: 'text/html',
        charset: 'utf-8',
        connectionReused: false,
        connectionId: 1,
        encodedDataLength: 100,
        securityState: 'insecure',
        protocol: 'http/1.1',
      };
      this.#events.event('Network', 'Network.responseReceived', {
        requestId,
        loaderId: requestId,
        timestamp: now(),
        type: 'Document',
        response,
        hasExtraInfo: false,
        frameId,
      });
    } else this.#events.event('Page', 'Page.frameStartedLoading', { frameId });
    this.#lifecycle('init');
    this.#events.event('Page', 'Page.frameNavigated', { frame: this.frame(), type: 'Navigation' });
    this.#lifecycle('commit');
    if (/^https?:/.test(url))
      this.#events.event('Network', 'Network.loadingFinished', { requestId, timestamp: now(), encodedDataLength: 100 });
    this.#events.event('Page', 'Page.domContentEventFired', { timestamp: now() });
    this.#lifecycle('DOMContentLoaded');
    this.#events.event('Page', 'Page.loadEventFired', { timestamp: now() });
    this.#lifecycle('load');
    this.#events.event('Page', 'Page.frameStoppedLoading', { frameId });
    this.#lifecycle('networkAlmostIdle');
    this.#lifecycle('networkIdle');
    this.#events.changed();
  }

  /** What the document has reached. Chromium sends it again to a session that enables these events. */
  get lifecycleEvents(): readonly Json[] {
    return this.#lifecycleEvents;
  }

  #lifecycle(name: string): void {
    const event = { frameId: this.targetId, loaderId: this.#loaderId, name, timestamp: now() };
    if (name === 'init') this.#lifecycleEvents = [];
    else this.#lifecycleEvents.push(event);
    this.#events.event('lifecycle', 'Page.lifecycleEvent', event);
  }
}

const now = (): number => performance.now() / 1000;
