import { getPool, resizePool } from '@berth/contract';
import { actorOf, type Routes } from '../http/call.ts';
import type { Fleet } from './fleet.ts';
import { toPool } from './reply.ts';

export function mountFleetAdmin(routes: Routes, fleet: Fleet): void {
  routes.on(getPool, async () => toPool(await fleet.inventory()));
  routes.on(resizePool, async ({ principal, body }) => {
    await fleet.resize({ ...body, actor: actorOf(principal) });
    return toPool(await fleet.inventory());
  });
}
