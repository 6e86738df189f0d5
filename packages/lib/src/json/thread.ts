/** The entry point of a thread that reads JSON: one text per call. */
import type { MessagePort } from 'node:worker_threads';
import { toPieces, type Piece } from '../turns/pieces.ts';

export interface JsonTask {
  bytes: Uint8Array;
  started?: MessagePort;
}

export default function parse({ bytes, started }: JsonTask): Piece[] {
  started?.postMessage(null, []);
  return toPieces(JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString()));
}
