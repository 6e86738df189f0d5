import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import { NavigationError, type Browser, type BrowserEvent } from './browser.ts';
import type { Page } from './page/page.ts';
import { TimeoutScale } from './timeout-scale.ts';
import { launch, type Launched } from '../../testing/launch.ts';
import { call, freshPage } from '../../testing/on-page.ts';
import { openPages, type Pages } from '../../testing/pages.ts';
import { Duplex } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { assertPrompt } from '../../../../tests/yardstick.ts';

/** A DevTools pipe that delays the browser's messages, like a much slower browser. */
class SlowLine extends Duplex {
  /** Delay of further messages; their order is preserved. */
  lagMs = 0;
  readonly #line: Duplex;
  #delivered: Promise<unknown> = Promise.resolve();

  constructor(line: Duplex) {
    super();
    this.#line = line;
    line.on('data', (chunk: Buffer) => this.#later(chunk));
    line.on('end', () => this.#later(null));
    line.on('error', () => this.destroy());
  }

  #later(chunk: Buffer | null): void {
    const due = sleep(this.lagMs);
    this.#delivered = this.#delivered.then(() => due).then(() => this.push(chunk));
  }

  override _read(): void {
    this.#line.resume();
  }

  override _write(chunk: Buffer, _encoding: BufferEncoding, done: (error?: Error | null) => void): void {
    this.#line.write(chunk, done);
  }
}

describe('a limit', () => {
  it('a timeout is not scaled on bare hardware, whatever time is left', () => {
    for (const timeoutScale of [new TimeoutScale(), new TimeoutScale(1), new TimeoutScale(0.5)])
      assert.deepEqual([timeoutScale.ms(500), timeoutScale.ms(500, 100), timeoutScale.ms(500, 9000)], [500, 500, 500]);
  });

  it('a timeout is never scaled beyond two minutes', () => {
    assert.deepEqual([new TimeoutScale(30).ms(10_000), new TimeoutScale(30).ms(150_000)], [120_000, 150_000]);
  });

  it('a timeout is scaled on a slow machine, up to the time of the caller', () => {
    const timeoutScale = new TimeoutScale(8);
    assert.deepEqual(
      [timeoutScale.ms(500), timeoutScale.ms(500, 9000), timeoutScale.ms(500, 1500), timeoutScale.ms(500, 100), timeoutScale.ms(500, -1)],
      [4000, 4000, 1500, 500, 500],
    );
  });
});

describe('a browser that is slow to answer', () => {
  let pages: Pages;
  let launched: Launched;
  let line: SlowLine;
  let browser: Browser;
  let page: Page;
  let reported: BrowserEvent['type'][];

  before(async () => {
    pages = await openPages({
      '/one': '<title>one</title><iframe src="{other}/in" name=within></iframe>',
      '/in': '<title>in</title>',
      '/two': '<title>two</title>',
      '/hangs': '<title>hangs</title><script>setTimeout(() => { for (;;); }, 50)</script>',
    });
    launched = await launch({ slowness: 8, over: (cdp) => (line = new SlowLine(cdp)) });
    browser = launched.browser;
    browser.onEvent(({ type }) => reported.push(type));
  });
  after(async () => {
    await launched.end();
    await pages.close();
  });
  beforeEach(async () => {
    line.lagMs = 0;
    reported = [];
    page = await freshPage(browser);
  });

  const go = (path: string, timeoutMs = 20_000): Promise<{ title: string }> =>
    page.navigate({ url: pages.url + path, waitUntil: 'load', timeoutMs }, call());

  it('a browser that is slow to answer navigates as any other: the old page is not treated as hung, and the title is returned', async () => {
    await go('/one');
    line.lagMs = 1100;
    assert.equal((await go('/two')).title, 'two');
    assert.ok(!reported.includes('tab.crashed'));
  });

  it('a browser that is slow to answer returns current titles', async () => {
    await go('/two');
    await page.evaluate(page.mainFrame(), 'void (document.title = "changed")', call());
    line.lagMs = 700;
    assert.deepEqual(
      (await browser.refreshTabs()).map(({ title }) => title),
      ['changed'],
    );
  });

  it('a browser that is slow to answer hides no frame for being late', async () => {
    await go('/one');
    await page.frames(call());
    line.lagMs = 1600;
    assert.deepEqual(
      (await page.frames(call())).map(({ name }) => name),
      ['', 'within'],
    );
  });

  it("a page that hangs in a browser that is slow to answer costs no more than the caller's time", async () => {
    await go('/hangs');
    await assert.rejects(page.networkIdle({ ...call(), timeoutMs: 300 }), { reason: 'timeout' });
    const begin = performance.now();
    const went = await go('/two', 2500).catch((error: unknown) => error);
    // A limit that is scaled beyond the caller's time would add four seconds or more.
    assertPrompt(begin, 6000);
    if (went instanceof Error) assert.ok(went instanceof NavigationError && went.reason === 'timeout', String(went));
  });
});
