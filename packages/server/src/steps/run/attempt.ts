/** One try of one step: where it looks, how long it may take, and what it notes on the way. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Selector } from '@berth/contract';
import { PageError, type CallOptions, type ElementRef, type Page } from '../../browser/browser.ts';
import { StepFailed, type StepWorld } from '../context.ts';

/** Where locators start: a frame's document, or an element in it. */
export interface Root {
  frameId: string;
  element: ElementRef | null;
}

/** The try's time is over. Who waited says for what. */
export class TimeOver extends Error {}

export interface AttemptOptions {
  world: StepWorld;
  page: Page;
  /** Ends the whole run. */
  signal: AbortSignal;
  timeoutMs: number;
}

/** Elements that are let go of in the end; more of them are let go of by the document's own end. */
const heldMax = 20_000;
/** As a page grows over moments, and not so often that a look costs more than the page does. */
const pausesMs = [0, 20, 50, 100, 100, 200];

export class Attempt {
  readonly world: StepWorld;
  readonly page: Page;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  readonly warnings: string[] = [];
  selectorUsed: Selector | undefined;
  /** Set when the step's `frame` and `within` are resolved anew, which each look does: frames come and go. */
  root: () => Promise<Root>;
  readonly #endMs: number;
  readonly #timer: NodeJS.Timeout;
  readonly #held: ElementRef[] = [];

  constructor({ world, page, signal, timeoutMs }: AttemptOptions) {
    this.world = world;
    this.page = page;
    this.timeoutMs = timeoutMs;
    this.#endMs = world.clock.monotonicMs() + timeoutMs;
    const over = new AbortController();
    this.#timer = setTimeout(() => over.abort(new TimeOver('the time is over')), timeoutMs);
    this.signal = AbortSignal.any([signal, page.gone, over.signal]);
    this.root = () => Promise.resolve({ frameId: page.mainFrame(), element: null });
  }

  get remainingMs(): number {
    return Math.max(0, this.#endMs - this.world.clock.monotonicMs());
  }

  get isOver(): boolean {
    return this.signal.reason instanceof TimeOver || this.remainingMs === 0;
  }

  /** For one question to the page. */
  call(maxBytes?: number): CallOptions {
    return { signal: this.signal, timeoutMs: Math.max(1, this.remainingMs), ...(maxBytes === undefined ? {} : { maxBytes }) };
  }

  hold<T extends readonly ElementRef[]>(elements: T): T {
    if (this.#held.length < heldMax) this.#held.push(...elements);
    return elements;
  }

  warn(warning: string): void {
    if (this.warnings.length < 20) this.warnings.push(warning);
  }

  async pause(ms: number): Promise<void> {
    await pause(Math.min(ms, this.remainingMs), undefined, { signal: this.signal }).catch(() => this.signal.throwIfAborted());
  }

  /** All of the time, or the failure that the try was too short for it. */
  async pauseFully(ms: number): Promise<void> {
    const fits = ms < this.remainingMs;
    await this.pause(ms);
    if (!fits) throw new StepFailed('timeout', `A wait of ${ms} ms did not fit into ${this.timeoutMs} ms.`);
  }

  /**
   * Looks again and again until there is an answer. A document or an element
   * that goes away meanwhile is looked for anew; when the time is over,
   * `failure` says what was missing.
   */
  async poll<T>(look: () => Promise<T | undefined>, failure: () => StepFailed): Promise<T> {
    let missing = failure;
    for (let turn = 0; ; turn += 1) {
      try {
        const answer = await look();
        if (answer !== undefined) return answer;
        missing = failure;
      } catch (error) {
        if (error instanceof StepFailed && error.code === 'frame_not_found') missing = () => error;
        else if (!isPassing(error) && !this.#isLate(error)) throw error;
      }
      if (!this.isOver)
        await this.pause(pausesMs[Math.min(turn, pausesMs.length - 1)] ?? 0).catch((error: unknown) => this.#unlessLate(error));
      if (this.isOver) throw missing();
    }
  }

  /** Whether an error only says that the try's own time is over. */
  #isLate(error: unknown): boolean {
    return this.isOver && (error instanceof TimeOver || (error instanceof PageError && error.reason === 'timeout'));
  }

  #unlessLate(error: unknown): void {
    if (!this.#isLate(error)) throw error;
  }

  end(): void {
    clearTimeout(this.#timer);
    if (!this.page.gone.aborted && this.#held.length > 0) this.page.release(this.#held);
  }
}

/** The document or the element went away under the question: the next one may find it again. */
export const isPassing = (error: unknown): boolean =>
  error instanceof PageError && (error.reason === 'context_lost' || error.reason === 'element_gone' || error.reason === 'frame_gone');
