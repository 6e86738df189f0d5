/** Screenshots of a page: the viewport, the full page, or one element. */
import { ProtocolError, type Command, type Params, type Result } from '../cdp/connection.ts';
import { replyTooLargeCode } from '../cdp/messages/large-reply.ts';
import type { Annotator } from './snapshot/annotate.ts';
import type { Elements } from './elements.ts';
import type { Frames } from './frames.ts';
import { PageError, type Box, type Point, type Screenshot, type ScreenshotOptions, type PdfOptions } from './page.ts';
import { Deadline } from '@berth/lib/deadline.ts';
import type { PageSession } from './session.ts';
import type { ExecutionContexts } from './execution-contexts.ts';
import { systemClock } from '@berth/lib/clock.ts';
import * as hiding from '@berth/page-scripts/read/hiding.ts';
import { scriptsOf } from '@berth/page-scripts/page-scripts.ts';
import { inTurns, SliceSize } from '@berth/lib/turns/turn-budget.ts';

/** Chromium cannot draw a larger surface and repeats or blanks what is beyond; WebP sizes have 14 bits. */
const heightPxMax = { png: 16_384, jpeg: 16_384, webp: 16_383 } as const;
/** A tile of 1280 px width and full height. */
const tilePixelsMax = 20 * 1024 * 1024;
/** A longer page is of no use as an image. */
const tilesMax = 24;

interface CaptureLimits {
  signal: AbortSignal;
  timeoutMs: number;
  maxBytes: number;
}

/** The captured area in CSS px of the document, and the pixels of the image per CSS px. */
interface Area extends Box {
  /** The position to which the document is scrolled, in CSS px. */
  scroll: Point;
  scale: number;
  /** The factor by which the browser scales the image. */
  zoom?: number;
}

interface Screen {
  /** The size of the viewport in CSS px. */
  innerWidth: number;
  innerHeight: number;
  /** Device pixels per CSS px. */
  scale: number;
  /** Whether most of the viewport is an element that scrolls by itself, whose other content no full page shows. */
  hidesContent: boolean;
}

/** Points of the viewport at which an element that fills most of it is found, as shares of its width and height. */
const readScreen = `() => {
  const points = [[0.5, 0.5], [0.5, 0.8], [0.3, 0.6], [0.7, 0.6]];
  const root = document.scrollingElement ?? document.documentElement;
  const scrolls = (element) => element !== root && element !== document.body && element !== document.documentElement
    && element.scrollHeight > element.clientHeight + 50 && element.clientWidth * element.clientHeight > innerWidth * innerHeight / 2
    && /^(auto|scroll|overlay)$/.test(getComputedStyle(element).overflowY);
  const scrollerAt = ([x, y]) => {
    let element = document.elementFromPoint(x * innerWidth, y * innerHeight);
    for (let depth = 0; element && depth < 100; depth += 1, element = element.parentElement) if (scrolls(element)) return true;
    return false;
  };
  return { innerWidth, innerHeight, scale: devicePixelRatio, hidesContent: points.some(scrollerAt) };
}`;

const readContentType = '() => document.contentType';
const { waitUntilShown } = scriptsOf(hiding);
/** Snippets against flicker show a page after four or five seconds, whatever has not loaded. */
const shownMsMax = 5000;

/** One that lasts longer is no transition to a final state. */
const animationsMsMax = 1000;
const animationsMax = 500;

const waitForAnimations = `async (limitMs) => {
  const endsSoon = ({ playState, effect, currentTime, playbackRate }) => {
    const { endTime } = effect?.getComputedTiming() ?? {};
    return playState === 'running' && Number.isFinite(endTime) && (endTime - Number(currentTime)) / Math.abs(playbackRate || 1) <= limitMs;
  };
  const ending = document.getAnimations().slice(0, ${animationsMax}).filter(endsSoon);
  if (ending.length === 0) return;
  const late = new Promise((resolve) => setTimeout(resolve, limitMs));
  await Promise.race([Promise.allSettled(ending.map(({ finished }) => finished)), late]);
}`;

interface CaptureDeps {
  frames: Frames;
  contexts: ExecutionContexts;
  elements: Elements;
  annotator: Annotator;
}

export class Capture {
  readonly #frames: Frames;
  readonly #contexts: ExecutionContexts;
  readonly #elements: Elements;
  readonly #annotator: Annotator;

  constructor({ frames, contexts, elements, annotator }: CaptureDeps) {
    this.#frames = frames;
    this.#contexts = contexts;
    this.#elements = elements;
    this.#annotator = annotator;
  }

  /** @throws PageError */
  async screenshot(options: ScreenshotOptions, limits: CaptureLimits): Promise<Screenshot> {
    const by = new Deadline(limits);
    const warnings: string[] = [];
    if (!(await this.#untilShown(by))) warnings.push('page_hidden');
    if (options.scrollFirst) warnings.push(...(await scrollThrough(this.#contexts, this.#frames.tab.id, by)));
    const transparent = options.omitBackground === true && options.format !== 'jpeg';
    try {
      // A full page is as wide as its viewport and needs no scrollbars.
      if (options.fullPage) await this.#send('Emulation.setScrollbarsHidden', { hidden: true }, by);
      if (transparent) await this.#send('Emulation.setDefaultBackgroundColorOverride', { color: { r: 0, g: 0, b: 0, a: 0 } }, by);
      await this.#waitForAnimations(by);
      const area = await this.#area(options, by, warnings);
      const take = () => this.#tiles(options, area, { by, maxBytes: limits.maxBytes, warnings });
      return options.annotate === true ? await this.#annotated({ area, root: options.element, by, warnings }, take) : await take();
    } finally {
      if (options.fullPage) this.#frames.main.sendNoReply('Emulation.setScrollbarsHidden', { hidden: false });
      if (transparent) this.#frames.main.sendNoReply('Emulation.setDefaultBackgroundColorOverride', {});
    }
  }

  /** The labels are in the page only while the picture is taken. */
  async #annotated(
    { area, root, by, warnings }: { area: Area; root: ScreenshotOptions['element']; by: Deadline; warnings: string[] },
    take: () => Promise<Screenshot>,
  ): Promise<Screenshot> {
    const frameId = this.#frames.tab.id;
    const { x, y, width, height, scroll } = area;
    try {
      const { shown, isCut } = await this.#annotator.show(frameId, { area: { x, y, width, height }, scroll, root }, by);
      if (isCut) warnings.push('annotations_cut');
      return { ...(await take()), annotations: shown };
    } finally {
      await this.#annotator.hide(frameId, by);
    }
  }

  /** Prints the page to a PDF document. @throws PageError */
  async pdf(options: PdfOptions, limits: CaptureLimits): Promise<Buffer> {
    const by = new Deadline(limits);
    await this.#untilShown(by);
    const type = await this.#contexts.call<string>(this.#frames.tab.id, readContentType, [], by.rest());
    // The browser prints its viewer, as a blank sheet.
    if (type === 'application/pdf')
      throw new PageError('not_possible', 'The tab shows a PDF file, which cannot be printed. Fetch its URL for the file itself.');
    if (options.scrollFirst === true) await scrollThrough(this.#contexts, this.#frames.tab.id, by);
    return printPdf(this.#frames.main, options, { by, maxBytes: limits.maxBytes });
  }

  async #area(options: ScreenshotOptions, by: Deadline, warnings: string[]): Promise<Area> {
    const { element, fullPage } = options;
    if (element) {
      await this.#elements.scrollIntoView(element, by.rest());
      // Scrolling may have started lazy loading.
      await waitForImagesInView(this.#contexts, element.frameId, by);
    }
    // The commands are sent together: a page that is still scrolling moves between two commands.
    const [{ cssLayoutViewport: shown, cssContentSize: content }, box, screen] = await Promise.all([
      this.#send('Page.getLayoutMetrics', undefined, by),
      element ? this.#elements.box(element, by.rest()) : null,
      this.#screen(by),
    ]);
    const { innerWidth, innerHeight, scale } = screen;
    const scroll = { x: shown.pageX, y: shown.pageY };
    if (element) {
      if (!box || box.width <= 0 || box.height <= 0) throw new PageError('not_possible', 'The element is not rendered.');
      return { ...outward({ ...box, x: box.x + shown.pageX, y: box.y + shown.pageY }), scroll, scale };
    }
    if (fullPage) {
      const width = Math.max(Math.ceil(content.width), innerWidth);
      const height = Math.max(Math.ceil(content.height), innerHeight);
      if (screen.hidesContent) warnings.push('scroll_area_cut');
      return { x: 0, y: 0, width, height, scroll, scale };
    }
    const { imageScale = scale } = options;
    return { ...scroll, scroll, width: innerWidth, height: innerHeight, scale: imageScale, zoom: imageScale / scale };
  }

  /** A page that hides itself while it loads is given time to show itself. Returns false for one that still does not. */
  async #untilShown(by: Deadline): Promise<boolean> {
    const withinMs = this.#contexts.timeoutScale.ms(shownMsMax, by.leftMs / 4);
    const options = by.rest(by.leftMs / 2);
    try {
      return (await this.#contexts.call<boolean | null>(this.#frames.tab.id, waitUntilShown, [withinMs], options)) ?? true;
    } catch (error) {
      // A page that does not answer says nothing of it.
      if (error instanceof PageError && error.reason === 'timeout') return true;
      throw error;
    }
  }

  /** Waits for animations and transitions that end soon, so that what they bring is shown as it stays. @throws PageError */
  async #waitForAnimations(by: Deadline): Promise<void> {
    const limitMs = this.#contexts.timeoutScale.ms(animationsMsMax, by.leftMs / 10);
    await this.#contexts.call(this.#frames.tab.id, waitForAnimations, [limitMs], by.rest());
  }

  async #screen(by: Deadline): Promise<Screen> {
    const screen = await this.#contexts.call<Screen>(this.#frames.tab.id, readScreen, [], by.rest());
    const { innerWidth, innerHeight, scale, hidesContent } = screen;
    return {
      innerWidth: Math.max(1, innerWidth),
      innerHeight: Math.max(1, innerHeight),
      scale: scale > 0 && scale < 16 ? scale : 1,
      hidesContent,
    };
  }

  async #tiles(
    options: ScreenshotOptions,
    area: Area,
    { by, maxBytes, warnings }: { by: Deadline; maxBytes: number; warnings: string[] },
  ): Promise<Screenshot> {
    const { scale, zoom = 1 } = area;
    const width = Math.min(area.width, Math.floor(heightPxMax[options.format] / scale));
    const tileHeight = tileHeightMax(options.format, width, scale);
    const height = Math.min(area.height, tileHeight * tilesMax);
    if (width < area.width || height < area.height) warnings.push('page_cut');
    const needsClip = options.fullPage || options.element !== undefined || height > tileHeight;
    const tiles: Screenshot['tiles'] = [];
    let bytes = 0;
    for (let top = 0; top < height; top += tileHeight) {
      const part = { x: area.x, y: area.y + top, width, height: Math.min(tileHeight, height - top) };
      const clip = needsClip || zoom !== 1 ? { ...part, scale: zoom } : null;
      const data = await this.#take(options, clip, { by, maxBytes: maxBytes - bytes, isBeyond: needsClip });
      bytes += data.length;
      tiles.push({ data, width: Math.round(width * scale), height: Math.round(part.height * scale), y: Math.round(top * scale) });
    }
    return {
      tiles,
      contentType: `image/${options.format}`,
      width: Math.round(width * scale),
      height: Math.round(height * scale),
      warnings,
    };
  }

  /** Captures the clip; without one the browser captures the viewport and needs no new layout. */
  async #take(
    { format, quality, isQuick = false }: ScreenshotOptions,
    clip: NonNullable<Params<'Page.captureScreenshot'>>['clip'] | null,
    { by, maxBytes, isBeyond }: { by: Deadline; maxBytes: number; isBeyond: boolean },
  ): Promise<Buffer> {
    const params: Params<'Page.captureScreenshot'> = { format };
    if (quality !== undefined && format !== 'png') params.quality = quality;
    if (isQuick) params.optimizeForSpeed = true;
    if (clip) Object.assign(params, { clip, captureBeyondViewport: isBeyond });
    // A large one comes as bytes.
    const { data }: { data: string | Buffer } = await this.#send('Page.captureScreenshot', params, by);
    if (data.length === 0) throw new PageError('not_possible', 'The browser could not capture a screenshot.');
    if (base64Bytes(data) > maxBytes) throw tooLarge();
    return typeof data === 'string' ? Buffer.from(data, 'base64') : inTurns(decodeBase64(data));
  }

  async #send<C extends Command>(method: C, params: Params<C>, by: Deadline): Promise<Result<C>> {
    try {
      return await this.#frames.main.send(method, params, by);
    } catch (error) {
      if (!(error instanceof ProtocolError)) throw error;
      if (error.code === replyTooLargeCode) throw tooLarge(error);
      throw new PageError('not_possible', 'The browser could not capture a screenshot.', { cause: error });
    }
  }
}

const tooLarge = (cause?: unknown): PageError =>
  new PageError('too_large', 'The screenshot is too large. Capture a smaller area, or use JPEG with a lower quality.', { cause });

/** The minimum number of bytes of a file whose base64 text has this length. */
const base64Bytes = ({ length }: { length: number }): number => (length / 4) * 3 - 2;
/** Groups of four characters (three bytes) that are decoded at once, in about a millisecond. */
const decodedQuartets = 256 * 1024;

function* decodeBase64(text: Buffer): Generator<void, Buffer> {
  const slice = new SliceSize({ first: decodedQuartets });
  const parts: Buffer[] = [];
  for (let at = 0; at < text.length;) {
    const from = at;
    parts.push(slice.next((quartets) => Buffer.from(text.toString('latin1', from, (at = from + 4 * quartets)), 'base64')));
    yield;
  }
  return Buffer.concat(parts);
}

/** The maximum height of a tile in CSS px; a height that ends at a device pixel if one is near. */
function tileHeightMax(format: ScreenshotOptions['format'], width: number, scale: number): number {
  const heightMax = Math.max(1, Math.floor(Math.min(heightPxMax[format], tilePixelsMax / (width * scale)) / scale));
  for (let height = heightMax; height > Math.max(0, heightMax - 100); height -= 1)
    if (Math.abs(height * scale - Math.round(height * scale)) < 1e-6) return height;
  return heightMax;
}

/** Rounds outward to whole px. */
function outward({ x, y, width, height }: Box): Box {
  const [left, top] = [Math.max(0, Math.floor(x)), Math.max(0, Math.floor(y))];
  return { x: left, y: top, width: Math.max(1, Math.ceil(x + width) - left), height: Math.max(1, Math.ceil(y + height) - top) };
}

/** Infinitely growing pages have no end to reach. */
const screensMax = 40;
const scrollMsMax = 10_000;
/** Images of one screen; slower ones are awaited once more at the end. */
const screenTimeoutMs = 1000;
const lastTimeoutMs = 2000;

interface ScrollState {
  /** Whether there is more content below. */
  more: boolean;
}

/** Waits for two animation frames, so that observers have run, then for the images in view. */
const waitForImages = `async (limitMs) => {
  const late = new Promise((resolve) => setTimeout(resolve, limitMs));
  const frame = () => new Promise((resolve) => requestAnimationFrame(resolve));
  await Promise.race([frame().then(frame), late]);
  const inView = ({ top, bottom, left, right }) => bottom > 0 && right > 0 && top < innerHeight && left < innerWidth;
  const images = [...document.images].filter((image) => inView(image.getBoundingClientRect())).slice(0, 500);
  await Promise.race([Promise.allSettled(images.map((image) => image.decode())), late]);
}`;

/** Waits for the images that are in view. @throws PageError */
const waitForImagesInView = (contexts: ExecutionContexts, frameId: string, by: Deadline): Promise<unknown> =>
  contexts.call(frameId, waitForImages, [contexts.timeoutScale.ms(screenTimeoutMs, by.leftMs / 10)], by.rest());

const scrollToScreen = `async (screen, limitMs) => {
  scrollTo({ left: scrollX, top: screen * innerHeight, behavior: 'instant' });
  await (${waitForImages})(limitMs);
  const { scrollHeight } = document.scrollingElement ?? document.documentElement;
  return { more: scrollY + innerHeight < scrollHeight - 1 && scrollY >= (screen - 1) * innerHeight };
}`;

/** How long to wait for changes: some pages' timers bring content 300 ms after it came into view. Not scaled: it is the page's own time. */
const changesMs = 350;
const changesMsMax = 2000;

/** Watches the document while it is scrolled through: what comes into view may bring changes that take their time. */
const watchChanges = `(key) => {
  const changes = { last: 0, elements: new Set(), observer: null };
  changes.observer = new MutationObserver((records) => {
    changes.last = performance.now();
    for (const { target } of records) if (target instanceof Element && changes.elements.size < 500) changes.elements.add(target);
  });
  changes.observer.observe(document, { subtree: true, childList: true, attributes: true });
  globalThis[key] = changes;
}`;

/** Waits until nothing has changed for a while, then for backgrounds of what changed. Returns at once where nothing changed. */
const waitForChanges = `async (key, quietMs, limitMs) => {
  const changes = globalThis[key];
  delete globalThis[key];
  if (!changes) return;
  const endsAt = performance.now() + limitMs;
  const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
  while (changes.last > 0) {
    const leftMs = Math.min(changes.last + quietMs, endsAt) - performance.now();
    if (leftMs <= 0) break;
    await pause(leftMs);
  }
  changes.observer.disconnect();
  const addresses = [...changes.elements].flatMap((element) => [...getComputedStyle(element).backgroundImage.slice(0, 5000).matchAll(/url\\("([^"]+)"\\)/g)]);
  const images = addresses.slice(0, 50).map(([, address]) => Object.assign(new Image(), { src: address }).decode());
  await Promise.race([Promise.allSettled(images), pause(Math.max(0, endsAt - performance.now()))]);
}`;

const restoreScroll = `async (x, y, limitMs) => {
  const late = new Promise((resolve) => setTimeout(resolve, limitMs));
  const images = [...document.images].filter((image) => image.currentSrc !== '' && !image.complete).slice(0, 500);
  await Promise.race([Promise.allSettled(images.map((image) => image.decode())), late]);
  scrollTo({ left: x, top: y, behavior: 'instant' });
  await (${waitForImages})(limitMs);
}`;

/** A global variable of the isolated context of the worker's scripts, which the page's own scripts do not see. */
const changesKey = 'berthScrollChanges';

/**
 * Scrolls through a page, so that lazily loaded content is there. Returns the
 * warning `page_keeps_growing` if the end was not reached. @throws PageError
 */
async function scrollThrough(contexts: ExecutionContexts, frameId: string, by: Deadline): Promise<string[]> {
  const call = <T>(source: string, args: (number | string)[]): Promise<T> => contexts.call<T>(frameId, source, args, by.rest());
  const [x = 0, y = 0] = await call<number[]>('() => [scrollX, scrollY]', []);
  const { timeoutScale } = contexts;
  const endsAt = systemClock.monotonicMs() + Math.min(timeoutScale.ms(scrollMsMax), by.leftMs / 2);
  // Leaves time for several screens, however slow one is.
  const screenMs = timeoutScale.ms(screenTimeoutMs, by.leftMs / 10);
  let screen = 0;
  let state: ScrollState = { more: true };
  await call(watchChanges, [changesKey]);
  try {
    while (state.more && screen < screensMax && systemClock.monotonicMs() < endsAt) {
      state = await call<ScrollState>(scrollToScreen, [screen, screenMs]);
      screen += 1;
    }
  } finally {
    // If the page hangs or navigates, the error of the loop is reported.
    const lastMs = Math.min(timeoutScale.ms(lastTimeoutMs), by.leftMs / 4);
    await call(waitForChanges, [changesKey, changesMs, Math.min(timeoutScale.ms(changesMsMax), by.leftMs / 4)]).catch(() => {});
    await call(restoreScroll, [x, y, lastMs]).catch(() => {});
  }
  return state.more ? ['page_keeps_growing'] : [];
}

const pieceBytes = 1024 * 1024;

/** Prints a page to PDF, read in chunks so that a file which is too large is never held in memory. @throws PageError */
async function printPdf(session: PageSession, options: PdfOptions, { by, maxBytes }: { by: Deadline; maxBytes: number }): Promise<Buffer> {
  try {
    const { stream } = await session.send('Page.printToPDF', { ...printParams(options), transferMode: 'ReturnAsStream' }, by);
    if (stream === undefined) throw new PageError('not_possible', 'The browser returned no PDF file.');
    return await readStream(session, stream, { by, maxBytes });
  } catch (error) {
    if (error instanceof ProtocolError)
      throw new PageError('not_possible', 'The page cannot be printed with these options.', { cause: error });
    throw error;
  }
}

async function readStream(session: PageSession, handle: string, { by, maxBytes }: { by: Deadline; maxBytes: number }): Promise<Buffer> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  try {
    for (let ended = false; !ended;) {
      const { data, eof, base64Encoded } = await session.send('IO.read', { handle, size: pieceBytes }, by);
      const piece = Buffer.from(data, base64Encoded ? 'base64' : 'utf8');
      bytes += piece.length;
      if (bytes > maxBytes) throw new PageError('too_large', 'The PDF file is too large.');
      pieces.push(piece);
      ended = eof;
    }
    return Buffer.concat(pieces, bytes);
  } finally {
    session.sendNoReply('IO.close', { handle });
  }
}

function printParams(options: PdfOptions): Params<'Page.printToPDF'> {
  const { marginInches: margin, headerTemplate, footerTemplate } = options;
  const params: Record<string, unknown> = {
    landscape: options.landscape,
    printBackground: options.printBackground,
    scale: options.scale,
    paperWidth: options.paperWidthInches,
    paperHeight: options.paperHeightInches,
    marginTop: margin,
    marginBottom: margin,
    marginLeft: margin,
    marginRight: margin,
    pageRanges: options.pageRanges,
    preferCSSPageSize: options.preferCssPageSize,
  };
  // For a missing template the browser would print its own, with date and URL.
  if (headerTemplate !== undefined || footerTemplate !== undefined)
    Object.assign(params, {
      displayHeaderFooter: true,
      headerTemplate: headerTemplate ?? '<span></span>',
      footerTemplate: footerTemplate ?? '<span></span>',
    });
  return Object.fromEntries(Object.entries(params).filter(([, value]) => value !== undefined));
}
