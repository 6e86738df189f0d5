import { hash } from 'node:crypto';
import { newId } from '../lib/ids.ts';

/**
 * The operation id of a grant. It is derived from the idempotency key, so a
 * retried grant is applied once even after a crash, without the 24-hour limit
 * of stored responses.
 */
export function grantId(scope: string, idempotencyKey: string | undefined): string {
  return `grant:${idempotencyKey === undefined ? newId('opr') : hash('sha256', `${scope}\n${idempotencyKey}`)}`;
}
