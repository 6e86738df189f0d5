/** Pictures of a page: what is seen, all of it, or one element. */
import { ProtocolError, type Command, type Params, type Result } from '../cdp/connection.ts';
import type { Elements } from './elements.ts';
import type { Frames } from './frames.ts';
import { PageError, type Box, type Screenshot, type ScreenshotOrder } from './model.ts';
import { scrollThrough, settleInView } from './scroll.ts';
import { Deadline } from './session.ts';
import type { Worlds } from './execution-contexts.ts';

/** Chromium draws no higher surface, and repeats or blanks what is beyond; WebP has lengths of 14 bits. */
const tallest = { png: 16_384, jpeg: 16_384, webp: 16_383 } as const;
/** 256 MiB of pixels in the browser, which is what a tile of 4096 px width and full height takes. */
const largestTilePixels = 64 * 1024 * 1024;
/** A page of more is a list that nobody reads as a picture. */
const mostTiles = 24;

interface CaptureLimits {
  signal: AbortSignal;
  timeoutMs: number;
  maxBytes: number;
}

/** What a picture shows, in CSS px of the document, and how many pixels each has. */
interface Area extends Box {
  scale: number;
}

export class Capture {
  readonly #frames: Frames;
  readonly #worlds: Worlds;
  readonly #elements: Elements;

  constructor(frames: Frames, worlds: Worlds, elements: Elements) {
    this.#frames = frames;
    this.#worlds = worlds;
    this.#elements = elements;
  }

  /** @throws PageError */
  async screenshot(order: ScreenshotOrder, limits: CaptureLimits): Promise<Screenshot> {
    const by = new Deadline(limits);
    const warnings: string[] = [];
    if (order.scrollFirst) warnings.push(...(await scrollThrough(this.#worlds, this.#frames.tab.id, by)));
    const transparent = order.omitBackground === true && order.format !== 'jpeg';
    try {
      // All of a page is as wide as its viewport, and nothing is left to be scrolled.
      if (order.fullPage) await this.#ask('Emulation.setScrollbarsHidden', { hidden: true }, by);
      if (transparent) await this.#ask('Emulation.setDefaultBackgroundColorOverride', { color: { r: 0, g: 0, b: 0, a: 0 } }, by);
      const area = await this.#area(order, by);
      return await this.#tiles(order, area, { by, maxBytes: limits.maxBytes, warnings });
    } finally {
      if (order.fullPage) this.#frames.main.sendQuietly('Emulation.setScrollbarsHidden', { hidden: false });
      if (transparent) this.#frames.main.sendQuietly('Emulation.setDefaultBackgroundColorOverride', {});
    }
  }

  async #area(order: ScreenshotOrder, by: Deadline): Promise<Area> {
    const { element, fullPage } = order;
    if (element) {
      await this.#elements.scrollIntoView(element, { signal: by.signal, timeoutMs: by.leftMs });
      // What is loaded on sight has only now been seen.
      await settleInView(this.#worlds, element.frameId, by);
    }
    // Asked in one go: a page that is still scrolling moves between two questions.
    const [{ cssLayoutViewport: shown, cssContentSize: content }, box, [innerWidth, innerHeight, scale]] = await Promise.all([
      this.#ask('Page.getLayoutMetrics', undefined, by),
      element ? this.#elements.box(element, { signal: by.signal, timeoutMs: by.leftMs }) : null,
      this.#screen(by),
    ]);
    if (element) {
      if (!box || box.width <= 0 || box.height <= 0) throw new PageError('not_possible', 'The element is not drawn.');
      return { ...outward({ ...box, x: box.x + shown.pageX, y: box.y + shown.pageY }), scale };
    }
    if (fullPage) {
      const width = Math.max(Math.ceil(content.width), innerWidth);
      const height = Math.max(Math.ceil(content.height), innerHeight);
      return { x: 0, y: 0, width, height, scale };
    }
    return { x: shown.pageX, y: shown.pageY, width: innerWidth, height: innerHeight, scale };
  }

  /** Width and height of what is seen, in CSS px, and the device pixels in each. */
  async #screen(by: Deadline): Promise<[number, number, number]> {
    const source = '() => [innerWidth, innerHeight, devicePixelRatio]';
    const told = await this.#worlds.call<number[]>(this.#frames.tab.id, source, [], { signal: by.signal, timeoutMs: by.leftMs });
    const [width = 1, height = 1, ratio = 1] = told;
    return [Math.max(1, width), Math.max(1, height), ratio > 0 && ratio < 16 ? ratio : 1];
  }

  async #tiles(
    order: ScreenshotOrder,
    area: Area,
    { by, maxBytes, warnings }: { by: Deadline; maxBytes: number; warnings: string[] },
  ): Promise<Screenshot> {
    const { scale } = area;
    const width = Math.min(area.width, Math.floor(tallest[order.format] / scale));
    const highest = highestTile(order.format, width, scale);
    const height = Math.min(area.height, highest * mostTiles);
    if (width < area.width || height < area.height) warnings.push('page_cut');
    const tiles: Screenshot['tiles'] = [];
    let bytes = 0;
    for (let top = 0; top < height; top += highest) {
      const part = { x: area.x, y: area.y + top, width, height: Math.min(highest, height - top) };
      const data = await this.#take(order, part, by);
      bytes += data.length;
      if (bytes > maxBytes) throw new PageError('too_large', 'The picture is too large.');
      tiles.push({ data, width: Math.round(width * scale), height: Math.round(part.height * scale), y: Math.round(top * scale) });
    }
    return { tiles, contentType: `image/${order.format}`, width: Math.round(width * scale), height: Math.round(height * scale), warnings };
  }

  async #take({ format, quality, fullPage, element }: ScreenshotOrder, clip: Box, by: Deadline): Promise<Buffer> {
    const asked: Params<'Page.captureScreenshot'> = { format };
    if (quality !== undefined && format !== 'png') asked.quality = quality;
    // Without a clip the browser gives just what is seen, and lays nothing out anew.
    if (fullPage || element) Object.assign(asked, { clip: { ...clip, scale: 1 }, captureBeyondViewport: true });
    const { data } = await this.#ask('Page.captureScreenshot', asked, by);
    if (typeof data !== 'string' || data.length === 0) throw new PageError('not_possible', 'The browser took no picture.');
    return Buffer.from(data, 'base64');
  }

  async #ask<C extends Command>(method: C, params: Params<C>, by: Deadline): Promise<Result<C>> {
    try {
      return await this.#frames.main.send(method, params, by);
    } catch (error) {
      if (error instanceof ProtocolError) throw new PageError('not_possible', 'The browser took no picture.', { cause: error });
      throw error;
    }
  }
}

/** In CSS px, and ending where a pixel ends if such a height is near. */
function highestTile(format: ScreenshotOrder['format'], width: number, scale: number): number {
  const most = Math.max(1, Math.floor(Math.min(tallest[format], largestTilePixels / (width * scale)) / scale));
  for (let height = most; height > Math.max(0, most - 100); height -= 1)
    if (Math.abs(height * scale - Math.round(height * scale)) < 1e-6) return height;
  return most;
}

/** To whole px, so that no edge is half of something else. */
function outward({ x, y, width, height }: Box): Box {
  const [left, top] = [Math.max(0, Math.floor(x)), Math.max(0, Math.floor(y))];
  return { x: left, y: top, width: Math.max(1, Math.ceil(x + width) - left), height: Math.max(1, Math.ceil(y + height) - top) };
}
