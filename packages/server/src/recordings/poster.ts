/** Selects the poster of a recording: the first frame with content, or else the one with the most. */
import { deflateRawSync } from 'node:zlib';

export const posterName = 'poster.jpg';

/** The JPEG of a blank page compresses to little more than its tables. */
const emptyBytesMax = 2048;
/** Stop looking after this many blank frames. */
const candidatesMax = 100;

export class Poster {
  #best: { jpeg: Buffer; contentBytes: number } | null = null;
  #candidates = 0;

  /** Returns the JPEG if it is a better poster than all before it, else null. */
  offer(jpeg: Buffer): Buffer | null {
    if (this.#candidates >= candidatesMax || (this.#best && this.#best.contentBytes > emptyBytesMax)) return null;
    this.#candidates += 1;
    const contentBytes = deflateRawSync(jpeg, { level: 1 }).length;
    if (this.#best && contentBytes <= this.#best.contentBytes) return null;
    this.#best = { jpeg, contentBytes };
    return jpeg;
  }
}
