/** One attempt of one step: its page, its time limit and its warnings. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Selector, Selectors, PlainStep } from '@berth/contract';
import { Deadline } from '@berth/lib/deadline.ts';
import { PageError, type CallOptions, type ElementRef, type Page } from '../../browser/browser.ts';
import { StepError, type StepContext } from '../context.ts';
import type { Dialogs } from './dialogs.ts';

/** The start of a search for elements: a frame's document, or an element in it. */
export interface Root {
  frameId: string;
  element: ElementRef | null;
  /** The closed shadow root of `element`, which is searched before its children. */
  closedRoot?: ElementRef | undefined;
}

/** Finds elements by selectors, from the root of the attempt. */
export type Locate = (options: { selectors: Selectors; pick: 'one' | 'all'; max: number }) => Promise<{
  elements: readonly ElementRef[];
  count: number;
  selector: Selector;
} | null>;

export interface Healed {
  element: ElementRef;
  selector: Selector;
}

/** Finds the element of a step in a page that has changed. */
export interface Healing {
  /** The listed selectors have found the element. */
  remember(element: ElementRef, listed: Selectors, locate: Locate): Promise<void>;
  /** The listed selectors have found nothing. */
  heal(root: Root, listed: Selectors, locate: Locate): Promise<Healed | null>;
}

/** The time of the attempt is over. The caller knows what it waited for. */
export class AttemptTimeoutError extends Error {}

interface AttemptOptions {
  context: StepContext;
  page: Page;
  /** Ends the whole run. */
  signal: AbortSignal;
  timeoutMs: number;
}

/** Element handles released at the end. The end of the document releases any others. */
const heldMax = 20_000;
/** Pauses between probes: short at first, then long enough not to slow the page down. */
const pollIntervalsMs = [0, 20, 50, 100, 100, 200];

export class StepAttempt {
  readonly context: StepContext;
  readonly page: Page;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  readonly warnings: string[] = [];
  selectorUsed: Selector | undefined;
  /** Healing of a step whose element may be found although its selectors no longer match; null for other steps. */
  healing: Healing | null = null;
  /** Resolves the step's `frame` and `within`. Called for each probe, because frames come and go. */
  root: () => Promise<Root>;
  readonly #deadline: Deadline;
  readonly #held: ElementRef[] = [];

  constructor({ context, page, signal, timeoutMs }: AttemptOptions) {
    this.context = context;
    this.page = page;
    this.timeoutMs = timeoutMs;
    const reason = (): Error => new AttemptTimeoutError('attempt timed out');
    this.#deadline = new Deadline({ signal: AbortSignal.any([signal, page.closed]), timeoutMs, clock: context.clock, reason });
    this.signal = this.#deadline.signal;
    this.root = () => Promise.resolve({ frameId: page.mainFrame(), element: null });
  }

  get leftMs(): number {
    return this.#deadline.leftMs;
  }

  get isOver(): boolean {
    return this.#deadline.isOver;
  }

  /** Options for one call into the page. */
  call(maxBytes?: number): CallOptions {
    return { ...this.#deadline.rest(), ...(maxBytes === undefined ? {} : { maxBytes }) };
  }

  hold<T extends readonly ElementRef[]>(elements: T): T {
    if (this.#held.length < heldMax) this.#held.push(...elements);
    return elements;
  }

  warn(warning: string): void {
    if (this.warnings.length < 20) this.warnings.push(warning);
  }

  async sleep(ms: number): Promise<void> {
    await sleep(Math.min(ms, this.leftMs), undefined, { signal: this.signal }).catch(() => this.signal.throwIfAborted());
  }

  /** @throws StepError `timeout` when the attempt ends before the given time */
  async sleepFully(ms: number): Promise<void> {
    const fits = ms < this.leftMs;
    await this.sleep(ms);
    if (!fits) throw new StepError('timeout', `A wait of ${ms} ms exceeds the timeout of ${this.timeoutMs} ms.`);
  }

  /**
   * Repeats the probe until it returns a value. Retries when a document or an
   * element is replaced meanwhile.
   * @throws the result of `failure` when the time is over
   */
  async poll<T>(probe: () => Promise<T | undefined>, failure: () => StepError): Promise<T> {
    let currentFailure = failure;
    for (let round = 0; ; round += 1) {
      try {
        const answer = await probe();
        if (answer !== undefined) return answer;
        currentFailure = failure;
      } catch (error) {
        if (error instanceof StepError && error.code === 'frame_not_found') currentFailure = () => error;
        else if (!isTransient(error) && !this.#isTimeout(error)) throw error;
      }
      if (!this.isOver)
        await this.sleep(pollIntervalsMs[Math.min(round, pollIntervalsMs.length - 1)] ?? 0).catch((error: unknown) =>
          this.#ignoreTimeout(error),
        );
      if (this.isOver) throw currentFailure();
    }
  }

  /** Whether an error only reports that the time of the attempt is over. */
  #isTimeout(error: unknown): boolean {
    return this.isOver && (error instanceof AttemptTimeoutError || (error instanceof PageError && error.reason === 'timeout'));
  }

  #ignoreTimeout(error: unknown): void {
    if (!this.#isTimeout(error)) throw error;
  }

  end(): void {
    this.#deadline.end();
    if (!this.page.closed.aborted && this.#held.length > 0) this.page.release(this.#held);
  }
}

/** Whether the document or the element was replaced during a call: a retry may find the new one. */
export const isTransient = (error: unknown): boolean =>
  error instanceof PageError &&
  (error.reason === 'context_lost' || error.reason === 'element_detached' || error.reason === 'frame_detached');

export type StepOf<T extends PlainStep['type']> = Extract<PlainStep, { type: T }>;

/** State that outlives one step. */
export interface ActScope {
  allowEvaluate: boolean;
  dialogs: Dialogs;
  /** Headers that earlier steps have set, per tab. */
  headers: Map<string, Record<string, string>>;
}

/** Performs a step and returns its output, if it has one. */
export type Act<T extends PlainStep['type']> = (attempt: StepAttempt, step: StepOf<T>, scope: ActScope) => Promise<unknown>;
