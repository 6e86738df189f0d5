import { endAnySession, listAllSessions } from '@berth/contract';
import { actorOf, type Routes } from '../http/call.ts';
import { toPage, parseListCursor } from './list-page.ts';
import { toAdminSession } from './reply.ts';
import type { Sessions } from './sessions.ts';

export function mountSessionAdmin(routes: Routes, sessions: Sessions): void {
  routes.on(listAllSessions, async (call) => {
    const { query } = call;
    const views = await sessions.list({
      owner: query.owner,
      statuses: query.status,
      after: parseListCursor(query.cursor),
      limit: query.limit,
    });
    return toPage(call, views, query.limit).map((view) => toAdminSession(view, call.origin));
  });
  routes.on(endAnySession, ({ principal, params }) =>
    sessions.end(null, params.session_id, { reason: 'admin', actor: actorOf(principal) }).then(() => undefined),
  );
}
