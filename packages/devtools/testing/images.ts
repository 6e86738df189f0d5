/** Reads the pixels of a PNG that Chromium wrote: 8 bits, not interlaced, with or without alpha. */
import assert from 'node:assert/strict';
import { inflateSync } from 'node:zlib';
import type { Page } from '../src/browser/page/page.ts';
import { call } from './on-page.ts';

export interface Pixels {
  width: number;
  height: number;
  /** Red, green, blue, opacity. */
  at(x: number, y: number): [number, number, number, number];
}

export function readPng(data: Buffer): Pixels {
  assert.equal(data.toString('latin1', 1, 4), 'PNG');
  const [width, height] = [data.readUInt32BE(16), data.readUInt32BE(20)];
  const channels = data[25] === 6 ? 4 : 3;
  const packed: Buffer[] = [];
  for (let at = 8; at < data.length; at += data.readUInt32BE(at) + 12)
    if (data.toString('latin1', at + 4, at + 8) === 'IDAT') packed.push(data.subarray(at + 8, at + 8 + data.readUInt32BE(at)));
  // Decoded only as far as asked for: each byte depends on those before it, and a large picture has many rows.
  let rows: Rows | undefined;
  const at = (x: number, y: number): [number, number, number, number] => {
    rows ??= new Rows(inflateSync(Buffer.concat(packed)), width * channels, channels);
    const pixels = rows.readTo(y);
    const start = (y * width + x) * channels;
    return [pixels[start] ?? 0, pixels[start + 1] ?? 0, pixels[start + 2] ?? 0, channels === 4 ? (pixels[start + 3] ?? 0) : 255];
  };
  return { width, height, at };
}

/** Undoes the filters of the rows, from the top. */
class Rows {
  readonly #raw: Buffer;
  readonly #stride: number;
  readonly #channels: number;
  readonly #out: Buffer;
  #done = 0;

  constructor(raw: Buffer, stride: number, channels: number) {
    this.#raw = raw;
    this.#stride = stride;
    this.#channels = channels;
    this.#out = Buffer.alloc(raw.length);
  }

  /** The pixels, right up to this row. */
  readTo(row: number): Buffer {
    for (; this.#done <= row; this.#done += 1) this.#unfilter(this.#done);
    return this.#out;
  }

  #unfilter(y: number): void {
    const [raw, out, stride, channels] = [this.#raw, this.#out, this.#stride, this.#channels];
    const from = y * (stride + 1) + 1;
    const filter = raw[from - 1] ?? 0;
    const start = y * stride;
    for (let x = 0; x < stride; x += 1) {
      const left = x >= channels ? (out[start + x - channels] ?? 0) : 0;
      const up = y > 0 ? (out[start + x - stride] ?? 0) : 0;
      const corner = x >= channels && y > 0 ? (out[start + x - stride - channels] ?? 0) : 0;
      out[start + x] = (raw[from + x] ?? 0) + predict(filter, left, up, corner);
    }
  }
}

function predict(filter: number, left: number, up: number, corner: number): number {
  if (filter === 1) return left;
  if (filter === 2) return up;
  if (filter === 3) return (left + up) >> 1;
  return filter === 4 ? paeth(left, up, corner) : 0;
}

function paeth(left: number, up: number, corner: number): number {
  const predicted = left + up - corner;
  const [a, b, c] = [Math.abs(predicted - left), Math.abs(predicted - up), Math.abs(predicted - corner)];
  if (a <= b && a <= c) return left;
  return b <= c ? up : corner;
}

export interface JpegInfo {
  /** The size in pixels of the image. */
  width: number;
  height: number;
  /** The center of all red pixels, relative to the image's width and height; null without any. */
  red: { x: number; y: number } | null;
  /** The middle pixel: red, green, blue. */
  middle: [number, number, number];
}

const readPixels = `async (base64) => {
  const image = new Image();
  image.src = 'data:image/jpeg;base64,' + base64;
  await image.decode();
  const canvas = new OffscreenCanvas(image.width, image.height), context = canvas.getContext('2d');
  context.drawImage(image, 0, 0);
  const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
  let count = 0, x = 0, y = 0;
  for (let at = 0; at < data.length; at += 4) {
    if (data[at] < 170 || data[at + 1] > 90 || data[at + 2] > 90) continue;
    count += 1;
    x += (at / 4) % canvas.width + 0.5;
    y += Math.floor(at / 4 / canvas.width) + 0.5;
  }
  const middle = [...context.getImageData(canvas.width >> 1, canvas.height >> 1, 1, 1).data].slice(0, 3);
  const red = count === 0 ? null : { x: x / count / canvas.width, y: y / count / canvas.height };
  return { width: canvas.width, height: canvas.height, red, middle };
}`;

/** `page` may be any page that responds. */
export const readJpeg = (page: Page, data: Buffer): Promise<JpegInfo> =>
  page.call<JpegInfo>(page.mainFrame(), readPixels, [data.toString('base64')], call());
