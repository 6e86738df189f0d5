/** The subjects that are compared: a browser launched per run, a browser of a raw pool, and a session of the service. */
import { type Browser, chromium as playwright } from 'playwright-core';
import type { Berth } from './berth.ts';
import type { Bench } from './context.ts';
import { type RawBrowser, RawPool, destroyRaw, waitForExit, launchRaw } from './peers/raw-browser.ts';

/** Milliseconds of each stage of one run. */
export interface Timings {
  create: number;
  connect: number;
  goto: number;
  release: number;
  total: number;
}

export interface Run {
  timings: Timings;
  /** Whether the browser was started in advance. */
  warm: boolean;
  /** Cleanup that is not measured. */
  after: () => Promise<void>;
}

export interface Subject {
  name: 'raw' | 'raw-warm' | 'berth';
  /** Preparation that is not measured. Called before `count` concurrent runs. */
  prepare(count: number): Promise<void>;
  run(): Promise<Run>;
  end(): Promise<void>;
}

const gotoTimeoutMs = 30_000;

async function gotoSite(browser: Browser, url: string): Promise<void> {
  const context = browser.contexts()[0] ?? (await browser.newContext());
  const page = context.pages()[0] ?? (await context.newPage());
  await page.goto(url, { waitUntil: 'domcontentloaded', timeout: gotoTimeoutMs });
}

interface SubjectSteps<T> {
  create(): Promise<T>;
  connect(created: T): Promise<Browser>;
  release(created: T, browser: Browser): Promise<void>;
}

async function timeSteps<T>(url: string, steps: SubjectSteps<T>): Promise<{ timings: Timings; created: T; browser: Browser }> {
  const started = performance.now();
  const created = await steps.create();
  const createdAt = performance.now();
  const browser = await steps.connect(created);
  const connectedAt = performance.now();
  await gotoSite(browser, url);
  const loadedAt = performance.now();
  await steps.release(created, browser);
  const ended = performance.now();
  const timings = {
    create: createdAt - started,
    connect: connectedAt - createdAt,
    goto: loadedAt - connectedAt,
    release: ended - loadedAt,
    total: ended - started,
  };
  return { timings, created, browser };
}

const connectRaw = (raw: RawBrowser): Promise<Browser> => playwright.connectOverCDP(raw.url);

async function closeRaw(browser: Browser): Promise<void> {
  const session = await browser.newBrowserCDPSession();
  await session.send('Browser.close');
}

/** Launches a browser for each run and waits until it has exited, as a script without a service does. */
export function rawSubject({ stage, chromium, site }: Bench): Subject {
  return {
    name: 'raw',
    prepare: () => Promise.resolve(),
    run: async () => {
      const { timings, created } = await timeSteps(site.url, {
        create: () => launchRaw(stage, chromium),
        connect: connectRaw,
        release: async (raw, browser) => {
          await closeRaw(browser);
          await waitForExit(raw);
        },
      });
      return { timings, warm: false, after: () => destroyRaw(stage, created) };
    },
    end: () => Promise.resolve(),
  };
}

/** Takes an idle browser from a full pool and stops it unmeasured: the lower bound of any pool. */
export function rawWarmSubject({ stage, chromium, site }: Bench): Subject {
  const pool = new RawPool(stage, chromium);
  return {
    name: 'raw-warm',
    prepare: (count) => pool.fill(count),
    run: async () => {
      const { timings, created } = await timeSteps(site.url, {
        create: () => Promise.resolve(pool.take()),
        connect: connectRaw,
        release: (_, browser) => closeRaw(browser),
      });
      return { timings, warm: true, after: () => destroyRaw(stage, created) };
    },
    end: () => pool.empty(),
  };
}

/** A session of the service from create to delete. The caller owns the service. */
export function berthSubject({ site }: Bench, berth: Berth): Subject {
  return {
    name: 'berth',
    prepare: () => berth.waitForFullPool(),
    run: async () => {
      const { timings, created, browser } = await timeSteps(site.url, {
        create: () => berth.create(),
        connect: (session) => playwright.connectOverCDP(session.cdp_url, { headers: berth.authorization }),
        release: (session) => berth.delete(session.session_id),
      });
      return { timings, warm: created.warm, after: () => browser.close() };
    },
    end: () => Promise.resolve(),
  };
}
