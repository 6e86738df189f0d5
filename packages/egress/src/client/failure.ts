/** How a request without a browser fails, in the words in which a browser's navigation does. */
import type { NavigationFailure } from '@berth/contract';
import { EgressError, type PolicyRule, type RefusalReport } from '../policy.ts';
import { describeRefusal, isOrderlyEnd, netErrors } from '../gate/refusal.ts';

export interface HttpRedirect {
  /** The address that answered with the redirect. */
  url: string;
  statusCode: number;
}

/** The progress of a request when it ended. */
export interface HttpProgress {
  redirects: readonly HttpRedirect[];
  /** Bytes on the wire, as the route counts them. */
  bytesIn: number;
  bytesOut: number;
}

const nothingYet: HttpProgress = { redirects: [], bytesIn: 0, bytesOut: 0 };

/** A request that got no reply. The message may be shown to a caller: it has no header and no credential in it. */
export class HttpError extends Error {
  readonly reason: NavigationFailure;
  /** `net::ERR_…` as the browser would say it. */
  readonly netError: string | null;
  /** The gate's report on the host; null where it reached the host. */
  readonly refusal: RefusalReport | null;
  readonly progress: HttpProgress;
  /** Further details for callers. */
  readonly details: { readonly rule?: PolicyRule };

  constructor(
    reason: NavigationFailure,
    netError: string | null,
    { refusal = null, progress = nothingYet }: { refusal?: RefusalReport | null; progress?: HttpProgress } = {},
  ) {
    super(`The address could not be fetched: ${refusal?.message ?? netError ?? reason}.`);
    this.name = 'HttpError';
    this.reason = reason;
    this.netError = netError;
    this.refusal = refusal;
    this.progress = progress;
    this.details = refusal?.rule ? { rule: refusal.rule } : {};
  }
}

/** The failure for an error before the reply of a host. A TypeError is a fault of this program and is thrown as it is. */
export function failureFrom(error: unknown, host: { host: string; port: number }): HttpError {
  if (error instanceof HttpError) return error;
  if (error instanceof EgressError) {
    const refusal = describeRefusal(host, error);
    return new HttpError(error.reason, refusal.netError, { refusal });
  }
  if (error instanceof TypeError) throw error;
  const code = codeOf(error);
  if (isTlsCode(code)) return tlsFailure(code);
  if (code === 'HPE_HEADER_OVERFLOW') return new HttpError('connection_reset', 'net::ERR_RESPONSE_HEADERS_TOO_BIG');
  if (code.startsWith('HPE_')) return new HttpError('connection_reset', 'net::ERR_INVALID_HTTP_RESPONSE');
  if (code === 'ETIMEDOUT') return new HttpError('timeout', 'net::ERR_TIMED_OUT');
  return new HttpError('connection_reset', isOrderlyEnd(error) ? netErrors.empty_response : netErrors.connection_reset);
}

/** The failure for an error of a TLS handshake: a connection that broke is no fault of a certificate. */
export function handshakeFailure(error: unknown): HttpError {
  const code = codeOf(error);
  if (error instanceof EgressError || ['ECONNRESET', 'EPIPE', 'ECONNABORTED'].includes(code))
    return new HttpError('connection_reset', netErrors.connection_reset);
  return code === 'ETIMEDOUT' ? new HttpError('timeout', netErrors.timeout) : tlsFailure(code);
}

const codeOf = (error: unknown): string => (error instanceof Error && 'code' in error ? String(error.code) : '');

const isTlsCode = (code: string): boolean => code === 'EPROTO' || code.startsWith('ERR_SSL_') || code.startsWith('ERR_TLS_');

const certificateErrors: Readonly<Record<string, string>> = {
  ERR_TLS_CERT_ALTNAME_INVALID: 'net::ERR_CERT_COMMON_NAME_INVALID',
  CERT_HAS_EXPIRED: 'net::ERR_CERT_DATE_INVALID',
  CERT_NOT_YET_VALID: 'net::ERR_CERT_DATE_INVALID',
  CERT_REVOKED: 'net::ERR_CERT_REVOKED',
  DEPTH_ZERO_SELF_SIGNED_CERT: 'net::ERR_CERT_AUTHORITY_INVALID',
  SELF_SIGNED_CERT_IN_CHAIN: 'net::ERR_CERT_AUTHORITY_INVALID',
  UNABLE_TO_GET_ISSUER_CERT: 'net::ERR_CERT_AUTHORITY_INVALID',
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: 'net::ERR_CERT_AUTHORITY_INVALID',
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: 'net::ERR_CERT_AUTHORITY_INVALID',
  ERR_SSL_UNSUPPORTED_PROTOCOL: 'net::ERR_SSL_VERSION_OR_CIPHER_MISMATCH',
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: 'net::ERR_SSL_VERSION_OR_CIPHER_MISMATCH',
  ERR_SSL_TLSV1_ALERT_UNRECOGNIZED_NAME: 'net::ERR_SSL_UNRECOGNIZED_NAME_ALERT',
  ERR_SSL_TLSV13_ALERT_CERTIFICATE_REQUIRED: 'net::ERR_SSL_CLIENT_AUTH_CERT_NEEDED',
};

const tlsFailure = (code: string): HttpError =>
  new HttpError('tls_error', certificateErrors[code] ?? (isTlsCode(code) ? 'net::ERR_SSL_PROTOCOL_ERROR' : 'net::ERR_CERT_INVALID'));
