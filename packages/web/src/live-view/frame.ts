import { frameHeaderBytes, frameKind } from '@berth/contract/live-view';

/** One picture of the page. */
export interface Frame {
  seq: number;
  /** Epoch ms. */
  drawnAtMs: number;
  /** Of the page that it shows, in CSS px. */
  width: number;
  height: number;
  jpeg: Uint8Array<ArrayBuffer>;
}

/** undefined for a message that is no frame, or one of a kind that this page does not know. */
export function readFrame(message: ArrayBuffer): Frame | undefined {
  if (message.byteLength <= frameHeaderBytes) return undefined;
  const header = new DataView(message, 0, frameHeaderBytes);
  if (header.getUint8(0) !== frameKind) return undefined;
  const width = header.getUint16(16, true);
  const height = header.getUint16(18, true);
  if (width === 0 || height === 0) return undefined;
  return {
    seq: header.getUint32(4, true),
    drawnAtMs: header.getFloat64(8, true),
    width,
    height,
    jpeg: new Uint8Array(message, frameHeaderBytes),
  };
}
