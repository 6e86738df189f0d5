/**
 * What is made of a page's HTML without a browser: markdown, text, links, facts,
 * tables and extracted fields, each conversion in a thread with limits, so that
 * a hostile page costs neither this process's time nor its memory.
 */
import { Piscina } from 'piscina';
import { Lanes, LaneFull, LaneTimeout } from '../lib/lanes.ts';
import type { Log } from '../lib/log.ts';
import type { ContentOrder, ContentResult } from './model.ts';

export type { ContentFormat, ContentOrder, ContentResult, ExtractField, Link, PageFacts, Table } from './model.ts';
export { decodeBody } from './decode-body.ts';
export { kindOf, type ContentKind } from './kind-of.ts';
export { invalidSelectors } from './selectors.ts';
export { snapshotScript, snapshotSource } from './snapshot.ts';
export { toDate, toNumber } from './values.ts';
export type { Snapshot, SnapshotOptions } from '../page-scripts/snapshot.ts';

/** `busy`: as many pages are waiting as may, or this one waited too long. The next conversion may well work. */
export type ContentFailure = 'too_large' | 'timeout' | 'busy' | 'failed';

export class ContentFailed extends Error {
  readonly reason: ContentFailure;

  constructor(reason: ContentFailure, options?: ErrorOptions) {
    super(`the page could not be converted: ${reason}`, options);
    this.reason = reason;
  }
}

export interface ContentOptions {
  threadsMax: number;
  log: Log;
  /** In UTF-16 units, of the page. A parsed page takes up to 50 times its source. */
  htmlCharsMax?: number;
  /** From a thread's taking a page up, so with its start. A page of a megabyte takes a second at most. */
  convertMsMax?: number;
  /** Of one thread's heap. */
  heapMbMax?: number;
  /** Pages that wait for a thread, each with its source in memory. */
  waitingMax?: number;
}

const defaults = { htmlCharsMax: 10_000_000, convertMsMax: 15_000, heapMbMax: 512, waitingMax: 64 };

/** A thread and its modules hold some 60 MB, and a new one takes a third of a second. */
const idleMsMax = 30_000;

/** Much of the heap is parsed pages, which die young; V8's own share would be counted on top of `heapMbMax`. */
const youngMbMax = 48;

export class Content {
  readonly #options: Required<ContentOptions>;
  readonly #threads: Piscina<ContentOrder, ContentResult>;
  readonly #lanes: Lanes;
  readonly #closed = new AbortController();
  #closing: Promise<void> | undefined;

  constructor(options: ContentOptions) {
    this.#options = { ...defaults, ...options };
    const { threadsMax, waitingMax, convertMsMax, heapMbMax, log } = this.#options;
    this.#lanes = new Lanes({ width: threadsMax, waitingMax, waitMsMax: convertMsMax });
    this.#threads = new Piscina({
      filename: new URL('./convert.ts', import.meta.url).href,
      minThreads: 0,
      maxThreads: threadsMax,
      // Here those wait whose thread is starting; all others wait in the lane, whose clock does not count as theirs.
      maxQueue: threadsMax,
      idleTimeout: idleMsMax,
      resourceLimits: { maxOldGenerationSizeMb: heapMbMax, maxYoungGenerationSizeMb: youngMbMax },
      // Nothing of this process's environment belongs beside hostile input.
      env: {},
      execArgv: [],
      recordTiming: false,
    });
    // A thread that dies between two pages. Without a listener it would take the process with it.
    this.#threads.on('error', (error: unknown) => log.warn({ err: error }, 'a content thread died'));
  }

  /** Throws ContentFailed, or the signal's reason. */
  async convert(order: ContentOrder, { signal }: { signal: AbortSignal }): Promise<ContentResult> {
    signal.throwIfAborted();
    if (order.html.length + (order.mainHtml?.length ?? 0) > this.#options.htmlCharsMax) throw new ContentFailed('too_large');
    const ended = AbortSignal.any([signal, this.#closed.signal]);
    try {
      return await this.#lanes.run('threads', ended, () => this.#run(order, ended));
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof ContentFailed) throw error;
      throw new ContentFailed(error instanceof LaneFull || error instanceof LaneTimeout ? 'busy' : 'failed', { cause: error });
    }
  }

  /** Ends every thread; conversions under way fail. */
  close(): Promise<void> {
    this.#closing ??= this.#end();
    return this.#closing;
  }

  async #end(): Promise<void> {
    this.#closed.abort();
    await this.#threads.destroy();
  }

  async #run(order: ContentOrder, ended: AbortSignal): Promise<ContentResult> {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(), this.#options.convertMsMax);
    try {
      return await this.#threads.run(plain(order), { signal: AbortSignal.any([ended, late.signal]) });
    } catch (error) {
      if (late.signal.aborted) throw new ContentFailed('timeout', { cause: error });
      throw new ContentFailed(isOutOfMemory(error) ? 'too_large' : 'failed', { cause: error });
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Only what the thread reads: what else a caller's object carries may not be copied into one. */
const plain = ({
  html,
  url,
  formats,
  onlyMainContent,
  mainHtml,
  includeSelectors,
  excludeSelectors,
  extract,
}: ContentOrder): ContentOrder => ({
  html,
  url,
  formats,
  onlyMainContent,
  mainHtml,
  includeSelectors,
  excludeSelectors,
  extract,
});

const isOutOfMemory = (error: unknown): boolean => error instanceof Error && 'code' in error && error.code === 'ERR_WORKER_OUT_OF_MEMORY';
