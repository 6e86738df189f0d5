/** The picture that stands for a recording: the first that shows something, else the one that shows most. */
import { deflateRawSync } from 'node:zlib';

export const posterName = 'poster.jpg';

/** A page of one colour repeats itself in a JPEG too: packed, its tables are all that is left. */
const emptyBytesMax = 2048;
/** A page that shows nothing for so many pictures stays as it is. */
const looksMax = 100;

export class Poster {
  #best: { jpeg: Buffer; contentBytes: number } | null = null;
  #looks = 0;

  /** The JPEG where it is a better poster than all before it. */
  offer(jpeg: Buffer): Buffer | null {
    if (this.#looks >= looksMax || (this.#best && this.#best.contentBytes > emptyBytesMax)) return null;
    this.#looks += 1;
    const contentBytes = deflateRawSync(jpeg, { level: 1 }).length;
    if (this.#best && contentBytes <= this.#best.contentBytes) return null;
    this.#best = { jpeg, contentBytes };
    return jpeg;
  }
}
