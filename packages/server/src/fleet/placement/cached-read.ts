import { LRUCache } from 'lru-cache';
import type { Clock } from '@berth/lib/clock.ts';

interface Entry<V> {
  value: V;
  /** When its read began. */
  readMs: number;
}

interface RecentOptions<V> {
  clock: Clock;
  /** How long a value is used again. */
  forMs: number;
  max: number;
  read: (key: string) => Promise<V>;
}

/** Values that are read again when they are too old. Callers at once share one read; one that fails is repeated by the next caller. */
export class CachedRead<V> {
  readonly #options: RecentOptions<V>;
  readonly #entries: LRUCache<string, Entry<V>>;
  readonly #reads = new Map<string, Promise<V>>();

  constructor(options: RecentOptions<V>) {
    this.#options = options;
    this.#entries = new LRUCache({ max: options.max });
  }

  async get(key: string): Promise<V> {
    const { clock, forMs } = this.#options;
    const entry = this.#entries.get(key);
    if (entry && clock.monotonicMs() - entry.readMs < forMs) return entry.value;
    const running = this.#reads.get(key) ?? this.#read(key).finally(() => this.#reads.delete(key));
    this.#reads.set(key, running);
    return running;
  }

  async #read(key: string): Promise<V> {
    const { clock, read } = this.#options;
    const readMs = clock.monotonicMs();
    const value = await read(key);
    this.#entries.set(key, { value, readMs });
    return value;
  }
}
