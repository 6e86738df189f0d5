/** Viewers with their own browser, and checks that hold for every page of the service. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { chromium, type Browser, type BrowserContext, type BrowserContextOptions, type Locator, type Page } from 'playwright-core';
import { knownSlowness } from '../../yardstick.ts';
import { eventually } from '../service.ts';

const root = join(import.meta.dirname, '../../..');
/** Folder for screenshots of the pages; without it none are taken. */
const screenshots = process.env['BERTH_TEST_SCREENSHOTS'];
const axe = readFileSync(join(root, 'node_modules/axe-core/axe.min.js'), 'utf8');
/** Timeout for a viewer's browser that shares the processors with the session's. */
export const slowMs = 45_000 * knownSlowness;

export type Colour = readonly [red: number, green: number, blue: number];
/** A position as fractions of width and height. */
type Point = readonly [x: number, y: number];
type Scheme = 'light' | 'dark';

interface ViewerOptions extends BrowserContextOptions {
  /** The service's origin: all page requests must go there. */
  origin: string;
}

/** A host name that browsers do not treat as loopback. */
const remoteHost = 'berth.example';

/** The service's address as seen from another machine. */
export const remoteUrl = (url: string): string => url.replace('127.0.0.1', remoteHost);

/** It shows the same as the whole browser for two thirds of the work. */
const viewerPath = '/usr/lib/chromium/chromium-headless-shell';

/** The shared browser of a test file's viewers. */
export class ViewerBrowser {
  readonly #browser: Browser;

  private constructor(browser: Browser) {
    this.#browser = browser;
  }

  static async launch(): Promise<ViewerBrowser> {
    const args = [`--host-resolver-rules=MAP ${remoteHost} 127.0.0.1`];
    return new ViewerBrowser(await chromium.launch({ executablePath: viewerPath, args }));
  }

  /** Creates a viewer with separate cookies, clipboard and window. */
  async newViewer({ origin, ...options }: ViewerOptions): Promise<Viewer> {
    const context = await this.#browser.newContext({ viewport: { width: 1360, height: 860 }, colorScheme: 'light', ...options });
    context.setDefaultTimeout(slowMs);
    return new Viewer(context, await context.newPage(), origin);
  }

  close(): Promise<void> {
    return this.#browser.close();
  }
}

export class Viewer {
  readonly context: BrowserContext;
  readonly page: Page;
  /** The service's origin for this viewer. */
  readonly origin: string;
  /** Everything that a page of the service must not do. */
  readonly #issues: string[] = [];

  constructor(context: BrowserContext, page: Page, origin: string) {
    this.context = context;
    this.page = page;
    this.origin = origin;
    page.on('console', (message) => {
      if (message.type() === 'error') this.#issues.push(`console: ${message.text()}`);
    });
    page.on('pageerror', (error) => this.#issues.push(`uncaught: ${error.message}`));
    page.on('dialog', (dialog) => this.#issues.push(`dialog: ${dialog.message()}`));
    page.on('request', (request) => this.#checkRequest(request.url(), request.headers()['referer']));
    page.on('websocket', (socket) => this.#checkRequest(socket.url().replace(/^ws/, 'http'), undefined));
  }

  async open(link: string): Promise<void> {
    await this.page.goto(link);
  }

  /** Fails when a page requested another origin, violated its policy or logged an error. `except`: expected issues. */
  assertNoIssues({ except = /^$/ }: { except?: RegExp } = {}): void {
    assert.deepEqual(
      this.#issues.filter((issue) => !except.test(issue)),
      [],
    );
  }

  /** Fails on accessibility violations. The schemes differ only in their colours, so all rules are checked in the first. */
  async inspect(name: string, { schemes = ['light', 'dark'] }: { schemes?: readonly Scheme[] } = {}): Promise<void> {
    for (const [index, scheme] of schemes.entries()) {
      await this.page.emulateMedia({ colorScheme: scheme });
      if (screenshots) await this.page.screenshot({ path: join(screenshots, `${name}-${scheme}.png`), caret: 'initial' });
      assert.deepEqual(await findBarriers(this.page, index === 0 ? {} : { runOnly: ['color-contrast'] }), [], `${name}, ${scheme}`);
    }
    await this.page.emulateMedia({ colorScheme: 'light' });
  }

  close(): Promise<void> {
    return this.context.close();
  }

  #checkRequest(url: string, referer: string | undefined): void {
    const { protocol, origin } = new URL(url);
    if (protocol !== 'blob:' && protocol !== 'data:' && origin !== this.origin) this.#issues.push(`requested ${url}`);
    if (referer?.includes('token')) this.#issues.push(`sent a referer to ${url}: ${referer}`);
  }
}

/** Text that fades in or out has the contrast of that moment. */
async function finishAnimations(): Promise<void> {
  const ending = document.getAnimations().filter(({ effect, playState }) => {
    return playState === 'running' && effect?.getComputedTiming().endTime !== Infinity;
  });
  await Promise.allSettled(ending.map(({ finished }) => finished));
}

/** Accessibility violations as `rule: element`. */
async function findBarriers(page: Page, rules: { runOnly?: string[] }): Promise<string[]> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe);
  await page.evaluate(finishAnimations);
  return page.evaluate(async (chosen) => {
    interface Axe {
      run(where: Document, options: object): Promise<{ violations: { id: string; nodes: { html: string; failureSummary: string }[] }[] }>;
    }
    const { violations } = await (globalThis as unknown as { axe: Axe }).axe.run(document, {
      ...chosen,
      resultTypes: ['violations'],
      preload: false,
    });
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`));
  }, rules);
}

/** The colours of a canvas or video at these points; empty while nothing is shown. */
export const coloursAt = (picture: Locator, points: readonly Point[]): Promise<Colour[]> =>
  picture.evaluate((element, at) => {
    const canvas = new OffscreenCanvas(96, 54);
    const brush = canvas.getContext('2d', { willReadFrequently: true });
    if (!brush) throw new Error('no canvas');
    const picture = element as HTMLCanvasElement | HTMLVideoElement;
    const isThere =
      picture instanceof HTMLVideoElement ? picture.readyState >= picture.HAVE_CURRENT_DATA : picture.width > 0 && picture.height > 0;
    if (!isThere) return [];
    brush.drawImage(picture, 0, 0, canvas.width, canvas.height);
    const { data } = brush.getImageData(0, 0, canvas.width, canvas.height);
    return at.map(([x, y]) => {
      const pixel = 4 * (Math.floor(y * canvas.height) * canvas.width + Math.floor(x * canvas.width));
      return [data[pixel] ?? 0, data[pixel + 1] ?? 0, data[pixel + 2] ?? 0] as const;
    });
  }, points);

const everywhere: readonly Point[] = Array.from({ length: 48 }, (_, n) => [((n % 8) + 0.5) / 8, (Math.floor(n / 8) + 0.5) / 6] as const);
/** Tolerance for lossy compression. */
const nearness = 40;

export const isNear = (one: Colour, other: Colour): boolean => one.every((value, n) => Math.abs(value - (other[n] ?? 0)) <= nearness);

/** Waits until a point of the picture, by default its middle, has this colour. */
export async function waitForColour(
  picture: Locator,
  colour: Colour,
  { at = [0.5, 0.5], withinMs = slowMs }: { at?: Point; withinMs?: number } = {},
): Promise<void> {
  let seen: Colour | undefined;
  const hasColour = async (): Promise<boolean> => {
    [seen] = await coloursAt(picture, [at]);
    return seen !== undefined && isNear(seen, colour);
  };
  await eventually(`the picture is ${colour.join(' ')} at ${at.join(' ')}`, hasColour, withinMs).catch((error: unknown) => {
    throw new Error(`last seen: ${seen?.join(' ')}`, { cause: error });
  });
}

/** Waits until the picture has changed this many times. */
export async function waitForMovement(
  picture: Locator,
  { changes = 3, withinMs = slowMs }: { changes?: number; withinMs?: number } = {},
): Promise<void> {
  let last = '';
  let count = -1;
  const moved = async (): Promise<boolean> => {
    const now = JSON.stringify(await coloursAt(picture, everywhere));
    if (now !== last) count += 1;
    last = now;
    return count >= changes;
  };
  await eventually(`the picture changes ${changes} times`, moved, withinMs);
}

/** Whether the whole picture has one colour. */
export async function isBlank(picture: Locator): Promise<boolean> {
  const [first, ...rest] = await coloursAt(picture, everywhere);
  return first === undefined || rest.every((other) => isNear(first, other));
}
