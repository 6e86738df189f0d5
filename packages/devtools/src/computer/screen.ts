/** What actions by coordinates use. All lengths are in pixels of the screen, which is not scaled. */
import type { Modifier, MouseButton, Page, Point } from '../browser/browser.ts';
import { PageError } from '../browser/browser.ts';
import type { Deadline } from '@berth/lib/deadline.ts';

export interface Size {
  width: number;
  height: number;
}

export interface Picture extends Size {
  contentType: string;
  data: Buffer;
  warnings: readonly string[];
}

export interface PictureOptions {
  format: 'png' | 'jpeg' | 'webp';
  quality: number | undefined;
  /** Pixels of the picture for each pixel of the screen, at most 1. */
  scale: number;
}

interface ButtonOptions {
  button: MouseButton;
  /** 2 for the second press of a double click. */
  clickCount: number;
  modifiers: readonly Modifier[];
}

export interface Screen {
  readonly size: Size;
  readonly position: Point;
  move(to: Point, options: { modifiers: readonly Modifier[]; steps?: number }, by: Deadline): Promise<void>;
  down(options: ButtonOptions, by: Deadline): Promise<void>;
  up(options: ButtonOptions, by: Deadline): Promise<void>;
  wheel(delta: Point, options: { modifiers: readonly Modifier[] }, by: Deadline): Promise<void>;
  press(chord: string, options: { holdMs: number }, by: Deadline): Promise<void>;
  type(text: string, options: { delayMs: number }, by: Deadline): Promise<void>;
  /** Resolves when what the input has changed is drawn, as far as that can be seen within a moment: whether the size is up to date. */
  drawn(by: Deadline): Promise<boolean>;
  capture(options: PictureOptions, by: Deadline): Promise<Picture>;
}

/** Limit of one picture, before base64. */
const pictureBytesMax = 16 * 1024 * 1024;
/** A page that draws nothing for so long is captured as it is. */
const framesMsMax = 500;

const readSize = '() => ({ width: innerWidth, height: innerHeight })';
/** The first frame handles the input that came before it, and the second shows what came of that. */
const twoFrames = `(limitMs) => new Promise((resolve) => {
  setTimeout(resolve, limitMs);
  requestAnimationFrame(() => requestAnimationFrame(resolve));
}).then(${readSize})`;

const atLeastOne = ({ width, height }: Size): Size => ({ width: Math.max(1, width), height: Math.max(1, height) });

export class PageScreen implements Screen {
  readonly #page: Page;
  #size: Size;

  private constructor(page: Page, size: Size) {
    this.#page = page;
    this.#size = atLeastOne(size);
  }

  /** @throws PageError */
  static async open(page: Page, by: Deadline): Promise<PageScreen> {
    return new PageScreen(page, await page.call<Size>(page.mainFrame(), readSize, [], by.rest()));
  }

  get size(): Size {
    return this.#size;
  }

  get position(): Point {
    return this.#page.mouse.position;
  }

  move(to: Point, options: { modifiers: readonly Modifier[]; steps?: number }, { signal }: Deadline): Promise<void> {
    return this.#page.mouse.move(to, { signal, ...options });
  }

  down(options: ButtonOptions, { signal }: Deadline): Promise<void> {
    return this.#page.mouse.down({ signal, ...options });
  }

  up(options: ButtonOptions, { signal }: Deadline): Promise<void> {
    return this.#page.mouse.up({ signal, ...options });
  }

  wheel(delta: Point, options: { modifiers: readonly Modifier[] }, { signal }: Deadline): Promise<void> {
    return this.#page.mouse.wheel(delta, { signal, ...options });
  }

  press(chord: string, { holdMs }: { holdMs: number }, { signal }: Deadline): Promise<void> {
    return this.#page.keyboard.press(chord, { signal, delayMs: holdMs });
  }

  async type(text: string, { delayMs }: { delayMs: number }, { signal }: Deadline): Promise<void> {
    await this.#page.keyboard.type(text, { signal, delayMs });
  }

  /** A page that is busy or moves on is captured as it is. */
  async drawn(by: Deadline): Promise<boolean> {
    const { timeoutScale } = this.#page;
    const limitMs = timeoutScale.ms(framesMsMax, by.leftMs / 4);
    try {
      this.#size = atLeastOne(await this.#page.call<Size>(this.#page.mainFrame(), twoFrames, [limitMs], by.rest(2 * limitMs)));
      return true;
    } catch (error) {
      if (!(error instanceof PageError) || error.reason === 'page_crashed') throw error;
      return false;
    }
  }

  async capture({ format, quality, scale }: PictureOptions, by: Deadline): Promise<Picture> {
    const options = { format, quality, fullPage: false, scrollFirst: false, imageScale: scale, isQuick: format === 'png' };
    const { tiles, width, height, contentType, warnings } = await this.#page.screenshot(options, {
      ...by.rest(),
      maxBytes: pictureBytesMax,
    });
    const [only] = tiles;
    if (!only || tiles.length > 1)
      throw new PageError('too_large', 'The viewport is too large for one picture. Scale it down with `max_width`.');
    return { data: only.data, width, height, contentType, warnings };
  }
}
