import { fetchPage, getFetchJob } from '@berth/contract';
import { ownerOf } from '../../accounts/principals/principals.ts';
import type { Routes } from '../../http/call.ts';
import { withPollUrl } from '../../http/poll-url.ts';
import type { Fetches } from './fetch.ts';

export function mountFetch(routes: Routes, fetches: Fetches): void {
  routes.on(fetchPage, async (call) => {
    const { principal, body, signal } = call;
    return body.async ? withPollUrl(call, await fetches.submit(principal, body, signal)) : fetches.fetch(principal, body, signal);
  });
  routes.on(getFetchJob, async ({ principal, params, query, signal, origin }) => {
    const response = await fetches.poll(ownerOf(principal), params.job_id, { waitSeconds: query.wait_seconds, signal });
    return { ...response, poll_url: response.poll_url && origin + response.poll_url };
  });
}
