import type { Writable } from 'node:stream';

/**
 * Writes of small messages in few system calls: the first of a turn goes out at once, so that nothing is late by this, and those
 * that follow it in the same turn go out together at its end. Each call wakes the reader, which costs more than the message.
 */
export class WriteGroup {
  readonly #stream: Writable;
  #state: 'ended' | 'begun' | 'corked' = 'ended';

  constructor(stream: Writable) {
    this.#stream = stream;
  }

  /** Call it before each write. */
  add(): void {
    if (this.#state === 'ended') {
      this.#state = 'begun';
      process.nextTick(this.#end);
    } else if (this.#state === 'begun') {
      this.#state = 'corked';
      this.#stream.cork();
    }
  }

  #end = (): void => {
    if (this.#state === 'corked') this.#stream.uncork();
    this.#state = 'ended';
  };
}
