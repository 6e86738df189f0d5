import { getPool, resizePool, type PoolResponse } from '@berth/contract';
import type { Routes } from '../../http/call.ts';
import { actorOf } from '../../accounts/principals/principals.ts';
import type { Fleet } from './pool.ts';
import type { Inventory, InventoryVm } from './inventory.ts';
import type { Target } from './targets.ts';

export function mountFleetAdmin(routes: Routes, fleet: Fleet): void {
  routes.on(getPool, async () => toPool(await fleet.inventory()));
  routes.on(resizePool, async ({ principal, body }) => {
    await fleet.resize({ ...body, actor: actorOf(principal) });
    return toPool(await fleet.inventory());
  });
}

type PoolVm = PoolResponse['vms'][number];

function toPool({ region, targets, vms, worker, pressure, waiting }: Inventory): PoolResponse {
  const headless = toTarget(targets.headless);
  return {
    object: 'pool',
    region,
    ...headless,
    targets: { headless, full_browser: toTarget(targets.full_browser) },
    counts: countStates(vms),
    vms: vms.map(toVm),
    worker: {
      worker_id: worker.workerId,
      runtime: worker.runtime,
      isolation: worker.isolation,
      warnings: [...worker.warnings],
      templates: worker.templates.map(({ kind, method, failures, note }) => ({ kind, method, failures, note })),
      pressure: {
        admitting: pressure.admitting,
        reason: pressure.reason,
        memory_available_bytes: pressure.memoryAvailableBytes,
        memory_stall_percent: pressure.memoryStallPercent,
        cpu_stall_percent: pressure.cpuStallPercent,
        waiting,
      },
    },
  };
}

const toTarget = ({ target, updatedAt, updatedBy }: Target): PoolResponse['targets']['headless'] => ({
  target,
  updated_at: updatedAt?.toISOString() ?? null,
  updated_by: updatedBy,
});

const toVm = (vm: InventoryVm): PoolVm => ({
  vm_id: vm.vmId,
  state: vm.state,
  kind: vm.kind as PoolVm['kind'],
  session_id: vm.sessionId,
  worker_id: vm.workerId,
  created_at: vm.createdAt.toISOString(),
  idle_seconds: vm.idleSeconds,
  memory_bytes: vm.memoryBytes,
  runtime: vm.runtime,
  outdated: vm.outdated,
});

function countStates(vms: readonly InventoryVm[]): PoolResponse['counts'] {
  const counts = { warming: 0, ready: 0, assigned: 0, draining: 0, failed: 0 };
  for (const { state } of vms) counts[state] += 1;
  return counts;
}
