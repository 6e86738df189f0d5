/**
 * Why a host was not reached, as callers may read it. A host is named as the
 * caller or the page named it; the address that it resolved to, the operator's
 * proxies and the gate's own limits are for the log.
 */
import { cutText } from '@berth/lib/text/text.ts';
import { authorityText } from '../names/addresses.ts';
import { EgressError, type EgressRefusal, type PolicyRule, type RefusalReport } from '../policy.ts';

/** A DNS name is shorter; a URL may name a host of any length. */
const hostCharsMax = 253;

interface Target {
  host: string;
  port: number;
}

type Message = (host: string, authority: string) => string;

/** What a browser that reaches sites itself reports. */
export const netErrors = {
  dns_failed: 'net::ERR_NAME_NOT_RESOLVED',
  blocked_by_policy: 'net::ERR_BLOCKED_BY_CLIENT',
  connection_refused: 'net::ERR_CONNECTION_REFUSED',
  connection_reset: 'net::ERR_CONNECTION_RESET',
  timeout: 'net::ERR_CONNECTION_TIMED_OUT',
  proxy_error: 'net::ERR_PROXY_CONNECTION_FAILED',
  empty_response: 'net::ERR_EMPTY_RESPONSE',
  /** The resolvers gave no answer: the name may exist. */
  dns_unanswered: 'net::ERR_NAME_RESOLUTION_FAILED',
  proxy_credentials: 'net::ERR_PROXY_AUTH_UNSUPPORTED',
} as const satisfies Record<EgressRefusal | 'empty_response' | 'dns_unanswered' | 'proxy_credentials', string>;

const ruleMessages: Record<PolicyRule, Message> = {
  not_public: (_, authority) => `${authority} is not a public address; allow it with BERTH_EGRESS_ALLOW`,
  port: (_, authority) => `${authority} is on a port that browsers may not reach; allow it with BERTH_EGRESS_ALLOW`,
  own_address: (_, authority) => `${authority} is this service itself; allow it with BERTH_EGRESS_ALLOW`,
  allowed_domains: (host) => `${host} is not among the \`allowed_domains\``,
  block_ads: (host) => `${host} serves advertising, which \`block_ads\` refuses`,
};

const reasonMessages: Record<EgressRefusal, Message> = {
  dns_failed: (host) => `${host} cannot be resolved`,
  blocked_by_policy: (_, authority) => `${authority} is refused by the egress policy`,
  connection_refused: (_, authority) => `${authority} does not accept connections`,
  connection_reset: (_, authority) => `${authority} closed the connection`,
  timeout: (_, authority) => `${authority} did not respond in time`,
  proxy_error: () => 'the proxy refused or failed',
};

/** The failure of a host that a rule refuses. `detail` is for the log. */
export function refuse(rule: PolicyRule, target: Target, detail = ''): EgressError {
  const message = toMessage(ruleMessages[rule], target);
  return new EgressError('blocked_by_policy', detail === '' ? message : `${message} (${detail})`, { rule, publicMessage: message });
}

/** What a caller may learn of an error in reaching the host. */
export function describeRefusal({ host, port }: Target, error: unknown): RefusalReport {
  const { rule, publicMessage, netError: own } = error instanceof EgressError ? error : { rule: null, publicMessage: null, netError: null };
  const reason = toRefusal(error);
  const netError = own ?? (isOrderlyEnd(error) ? netErrors.empty_response : netErrors[reason]);
  return { reason, rule, message: publicMessage ?? toMessage(reasonMessages[reason], { host, port }), netError };
}

function toMessage(message: Message, { host, port }: Target): string {
  const shown = cutText(host, hostCharsMax);
  return message(shown, authorityText(shown, port));
}

/** Whether a site closed the connection in order, before its reply. Node calls that a reset, too, but no system call failed then. */
export const isOrderlyEnd = (error: unknown): boolean =>
  error instanceof Error && 'code' in error && error.code === 'ECONNRESET' && !('syscall' in error);

/** The refusal reason of a failed connection. */
export function toRefusal(error: unknown): EgressRefusal {
  if (error instanceof EgressError) return error.reason;
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === 'ETIMEDOUT') return 'timeout';
  // HPE_…: the reply is not HTTP.
  if (code === 'ECONNRESET' || code === 'EPIPE' || code.startsWith('HPE_')) return 'connection_reset';
  return 'connection_refused';
}
