import { fetchPage, getFetchJob } from '@berth/contract';
import { ownerOf, type Routes } from '../http/call.ts';
import type { Fetches } from './fetch.ts';

export function mountFetch(routes: Routes, fetches: Fetches): void {
  routes.on(fetchPage, async (call) => {
    const { principal, body, signal, origin } = call;
    if (!body.async) return fetches.fetch(principal, body, signal);
    const pending = await fetches.submit(principal, body, signal);
    if (pending.poll_url !== null) call.setHeader('location', origin + pending.poll_url);
    call.setHeader('retry-after', '1');
    return pending;
  });
  routes.on(getFetchJob, ({ principal, params, query, signal }) =>
    fetches.poll(ownerOf(principal), params.job_id, { waitSeconds: query.wait_seconds, signal }),
  );
}
