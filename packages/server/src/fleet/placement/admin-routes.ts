import { cordonWorker, drainWorker, listWorkers, uncordonWorker, type WorkerResponse } from '@berth/contract';
import type { Routes } from '../../http/call.ts';
import { actorOf } from '../../accounts/principals/principals.ts';
import type { Workers, WorkerRow } from './workers.ts';

export function mountWorkersAdmin(routes: Routes, workers: Workers): void {
  routes.on(listWorkers, async () => (await workers.list()).map(toReply));
  routes.on(cordonWorker, async ({ params: { worker_id: id }, principal }) =>
    toReply(await workers.setState(id, { state: 'cordoned', drainSeconds: null, actor: actorOf(principal) })),
  );
  routes.on(uncordonWorker, async ({ params: { worker_id: id }, principal }) =>
    toReply(await workers.setState(id, { state: 'active', drainSeconds: null, actor: actorOf(principal) })),
  );
  routes.on(drainWorker, async ({ params: { worker_id: id }, body, principal }) =>
    toReply(await workers.setState(id, { state: 'draining', drainSeconds: body.limit_seconds, actor: actorOf(principal) })),
  );
}

const toReply = (worker: WorkerRow): WorkerResponse => ({
  object: 'worker',
  worker_id: worker.workerId,
  region: worker.region,
  url: worker.url,
  version: worker.version,
  started_at: worker.startedAt.toISOString(),
  heartbeat_at: worker.heartbeatAt.toISOString(),
  alive: worker.isAlive,
  state: worker.state,
  state_by: worker.stateBy,
  drain_until: worker.drainUntil?.toISOString() ?? null,
  kinds: [...worker.kinds],
  sessions: worker.sessions,
  pinned_owners: worker.pinnedOwners,
  sessions_max: worker.sessionsMax,
  reserved: worker.reserved,
  machines_left: worker.machinesLeft,
  admitting: worker.isAdmitting,
  processors_busy: worker.isBusy,
  warm: { headless: worker.warm['headless'] ?? 0, full_browser: worker.warm['full_browser'] ?? 0 },
});
