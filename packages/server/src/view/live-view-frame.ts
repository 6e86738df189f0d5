import { frameHeaderBytes, frameKind } from '@berth/contract/live-view';
import type { ScreencastFrame } from '../browser/browser.ts';

/** A frame as it is sent over the socket. Encoded once and shared by all viewers. */
export interface LiveFrame {
  /** The number that a viewer acknowledges. */
  seq: number;
  message: Buffer;
}

const u16Max = 0xffff;
const u32Values = 2 ** 32;

/** Puts the contract's header before the JPEG. The 32-bit sequence number wraps around. */
export function toLiveFrame({ data, width, height, drawnAtMs }: ScreencastFrame, count: number): LiveFrame {
  const seq = count % u32Values;
  const header = Buffer.alloc(frameHeaderBytes);
  header.writeUInt8(frameKind, 0);
  header.writeUInt32LE(seq, 4);
  header.writeDoubleLE(drawnAtMs, 8);
  header.writeUInt16LE(Math.min(u16Max, Math.round(width)), 16);
  header.writeUInt16LE(Math.min(u16Max, Math.round(height)), 18);
  return { seq, message: Buffer.concat([header, data]) };
}
