import { frameHeaderBytes, frameKind } from '@berth/contract/live-view';
import type { ScreencastFrame } from '../browser/browser.ts';

/** A picture as it goes over the socket: made once, and shared by all who get it. */
export interface LiveFrame {
  /** What a viewer acknowledges it by. */
  seq: number;
  message: Buffer;
}

const u16Max = 0xffff;
const u32Values = 2 ** 32;

/** The header before the JPEG, as the contract has it. The sequence starts anew where its 32 bits end. */
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
