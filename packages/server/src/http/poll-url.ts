import type { Call } from './call.ts';

/** The response with its poll URL as the caller reaches the service, also in `Location`. */
export function withPollUrl<T extends { poll_url: string | null }>(call: Pick<Call, 'origin' | 'setHeader'>, response: T): T {
  if (response.poll_url === null) return response;
  const url = call.origin + response.poll_url;
  call.setHeader('location', url);
  call.setHeader('retry-after', '1');
  return { ...response, poll_url: url };
}
