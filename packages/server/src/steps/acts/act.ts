/** The parameters of an act. */
import type { PlainStep } from '@berth/contract';
import type { Attempt } from '../run/attempt.ts';
import type { Dialogs } from '../run/dialogs.ts';

export type StepOf<T extends PlainStep['type']> = Extract<PlainStep, { type: T }>;

/** State that outlives one step. */
export interface ActScope {
  allowEvaluate: boolean;
  dialogs: Dialogs;
  /** Set by earlier steps, per tab. */
  headers: Map<string, Record<string, string>>;
}

/** Performs a step and returns its output, if it has one. */
export type Act<T extends PlainStep['type']> = (attempt: Attempt, step: StepOf<T>, scope: ActScope) => Promise<unknown>;
