/** IVF: the plainest of containers, which carries each frame with its own time. All numbers are little-endian. */

/** A stream of JPEGs whose times are milliseconds. The size is a hint: each JPEG has its own. */
export function ivfHeader({ width, height }: { width: number; height: number }): Buffer {
  const header = Buffer.alloc(32);
  header.write('DKIF', 0, 'latin1');
  header.writeUInt16LE(header.length, 6);
  header.write('MJPG', 8, 'latin1');
  header.writeUInt16LE(width, 12);
  header.writeUInt16LE(height, 14);
  header.writeUInt32LE(1000, 16);
  header.writeUInt32LE(1, 20);
  return header;
}

/** What stands before each frame. */
export function ivfFrameHeader(bytes: number, atMs: number): Buffer {
  const header = Buffer.alloc(12);
  header.writeUInt32LE(bytes, 0);
  header.writeBigUInt64LE(BigInt(atMs), 4);
  return header;
}
