import type { Json } from './page.ts';

/** A red picture of 16 by 16 px. */
const redJpeg =
  '/9j/4AAQSkZJRgABAgAAAQABAAD//gAQTGF2YzU5LjM3LjEwMAD/2wBDAAg+Pkk+SVVVVVVVVWRdZGhoaGRkZGRoaGhwcHCDg4NwcHBoaHBwfHyDg4+Tj4eH' +
  'g4eTk5ubm7q6srLZ2eD/////xABMAAEBAAAAAAAAAAAAAAAAAAAABgEBAQAAAAAAAAAAAAAAAAAABgcQAQAAAAAAAAAAAAAAAAAAAAARAQAAAAAAAAAAAAAA' +
  'AAAAAAD/wAARCAAQABADASIAAhEAAxEA/9oADAMBAAIRAxEAPwCLAFF/f//Z';
/** Frames that Chromium sends before one is acknowledged. */
const framesUnacknowledgedMax = 2;

/** The screencast of one DevTools session: a frame at start and one per change; the newest wins. */
export class FakeScreen {
  /** Parameters of the active screencast; null without one. */
  options: Json | null = null;
  readonly #send: (params: Json) => void;
  #frames = 0;
  #unacknowledged = 0;
  #next: string | null = null;
  /** The current picture, also without a screencast. */
  #picture = redJpeg;

  constructor(send: (params: Json) => void) {
    this.#send = send;
  }

  start(options: Json): Json {
    this.options = options;
    this.#unacknowledged = 0;
    // The answer is sent first, then the frame.
    queueMicrotask(() => this.draw());
    return {};
  }

  stop(): Json {
    this.options = null;
    this.#next = null;
    return {};
  }

  acknowledge(): Json {
    this.#unacknowledged = Math.max(0, this.#unacknowledged - 1);
    const next = this.#next;
    this.#next = null;
    if (next !== null) this.draw(next);
    return {};
  }

  /** `picture` is base64. Default: the current picture again. */
  draw(picture: string = this.#picture): void {
    this.#picture = picture;
    if (!this.options) return;
    if (this.#unacknowledged >= framesUnacknowledgedMax) {
      this.#next = picture;
      return;
    }
    this.#unacknowledged += 1;
    this.#frames += 1;
    const metadata = {
      offsetTop: 0,
      pageScaleFactor: 1,
      deviceWidth: 1280,
      deviceHeight: 720,
      scrollOffsetX: 0,
      scrollOffsetY: 0,
      timestamp: Date.now() / 1000,
    };
    this.#send({ data: picture, metadata, sessionId: this.#frames });
  }
}
