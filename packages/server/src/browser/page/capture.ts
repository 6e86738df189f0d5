/** Screenshots of a page: the viewport, the full page, or one element. */
import { ProtocolError, type Command, type Params, type Result } from '../cdp/connection.ts';
import type { Elements } from './elements.ts';
import type { Frames } from './frames.ts';
import { PageError, type Box, type Screenshot, type ScreenshotOptions } from './model.ts';
import { scrollThrough, waitForImagesInView } from './scroll.ts';
import { Deadline } from './session.ts';
import type { ExecutionContexts } from './execution-contexts.ts';

/** Chromium cannot draw a larger surface and repeats or blanks what is beyond; WebP sizes have 14 bits. */
const heightPxMax = { png: 16_384, jpeg: 16_384, webp: 16_383 } as const;
/** 256 MiB in the browser: a tile of 4096 px width and full height. */
const tilePixelsMax = 64 * 1024 * 1024;
/** A longer page is of no use as an image. */
const tilesMax = 24;

interface CaptureLimits {
  signal: AbortSignal;
  timeoutMs: number;
  maxBytes: number;
}

/** The captured area in CSS px of the document, and the device pixels per CSS px. */
interface Area extends Box {
  scale: number;
}

export class Capture {
  readonly #frames: Frames;
  readonly #contexts: ExecutionContexts;
  readonly #elements: Elements;

  constructor(frames: Frames, contexts: ExecutionContexts, elements: Elements) {
    this.#frames = frames;
    this.#contexts = contexts;
    this.#elements = elements;
  }

  /** @throws PageError */
  async screenshot(options: ScreenshotOptions, limits: CaptureLimits): Promise<Screenshot> {
    const by = new Deadline(limits);
    const warnings: string[] = [];
    if (options.scrollFirst) warnings.push(...(await scrollThrough(this.#contexts, this.#frames.tab.id, by)));
    const transparent = options.omitBackground === true && options.format !== 'jpeg';
    try {
      // A full page is as wide as its viewport and needs no scrollbars.
      if (options.fullPage) await this.#send('Emulation.setScrollbarsHidden', { hidden: true }, by);
      if (transparent) await this.#send('Emulation.setDefaultBackgroundColorOverride', { color: { r: 0, g: 0, b: 0, a: 0 } }, by);
      const area = await this.#area(options, by);
      return await this.#tiles(options, area, { by, maxBytes: limits.maxBytes, warnings });
    } finally {
      if (options.fullPage) this.#frames.main.sendNoReply('Emulation.setScrollbarsHidden', { hidden: false });
      if (transparent) this.#frames.main.sendNoReply('Emulation.setDefaultBackgroundColorOverride', {});
    }
  }

  async #area(options: ScreenshotOptions, by: Deadline): Promise<Area> {
    const { element, fullPage } = options;
    if (element) {
      await this.#elements.scrollIntoView(element, { signal: by.signal, timeoutMs: by.leftMs });
      // Scrolling may have started lazy loading.
      await waitForImagesInView(this.#contexts, element.frameId, by);
    }
    // Sent together: a page that is still scrolling moves between two commands.
    const [{ cssLayoutViewport: shown, cssContentSize: content }, box, [innerWidth, innerHeight, scale]] = await Promise.all([
      this.#send('Page.getLayoutMetrics', undefined, by),
      element ? this.#elements.box(element, { signal: by.signal, timeoutMs: by.leftMs }) : null,
      this.#screen(by),
    ]);
    if (element) {
      if (!box || box.width <= 0 || box.height <= 0) throw new PageError('not_possible', 'The element is not rendered.');
      return { ...outward({ ...box, x: box.x + shown.pageX, y: box.y + shown.pageY }), scale };
    }
    if (fullPage) {
      const width = Math.max(Math.ceil(content.width), innerWidth);
      const height = Math.max(Math.ceil(content.height), innerHeight);
      return { x: 0, y: 0, width, height, scale };
    }
    return { x: shown.pageX, y: shown.pageY, width: innerWidth, height: innerHeight, scale };
  }

  /** Width and height of the viewport in CSS px, and the device pixels per CSS px. */
  async #screen(by: Deadline): Promise<[number, number, number]> {
    const source = '() => [innerWidth, innerHeight, devicePixelRatio]';
    const screen = await this.#contexts.call<number[]>(this.#frames.tab.id, source, [], { signal: by.signal, timeoutMs: by.leftMs });
    const [width = 1, height = 1, ratio = 1] = screen;
    return [Math.max(1, width), Math.max(1, height), ratio > 0 && ratio < 16 ? ratio : 1];
  }

  async #tiles(
    options: ScreenshotOptions,
    area: Area,
    { by, maxBytes, warnings }: { by: Deadline; maxBytes: number; warnings: string[] },
  ): Promise<Screenshot> {
    const { scale } = area;
    const width = Math.min(area.width, Math.floor(heightPxMax[options.format] / scale));
    const tileHeight = tileHeightMax(options.format, width, scale);
    const height = Math.min(area.height, tileHeight * tilesMax);
    if (width < area.width || height < area.height) warnings.push('page_cut');
    const tiles: Screenshot['tiles'] = [];
    let bytes = 0;
    for (let top = 0; top < height; top += tileHeight) {
      const part = { x: area.x, y: area.y + top, width, height: Math.min(tileHeight, height - top) };
      const data = await this.#take(options, part, by);
      bytes += data.length;
      if (bytes > maxBytes) throw new PageError('too_large', 'The screenshot is too large. Capture a smaller area or use a lower quality.');
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

  async #take({ format, quality, fullPage, element }: ScreenshotOptions, clip: Box, by: Deadline): Promise<Buffer> {
    const params: Params<'Page.captureScreenshot'> = { format };
    if (quality !== undefined && format !== 'png') params.quality = quality;
    // Without a clip the browser captures the viewport and needs no new layout.
    if (fullPage || element) Object.assign(params, { clip: { ...clip, scale: 1 }, captureBeyondViewport: true });
    const { data } = await this.#send('Page.captureScreenshot', params, by);
    if (typeof data !== 'string' || data.length === 0) throw new PageError('not_possible', 'The browser could not capture a screenshot.');
    return Buffer.from(data, 'base64');
  }

  async #send<C extends Command>(method: C, params: Params<C>, by: Deadline): Promise<Result<C>> {
    try {
      return await this.#frames.main.send(method, params, by);
    } catch (error) {
      if (error instanceof ProtocolError)
        throw new PageError('not_possible', 'The browser could not capture a screenshot.', { cause: error });
      throw error;
    }
  }
}

/** In CSS px; ends at a device pixel if such a height is near. */
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
