import { frameHeaderBytes, frameKind } from '@berth/contract/live-view';

/** A frame of the page. */
export interface Frame {
  seq: number;
  /** Epoch ms. */
  drawnAtMs: number;
  /** Size of the page, in CSS px. */
  width: number;
  height: number;
  jpeg: Uint8Array<ArrayBuffer>;
}

/** Returns undefined for a message that is not a frame of a known kind. */
export function parseFrame(message: ArrayBuffer): Frame | undefined {
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
