/** The limits of a run. */
import { JsonTooLongError, toJsonText } from '@berth/lib/json/text.ts';
import { StepError } from '../context.ts';

/** Maximum steps, including all turns of all loops: otherwise a loop of steps that do nothing could fill the response. */
const stepsMax = 10_000;
/** Maximum jumps: otherwise jumps back could loop until the timeout. */
const jumpsMax = 100;
/** Maximum reported results of steps in loops. Failures are always reported. */
const innerResultsMax = 1000;
/** Maximum output of one step, as JSON: two images of the maximum size. */
const outputCharsMax = 24 * 1024 * 1024;
/** Maximum output of all steps together, which is held in memory and sent in one response. */
const allOutputsCharsMax = 48 * 1024 * 1024;
const listLengthMax = 10_000;

export class Limits {
  #steps = 0;
  #jumps = 0;
  #innerResults = 0;
  #outputChars = 0;

  readonly #stepsMax: number;

  constructor(stepsAllowed = stepsMax) {
    this.#stepsMax = Math.min(stepsAllowed, stepsMax);
  }

  countStep(): void {
    this.#steps += 1;
    if (this.#steps > this.#stepsMax)
      throw new StepError('limit_reached', `A run is limited to ${this.#stepsMax} steps, including all turns of its loops.`);
  }

  /** Counts a jump. Returns false when the limit is exceeded. */
  countJump(): boolean {
    this.#jumps += 1;
    return this.#jumps <= jumpsMax;
  }

  /** Whether to report one more result of a step in a loop. */
  shouldReportInner(): boolean {
    this.#innerResults += 1;
    return this.#innerResults <= innerResultsMax;
  }

  /** @throws StepError `too_large` */
  async countOutput(output: unknown): Promise<void> {
    if (output === undefined) return;
    const chars = (await toJsonText(output, outputCharsMax).catch(throwTooLarge)).length - 1;
    if (this.#outputChars + chars > allOutputsCharsMax)
      throw new StepError('too_large', `The outputs of all steps together are limited to ${allOutputsCharsMax} characters.`);
    this.#outputChars += chars;
  }

  checkList(list: readonly unknown[]): void {
    if (list.length >= listLengthMax) throw new StepError('limit_reached', `A variable is limited to a list of ${listLengthMax} items.`);
  }
}

function throwTooLarge(error: unknown): never {
  if (!(error instanceof JsonTooLongError)) throw error;
  throw new StepError('too_large', `The output of a step is limited to ${outputCharsMax} characters.`);
}
