/** Endpoints of the warm pool of a region. */
import { z } from 'zod';
import { endpoint } from '../endpoint.ts';
import { Timestamp } from '../fields.ts';

/** Kinds of machines in the warm pool. */
export const poolKinds = ['headless', 'full_browser'] as const;
export type PoolKind = (typeof poolKinds)[number];

export const poolTargetMax = 1000;

export const PoolTargetRequest = z
  .strictObject({
    target: z
      .int()
      .min(0)
      .max(poolTargetMax)
      .describe('Number of warm machines of this kind in the region, shared by its workers: 0 to 1000.'),
    kind: z.enum(poolKinds).default('headless').describe('Kind of machine. Default: `headless`.'),
  })
  .meta({ id: 'PoolTargetRequest' });

const count = z.int().min(0);

/** Machines of a region by state. */
export const PoolCounts = z
  .object({
    warming: count.describe('Machines that are starting.'),
    ready: count.describe('Machines that are waiting for a session.'),
    assigned: count.describe('Machines that are in use.'),
    draining: count.describe('Machines that are ending.'),
    failed: count.describe('Machines that have failed and are not yet ended.'),
  })
  .meta({ id: 'PoolCounts' });

const PoolTarget = z
  .object({
    target: count.describe('Number of warm machines of this kind in the region.'),
    updated_at: Timestamp.nullable().describe('When the target was set (RFC 3339, UTC); null if it comes from the configuration.'),
    updated_by: z.string().nullable().describe('Who set the target; null if it comes from the configuration.'),
  })
  .meta({ id: 'PoolTarget' });

const PoolVm = z
  .object({
    vm_id: z.string().describe('Id of the machine.'),
    state: z
      .enum(['warming', 'ready', 'assigned', 'draining', 'failed'])
      .describe(
        'State of the machine. `ready`: waiting for a session. `failed`: not in use, because ending it failed or its ' +
          'worker has not reported for half a minute; the machine is being ended, and is listed until then, for at most ' +
          'ten minutes. Machines that failed to start are not listed: see `worker.templates`.',
      ),
    kind: z
      .enum(['headless', 'full_browser', 'shell'])
      .describe('Kind of machine: `headless` and `full_browser` for sessions, `shell` for fetches.'),
    session_id: z.string().nullable().describe('Id of the session that uses the machine; null if none does.'),
    worker_id: z.string().describe('Id of the worker that runs the machine.'),
    created_at: Timestamp.describe('When the machine was created (RFC 3339, UTC).'),
    idle_seconds: z
      .number()
      .nullable()
      .describe('Seconds for which the machine has been waiting for a session; null if it is not waiting.'),
    memory_bytes: z
      .int()
      .nullable()
      .describe(
        'Proportional set size of the machine’s processes in bytes: shared memory is divided among those that share ' +
          'it. null for machines of other workers, and where it cannot be read.',
      ),
    runtime: z.string().nullable().describe('Name of the runtime that runs the machine; null if unknown.'),
    outdated: z
      .boolean()
      .describe('Whether the machine was created from an older browser, image or template than new ones are. It is replaced while idle.'),
  })
  .meta({ id: 'PoolVm' });

const PoolTemplate = z.object({
  kind: z.enum(['headless', 'full_browser', 'shell']).describe('Kind of machine.'),
  method: z
    .enum(['process', 'clone', 'cold'])
    .describe(
      'How machines start. `clone`: from a template. `cold`: by booting, because no template works. `process`: as ' +
        'processes, which have no template.',
    ),
  failures: count.describe('Number of failed boots of this kind since the last successful one.'),
  note: z.string().nullable().describe('Cause of the last failure, or a hint; null if there is none.'),
});

export const Pool = z
  .object({
    object: z.literal('pool').describe('Always `pool`.'),
    region: z.string().describe('Region of the pool.'),
    target: count.describe('Target for `headless` machines; `targets` has those of all kinds.'),
    targets: z
      .object({
        headless: PoolTarget.describe('Target for `headless` machines.'),
        full_browser: PoolTarget.describe('Target for `full_browser` machines.'),
      })
      .describe('Targets of the whole region, divided evenly among its live workers.'),
    counts: PoolCounts.describe('Number of machines in `vms`, by state.'),
    updated_at: Timestamp.nullable().describe(
      'When the `headless` target was set (RFC 3339, UTC); null if it comes from the configuration.',
    ),
    updated_by: z.string().nullable().describe('Who set the `headless` target; null if it comes from the configuration.'),
    vms: z.array(PoolVm).describe('Machines of the region.'),
    worker: z
      .object({
        worker_id: z.string().describe('Id of the worker.'),
        runtime: z.string().describe('Name of the worker’s runtime.'),
        isolation: z.enum(['microvm', 'process']).describe('How the worker isolates browsers: `microvm` or `process`.'),
        warnings: z.array(z.string()).describe('Warnings about the worker’s configuration.'),
        templates: z.array(PoolTemplate).describe('Templates from which the worker starts machines.'),
        pressure: z
          .object({
            admitting: z.boolean().describe('Whether the worker would start a new machine now.'),
            reason: z.string().nullable().describe('The resource that is short; null if none is.'),
            memory_available_bytes: z.int().nullable().describe('Available memory of the host in bytes; null if it cannot be read.'),
            memory_stall_percent: z
              .number()
              .nullable()
              .describe('Percentage of the last ten seconds in which some task waited for memory (PSI); null if it cannot be read.'),
            cpu_stall_percent: z
              .number()
              .nullable()
              .describe('Percentage of the last ten seconds in which some task waited for a CPU (PSI); null if it cannot be read.'),
            waiting: count.describe('Number of sessions that are waiting for a machine to start.'),
          })
          .describe('Load of the worker’s host.'),
      })
      .describe('The worker that responds to this request.'),
  })
  .meta({ id: 'PoolResponse' });
export type PoolResponse = z.infer<typeof Pool>;

export const getPool = endpoint({
  id: 'getPool',
  method: 'GET',
  path: '/admin/pool',
  tag: 'Operators',
  summary: 'Get the warm pool',
  description: 'Returns the machines of this region with their state and use, and the load of the worker that responds.',
  auth: 'admin',
  reply: Pool,
  status: 200,
  errors: ['store_unavailable'],
});

export const resizePool = endpoint({
  id: 'resizePool',
  method: 'POST',
  path: '/admin/pool',
  tag: 'Operators',
  summary: 'Resize the warm pool',
  description:
    'Sets the number of warm machines of a kind in this region and returns the pool, whose own `target` is that of `headless`: ' +
    '`targets` has all kinds. The target takes effect at once, ' +
    'persists over restarts, and overrides `BERTH_POOL_TARGET`. Machines in use are not affected; idle machines ' +
    'above the target are ended.',
  auth: 'admin',
  body: PoolTargetRequest,
  reply: Pool,
  status: 200,
  errors: ['store_unavailable'],
});
