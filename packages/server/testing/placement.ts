/** Exports for measurements and the simulation of large fleets: the rules of placement, its statement, and that of one worker. */
import { systemClock } from '@berth/lib/clock.ts';
import { silentLog } from '@berth/lib/log.ts';
import { Placement, type PlacementDeps } from '../src/fleet/placement/placement.ts';

export type { Placement } from '../src/fleet/placement/placement.ts';
export { hasPlenty, hasRoom, rankWorkers, type PlacementRequest, type Room } from '../src/fleet/placement/rank.ts';
export { listRooms } from '../src/fleet/placement/store.ts';

/** Creates the placement of a worker that has others beside it. */
export const createTestPlacement = (
  deps: Pick<PlacementDeps, 'store' | 'workerId' | 'sessionsByWorker'> & Partial<PlacementDeps>,
): Placement =>
  new Placement({
    clock: systemClock,
    log: silentLog,
    fleet: { lastHeartbeat: { state: 'active', drainSecondsLeft: null, hasPeers: true } },
    region: 'local',
    isRegion: () => true,
    pinOf: () => Promise.resolve(null),
    ...deps,
  });
