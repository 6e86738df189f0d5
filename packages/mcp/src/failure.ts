/** What a model is told of a call that failed: what to change, and nothing of this process. */
import { BerthError } from '@berth/sdk';
import { inLine, type Answer } from './answer.ts';

const candidatesMax = 10;

export function explain(error: unknown): Answer {
  if (!(error instanceof BerthError)) return { head: ['failed: the call could not be made. Is the service reachable?'], isError: true };
  const { code, message, retryable, details } = error;
  const head = [`${code}: ${inLine(message, 500)}`, retryable ? 'The same call may succeed later.' : null];
  const page = candidatesOf(details);
  return { head, ...(page === null ? {} : { page }), isError: true };
}

/** The elements that a lost reference may have become. */
function candidatesOf(details: unknown): string | null {
  const { candidates } = (details ?? {}) as { candidates?: unknown };
  if (!Array.isArray(candidates) || candidates.length === 0) return null;
  const lines = candidates.slice(0, candidatesMax).map((candidate: unknown) => inLine(JSON.stringify(candidate), 200));
  return ['nearest candidates:', ...lines].join('\n');
}
