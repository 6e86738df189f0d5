/** The outcome of work of the service. */
import { CommandError, exitCodes } from '../failures.ts';

interface Outcome {
  status: string;
  error?: { code: string; message: string } | null;
  block?: { type: string } | null;
}

/** Work that failed is a failure of the command, although the service has answered. */
export function refuseFailure(outcome: Outcome): void {
  if (outcome.status === 'error')
    throw new CommandError(exitCodes.failed, outcome.error?.code ?? 'failed', outcome.error?.message ?? 'The work failed.');
  if (outcome.status === 'blocked')
    throw new CommandError(exitCodes.failed, 'blocked', `The site blocked it: ${outcome.block?.type ?? 'unknown kind'}.`);
}

/** The content of a fetch in one format. */
export const contentOf = (page: object, format: string): unknown =>
  (page as Record<string, unknown>)[format === 'metadata' ? 'page' : format];

/** Content as a person reads it. */
export const renderContent = (content: unknown): string =>
  typeof content === 'string' ? content : JSON.stringify(content ?? null, null, 2);
