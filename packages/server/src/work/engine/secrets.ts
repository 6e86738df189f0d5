/** Whether a request carries secrets. The job of one that does is not described, so its request is never stored and stays on its worker. */
import type { FetchRequest, InspectRequest, ProxyRequest } from '@berth/contract';

/** What may carry secrets in the requests of fetches, inspections and flows. */
export interface SecretCarrier {
  proxy: ProxyRequest | null;
  headers?: FetchRequest['headers'];
  cookies?: FetchRequest['cookies'];
  body?: FetchRequest['body'];
  storage_state?: InspectRequest['storage_state'];
  har?: InspectRequest['har'];
  /** Steps, recordings, or anything that contains some. */
  actions?: unknown;
}

/** Request headers without credentials. Nobody knows what the value of another one is. */
const plainHeaders = new Set(
  (
    'accept accept-encoding accept-language cache-control content-type dnt if-modified-since if-none-match ' +
    'origin pragma priority range referer sec-gpc upgrade-insecure-requests user-agent'
  ).split(' '),
);

/** Steps whose values may be a password, a cookie or a token, also those of a recording: a field does not say whether it is one. */
const enteringSteps = new Set(['fill', 'type', 'set_cookie', 'set_header', 'evaluate', 'change']);

/** Errs on the side of secrets: a job that stays on its worker loses little. */
export const carriesSecrets = ({ proxy, headers = {}, cookies = [], body, storage_state: state, har, actions }: SecretCarrier): boolean =>
  (proxy !== null && hasCredentials(proxy)) ||
  Object.keys(headers).some((name) => !plainHeaders.has(name.toLowerCase())) ||
  cookies.length > 0 ||
  [body, state, har].some((part) => part !== null && part !== undefined) ||
  entersValues(actions);

const hasCredentials = ({ username, password, server, servers = [] }: ProxyRequest): boolean =>
  username !== undefined || password !== undefined || [server ?? '', ...servers].some(hasUserInfo);

function hasUserInfo(address: string): boolean {
  const url = URL.parse(address);
  return url !== null && (url.username !== '' || url.password !== '');
}

function entersValues(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(entersValues);
  if (typeof value !== 'object' || value === null) return false;
  const { type } = value as { type?: unknown };
  return (typeof type === 'string' && enteringSteps.has(type)) || Object.values(value).some(entersValues);
}
