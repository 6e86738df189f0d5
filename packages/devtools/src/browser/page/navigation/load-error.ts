/** What Chromium's network errors mean for a navigation. */
import type { NavigationFailure } from '@berth/contract';
import type { Connection } from '../../cdp/connection.ts';
import { NavigationError } from '../../interface.ts';

const failurePatterns: readonly (readonly [RegExp, NavigationFailure])[] = [
  [/NAME_NOT_RESOLVED|NAME_RESOLUTION_FAILED|ICANN_NAME_COLLISION|DNS_/, 'dns_failed'],
  [/PROXY|TUNNEL_CONNECTION_FAILED|SOCKS_/, 'proxy_error'],
  [/CERT_|SSL_|TLS_|CLEAR_TEXT_NOT_PERMITTED|ERR_BAD_SSL/, 'tls_error'],
  [
    /CONNECTION_REFUSED|ADDRESS_UNREACHABLE|ADDRESS_INVALID|CONNECTION_FAILED|INTERNET_DISCONNECTED|NETWORK_UNREACHABLE/,
    'connection_refused',
  ],
  [/TIMED_OUT/, 'timeout'],
  [/TOO_MANY_REDIRECTS/, 'too_many_redirects'],
  [/BLOCKED_BY|ERR_UNSAFE_PORT|ERR_UNSAFE_REDIRECT|DISALLOWED_URL_SCHEME|ACCESS_DENIED|NETWORK_ACCESS/, 'blocked_by_policy'],
  [
    /CONNECTION_|EMPTY_RESPONSE|NETWORK_CHANGED|HTTP2_|QUIC_|CONTENT_LENGTH_MISMATCH|_CHUNKED_ENCODING|CONTENT_DECODING/,
    'connection_reset',
  ],
  [/INVALID_(HTTP_)?RESPONSE|RESPONSE_HEADERS|NETWORK_IO/, 'connection_reset'],
];

/** Server responses that Chromium shows no document for: no content, an error without a body, failed authentication. */
export function isAnswerWithoutPage(netError: string, status: number): boolean {
  if (netError === 'net::ERR_ABORTED') return hasNoDocument(status);
  return netError === 'net::ERR_HTTP_RESPONSE_CODE_FAILURE' || netError === 'net::ERR_INVALID_AUTH_CREDENTIALS';
}

export const hasNoDocument = (status: number): boolean => status === 204 || status === 205 || status === 304;

/** Maps Chromium's network error to a failure reason; `aborted` for unknown errors. */
function toNavigationFailure(netError: string): NavigationFailure {
  return failurePatterns.find(([words]) => words.test(netError))?.[1] ?? 'aborted';
}

/** The error of a load that failed with this text, explained by the gate where it knows more. */
export function loadError(
  connection: Connection,
  errorText: string,
  request: { requestId?: string | undefined; url?: string | undefined },
): NavigationError {
  const report = connection.netErrors.reportOf(errorText, request);
  const message = `The page could not be loaded: ${report?.message ?? errorText}.`;
  return new NavigationError(toNavigationFailure(errorText), errorText, message, report?.rule ? { rule: report.rule } : {});
}
