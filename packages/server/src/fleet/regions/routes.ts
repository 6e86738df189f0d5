import { listRegions } from '@berth/contract';
import type { Routes } from '../../http/call.ts';
import type { Regions } from '@berth/egress';

export function mountRegions(routes: Routes, regions: Regions): void {
  routes.on(listRegions, (call) => {
    call.setHeader('X-Service-Region-Registry-Version', regions.version);
    return { version: regions.version, regions: regions.list() };
  });
}
