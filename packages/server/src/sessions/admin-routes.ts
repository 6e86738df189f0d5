import { endAnySession, listAllSessions } from '@berth/contract';
import type { Routes } from '../http/call.ts';
import { onePage, placeAfter } from './page.ts';
import { toAdminSession } from './reply.ts';
import type { Sessions } from './sessions.ts';

export function mountSessionAdmin(routes: Routes, sessions: Sessions): void {
  routes.on(listAllSessions, async (call) => {
    const { query } = call;
    const views = await sessions.list({ owner: query.owner, statuses: query.status, after: placeAfter(query.cursor), limit: query.limit });
    return onePage(call, views, query.limit).map((view) => toAdminSession(view, call.origin));
  });
  routes.on(endAnySession, ({ params }) => sessions.end(null, params.session_id, 'admin').then(() => undefined));
}
