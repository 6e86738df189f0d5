/** Whether a condition holds at this moment. */
import type { Condition } from '@berth/contract';
import { isPassing, type Attempt } from './attempt.ts';
import { locateFrom } from '../locators/locate.ts';
import { matchesPattern } from '../locators/pattern.ts';
import { textOfPage } from '../locators/read.ts';
import { StepFailed } from '../context.ts';

export async function holds(attempt: Attempt, condition: Condition): Promise<boolean> {
  const { exists, not_exists: absent, text, url_matches: url } = condition;
  // A document that moves in under the question is asked again.
  const isThere = (selectors: NonNullable<typeof exists>): Promise<boolean> => settled(attempt, () => isFound(attempt, selectors));
  if (url !== undefined && !(await matchesPattern(attempt, url, attempt.page.url()))) return false;
  if (exists && !(await isThere(exists))) return false;
  if (absent && (await isThere(absent))) return false;
  return text === undefined || settled(attempt, async () => matchesPattern(attempt, text, await textOfPage(attempt)));
}

/** What is looked for in a frame that is not there is not there. */
async function isFound(attempt: Attempt, selectors: NonNullable<Condition['exists']>): Promise<boolean> {
  try {
    return (await locateFrom(attempt, await attempt.root(), { selectors, pick: 'one', max: 1 })) !== null;
  } catch (error) {
    if (error instanceof StepFailed && error.code === 'frame_not_found') return false;
    throw error;
  }
}

async function settled<T>(attempt: Attempt, look: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await look();
    } catch (error) {
      if (!isPassing(error)) throw error;
      await attempt.pause(20);
    }
  }
}
