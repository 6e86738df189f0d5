/**
 * Converts a page's HTML without a browser to markdown, text, links, metadata,
 * tables and extracted fields. Each conversion runs in a thread with limits, so
 * that a hostile page costs this process neither time nor memory.
 */
import type { Log } from '@berth/lib/log.ts';
import { ThreadError, ThreadPool, type ThreadFailure } from '@berth/lib/thread-pool.ts';
import type { ContentOptions, ContentResult } from './conversion.ts';
import { load } from 'cheerio/slim';
import { sourceOf } from '@berth/page-scripts/page-scripts.ts';
import * as hiding from '@berth/page-scripts/read/hiding.ts';
import * as page from '@berth/page-scripts/read/snapshot.ts';

export type { ContentFormat, ContentOptions, ContentResult, ExtractField } from './conversion.ts';
export { decodeBody } from './encoding/decode-body.ts';
export { kindOf } from './encoding/kind-of.ts';
export { isJsonLd, parseJsonLd } from './json-ld.ts';
export { parseRobots, parseRobotsAtOnce, readRobotsLines, robotsAgent } from './robots-rules.ts';
export { isUnsafeLink } from './unsafe-links.ts';
export { toDate, toNumber } from './values.ts';
export type { Snapshot, SnapshotOptions } from '@berth/page-scripts/read/snapshot.ts';

/** `busy`: too many pages wait, or this one waited too long. A retry may succeed. */
export type ContentFailure = ThreadFailure;

export class ContentError extends Error {
  readonly reason: ContentFailure;

  constructor(reason: ContentFailure, options?: ErrorOptions) {
    super(`the page could not be converted: ${reason}`, options);
    this.reason = reason;
  }
}

export interface ContentDeps {
  /** Maximum threads. One of them is for other owners than the one who holds the rest. */
  threadsMax: number;
  log: Log;
  /** Maximum size of a page, in UTF-16 units. A parsed page takes up to 50 times its source. */
  htmlCharsMax?: number;
  /** Time limit from when the thread begins with the page, not from the thread's start. A page of a megabyte takes at most a second. */
  convertMsMax?: number;
  /** Maximum heap of one thread. */
  heapMbMax?: number;
  /** Pages that wait for a thread. */
  waitingMax?: number;
  /** Maximum size of all pages that wait, in UTF-16 units: their source is in memory. */
  waitingCharsMax?: number;
}

export interface ConvertCall {
  /** Owners take turns, so nobody waits behind all pages of another. */
  owner: string;
  signal: AbortSignal;
}

/** The conversions of one owner. */
export interface Converter {
  /** @throws ContentError, or the signal's reason */
  convert(options: ContentOptions, call: { signal: AbortSignal }): Promise<ContentResult>;
}

const defaults = { htmlCharsMax: 10_000_000, convertMsMax: 15_000, heapMbMax: 512, waitingMax: 128, waitingCharsMax: 100_000_000 };

export class Content {
  readonly #htmlCharsMax: number;
  readonly #threads: ThreadPool<ContentOptions, ContentResult>;

  constructor(deps: ContentDeps) {
    const { threadsMax, waitingMax, waitingCharsMax, convertMsMax, heapMbMax, htmlCharsMax, log } = { ...defaults, ...deps };
    this.#htmlCharsMax = htmlCharsMax;
    const file = new URL('./convert.ts', import.meta.url);
    this.#threads = new ThreadPool({
      file,
      threadsMax,
      runMsMax: convertMsMax,
      heapMbMax,
      waitingMax,
      waitingSizeMax: waitingCharsMax,
      log,
    });
  }

  /** A converter whose calls wait in the owner's turn. */
  for(owner: string): Converter {
    return { convert: (options, { signal }) => this.convert(options, { owner, signal }) };
  }

  /** @throws ContentError, or the signal's reason */
  async convert(options: ContentOptions, call: ConvertCall): Promise<ContentResult> {
    const size = options.html.length;
    call.signal.throwIfAborted();
    if (size > this.#htmlCharsMax) throw new ContentError('too_large');
    try {
      return await this.#threads.run(pickOptions(options), { ...call, size });
    } catch (error) {
      throw error instanceof ThreadError ? new ContentError(error.reason, { cause: error }) : error;
    }
  }

  /** Ends every thread; running conversions fail. */
  close(): Promise<void> {
    return this.#threads.close();
  }
}

/** Picks what the thread reads: other properties of the caller's object may not be cloneable. */
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
    // `find` is needed: `probe(text)` creates elements from text that looks like markup.
    probe.root().find(selector);
    return true;
  } catch {
    return false;
  }
}

/** An expression for a page's isolated world: a function of `SnapshotOptions`, and of an element unless it is of the document, that returns a `Snapshot`. */
export const snapshotScript: string = `((options, element = null) => {\n${sourceOf(page, hiding)}\nreturn takeSnapshot(options, element);\n})`;
/** A function of `visibleOnly` and of the maximum number that returns the frames at the gaps of that snapshot. */
export const gapsScript: string = `((...given) => {\n${sourceOf(page, hiding)}\nreturn takeGaps(...given);\n})`;

/** Warnings for a reader of a snapshot with frames. */
export const snapshotWarnings = ({ isHidden, framesLeftOut }: Pick<page.Snapshot, 'isHidden' | 'framesLeftOut'>): string[] => [
  ...(isHidden ? ['page_hidden'] : []),
  ...(framesLeftOut > 0 ? [`frames_left_out:${framesLeftOut}`] : []),
];

/** Warnings for a reader of the document alone. */
export const documentWarnings = ({ framesLeftOut }: Pick<page.Snapshot, 'framesLeftOut'>): string[] =>
  framesLeftOut > 0 ? [`frames_not_in_html:${framesLeftOut}`] : [];
