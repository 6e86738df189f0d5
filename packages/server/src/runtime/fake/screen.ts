import type { Json } from './page.ts';

/** A picture of 16 by 16 px, all of it red. */
const redJpeg =
  '/9j/4AAQSkZJRgABAgAAAQABAAD//gAQTGF2YzU5LjM3LjEwMAD/2wBDAAg+Pkk+SVVVVVVVVWRdZGhoaGRkZGRoaGhwcHCDg4NwcHBoaHBwfHyDg4+Tj4eHg4eTk5ubm7q6srLZ2eD/////xABMAAEBAAAAAAAAAAAAAAAAAAAABgEBAQAAAAAAAAAAAAAAAAAABgcQAQAAAAAAAAAAAAAAAAAAAAARAQAAAAAAAAAAAAAAAAAAAAD/wAARCAAQABADASIAAhEAAxEA/9oADAMBAAIRAxEAPwCLAFF/f//Z';
/** As many as Chromium sends before one is acknowledged. */
const framesOnTheWay = 2;

/** What one DevTools session sees of a page: a picture when it begins, and one for each change, of which the newest wins. */
export class FakeScreen {
  /** What was asked for when it began; null while nobody watches. */
  order: Json | null = null;
  readonly #send: (params: Json) => void;
  #frames = 0;
  #onTheWay = 0;
  #next: string | null = null;
  /** What is to be seen now, also while nobody watches. */
  #picture = redJpeg;

  constructor(send: (params: Json) => void) {
    this.#send = send;
  }

  start(order: Json): Json {
    this.order = order;
    this.#onTheWay = 0;
    // The answer goes out first, the picture after it.
    queueMicrotask(() => this.draw());
    return {};
  }

  stop(): Json {
    this.order = null;
    this.#next = null;
    return {};
  }

  acknowledge(): Json {
    this.#onTheWay = Math.max(0, this.#onTheWay - 1);
    const next = this.#next;
    this.#next = null;
    if (next !== null) this.draw(next);
    return {};
  }

  /** As base64; without it what was there is drawn again. */
  draw(picture: string = this.#picture): void {
    this.#picture = picture;
    if (!this.order) return;
    if (this.#onTheWay >= framesOnTheWay) {
      this.#next = picture;
      return;
    }
    this.#onTheWay += 1;
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
