/** Reads the pixels of a PNG that Chromium wrote: 8 bits, not interlaced, with or without alpha. */
import assert from 'node:assert/strict';
import { inflateSync } from 'node:zlib';

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
  const pixels = unfilter(inflateSync(Buffer.concat(packed)), { stride: width * channels, channels, height });
  const at = (x: number, y: number): [number, number, number, number] => {
    const start = (y * width + x) * channels;
    return [pixels[start] ?? 0, pixels[start + 1] ?? 0, pixels[start + 2] ?? 0, channels === 4 ? (pixels[start + 3] ?? 0) : 255];
  };
  return { width, height, at };
}

function unfilter(raw: Buffer, { stride, channels, height }: { stride: number; channels: number; height: number }): Buffer {
  const out = Buffer.alloc(stride * height);
  for (let y = 0; y < height; y += 1) {
    const filter = raw[y * (stride + 1)] ?? 0;
    for (let x = 0; x < stride; x += 1) {
      const left = x >= channels ? (out[y * stride + x - channels] ?? 0) : 0;
      const up = y > 0 ? (out[(y - 1) * stride + x] ?? 0) : 0;
      const corner = x >= channels && y > 0 ? (out[(y - 1) * stride + x - channels] ?? 0) : 0;
      const predicted = [0, left, up, (left + up) >> 1, paeth(left, up, corner)][filter] ?? 0;
      out[y * stride + x] = (raw[y * (stride + 1) + 1 + x] ?? 0) + predicted;
    }
  }
  return out;
}

function paeth(left: number, up: number, corner: number): number {
  const predicted = left + up - corner;
  const [a, b, c] = [Math.abs(predicted - left), Math.abs(predicted - up), Math.abs(predicted - corner)];
  if (a <= b && a <= c) return left;
  return b <= c ? up : corner;
}
