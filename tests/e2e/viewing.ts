/** People who watch: a browser of their own, and what is true of every page that they open, whatever it shows. */
import assert from 'node:assert/strict';
import { mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { chromium, type Browser, type BrowserContext, type BrowserContextOptions, type Locator, type Page } from 'playwright-core';
import { eventually } from './service.ts';

const root = join(import.meta.dirname, '../..');
/** What the pages look like, for people. */
const screenshots = process.env['BERTH_TEST_SCREENSHOTS'] || join(root, 'node_modules/.cache/berth-screenshots');
const axe = readFileSync(join(root, 'node_modules/axe-core/axe.min.js'), 'utf8');
/** A browser that shares two cores with the one that it watches. */
export const slowMs = 20_000;

type Colour = readonly [red: number, green: number, blue: number];
/** As shares of width and height. */
type Place = readonly [x: number, y: number];
type Scheme = 'light' | 'dark';

interface PersonOptions extends BrowserContextOptions {
  /** Where the service is reached: all requests of the pages must go there. */
  origin: string;
}

/** A name of this machine that browsers do not take for it. */
const otherName = 'berth.example';

/** The address of the service as somebody on another machine has it. */
export const elsewhere = (url: string): string => url.replace('127.0.0.1', otherName);

/** The browser of all who watch in one file of tests. */
export class Audience {
  readonly #browser: Browser;

  private constructor(browser: Browser) {
    this.#browser = browser;
  }

  static async gather(): Promise<Audience> {
    const args = [`--host-resolver-rules=MAP ${otherName} 127.0.0.1`];
    return new Audience(await chromium.launch({ executablePath: '/usr/lib/chromium/chromium', args }));
  }

  /** Somebody with cookies, a clipboard and a window of their own. */
  async person({ origin, ...options }: PersonOptions): Promise<Person> {
    const context = await this.#browser.newContext({ viewport: { width: 1360, height: 860 }, colorScheme: 'light', ...options });
    context.setDefaultTimeout(slowMs);
    return new Person(context, await context.newPage(), origin);
  }

  leave(): Promise<void> {
    return this.#browser.close();
  }
}

export class Person {
  readonly context: BrowserContext;
  readonly page: Page;
  /** Where this person reaches the service. */
  readonly origin: string;
  /** Everything that no page of ours does. */
  readonly #faults: string[] = [];

  constructor(context: BrowserContext, page: Page, origin: string) {
    this.context = context;
    this.page = page;
    this.origin = origin;
    page.on('console', (message) => {
      if (message.type() === 'error') this.#faults.push(`console: ${message.text()}`);
    });
    page.on('pageerror', (error) => this.#faults.push(`uncaught: ${error.message}`));
    page.on('dialog', (dialog) => this.#faults.push(`dialog: ${dialog.message()}`));
    page.on('request', (request) => this.#judge(request.url(), request.headers()['referer']));
    page.on('websocket', (socket) => this.#judge(socket.url().replace(/^ws/, 'http'), undefined));
  }

  async open(link: string): Promise<void> {
    await this.page.goto(link);
  }

  /** Fails where a page asked elsewhere, broke its policy, or complained. `except`: what the test itself brought about. */
  assertCalm({ except = /^$/ }: { except?: RegExp } = {}): void {
    assert.deepEqual(
      this.#faults.filter((fault) => !except.test(fault)),
      [],
    );
  }

  /** Takes pictures of the page as it is, light and dark, and fails where somebody could not read or reach a part of it. */
  async inspect(name: string, { schemes = ['light', 'dark'] }: { schemes?: readonly Scheme[] } = {}): Promise<void> {
    mkdirSync(screenshots, { recursive: true });
    for (const scheme of schemes) {
      await this.page.emulateMedia({ colorScheme: scheme });
      await this.page.screenshot({ path: join(screenshots, `${name}-${scheme}.png`), caret: 'initial' });
      assert.deepEqual(await findBarriers(this.page), [], `${name}, ${scheme}`);
    }
    await this.page.emulateMedia({ colorScheme: 'light' });
  }

  leave(): Promise<void> {
    return this.context.close();
  }

  #judge(url: string, referer: string | undefined): void {
    const { protocol, origin } = new URL(url);
    if (protocol !== 'blob:' && protocol !== 'data:' && origin !== this.origin) this.#faults.push(`asked ${url}`);
    if (referer?.includes('token')) this.#faults.push(`told ${url} its address: ${referer}`);
  }
}

/** What axe finds, as `rule: element`. */
async function findBarriers(page: Page): Promise<string[]> {
  await page.evaluate(axe);
  return page.evaluate(async () => {
    interface Axe {
      run(where: Document, options: object): Promise<{ violations: { id: string; nodes: { html: string; failureSummary: string }[] }[] }>;
    }
    const { violations } = await (globalThis as unknown as { axe: Axe }).axe.run(document, { resultTypes: ['violations'], preload: false });
    return violations.flatMap(({ id, nodes }) => nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 200)} ${failureSummary}`));
  });
}

/** The colours of a canvas or video at places of it; none while it has nothing to show. */
export const coloursAt = (picture: Locator, places: readonly Place[]): Promise<Colour[]> =>
  picture.evaluate((element, at) => {
    const canvas = new OffscreenCanvas(96, 54);
    const brush = canvas.getContext('2d', { willReadFrequently: true });
    if (!brush) throw new Error('no canvas');
    const picture = element as HTMLCanvasElement | HTMLVideoElement;
    const isThere =
      picture instanceof HTMLVideoElement ? picture.readyState >= picture.HAVE_CURRENT_DATA : picture.width > 0 && picture.height > 0;
    if (!isThere) return [];
    brush.drawImage(picture, 0, 0, canvas.width, canvas.height);
    return at.map(([x, y]) => {
      const [red = 0, green = 0, blue = 0] = brush.getImageData(Math.floor(x * canvas.width), Math.floor(y * canvas.height), 1, 1).data;
      return [red, green, blue] as const;
    });
  }, places);

const everywhere: readonly Place[] = Array.from({ length: 48 }, (_, n) => [((n % 8) + 0.5) / 8, (Math.floor(n / 8) + 0.5) / 6] as const);
/** What a lossy picture makes of a colour. */
const nearness = 40;

const isNear = (one: Colour, other: Colour): boolean => one.every((value, n) => Math.abs(value - (other[n] ?? 0)) <= nearness);

/** Waits until a place of the picture, its middle when none is named, has that colour. */
export async function seesColour(
  picture: Locator,
  colour: Colour,
  { at = [0.5, 0.5], withinMs = slowMs }: { at?: Place; withinMs?: number } = {},
): Promise<void> {
  let seen: Colour | undefined;
  const looks = async (): Promise<boolean> => {
    [seen] = await coloursAt(picture, [at]);
    return seen !== undefined && isNear(seen, colour);
  };
  await eventually(`the picture is ${colour.join(' ')} at ${at.join(' ')}`, looks, withinMs).catch((error: unknown) => {
    throw new Error(`last seen: ${seen?.join(' ')}`, { cause: error });
  });
}

/** Waits until the picture has changed this many times. */
export async function seesMovement(
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

/** Whether all of the picture has one colour: there is nothing on it. */
export async function isBlank(picture: Locator): Promise<boolean> {
  const [first, ...others] = await coloursAt(picture, everywhere);
  return first === undefined || others.every((other) => isNear(first, other));
}
