/** Selects the frame at a time, and the frames to fetch together. */

/** A line of `frames.ndjson`: a JPEG in `frames.mjpeg`. */
export interface FrameLine {
  t_ms: number;
  offset: number;
  length: number;
}

/** Adjacent frames that are fetched with one request. */
export interface FrameBlock {
  first: number;
  /** Exclusive. */
  last: number;
  fromByte: number;
  toByte: number;
}

const blockFramesMax = 24;
const blockBytesMax = 2_000_000;

/** Returns the index of the last frame at or before a time, or 0; -1 when there is no frame. */
export function frameAt(frames: readonly FrameLine[], timeMs: number): number {
  let [from, to] = [0, frames.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((frames[middle]?.t_ms ?? 0) <= timeMs) from = middle + 1;
    else to = middle;
  }
  return frames.length === 0 ? -1 : Math.max(0, from - 1);
}

/** Returns the frames from `first` to fetch with one request: at least one, at most 24 or two megabytes. */
export function blockFrom(frames: readonly FrameLine[], first: number): FrameBlock | undefined {
  const start = frames[first];
  if (!start) return undefined;
  let last = first + 1;
  let toByte = start.offset + start.length;
  for (let next = frames[last]; next && last - first < blockFramesMax; next = frames[last]) {
    if (next.offset !== toByte || next.offset + next.length - start.offset > blockBytesMax) break;
    toByte = next.offset + next.length;
    last += 1;
  }
  return { first, last, fromByte: start.offset, toByte };
}
