import { ServiceError, type FetchRequest } from '@berth/contract';
import { PageError } from '../browser/browser.ts';
import { pictureIn } from '../drive/drive.ts';
import type { StepWorld } from '../steps/steps.ts';
import type { Found } from './found.ts';
import { limits } from './limits.ts';

const usual: NonNullable<FetchRequest['screenshot']> = { full_page: true, format: 'png', scroll_first: true };

/** The page is there already: an element that has not come by then is not waited for. */
const elementMsMax = 3000;

/** What cannot be drawn is missing, and a warning says why. */
export async function takePicture(
  { world, request }: { world: StepWorld; request: FetchRequest },
  found: Found,
  { signal, timeoutMs }: { signal: AbortSignal; timeoutMs: number },
): Promise<void> {
  const { full_page: fullPage, format, quality, selector, scroll_first: scrollFirst } = request.screenshot ?? usual;
  try {
    const { patience } = world.page(world.mainTabId);
    const limitMs = selector === undefined ? timeoutMs : Math.min(timeoutMs, patience.ms(elementMsMax, timeoutMs / 2));
    const order = { selector, format, quality, fullPage, scrollFirst, timeoutMs: limitMs, bytesMax: limits.pictureBytes };
    found.screenshot = await pictureIn(world, order, signal);
    found.warnings.push(...found.screenshot.warnings.map((warning) => `screenshot:${warning}`));
  } catch (error) {
    found.warnings.push(`screenshot_failed:${reasonOf(error)}`);
  }
}

function reasonOf(error: unknown): string {
  if (error instanceof PageError) return error.reason;
  if (error instanceof ServiceError && error.code === 'page_failed') return String(error.details['reason']);
  throw error;
}
