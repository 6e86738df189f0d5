/** What uploaded HARs hold in this worker's memory, while they are queued, too. Captures are bounded by the running jobs. */
import { ServiceError } from '@berth/contract';

const bytesMax = 512 * 1024 * 1024;
/** Leaves room for other owners. */
const ownerBytesMax = bytesMax / 2;
const retryAfterSeconds = 5;

export class MemoryBudget {
  readonly #held = new Map<string, number>();
  #total = 0;

  get totalBytes(): number {
    return this.#total;
  }

  /** Returns what releases the bytes, once. @throws ServiceError no_capacity */
  reserve(owner: string, bytes: number): () => void {
    const own = this.#held.get(owner) ?? 0;
    if (this.#total + bytes > bytesMax || own + bytes > ownerBytesMax)
      throw new ServiceError('no_capacity', 'Too many inspections run or wait on this worker. Try again in a moment.', {
        retryAfterSeconds,
      });
    this.#change(owner, bytes);
    let isHeld = true;
    return () => {
      if (isHeld) this.#change(owner, -bytes);
      isHeld = false;
    };
  }

  #change(owner: string, bytes: number): void {
    this.#total += bytes;
    const own = (this.#held.get(owner) ?? 0) + bytes;
    if (own > 0) this.#held.set(owner, own);
    else this.#held.delete(owner);
  }
}
