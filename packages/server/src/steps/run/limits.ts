/** What a run may come to. */
import { StepFailed } from '../context.ts';

/** With all turns of all loops: a run of steps that do nothing would otherwise fill the reply. */
const stepsMax = 10_000;
/** Steps that jump back could go on for as long as the budget. */
const jumpsMax = 100;
/** Results of steps in loops that are told; what failed always is. */
const innerResultsMax = 1000;
/** Of one step, as JSON: two pictures of the largest kind. */
const outputCharsMax = 24 * 1024 * 1024;
/** Of all together: it is held in memory, and sent in one reply. */
const allOutputsCharsMax = 48 * 1024 * 1024;
const listLengthMax = 10_000;

export class Limits {
  #steps = 0;
  #jumps = 0;
  #innerResults = 0;
  #outputChars = 0;

  countStep(): void {
    this.#steps += 1;
    if (this.#steps > stepsMax) throw new StepFailed('limit_reached', `A run may take ${stepsMax} steps with all turns of its loops.`);
  }

  /** False when there were too many. */
  countJump(): boolean {
    this.#jumps += 1;
    return this.#jumps <= jumpsMax;
  }

  /** Whether one more result from within a loop is told. */
  tellsInner(): boolean {
    this.#innerResults += 1;
    return this.#innerResults <= innerResultsMax;
  }

  /** @throws StepFailed `too_large` */
  countOutput(output: unknown): void {
    if (output === undefined) return;
    const chars = JSON.stringify(output)?.length ?? 0;
    if (chars > outputCharsMax) throw new StepFailed('too_large', `The output of a step may have ${outputCharsMax} characters.`);
    if (this.#outputChars + chars > allOutputsCharsMax)
      throw new StepFailed('too_large', `The outputs of all steps together may have ${allOutputsCharsMax} characters.`);
    this.#outputChars += chars;
  }

  checkList(list: readonly unknown[]): void {
    if (list.length >= listLengthMax) throw new StepFailed('limit_reached', `A variable may be a list of ${listLengthMax}.`);
  }
}
