/** The workers of a fleet, for its operator. */
import { z } from 'zod';
import { endpoint } from '../endpoint.ts';
import { PathId, Timestamp } from '../fields.ts';

export const workerStates = ['active', 'cordoned', 'draining'] as const;
/** Whether a worker takes new work, as its operator decided. */
export type WorkerState = (typeof workerStates)[number];

/** A week. */
export const drainSecondsMax = 604_800;

const count = z.int().min(0);

export const WorkerItem = z
  .object({
    object: z.literal('worker').describe('Always `worker`.'),
    worker_id: z.string().describe('Id of the worker.'),
    region: z.string().describe('Region of the worker.'),
    url: z.string().describe('Public URL of the worker.'),
    version: z.string().describe('Version of the service that the worker runs; empty for one that does not report it.'),
    started_at: Timestamp.describe('When the worker started (RFC 3339, UTC).'),
    heartbeat_at: Timestamp.describe('When the worker last reported (RFC 3339, UTC). What follows is as of then, but for `state`.'),
    alive: z.boolean().describe('Whether the worker still reports. A worker that does not is lost: its sessions are ended.'),
    state: z
      .enum(workerStates)
      .describe(
        'What the operator decided, or that the worker stops. `active`: it takes new work. `cordoned`: it takes no new sessions, fetches or jobs, and those it ' +
          'has go on. `draining`: the same, and `/health` fails, so that load balancers leave it out; also while the worker stops.',
      ),
    state_by: z.string().nullable().describe('Who decided, as in the audit log; null if nobody has.'),
    drain_until: Timestamp.nullable().describe(
      'When the sessions of a draining worker are ended (RFC 3339, UTC); null if they go on until they end.',
    ),
    kinds: z.array(z.string()).describe('Kinds of machines that the worker can start.'),
    sessions: count.describe('Sessions that the worker runs or starts, machines of fetches included.'),
    pinned_owners: count.describe('Owners that are pinned to the worker. `GET /admin/owners?pinned_worker_id=` lists them.'),
    sessions_max: count.describe('Maximum number of sessions of the worker (`BERTH_MAX_SESSIONS`).'),
    reserved: count.describe('Sessions that were placed on the worker within its last two heartbeats.'),
    machines_left: count.nullable().describe('Machines that still fit into the memory of its host; null if it cannot be read.'),
    admitting: z.boolean().describe('Whether the worker would start a new machine.'),
    processors_busy: z.boolean().describe('Whether the processors of its host are too busy to start machines quickly.'),
    warm: z
      .object({
        headless: count.describe('Warm machines of the kind `headless`.'),
        full_browser: count.describe('Warm machines of the kind `full_browser`.'),
      })
      .describe('Warm machines of the worker, by kind.'),
  })
  .meta({ id: 'WorkerResponse' });
export type WorkerResponse = z.infer<typeof WorkerItem>;

const params = z.object({ worker_id: PathId.describe('Id of the worker.') });

export const listWorkers = endpoint({
  id: 'listWorkers',
  method: 'GET',
  path: '/admin/workers',
  tag: 'Operators',
  summary: 'List workers',
  description: 'Returns the workers of all regions that share the database, sorted by region and id.',
  auth: 'admin',
  reply: z.array(WorkerItem),
  status: 200,
  errors: ['store_unavailable'],
});

const change = {
  method: 'POST',
  tag: 'Operators',
  auth: 'admin',
  params,
  reply: WorkerItem,
  status: 200,
  errors: ['worker_not_found', 'store_unavailable'],
} as const;

export const cordonWorker = endpoint({
  ...change,
  id: 'cordonWorker',
  path: '/admin/workers/{worker_id}/cordon',
  summary: 'Cordon a worker',
  description:
    'Places no new sessions, fetches and jobs on the worker; what it runs goes on. The other workers of its region take its part ' +
    'of the warm pool. Lasts until it is uncordoned or stopped. A drain that runs becomes a cordon.',
});

export const uncordonWorker = endpoint({
  ...change,
  id: 'uncordonWorker',
  path: '/admin/workers/{worker_id}/uncordon',
  summary: 'Uncordon a worker',
  description: 'Lets a cordoned or draining worker take new work again.',
});

export const drainWorker = endpoint({
  ...change,
  id: 'drainWorker',
  path: '/admin/workers/{worker_id}/drain',
  summary: 'Drain a worker',
  description:
    'Cordons the worker and makes its `/health` fail. Its sessions go on until they end, or until `limit_seconds` have passed: then ' +
    'they are ended with the reason `drained`. It may be stopped when `sessions` is 0.',
  body: z
    .strictObject({
      limit_seconds: z
        .int()
        .min(0)
        .max(drainSecondsMax)
        .nullable()
        .default(null)
        .describe('Seconds after which sessions that still run are ended, 0 to 604800. Default: null, they go on until they end.'),
    })
    .meta({ id: 'DrainWorkerRequest' }),
  bodyOptional: true,
});
