import { fetchPage, getFetchJob, type FetchResponse } from '@berth/contract';
import type { Routes } from '../../http/call.ts';
import { ownerOf } from '../../accounts/principals/principals.ts';
import type { Fetches } from './fetch.ts';

export function mountFetch(routes: Routes, fetches: Fetches): void {
  routes.on(fetchPage, async (call) => {
    const { principal, body, signal, origin } = call;
    if (!body.async) return fetches.fetch(principal, body, signal);
    const pending = withPollUrl(await fetches.submit(principal, body, signal), origin);
    if (pending.poll_url !== null) call.setHeader('location', pending.poll_url);
    call.setHeader('retry-after', '1');
    return pending;
  });
  routes.on(getFetchJob, async ({ principal, params, query, signal, origin }) =>
    withPollUrl(await fetches.poll(ownerOf(principal), params.job_id, { waitSeconds: query.wait_seconds, signal }), origin),
  );
}

/** The same URL as in `Location`, as the caller reaches the service. */
const withPollUrl = (response: FetchResponse, origin: string): FetchResponse => ({
  ...response,
  poll_url: response.poll_url && origin + response.poll_url,
});
