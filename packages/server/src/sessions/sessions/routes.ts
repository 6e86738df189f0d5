import {
  cdpList,
  cdpProtocol,
  cdpVersion,
  connectSession,
  createSession,
  discoverTargets,
  discoverTargetsByPath,
  discoverVersion,
  discoverVersionByPath,
  endAnySession,
  endSession,
  getSession,
  listAllSessions,
  listSessions,
  openCdp,
  openConnect,
  openTunnel,
  updateSession,
  type ListSessionsQuery,
} from '@berth/contract';
import { listDocument, protocolDocument, versionDocument } from '@berth/devtools';
import type { Routes } from '../../http/call.ts';
import { actorOf, ownerOf } from '../../accounts/principals/principals.ts';
import { toCdpUrl, type CdpConnections } from './connect/cdp-connections.ts';
import { toQueryError, tokenInUrl, withToken, type ConnectAddress } from './connect/connect-address.ts';
import { parseListCursor, toAdminSession, toPage, toSession } from './reply.ts';
import type { Sessions } from './sessions.ts';
import type { Tunnels } from './connect/tunnels.ts';

export function mountSessions(routes: Routes, sessions: Sessions): void {
  routes.on(createSession, async ({ principal, body, query, signal, origin }) => {
    sessions.assertTakesWork();
    return toSession(await sessions.create(principal, body, { wait: query.wait, signal }), origin);
  });
  routes.on(getSession, async ({ principal, params, origin }) =>
    toSession(await sessions.get(ownerOf(principal), params.session_id), origin),
  );
  routes.on(updateSession, async ({ principal, params, body, origin }) =>
    toSession(await sessions.update(ownerOf(principal), params.session_id, body), origin),
  );
  routes.on(endSession, ({ principal, params }) =>
    sessions.end(ownerOf(principal), params.session_id, { reason: 'requested', actor: actorOf(principal) }).then(() => undefined),
  );
  routes.on(listSessions, async (call) => {
    const { query, principal } = call;
    const views = await sessions.list({
      owner: ownerOf(principal),
      statuses: query.status,
      purpose: query.purpose,
      name: query.name,
      metadata: metadataOf(query),
      after: parseListCursor(query.cursor),
      limit: query.limit,
    });
    return toPage(call, views, query.limit).map((view) => toSession(view, call.origin));
  });
}

export function mountSessionAdmin(routes: Routes, sessions: Sessions): void {
  routes.on(listAllSessions, async (call) => {
    const { query } = call;
    const views = await sessions.list({
      owner: query.owner,
      statuses: query.status,
      purpose: query.purpose,
      after: parseListCursor(query.cursor),
      limit: query.limit,
    });
    return toPage(call, views, query.limit).map((view) => toAdminSession(view, call.origin));
  });
  routes.on(endAnySession, ({ principal, params }) =>
    sessions.end(null, params.session_id, { reason: 'admin', actor: actorOf(principal) }).then(() => undefined),
  );
}

export function mountConnect(routes: Routes, connections: CdpConnections): void {
  routes.on(connectSession, (call) => connections.info(call, call.params.session_id));
  routes.onSocket(openCdp, (call, upgrade) => connections.open(call, call.params.session_id, upgrade));
  routes.on(cdpVersion, async (call) => {
    const { params, query, origin } = call;
    const { machine } = await connections.ready(call, params.session_id);
    return versionDocument(machine.browser.version, withToken(toCdpUrl(origin, params.session_id), query.token ?? null));
  });
  routes.on(cdpList, async (call) => {
    const { params, query, origin } = call;
    const { machine } = await connections.ready(call, params.session_id);
    return listDocument(machine.browser.tabs(), withToken(toCdpUrl(origin, params.session_id), query.token ?? null));
  });
  routes.on(cdpProtocol, async (call) => {
    await connections.ready(call, call.params.session_id);
    return protocolDocument();
  });
}

export const mountTunnels = (routes: Routes, tunnels: Tunnels): void =>
  routes.onSocket(openTunnel, (call, upgrade) => tunnels.open(call, upgrade));

export function mountConnectAddress(routes: Routes, connections: CdpConnections, address: ConnectAddress): void {
  routes.onSocket(openConnect, (call, upgrade) =>
    connections.create(call, upgrade).catch((error: unknown) => {
      throw toQueryError(error);
    }),
  );
  routes.on(discoverVersion, ({ principal, origin, target }) => address.version({ origin, token: tokenInUrl(principal, target) }, target));
  routes.on(discoverTargets, ({ principal, origin, target }) =>
    address.targets(principal, { origin, token: tokenInUrl(principal, target) }),
  );
  routes.on(discoverVersionByPath, ({ params, origin, target }) => address.version({ origin, token: params.token }, target));
  routes.on(discoverTargetsByPath, ({ principal, params, origin }) => address.targets(principal, { origin, token: params.token }));
}

/** The query's `metadata.KEY=VALUE` parameters. */
function metadataOf(query: ListSessionsQuery): Record<string, string> {
  const pairs = Object.entries(query).filter(
    (entry): entry is [string, string] => entry[0].startsWith('metadata.') && typeof entry[1] === 'string',
  );
  return Object.fromEntries(pairs.map(([name, value]) => [name.slice('metadata.'.length), value]));
}
