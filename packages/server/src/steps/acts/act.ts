/** What every act is given. */
import type { PlainStep } from '@berth/contract';
import type { Attempt } from '../run/attempt.ts';
import type { Dialogs } from '../run/dialogs.ts';

export type StepOf<T extends PlainStep['type']> = Extract<PlainStep, { type: T }>;

/** What lasts longer than one step. */
export interface ActScope {
  allowEvaluate: boolean;
  dialogs: Dialogs;
  /** Set by earlier steps, for each tab. */
  headers: Map<string, Record<string, string>>;
}

/** Does a step and gives its output; undefined where there is none. */
export type Act<T extends PlainStep['type']> = (attempt: Attempt, step: StepOf<T>, scope: ActScope) => Promise<unknown>;
