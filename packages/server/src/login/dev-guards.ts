/** Whom the development issuer answers: this machine, and no page of somebody else's in a browser on it. */
import { ServiceError } from '@berth/contract';
import type { Call } from '../http/call.ts';
import { hostWithoutPort, isLoopbackHost, isLoopbackUrl } from './loopback.ts';

type Asked = Pick<Call, 'header' | 'origin'>;

/**
 * Throws origin_not_allowed where the caller has reached us by another name
 * than this machine's own. A site that lets its name point here, to have its
 * pages read what we answer, is known by that name.
 */
export function requireLoopback(call: Asked): void {
  if (isLoopbackHost(hostWithoutPort(call.header('host') ?? '')) && isLoopbackUrl(call.origin)) return;
  throw new ServiceError('origin_not_allowed', 'The development sign-in is open under http://localhost and http://127.0.0.1 only.');
}

/** Throws origin_not_allowed for a form that another site's page has sent. Programs send no origin. */
export function requireOwnForm(call: Asked): void {
  const origin = call.header('origin');
  if (origin === undefined || URL.parse(origin)?.host === call.header('host')?.toLowerCase()) return;
  throw new ServiceError('origin_not_allowed', 'This form was sent by a page of another site. Open it here.');
}

/** Lets scripts read the answer whose pages are on this machine too, such as those of a program in development. */
export function allowLoopbackPages(call: Asked & Pick<Call, 'setHeader'>): void {
  const origin = call.header('origin');
  call.setHeader('vary', 'origin');
  if (origin !== undefined && isLoopbackUrl(origin)) call.setHeader('access-control-allow-origin', origin);
}
