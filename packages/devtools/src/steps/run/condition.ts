/** Evaluates a condition on the current page. */
import type { Condition } from '@berth/contract';
import { isTransient, type StepAttempt } from './attempt.ts';
import { locateFrom } from '../locators/locate.ts';
import { matchesPattern, textOfPage } from '../locators/read.ts';
import { RefError } from '../../browser/browser.ts';
import { StepError } from '../context.ts';

export async function isMet(attempt: StepAttempt, condition: Condition): Promise<boolean> {
  const { exists, not_exists: absent, text, url_matches: url } = condition;
  // Retries when a navigation replaces the document.
  const isThere = (selectors: NonNullable<typeof exists>): Promise<boolean> => retryTransient(attempt, () => hasMatch(attempt, selectors));
  if (url !== undefined && !(await matchesPattern(attempt, url, attempt.page.url()))) return false;
  if (exists && !(await isThere(exists))) return false;
  if (absent && (await isThere(absent))) return false;
  return text === undefined || retryTransient(attempt, async () => matchesPattern(attempt, text, await textOfPage(attempt)));
}

/** False when the frame does not exist. */
async function hasMatch(attempt: StepAttempt, selectors: NonNullable<Condition['exists']>): Promise<boolean> {
  try {
    return (await locateFrom(attempt, await attempt.root(), { selectors, pick: 'one', max: 1 })) !== null;
  } catch (error) {
    if (error instanceof StepError && error.code === 'frame_not_found') return false;
    if (error instanceof RefError && error.reason === 'stale') return false;
    throw error;
  }
}

async function retryTransient<T>(attempt: StepAttempt, read: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await read();
    } catch (error) {
      if (!isTransient(error)) throw error;
      await attempt.sleep(20);
    }
  }
}
