import { hash } from 'node:crypto';
import { newId } from '../lib/ids.ts';

/**
 * What a grant is known by. With a caller's own key it is the same each time the
 * caller asks, so that a grant whose answer was lost, whatever died in between,
 * is not given twice. Such a key counts for ever, not only for a day.
 */
export function grantId(scope: string, idempotencyKey: string | undefined): string {
  return `grant:${idempotencyKey === undefined ? newId('opr') : hash('sha256', `${scope}\n${idempotencyKey}`)}`;
}
