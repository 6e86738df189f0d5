/**
 * Passes the bytes of all machines on in turns of the event loop, so that pages
 * that download without end take a bounded part of it, however many they are.
 *
 * A source is read only when it is its turn: until then at most its buffer is
 * filled, and the site waits. What came in small pieces is passed on as one.
 */
import type { Readable, Writable } from 'node:stream';
import { TurnBudget } from '@berth/lib/turns/turn-budget.ts';

/** Maximum time of a turn: some ten chunks of 64 KiB. A turn's own cost would slow a single machine's downloads with less. */
const turnMsMax = 0.5;

interface Flow {
  source: Readable;
  sink: Writable;
}

/** The turns of one gate: machines with bytes to pass on follow each other, chunk by chunk. */
export class GateTurns {
  readonly #budget = new TurnBudget(turnMsMax);
  /** The machines with ready flows; the one served last is last. */
  readonly #ready = new Set<MachineTurns>();
  #isScheduled = false;

  machine(): MachineTurns {
    const machine: MachineTurns = new MachineTurns(() => {
      this.#ready.add(machine);
      if (!this.#isScheduled) this.#run();
    });
    return machine;
  }

  #run(): void {
    for (const machine of this.#ready) {
      if (this.#budget.isSpent()) return this.#continueNextTurn();
      this.#ready.delete(machine);
      // A set is iterated in the order of insertion, also for what is added meanwhile.
      if (machine.passOne()) this.#ready.add(machine);
    }
  }

  #continueNextTurn(): void {
    this.#isScheduled = true;
    setImmediate(() => {
      this.#isScheduled = false;
      this.#run();
    });
  }
}

/** One machine's flows, which take turns as well. */
export class MachineTurns {
  readonly #ready = new Set<Flow>();
  readonly #onReady: () => void;

  constructor(onReady: () => void) {
    this.#onReady = onReady;
  }

  /** Passes the bytes on like `source.pipe(sink)`. */
  pipe(source: Readable, sink: Writable): void {
    const flow = { source, sink };
    const onReady = (): void => {
      this.#ready.add(flow);
      this.#onReady();
    };
    source.on('readable', onReady).once('end', () => sink.end());
    sink.on('drain', onReady);
    source.once('close', () => {
      this.#ready.delete(flow);
      sink.off('drain', onReady);
    });
  }

  /** Works like `pipeline(source, sink)`: resolves when both are done, and when one breaks, so does the other. Never rejects. */
  pipeline(source: Readable, sink: Writable): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    source.on('error', () => {}).once('close', () => source.readableEnded || sink.destroy());
    sink
      .on('error', () => {})
      .once('close', () => {
        if (!source.readableEnded) source.destroy();
        resolve();
      });
    sink.once('finish', resolve);
    this.pipe(source, sink);
    if (source.destroyed && !source.readableEnded) sink.destroy();
    return promise;
  }

  /** Passes on what the longest waiting flow holds. Returns whether others wait. */
  passOne(): boolean {
    const [flow] = this.#ready;
    if (!flow) return false;
    this.#ready.delete(flow);
    const { source, sink } = flow;
    // A sink that is full becomes ready again when it has drained.
    if (!sink.writableNeedDrain && !sink.destroyed) {
      const chunk: unknown = source.read();
      // A source says that it is readable again only after it was read to its end.
      if (chunk !== null) {
        this.#ready.add(flow);
        sink.write(chunk);
      }
    }
    return this.#ready.size > 0;
  }
}
