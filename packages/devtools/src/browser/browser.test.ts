import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { after, afterEach, before, beforeEach, describe, it, type TestContext } from 'node:test';
import { nextTurn } from '@berth/lib/turns/turn-budget.ts';
import {
  BrowserClosedError,
  LastTabError,
  NavigationError,
  TabLimitReachedError,
  TabNotFoundError,
  type Browser,
  type BrowserSettings,
  type DevtoolsClient,
  type NavigationRequest,
  type NavigationResult,
} from './browser.ts';
import { launch, settings, type Launched } from '../../testing/launch.ts';
import { freshPage, until } from '../../testing/on-page.ts';
import { openSite, type Site } from '../../testing/site.ts';

let site: Site;
let shared: Launched;
let launched: Launched;
let browser: Browser;

const clients: DevtoolsClient[] = [];

before(async () => {
  site = await openSite();
  shared = await launchBrowser();
});
after(async () => {
  await shared.end();
  await site.close();
});

const launchBrowser = (): Promise<Launched> =>
  launch({
    egressFailureOf: (host, port) =>
      port === 443
        ? null
        : { reason: 'dns_failed', rule: null, message: `${host} cannot be resolved`, netError: 'net::ERR_NAME_NOT_RESOLVED' },
  });

/** Each test finds one fresh tab with the default settings, and no client. */
function shareBrowser(): void {
  beforeEach(async () => {
    ({ browser } = shared);
    for (const client of clients.splice(0)) client.close();
    await browser.prepare(settings());
    await freshPage(browser);
    site.requests.length = 0;
  });
}

const call = (): { signal: AbortSignal; timeoutMs: number } => ({ signal: AbortSignal.timeout(30_000), timeoutMs: 20_000 });
const go = (path: string, options: Partial<NavigationRequest> = {}): Promise<NavigationResult> =>
  browser.navigate(
    browser.activeTab().tabId,
    { url: path.includes('://') || path.startsWith('about:') ? path : site.url + path, waitUntil: 'load', timeoutMs: 20_000, ...options },
    call(),
  );

async function failure(path: string, options: Partial<NavigationRequest> = {}): Promise<string> {
  try {
    await go(path, options);
  } catch (error) {
    assert.ok(error instanceof NavigationError, String(error));
    return error.reason;
  }
  return 'success';
}

/** Kills the processes of pages, as the system does when memory is used up: browsers say that these go first. */
function killRenderers(pid: number): void {
  if (readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('--type=renderer')) return void process.kill(pid, 'SIGKILL');
  for (const thread of readdirSync(`/proc/${pid}/task`))
    for (const child of readFileSync(`/proc/${pid}/task/${thread}/children`, 'utf8').split(' ').filter(Boolean))
      killRenderers(Number(child));
}

/** A union of the replies to the commands of these tests. */
interface Answer {
  result: { sessionId: string; result: { value: unknown } };
  error?: { code: number; message: string };
}

/** A client that sends raw messages. */
async function rawClient(): Promise<{
  ask(method: string, params?: object, sessionId?: string): Promise<Answer>;
  raw(text: string): void;
  messages: string[];
  closed: string[];
}> {
  const messages: string[] = [];
  const closed: string[] = [];
  const waiting = new Map<number, (reply: Answer) => void>();
  let last = 0;
  const client = await browser.connectClient({
    send: (message) => {
      messages.push(message.toString());
      const reply = JSON.parse(message.toString()) as Answer & { id?: number };
      if (reply.id !== undefined) waiting.get(reply.id)?.(reply);
    },
    onClose: (reason) => void closed.push(reason),
  });
  clients.push(client);
  const ask = (method: string, params: object = {}, sessionId?: string): Promise<Answer> => {
    const id = ++last;
    const { promise, resolve } = Promise.withResolvers<Answer>();
    waiting.set(id, resolve);
    void client.receive(JSON.stringify({ id, method, params, sessionId }));
    return promise;
  };
  return { ask, raw: (text) => void client.receive(text), messages, closed };
}

async function evaluator(): Promise<(expression: string) => Promise<unknown>> {
  const { ask } = await rawClient();
  const { result } = await ask('Target.attachToTarget', { targetId: browser.activeTab().tabId, flatten: true });
  return async (expression) =>
    (
      await ask(
        'Runtime.evaluate',
        { expression, returnByValue: true, awaitPromise: true, userGesture: true, timeout: 15_000 },
        result.sessionId,
      )
    ).result.result.value;
}

describe('navigate', () => {
  shareBrowser();

  it("a navigation returns the document's real status", async () => {
    for (const code of [200, 404, 418, 500, 503]) assert.equal((await go(`/status?code=${code}`)).statusCode, code);
    const { finalUrl, title, statusCode, redirects } = await go('/redirect?to=/status?code=418');
    assert.deepEqual({ finalUrl, title, statusCode }, { finalUrl: `${site.url}/status?code=418`, title: 'status', statusCode: 418 });
    assert.deepEqual(redirects, [{ url: `${site.url}/redirect?to=/status?code=418`, statusCode: 302 }]);
    assert.equal((await go('/empty?code=404')).statusCode, 404);
    assert.equal((await go('/auth')).statusCode, 401);
    assert.equal((await go('/')).statusCode, 200);
    const summary = ({ finalUrl, title, statusCode }: NavigationResult): object => ({ finalUrl, title, statusCode });
    assert.deepEqual(summary(await go('/#part')), { finalUrl: `${site.url}/#part`, title: 'home', statusCode: 200 });
    assert.deepEqual(summary(await go('/empty?code=204')), { finalUrl: `${site.url}/#part`, title: 'home', statusCode: 204 });
    assert.equal((await go('about:blank')).statusCode, null);
  });

  it('a navigation whose page fails to load says why', async () => {
    assert.equal(await failure('/loop'), 'too_many_redirects');
    assert.equal(await failure('/reset'), 'connection_reset');
    assert.equal(await failure('/download'), 'download');
    assert.equal(await failure('/redirect?to=/download'), 'download');
    assert.equal(await failure('/unreachable'), 'dns_failed');
    assert.equal(await failure('http://nosuch.invalid/'), 'dns_failed');
    assert.equal(await failure('http://127.0.0.1:9/'), 'blocked_by_policy');
    assert.equal(await failure('http://127.0.0.1:28642/'), 'connection_refused');
    assert.equal(await failure(`https://${site.host}/`), 'tls_error');
    assert.equal(await failure('/'), 'success');
  });

  it('a navigation that becomes a download gives its id, and one to a host that the gate cannot reach says why', async () => {
    const errorOf = async (url: string): Promise<NavigationError> => {
      const error = await go(url).catch((thrown: unknown) => thrown);
      assert.ok(error instanceof NavigationError, String(error));
      return error;
    };
    const { details, message } = await errorOf('/download');
    assert.deepEqual(details, { download_id: browser.downloads()[0]?.id });
    assert.match(message, /is a download/);
    assert.equal((await errorOf('/unreachable')).message, 'The page could not be loaded: 127.0.0.1 cannot be resolved.');
    assert.match((await errorOf('/reset')).message, /: net::ERR_/);
  });

  it('a tab that navigates to a page of the browser is closed and a blank one opened', async () => {
    const before = browser.activeTab().tabId;
    await go('chrome://version').catch(() => {});
    const fresh = () => browser.tabs().find(({ tabId }) => tabId !== before);
    await until(() => browser.tabs().length === 1 && fresh()?.url === 'about:blank');
  });

  it('a navigation that starts a download ends with the load of the page', async () => {
    for (const waitUntil of ['load', 'domcontentloaded', 'networkidle'] as const) {
      const { finalUrl, title, statusCode } = await go('/download-start', { waitUntil });
      assert.deepEqual({ finalUrl, title, statusCode }, { finalUrl: `${site.url}/download-start`, title: 'starting', statusCode: 200 });
    }
  });

  it('a navigation follows a page that redirects by script', async () => assert.equal((await go('/onward')).finalUrl, `${site.url}/`));

  it('a navigation ends at its timeout and leaves the tab usable', async () => {
    assert.equal(await failure('/half', { timeoutMs: 500 }), 'timeout');
    assert.equal(await failure('/hang', { timeoutMs: 500 }), 'timeout');
    assert.equal((await go('/half', { waitUntil: 'domcontentloaded' })).title, 'half');
    assert.equal((await go('/half?2', { waitUntil: 'commit' })).statusCode, 200);
    assert.equal((await go('/', { waitUntil: 'networkidle' })).title, 'home');
  });

  it('a navigation is not held up by dialogs of the page', async () => {
    assert.equal((await go('/alert')).title, 'after');
    const evaluate = await evaluator();
    await go('/leave');
    await evaluate('1');
    assert.equal((await go('/')).title, 'home');
  });

  it('a navigation stops when its caller aborts', async () => {
    const caller = new AbortController();
    const going = browser.navigate(
      browser.activeTab().tabId,
      { url: `${site.url}/hang`, waitUntil: 'load', timeoutMs: 20_000 },
      { signal: caller.signal },
    );
    await until(() => site.requests.includes('/hang'));
    caller.abort(new Error('gone away'));
    await assert.rejects(going, /gone away/);
    assert.equal(await failure('/'), 'success');
  });

  it('a navigation to a page that crashes reports the crash, and the tab recovers', async () => {
    const { ask } = await rawClient();
    const { result } = await ask('Target.attachToTarget', { targetId: browser.activeTab().tabId, flatten: true });
    const crash = (): void => void ask('Page.crash', {}, result.sessionId);
    const going = failure('/half');
    await until(() => site.requests.includes('/hang'));
    crash();
    assert.equal(await going, 'page_crashed');
    await until(() => browser.activeTab().status === 'crashed');
    assert.equal(browser.tabs().length, 1);
    assert.equal((await go('/')).title, 'home');
    assert.equal(browser.activeTab().status, 'complete');
  });

  it('a page that crashed before anybody asked anything of it says so', async () => {
    const { tabId } = await browser.openTab({ active: true, ...call() });
    const { ask } = await rawClient();
    const { result } = await ask('Target.attachToTarget', { targetId: tabId, flatten: true });
    void ask('Page.crash', {}, result.sessionId);
    await until(() => browser.tabs().some((tab) => tab.tabId === tabId && tab.status === 'crashed'));
    const page = browser.page(tabId);
    await assert.rejects(page.call(page.mainFrame(), '() => 1', [], call()), { reason: 'page_crashed' });
    assert.equal((await page.navigate({ url: `${site.url}/`, waitUntil: 'load', timeoutMs: 20_000 }, call())).title, 'home');
    assert.equal(await page.call(page.mainFrame(), '() => document.title', [], call()), 'home');
    await browser.closeTab(tabId, call());
  });

  it('a navigation ends when its tab is closed', async () => {
    const tab = await browser.openTab({ active: true, ...call() });
    const going = browser.navigate(tab.tabId, { url: `${site.url}/half`, waitUntil: 'load', timeoutMs: 20_000 }, call());
    const refused = assert.rejects(going, TabNotFoundError);
    await until(() => site.requests.includes('/hang'));
    await browser.closeTab(tab.tabId, call());
    await refused;
  });
});

describe('tabs', () => {
  shareBrowser();

  it('tabs opened at once keep to the tab limit', async () => {
    await browser.prepare(settings({ tabLimit: 4 }));
    const results = await Promise.allSettled(Array.from({ length: 8 }, () => browser.openTab({ active: false, ...call() })));
    assert.equal(results.filter(({ status }) => status === 'fulfilled').length, 3);
    for (const each of results) if (each.status === 'rejected') assert.ok(each.reason instanceof TabLimitReachedError);
    assert.equal(browser.tabs().length, 4);
  });

  it('tabs are listed with their current titles, also those that a script has changed', async () => {
    const evaluate = await evaluator();
    await go('/popups');
    await evaluate('document.title = "Changed by a script"');
    assert.deepEqual(
      (await browser.refreshTabs()).map(({ title }) => title),
      ['Changed by a script'],
    );
  });

  it('tabs beyond the limit are closed before their first script', async () => {
    await browser.prepare(settings({ tabLimit: 3 }));
    const evaluate = await evaluator();
    await go('/popups');
    const from = site.requests.length;
    for (let count = 0; count < 6; count += 1) await evaluate(`void open("/beacon?${count}")`);
    await until(
      () =>
        browser.tabs().length === 3 &&
        browser
          .tabs()
          .slice(1)
          .every(({ url }) => url.includes('/beacon')),
    );
    await browser.ping(call());
    assert.equal(browser.tabs().length, 3);
    // Chromium may ask for the document of a page that is about to close, but runs no script of it.
    assert.ok(site.requests.slice(from).filter((path) => path === '/ran').length <= 2);
  });

  it('a tab closes once, and the last tab never does', async () => {
    const first = browser.activeTab();
    await assert.rejects(browser.closeTab(first.tabId, call()), LastTabError);
    await assert.rejects(browser.closeTab('nosuch', call()), TabNotFoundError);
    const second = await browser.openTab({ active: true, ...call() });
    assert.equal(browser.activeTab().tabId, second.tabId);
    const results = await Promise.allSettled([browser.closeTab(second.tabId, call()), browser.closeTab(second.tabId, call())]);
    assert.deepEqual(
      results.map(({ status }) => status),
      ['fulfilled', 'rejected'],
    );
    assert.deepEqual(
      browser.tabs().map(({ tabId }) => tabId),
      [first.tabId],
    );
    assert.equal(browser.activeTab().tabId, first.tabId);
  });
});

describe('prepare', () => {
  shareBrowser();

  const prepared = async (wanted: Partial<BrowserSettings>): Promise<(expression: string) => Promise<unknown>> => {
    await browser.prepare(settings(wanted));
    await go('/');
    return evaluator();
  };

  it('preparing a browser makes window, screen and page agree in size', async () => {
    const evaluate = await prepared({ viewport: { width: 900, height: 640, device_scale_factor: 2 } });
    assert.deepEqual(
      await evaluate('[innerWidth, innerHeight, outerWidth, outerHeight, screen.width, screen.height, devicePixelRatio]'),
      [900, 640, 900, 727, 900, 727, 2],
    );
  });

  it('preparing a browser sets its identity in pages, frames and workers', async () => {
    const userAgent = 'Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/141.0.0.0 Safari/537.36';
    const evaluate = await prepared({ userAgent, locale: 'de-DE', timezone: 'Asia/Tokyo', extraHeaders: { 'x-extra': 'yes' } });
    assert.deepEqual(
      await evaluate('[navigator.userAgent, navigator.language, Intl.DateTimeFormat().resolvedOptions().timeZone, (1.5).toLocaleString()]'),
      [userAgent, 'de-DE', 'Asia/Tokyo', '1,5'],
    );
    const headers = (await evaluate('fetch("/echo").then((r) => r.json())')) as Record<string, string>;
    assert.equal(headers['user-agent'], userAgent);
    assert.equal(headers['x-extra'], 'yes');
    assert.match(headers['accept-language'] ?? '', /^de-DE/);
    assert.match(headers['sec-ch-ua'] ?? '', /"141"/);
    assert.equal(headers['sec-ch-ua-platform'], '"Windows"');
    assert.equal(
      await evaluate(
        `new Promise((r) => {
          const w = new Worker(URL.createObjectURL(new Blob(["postMessage(navigator.userAgent)"])));
          w.onmessage = (e) => r(e.data);
        })`,
      ),
      userAgent,
    );
    const popup = (await evaluate(
      'new Promise((r) => { const w = open("/child"); const t = setInterval(() => w.first && (clearInterval(t), r(w.first)), 20); })',
    )) as Record<string, unknown>;
    assert.deepEqual([popup['agent'], popup['zone']], [userAgent, 'Asia/Tokyo']);
  });

  it('a prepared browser does not request blocked resources', async () => {
    await browser.prepare(settings({ blockResources: ['image', 'media', 'font', 'stylesheet', 'websocket'] }));
    const from = site.requests.length;
    await go('/media');
    const evaluate = await evaluator();
    await evaluate(`new Promise((r) => { new WebSocket("ws://${site.host}/ws").onerror = r; })`);
    assert.deepEqual(
      site.requests.slice(from).filter((path) => path !== '/favicon.ico'),
      ['/media'],
    );
  });

  it('a prepared browser does not request blocked resources after it was given local storage', async () => {
    await browser.prepare(settings({ blockResources: ['image', 'media', 'font', 'stylesheet'] }));
    const localStorage = [{ name: 'a', value: 'b' }];
    await browser.setStorageState({ cookies: [], origins: [{ origin: `http://${site.host}`, localStorage }] }, call());
    const from = site.requests.length;
    await go('/media');
    assert.deepEqual(
      site.requests.slice(from).filter((path) => path !== '/favicon.ico'),
      ['/media'],
    );
  });
});

describe('raw clients', () => {
  shareBrowser();

  it('a raw DevTools client may not use sessions of another client', async () => {
    const [one, two] = [await rawClient(), await rawClient()];
    const { result } = await one.ask('Target.attachToTarget', { targetId: browser.activeTab().tabId, flatten: true });
    assert.deepEqual((await two.ask('Runtime.evaluate', { expression: '1' }, result.sessionId)).error, {
      code: -32001,
      message: 'Session with given id not found.',
    });
    assert.equal(two.messages.length, 1);
    await one.ask('Target.detachFromTarget', { sessionId: result.sessionId });
    assert.equal((await one.ask('Runtime.evaluate', { expression: '1' }, result.sessionId)).error?.code, -32001);
  });

  it('a raw DevTools client gets an error for an invalid message, and is closed when it goes on', async () => {
    const { raw, messages, closed, ask } = await rawClient();
    const hostile = [
      '{',
      '[]',
      'null',
      '{"id":"x","method":"a"}',
      '{"id":1}',
      '{"id":1,"method":"a","extra":1}',
      `{"id":1,"method":"a","params":${'['.repeat(5000)}${']'.repeat(5000)}}`,
      `{"id":1,"method":"a","params":{"a":${'['.repeat(5000)}${']'.repeat(5000)}}}`,
      '{"id":1,"method":"a","sessionId":7}',
      '{"id":1e30,"method":"a"}',
    ];
    for (const text of hostile) raw(text);
    assert.equal(messages.length, hostile.length);
    for (const text of messages) assert.match(text, /"error":\{"code":-32(700|600)/);
    assert.equal((await ask('Browser.getVersion')).error, undefined);
    raw('{');
    assert.deepEqual(closed, ['protocol_error']);
    assert.equal(browser.clientCount(), 0);
  });

  it('a raw DevTools client cannot smuggle a command past the rules by a duplicate JSON key', async () => {
    const { raw, messages } = await rawClient();
    raw('{"id":7,"method":"Browser.getVersion","method":"SystemInfo.getInfo"}');
    raw('{"id":8,"method":"SystemInfo.getInfo","method":"Browser.getVersion"}');
    await until(() => messages.length === 2);
    assert.match(messages[0] ?? '', /not available/);
    assert.match(messages[1] ?? '', /^\{"id":8,"result"/);
  });
});

describe('a browser that fails', () => {
  beforeEach(async () => {
    launched = await launchBrowser();
    ({ browser } = launched);
    site.requests.length = 0;
  });
  afterEach(() => launched.end());

  it('a frozen browser is reported as unresponsive, and no call to it hangs', async (t) => {
    process.kill(launched.pid, 'SIGSTOP');
    // A ping waits for a quarter of a minute: nothing else happens in that time.
    t.mock.timers.enable({ apis: ['setTimeout'] });
    const advancing = setInterval(() => t.mock.timers.tick(100), 1);
    try {
      await assert.rejects(go('/', { timeoutMs: 1000 }), NavigationError);
      await assert.rejects(browser.ping(call()), BrowserClosedError);
      assert.equal(await browser.closed, 'unresponsive');
    } finally {
      clearInterval(advancing);
      // Before the hooks: Node's removal of folders, once loaded, keeps the `setTimeout` that it finds then.
      t.mock.timers.reset();
    }
  });

  it('a page that the system ends, as where memory is used up, says so to who loads it and to who asks it next', async () => {
    const page = browser.page(browser.activeTab().tabId);
    const going = page.navigate({ url: `${site.url}/half`, waitUntil: 'load', timeoutMs: 20_000 }, call());
    await until(() => site.requests.includes('/hang'));
    killRenderers(launched.pid);
    const message = /^The system ended the page while it was loading, as it does when a browser uses more memory than it may\./;
    await assert.rejects(going, { reason: 'page_crashed', message });
    await assert.rejects(page.call(page.mainFrame(), '() => 1', [], call()), {
      reason: 'page_crashed',
      message: /more memory than it may/,
    });
  });

  describe('a browser that leaves pings unanswered and still reports what happens', () => {
    /** Pings the stopped browser, with `reports` of it, until that many seconds are over. */
    async function pingFor(t: TestContext, seconds: number, reports: () => void): Promise<'answered' | 'closed'> {
      process.kill(launched.pid, 'SIGSTOP');
      t.mock.timers.enable({ apis: ['setTimeout'] });
      try {
        const pinged = browser.ping({ signal: new AbortController().signal }).then(
          () => 'answered' as const,
          () => 'closed' as const,
        );
        for (let second = 0; second < seconds; second += 1) {
          reports();
          await nextTurn();
          t.mock.timers.tick(1000);
          await nextTurn();
        }
        process.kill(launched.pid, 'SIGCONT');
        return await pinged;
      } finally {
        t.mock.timers.reset();
      }
    }
    const report = (): void =>
      void launched.cdp.push('{"method":"Target.targetInfoChanged","params":{"targetInfo":{"targetId":"none"}}}\0');

    it('is busy for a minute and a half, and usable afterwards', async (t) => {
      assert.equal(await pingFor(t, 90, report), 'answered');
      assert.equal((await go('/')).title, 'home');
    });

    it('is frozen after two minutes', async (t) => {
      assert.equal(await pingFor(t, 121, report), 'closed');
      assert.equal(await browser.closed, 'unresponsive');
    });

    it('is frozen after a quarter of a minute in which it reports nothing', async (t) => {
      let left = 20;
      assert.equal(await pingFor(t, 50, () => left-- > 0 && report()), 'closed');
    });
  });

  it('a killed browser ends every call that waits for it', async () => {
    const { closed } = await rawClient();
    const going = assert.rejects(go('/hang'), BrowserClosedError);
    await until(() => site.requests.includes('/hang'));
    process.kill(launched.pid, 'SIGKILL');
    await going;
    assert.equal(await browser.closed, 'closed');
    assert.deepEqual(closed, ['browser_gone']);
  });

  it('a browser that sends garbage is disconnected', async () => {
    launched.cdp.emit('data', Buffer.from('{nonsense\0'));
    assert.equal(await browser.closed, 'closed');
    await assert.rejects(browser.openTab({ active: true, ...call() }), BrowserClosedError);
  });
});
