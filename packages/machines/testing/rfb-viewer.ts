/** An RFB 3.8 client for tests: reads the picture, sends mouse and keyboard events. */
import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import type { Duplex } from 'node:stream';

const extendedDesktopSize = -308;

export interface Picture {
  width: number;
  height: number;
  /** Red, green, blue. */
  at(x: number, y: number): [number, number, number];
}

export class RfbViewer {
  width = 0;
  height = 0;
  readonly #stream: Duplex;
  readonly #readable = new EventEmitter();
  #pixels = Buffer.alloc(0);

  private constructor(stream: Duplex) {
    this.#stream = stream;
    stream.on('readable', () => this.#readable.emit('more'));
  }

  /** Resolves after the handshake. */
  static async open(stream: Duplex): Promise<RfbViewer> {
    const viewer = new RfbViewer(stream);
    await viewer.#handshake();
    return viewer;
  }

  /** Reads the current picture. */
  async readPicture(): Promise<Picture> {
    // The first answer to a full update request is the size only.
    let drawn = 0;
    for (let isFirst = true; drawn < this.width * this.height; isFirst = false) {
      this.#stream.write(message([3, isFirst ? 0 : 1, 0, 0, 0, 0, ...int16(this.width), ...int16(this.height)]));
      const pixels = await this.#readUpdate();
      drawn = pixels === 'resized' ? 0 : drawn + pixels;
    }
    const { width, height } = this;
    const seen = Buffer.from(this.#pixels);
    const at = (x: number, y: number): [number, number, number] => {
      const start = (y * width + x) * 4;
      return [seen[start + 2] ?? 0, seen[start + 1] ?? 0, seen[start] ?? 0];
    };
    return { width, height, at };
  }

  click(x: number, y: number): void {
    for (const buttons of [0, 1, 0]) this.#stream.write(message([5, buttons, ...int16(x), ...int16(y)]));
  }

  /** Latin letters and digits. */
  type(text: string): void {
    for (const letter of text)
      for (const down of [1, 0]) this.#stream.write(message([4, down, 0, 0, 0, 0, ...int16(letter.charCodeAt(0))]));
  }

  close(): void {
    this.#stream.destroy();
  }

  async #handshake(): Promise<void> {
    this.#stream.write(await this.#take(12));
    const types = await this.#take((await this.#take(1)).readUInt8());
    assert.deepEqual([...types], [1], 'a password is asked for');
    this.#stream.write(message([1]));
    assert.equal((await this.#take(4)).readUInt32BE(), 0);
    this.#stream.write(message([1]));
    const display = await this.#take(24);
    this.#resize(display.readUInt16BE(0), display.readUInt16BE(2));
    await this.#take(display.readUInt32BE(20));
    // 32 bits: blue, green, red, nothing.
    this.#stream.write(message([0, 0, 0, 0, 32, 24, 0, 1, 0, 255, 0, 255, 0, 255, 16, 8, 0, 0, 0, 0]));
    this.#stream.write(message([2, 0, 0, 2, 0, 0, 0, 0, 255, 255, 254, 204]));
  }

  /** Returns the number of pixels received. */
  async #readUpdate(): Promise<number | 'resized'> {
    const type = (await this.#take(1)).readUInt8();
    if (type === 2) return 0;
    if (type === 3) return this.#take((await this.#take(7)).readUInt32BE(3)).then(() => 0);
    assert.equal(type, 0, 'an unknown message');
    let pixels: number | 'resized' = 0;
    for (let left = (await this.#take(3)).readUInt16BE(1); left > 0; left -= 1) {
      const header = await this.#take(12);
      const [x, y, width, height] = [0, 2, 4, 6].map((at) => header.readUInt16BE(at)) as [number, number, number, number];
      if (header.readInt32BE(8) === extendedDesktopSize) {
        await this.#take((await this.#take(4)).readUInt8() * 16);
        if (width === this.width && height === this.height) continue;
        this.#resize(width, height);
        pixels = 'resized';
      } else {
        const raw = await this.#take(width * height * 4);
        for (let row = 0; row < height; row += 1)
          raw.copy(this.#pixels, ((y + row) * this.width + x) * 4, row * width * 4, (row + 1) * width * 4);
        if (pixels !== 'resized') pixels += width * height;
      }
    }
    return pixels;
  }

  #resize(width: number, height: number): void {
    this.width = width;
    this.height = height;
    this.#pixels = Buffer.alloc(width * height * 4);
  }

  async #take(bytes: number): Promise<Buffer> {
    if (bytes === 0) return Buffer.alloc(0);
    for (;;) {
      const taken = this.#stream.read(bytes) as Buffer | null;
      if (taken) return taken;
      await once(this.#readable, 'more', { signal: AbortSignal.timeout(30_000) });
    }
  }
}

const message = (bytes: number[]): Buffer => Buffer.from(bytes);
const int16 = (value: number): number[] => [value >>> 8, value & 0xff];
