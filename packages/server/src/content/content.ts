/**
 * Converts a page's HTML without a browser to markdown, text, links, metadata,
 * tables and extracted fields. Each conversion runs in a thread with limits, so
 * that a hostile page costs this process neither time nor memory.
 */
import { Piscina } from 'piscina';
import { FairLane } from '../lib/fair-lane.ts';
import { LaneFull, LaneTimeout } from '../lib/lanes.ts';
import type { Log } from '../lib/log.ts';
import type { ConversionTask } from './convert.ts';
import type { ContentOptions, ContentResult } from './model.ts';
import { load } from 'cheerio/slim';
import { MessageChannel } from 'node:worker_threads';
import { sourceOf } from '../page-scripts/page-scripts.ts';
import * as page from '../page-scripts/snapshot.ts';

export type { ContentFormat, ContentOptions, ContentResult, ExtractField } from './model.ts';
export { decodeBody } from './decode-body.ts';
export { kindOf } from './kind-of.ts';
export { toDate, toNumber } from './values.ts';
export type { Snapshot, SnapshotOptions } from '../page-scripts/snapshot.ts';

/** `busy`: too many pages wait, or this one waited too long. A retry may succeed. */
export type ContentFailure = 'too_large' | 'timeout' | 'busy' | 'failed';

export class ContentFailed extends Error {
  readonly reason: ContentFailure;

  constructor(reason: ContentFailure, options?: ErrorOptions) {
    super(`the page could not be converted: ${reason}`, options);
    this.reason = reason;
  }
}

export interface ContentDeps {
  /** One of them is for other owners than the one who holds the rest. */
  threadsMax: number;
  log: Log;
  /** Of the page, in UTF-16 units. A parsed page takes up to 50 times its source. */
  htmlCharsMax?: number;
  /** Measured from when the thread begins with the page, not from the thread's start. A page of a megabyte takes at most a second. */
  convertMsMax?: number;
  /** Of one thread's heap. */
  heapMbMax?: number;
  /** Pages that wait for a thread. */
  waitingMax?: number;
  /** Of the pages that wait, in UTF-16 units: their source is in memory. */
  waitingCharsMax?: number;
}

export interface ConvertCall {
  /** Owners take turns, so nobody waits behind all pages of another. */
  owner: string;
  signal: AbortSignal;
}

/** The conversions of one owner. */
export interface Converter {
  /** @throws ContentFailed, or the signal's reason */
  convert(options: ContentOptions, call: { signal: AbortSignal }): Promise<ContentResult>;
}

const defaults = { htmlCharsMax: 10_000_000, convertMsMax: 15_000, heapMbMax: 512, waitingMax: 128, waitingCharsMax: 100_000_000 };

/** A thread and its modules hold some 60 MB, and a new one starts in a third of a second. */
const idleMsMax = 30_000;
/** On a busy machine a thread starts in seconds. */
const startMsMax = 30_000;

/** Most of the heap is parsed pages, which are short-lived. V8's default would come on top of `heapMbMax`. */
const youngHeapMbMax = 48;
/** Of the thread alone: Linux schedules each thread by its own. */
const threadNice = 5;

export class Content {
  readonly #deps: Required<ContentDeps>;
  readonly #threads: Piscina<ConversionTask, ContentResult>;
  readonly #lane: FairLane;
  readonly #closed = new AbortController();
  #closePromise: Promise<void> | undefined;

  constructor(deps: ContentDeps) {
    this.#deps = { ...defaults, ...deps };
    const { threadsMax, waitingMax, waitingCharsMax, convertMsMax, heapMbMax, log } = this.#deps;
    this.#lane = new FairLane({
      width: threadsMax,
      ownerWidth: Math.max(1, threadsMax - 1),
      waitingMax,
      waitingSizeMax: waitingCharsMax,
      waitMsMax: convertMsMax,
    });
    this.#threads = new Piscina({
      filename: new URL('./convert.ts', import.meta.url).href,
      minThreads: 0,
      maxThreads: threadsMax,
      // Only pages whose thread is starting wait here. The others wait in the lane, which does not count towards `convertMsMax`.
      maxQueue: threadsMax,
      idleTimeout: idleMsMax,
      resourceLimits: { maxOldGenerationSizeMb: heapMbMax, maxYoungGenerationSizeMb: youngHeapMbMax },
      // Hostile input must not reach this process's environment.
      env: {},
      execArgv: [],
      // On a busy host conversions wait for the service, not every request for conversions.
      niceIncrement: threadNice,
      recordTiming: false,
    });
    // A thread may die between two pages. Without a listener the error would end the process.
    this.#threads.on('error', (error: unknown) => log.warn({ err: error }, 'content thread failed'));
  }

  /** Its calls wait in the owner's turn. */
  for(owner: string): Converter {
    return { convert: (options, { signal }) => this.convert(options, { owner, signal }) };
  }

  /** @throws ContentFailed, or the signal's reason */
  async convert(options: ContentOptions, { owner, signal }: ConvertCall): Promise<ContentResult> {
    signal.throwIfAborted();
    const size = options.html.length;
    if (size > this.#deps.htmlCharsMax) throw new ContentFailed('too_large');
    const aborted = AbortSignal.any([signal, this.#closed.signal]);
    try {
      return await this.#lane.run({ owner, size, signal: aborted }, () => this.#run(options, aborted));
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ContentFailed) throw error;
      throw new ContentFailed(error instanceof LaneFull || error instanceof LaneTimeout ? 'busy' : 'failed', { cause: error });
    }
  }

  /** Ends every thread; running conversions fail. */
  close(): Promise<void> {
    this.#closePromise ??= this.#destroy();
    return this.#closePromise;
  }

  async #destroy(): Promise<void> {
    this.#closed.abort();
    await this.#threads.destroy();
  }

  async #run(options: ContentOptions, aborted: AbortSignal): Promise<ContentResult> {
    const timeout = new AbortController();
    const { port1: started, port2: port } = new MessageChannel();
    let isStarted = false;
    let timer = setTimeout(() => timeout.abort(), startMsMax);
    started.once('message', () => {
      isStarted = true;
      clearTimeout(timer);
      timer = setTimeout(() => timeout.abort(), this.#deps.convertMsMax);
    });
    try {
      const signal = AbortSignal.any([aborted, timeout.signal]);
      return await this.#threads.run({ ...pickOptions(options), started: port }, { signal, transferList: [port] });
    } catch (error) {
      if (timeout.signal.aborted) throw new ContentFailed(isStarted ? 'timeout' : 'busy', { cause: error });
      throw new ContentFailed(isOutOfMemory(error) ? 'too_large' : 'failed', { cause: error });
    } finally {
      clearTimeout(timer);
      started.close();
    }
  }
}

/** Only what the thread reads: other properties of the caller's object may not be cloneable. */
const pickOptions = ({
  html,
  url,
  formats,
  onlyMainContent,
  includeSelectors,
  excludeSelectors,
  extract,
}: ContentOptions): ContentOptions => ({
  html,
  url,
  formats,
  onlyMainContent,
  includeSelectors,
  excludeSelectors,
  extract,
});

const isOutOfMemory = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';

/** The invalid CSS selectors of the list, in order. */
export const invalidSelectors = (selectors: readonly string[]): string[] => selectors.filter((selector) => !isSelector(selector));

/** The matcher recurses into nested selectors. */
const selectorCharsMax = 2000;

const probe = load('<p></p>');

function isSelector(selector: string): boolean {
  if (selector.trim() === '' || selector.length > selectorCharsMax) return false;
  // A combinator of this parser only, and not of CSS.
  if (selector.replace(/"[^"]*"|'[^']*'/g, '').includes('<')) return false;
  try {
    // With find: `probe(text)` creates elements from text that looks like markup.
    probe.root().find(selector);
    return true;
  } catch {
    return false;
  }
}

/** An expression for a page's isolated world: a function of `SnapshotOptions` that returns a `Snapshot`. */
export const snapshotScript: string = `((options) => {\n${sourceOf(page)}\nreturn takeSnapshot(options);\n})`;
