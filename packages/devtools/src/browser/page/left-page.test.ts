import assert from 'node:assert/strict';
import { Duplex } from 'node:stream';
import { describe, it } from 'node:test';
import { launch } from '../../../testing/launch.ts';
import { call, fails, until } from '../../../testing/on-page.ts';
import { openSite } from '../../../testing/site.ts';

/** A DevTools pipe whose messages to the worker a test changes on their way. */
abstract class ChangedPipe extends Duplex {
  readonly #line: Duplex;
  #rest = '';

  constructor(line: Duplex) {
    super();
    this.#line = line;
    line.on('data', (chunk: Buffer) => this.#split(chunk.toString('latin1')));
    line.on('end', () => this.push(null));
    line.on('error', () => this.destroy());
  }

  protected abstract deliver(message: string): void;

  protected send(message: string): void {
    this.push(`${message}\0`, 'latin1');
  }

  #split(text: string): void {
    const messages = (this.#rest + text).split('\0');
    this.#rest = messages.pop() ?? '';
    for (const message of messages) this.deliver(message);
  }

  override _read(): void {
    this.#line.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#line.write(chunk, done);
  }
}

/** The page that is left crashes right after the reply to a navigation, before the next document is there. */
class CrashAfterReply extends ChangedPipe {
  /** How many replies are still followed by a crash. */
  crashes = 0;

  protected override deliver(message: string): void {
    this.send(message);
    const { result } = JSON.parse(message) as { result?: { loaderId?: string; frameId?: string } };
    if (result?.loaderId === undefined || this.crashes === 0) return;
    this.crashes -= 1;
    this.send(JSON.stringify({ method: 'Target.targetCrashed', params: { targetId: result.frameId, status: 'crashed', errorCode: 11 } }));
  }
}

/** A navigation before the requested one is committed late, which aborts what was requested. */
class LateCommit extends ChangedPipe {
  /** How many replies are still preceded by such a commit. */
  commits = 0;
  readonly #aborted = new Set<string>();

  protected override deliver(message: string): void {
    const { result, params, sessionId, ...rest } = JSON.parse(message) as {
      result?: { loaderId?: string; frameId?: string };
      params?: { loaderId?: string; frame?: { loaderId: string } };
      sessionId?: string;
    };
    // The browser loads the document all the same; of one that is aborted it would say no more.
    if (this.#aborted.has(params?.frame?.loaderId ?? params?.loaderId ?? '')) return;
    if (result?.loaderId === undefined || this.commits === 0) return this.send(message);
    this.commits -= 1;
    this.#aborted.add(result.loaderId);
    const frame = { id: result.frameId, loaderId: 'EARLIER', url: 'http://earlier.test/' };
    this.send(JSON.stringify({ method: 'Page.frameNavigated', params: { frame, type: 'Navigation' }, sessionId }));
    this.send(JSON.stringify({ ...rest, sessionId, result: { ...result, errorText: 'net::ERR_ABORTED' } }));
  }
}

/** The reply to a navigation comes in one read with the events of a page that leads on at once, and is handled after them. */
class ReplyBehindEvents extends ChangedPipe {
  /** Replies that were behind the events. */
  count = 0;
  #held: string | null = null;

  protected override deliver(message: string): void {
    const { method, result } = JSON.parse(message) as { method?: string; result?: { loaderId?: string } };
    if (result?.loaderId !== undefined) {
      this.#held = message;
      return;
    }
    this.send(message);
    if (this.#held === null || method !== 'Page.frameClearedScheduledNavigation') return;
    this.send(this.#held);
    this.#held = null;
    this.count += 1;
  }
}

/** The reply for a call that a navigation ended is handled after the event of the next document, as when both come in one read. */
class LateReply extends ChangedPipe {
  swapped = 0;
  #held: string | null = null;

  protected override deliver(message: string): void {
    if (message.includes('Inspected target navigated')) {
      this.#held = message;
      return;
    }
    this.send(message);
    if (this.#held === null || !message.startsWith('{"method":"Page.frameNavigated"')) return;
    this.send(this.#held);
    this.#held = null;
    this.swapped += 1;
  }
}

describe('a call in a page that navigates', () => {
  it('a call in a page that navigates ends and is not run again, even when its reply is handled after the next document', async () => {
    const site = await openSite();
    let line: LateReply | undefined;
    const { browser, end } = await launch({ over: (cdp) => (line = new LateReply(cdp)) });
    try {
      const page = browser.page(browser.activeTab().tabId);
      const go = (path: string) => page.navigate({ url: site.url + path, waitUntil: 'load', timeoutMs: 20_000 }, call());
      await go('/');
      const began = () => site.requests.filter((path) => path === '/began').length;
      const waiting = page.call(page.mainFrame(), '() => { fetch("/began"); return new Promise(() => {}); }', [], call());
      const left = assert.rejects(waiting, fails('context_lost'));
      await until(() => began() === 1);
      await page.navigate({ url: `${site.url.replace('127.0.0.1', 'localhost')}/child`, waitUntil: 'load', timeoutMs: 20_000 }, call());
      await left;
      assert.equal(line?.swapped, 1);
      assert.equal(began(), 1);
    } finally {
      await end();
      await site.close();
    }
  });
});

describe('a navigation', () => {
  it('a navigation is repeated a few times when an earlier document is committed in its place', async () => {
    const site = await openSite();
    let line: LateCommit | undefined;
    const { browser, end } = await launch({ over: (cdp) => (line = new LateCommit(cdp)) });
    try {
      assert.ok(line);
      const request = { url: `${site.url}/`, waitUntil: 'load', timeoutMs: 20_000 } as const;
      const go = () => browser.navigate(browser.activeTab().tabId, request, { signal: new AbortController().signal });
      line.commits = 1;
      assert.equal((await go()).title, 'home');
      line.commits = Infinity;
      await assert.rejects(go(), { reason: 'aborted' });
    } finally {
      await end();
      await site.close();
    }
  });

  it('a navigation follows a page that leads on before the reply is handled', async () => {
    const site = await openSite();
    let line: ReplyBehindEvents | undefined;
    const { browser, end } = await launch({ over: (cdp) => (line = new ReplyBehindEvents(cdp)) });
    try {
      const request = { url: `${site.url}/refresh`, waitUntil: 'load', timeoutMs: 20_000 } as const;
      const { finalUrl, redirects } = await browser.navigate(browser.activeTab().tabId, request, call());
      assert.deepEqual([finalUrl, redirects], [`${site.url}/child`, [{ url: `${site.url}/refresh`, statusCode: 200 }]]);
      assert.equal(line?.count, 1);
    } finally {
      await end();
      await site.close();
    }
  });

  it('a navigation is repeated a few times when the page that it leaves crashes', async () => {
    const site = await openSite();
    let line: CrashAfterReply | undefined;
    const { browser, end } = await launch({ over: (cdp) => (line = new CrashAfterReply(cdp)) });
    try {
      assert.ok(line);
      const go = () =>
        browser.navigate(
          browser.activeTab().tabId,
          { url: `${site.url}/`, waitUntil: 'load', timeoutMs: 20_000 },
          { signal: new AbortController().signal },
        );
      line.crashes = 1;
      assert.equal((await go()).title, 'home');
      // The document of the first attempt may come in between, which is one more repetition.
      const documents = site.requests.filter((path) => path === '/').length;
      assert.ok(documents >= 2 && documents <= 4, `${documents} requests`);
      line.crashes = Infinity;
      await assert.rejects(go(), { reason: 'page_crashed' });
    } finally {
      await end();
      await site.close();
    }
  });
});
