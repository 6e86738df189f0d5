/** Which picture is shown when, and which of them are fetched together. */

/** A line of `frames.ndjson`: a JPEG in `frames.mjpeg`. */
export interface FrameLine {
  t_ms: number;
  offset: number;
  length: number;
}

/** Pictures that lie side by side and are fetched with one request. */
export interface FrameBlock {
  first: number;
  /** Exclusive. */
  last: number;
  fromByte: number;
  toByte: number;
}

const blockFramesMax = 24;
const blockBytesMax = 2_000_000;

/** The picture that is shown at a time: the last one that was taken by then, or the first. -1 where there is none. */
export function frameAt(frames: readonly FrameLine[], timeMs: number): number {
  let [from, to] = [0, frames.length];
  while (from < to) {
    const middle = (from + to) >> 1;
    if ((frames[middle]?.t_ms ?? 0) <= timeMs) from = middle + 1;
    else to = middle;
  }
  return frames.length === 0 ? -1 : Math.max(0, from - 1);
}

/** The pictures from one on that are worth one request: at least that one, at most 24, or two megabytes. */
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
