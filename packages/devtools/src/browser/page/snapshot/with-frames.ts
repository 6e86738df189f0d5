/**
 * Puts the documents of frames into a snapshot that the page itself may not
 * read: those of other sites, which mostly run in other processes. Each is read
 * in its own isolated context, and the frames in it likewise.
 */
import { gapsScript, snapshotScript, type Snapshot } from '@berth/reading';
import { Deadline } from '@berth/lib/deadline.ts';
import { PageError, type CallOptions, type FrameRef, type Page } from '../page.ts';
import { toQuietOptions, whenQuiet } from '../quiet.ts';

/** Pages with more are made of advertisements. */
const framesMax = 30;
/** Frames in frames in frames are loops. */
const depthMax = 5;
/** Frames that are read at a time: each holds a browser process, and its answer is in memory. */
const groupSize = 6;
/** A frame's HTML in UTF-8. */
const frameBytesMax = 1024 * 1024;
/** Maximum time to read one frame, with the wait for what its scripts show. */
const frameMsMax = 1500;
/** Maximum time to read all frames: a page of frames that hang must not take the caller's time. */
const allMsMax = 4000;

/** The browser's own page about a frame that did not load is no text of the page. */
const frameScript = whenQuiet(`(options, parts) => {
  if (location.protocol === 'chrome-error:') return null;
  const take = ${snapshotScript};
  const takePart = (visibleOnly) => (parts.includes(visibleOnly) ? take({ ...options, visibleOnly }) : null);
  return { visible: takePart(true), whole: takePart(false) };
}`);

/** The parts of a frame read at one time: its visible part and all of it, as far as they were asked for. */
type FrameSnapshots = Record<'visible' | 'whole', Snapshot | null>;
/** The frames that were read, by id; null for one that did not answer. */
type FrameCache = Map<string, FrameSnapshots | null>;

export interface SnapshotReading {
  visibleOnly: boolean;
  /** Limit of the HTML in UTF-8, with all frames. */
  maxBytes: number;
  /** The frame of the document that the snapshot is of. */
  frameId: string;
  signal: AbortSignal;
  leftMs: number;
}

/** The snapshot with the documents of its gaps; `framesLeftOut` counts what could not be read. @throws BrowserClosedError, or the signal's reason */
export const withFrames = (page: Page, snapshot: Snapshot, reading: SnapshotReading): Promise<Snapshot> =>
  fillGaps(page, snapshot, reading);

/** Both snapshots of a document, with its frames: each frame is asked once. @throws BrowserClosedError, or the signal's reason */
export async function bothWithFrames(
  page: Page,
  { visible, whole }: FrameSnapshots,
  reading: Omit<SnapshotReading, 'visibleOnly'>,
): Promise<FrameSnapshots> {
  const cache: FrameCache | undefined = visible && whole ? new Map() : undefined;
  return {
    visible: visible && (await fillGaps(page, visible, { ...reading, visibleOnly: true }, cache)),
    whole: whole && (await fillGaps(page, whole, { ...reading, visibleOnly: false }, cache)),
  };
}

async function fillGaps(page: Page, snapshot: Snapshot, reading: SnapshotReading, cache?: FrameCache): Promise<Snapshot> {
  if (snapshot.gaps.length === 0) return snapshot;
  const { timeoutScale } = page;
  const { signal, leftMs } = reading;
  const by = new Deadline({ signal, timeoutMs: Math.max(1, Math.min(timeoutScale.ms(allMsMax), leftMs / 2)) });
  const frames = new FrameReading(page, { ...reading, by, cache });
  frames.count(snapshot);
  const html = await frames.fill(reading.frameId, snapshot, 1);
  const truncated = snapshot.truncated || frames.isTruncated;
  return { ...snapshot, html, truncated, framesLeftOut: frames.leftOut, gaps: [] };
}

class FrameReading {
  isTruncated = false;
  leftOut = 0;
  readonly #page: Page;
  readonly #visibleOnly: boolean;
  readonly #by: Deadline;
  readonly #cache: FrameCache | undefined;
  #bytesLeft: number;
  #framesLeft = framesMax;

  constructor(page: Page, { visibleOnly, maxBytes, by, cache }: SnapshotReading & { by: Deadline; cache: FrameCache | undefined }) {
    this.#page = page;
    this.#visibleOnly = visibleOnly;
    this.#by = by;
    this.#cache = cache;
    this.#bytesLeft = maxBytes;
  }

  count({ html, framesLeftOut, truncated }: Snapshot): void {
    this.#bytesLeft -= Buffer.byteLength(html);
    this.leftOut += framesLeftOut;
    this.isTruncated ||= truncated;
  }

  /** The HTML of a document with the frames in it. */
  async fill(frameId: string, { html, gaps }: Snapshot, depth: number): Promise<string> {
    if (gaps.length === 0 || depth > depthMax) return html;
    const frames = await this.#framesAt(frameId);
    const contents: string[] = [];
    for (let from = 0; from < frames.length; from += groupSize)
      contents.push(...(await Promise.all(frames.slice(from, from + groupSize).map((frame) => this.#read(frame, depth)))));
    return splice(html, gaps, contents);
  }

  async #framesAt(frameId: string): Promise<(FrameRef | null)[]> {
    return this.#orNothing([], async () => {
      const elements = await this.#page.find(frameId, gapsScript, [this.#visibleOnly, framesMax], this.#call());
      try {
        return await this.#page.contentFrames(elements, this.#call());
      } finally {
        this.#page.release(elements);
      }
    });
  }

  /** '' for a frame that hangs, is gone, is an error or one too many. */
  async #read(frame: FrameRef | null, depth: number): Promise<string> {
    if (!frame || this.#framesLeft <= 0 || this.#bytesLeft <= 0 || this.#by.leftMs === 0) return '';
    this.#framesLeft -= 1;
    const snapshot = await this.#snapshotOf(frame, depth);
    if (!snapshot || Buffer.byteLength(snapshot.html) > this.#bytesLeft) return '';
    this.leftOut -= 1;
    this.count(snapshot);
    return this.fill(frame.id, snapshot, depth + 1);
  }

  async #snapshotOf(frame: FrameRef, depth: number): Promise<Snapshot | null> {
    let parts = this.#cache?.get(frame.id);
    if (parts === undefined) {
      parts = await this.#orNothing(null, () => this.#ask(frame, depth));
      this.#cache?.set(frame.id, parts);
    }
    return parts && (this.#visibleOnly ? parts.visible : parts.whole);
  }

  #ask({ id }: FrameRef, frameDepth: number): Promise<FrameSnapshots | null> {
    const { timeoutScale } = this.#page;
    const timeoutMs = Math.max(1, Math.min(timeoutScale.ms(frameMsMax, this.#by.leftMs), this.#by.leftMs));
    const maxBytes = Math.min(frameBytesMax, this.#bytesLeft);
    const quiet = toQuietOptions(timeoutScale, { leftMs: timeoutMs / 2, isFresh: false });
    const options = { withFrames: true, frameDepth, maxBytes };
    const parts = this.#cache ? [true, false] : [this.#visibleOnly];
    const within = { ...this.#call(), timeoutMs, maxBytes: 3 * maxBytes * parts.length };
    return this.#page.call<FrameSnapshots | null>(id, frameScript, [quiet, options, parts], within);
  }

  #call(): CallOptions {
    return this.#by.rest();
  }

  async #orNothing<T>(nothing: T, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      this.#by.signal.throwIfAborted();
      if (!(error instanceof PageError)) throw error;
      return nothing;
    }
  }
}

/** A renderer may be a page's own by now, so only places in ascending order count. */
function splice(html: string, gaps: readonly number[], contents: readonly string[]): string {
  let from = 0;
  let filled = '';
  for (const [index, content] of contents.entries()) {
    const at = gaps[index] ?? -1;
    if (!Number.isInteger(at) || at < from || at > html.length) continue;
    filled += html.slice(from, at) + content;
    from = at;
  }
  return filled + html.slice(from);
}
