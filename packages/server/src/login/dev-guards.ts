/** Restricts the development issuer to this host, and to its own pages in browsers. */
import { ServiceError } from '@berth/contract';
import type { Call } from '../http/call.ts';
import { hostWithoutPort, isLoopbackHost, isLoopbackUrl } from './loopback.ts';

type CallOrigin = Pick<Call, 'header' | 'origin'>;

/**
 * Protects against DNS rebinding: a site whose name resolves to this host is
 * refused by its name.
 *
 * @throws ServiceError origin_not_allowed unless the request names a loopback host
 */
export function requireLoopback(call: CallOrigin): void {
  if (isLoopbackHost(hostWithoutPort(call.header('host') ?? '')) && isLoopbackUrl(call.origin)) return;
  throw new ServiceError('origin_not_allowed', 'The development sign-in is available at http://localhost and http://127.0.0.1 only.');
}

/** Programs send no Origin. @throws ServiceError origin_not_allowed for a form of another site's page */
export function requireOwnForm(call: CallOrigin): void {
  const origin = call.header('origin');
  if (origin === undefined || URL.parse(origin)?.host === call.header('host')?.toLowerCase()) return;
  throw new ServiceError('origin_not_allowed', 'This form was sent by a page of another site. Open the sign-in page of this service.');
}

/** Lets pages on this host, such as a program in development, read the response (CORS). */
export function allowLoopbackPages(call: CallOrigin & Pick<Call, 'setHeader'>): void {
  const origin = call.header('origin');
  call.setHeader('vary', 'origin');
  if (origin !== undefined && isLoopbackUrl(origin)) call.setHeader('access-control-allow-origin', origin);
}
