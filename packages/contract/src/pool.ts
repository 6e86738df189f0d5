/** The warm pool of a region: what there is, and how much of it there should be. */
import { z } from 'zod';
import { endpoint } from './endpoint.ts';
import { Timestamp } from './fields.ts';

/** Kinds of machines that are kept warm. */
export const poolKinds = ['headless', 'full_browser'] as const;
export type PoolKind = (typeof poolKinds)[number];

export const poolTargetMax = 1000;

export const PoolTargetRequest = z
  .strictObject({
    target: z
      .int()
      .min(0)
      .max(poolTargetMax)
      .meta({ description: 'Machines of this kind to be kept warm in the region, over all its workers.' }),
    kind: z.enum(poolKinds).default('headless'),
  })
  .meta({ id: 'PoolTargetRequest' });

const count = z.int().min(0);

const PoolTarget = z.object({
  target: count,
  updated_at: Timestamp.nullable().meta({ description: 'null: nobody has set it, and it is what the service was started with.' }),
  updated_by: z.string().nullable(),
});

const PoolVm = z
  .object({
    vm_id: z.string(),
    state: z.enum(['warming', 'ready', 'assigned', 'draining', 'failed']).meta({
      description:
        '`ready`: it waits for an owner. `failed`: nobody holds it, because its end failed or its worker was not heard of for half a minute; it is looked for and ended, and is listed until then, for ten minutes at most. A machine that did not start is not listed: see `worker.templates`.',
    }),
    kind: z.enum(['headless', 'full_browser', 'shell']),
    session_id: z.string().nullable().meta({ description: 'The session that it is in use for.' }),
    worker_id: z.string(),
    created_at: Timestamp,
    idle_seconds: z.number().nullable().meta({ description: 'How long it has waited for an owner; null while it does not.' }),
    memory_bytes: z.int().nullable().meta({
      description:
        'Proportional set size of its processes: what it shares with others is divided among them. null for machines of other workers, and where it cannot be read.',
    }),
    runtime: z.string().nullable(),
    outdated: z
      .boolean()
      .meta({ description: 'It was made from another browser, image or template than new ones are, and is replaced while idle.' }),
  })
  .meta({ id: 'PoolVm' });

const PoolTemplate = z.object({
  kind: z.enum(['headless', 'full_browser', 'shell']),
  way: z.enum(['process', 'clone', 'cold']).meta({
    description: '`clone`: machines start from a template. `cold`: they are booted, because no template works. `process`: they have none.',
  }),
  failures: count.meta({ description: 'Boots of this kind that failed since one last went well.' }),
  note: z.string().nullable(),
});

export const Pool = z
  .object({
    object: z.literal('pool'),
    region: z.string(),
    target: count.meta({ description: 'Of `headless` machines; the others are in `targets`.' }),
    targets: z
      .object({ headless: PoolTarget, full_browser: PoolTarget })
      .meta({ description: 'Of the whole region; its live workers divide them evenly.' }),
    counts: z
      .object({ warming: count, ready: count, assigned: count, draining: count, failed: count })
      .meta({ description: 'Of all in `vms`, by state.' }),
    updated_at: Timestamp.nullable(),
    updated_by: z.string().nullable(),
    vms: z.array(PoolVm),
    worker: z
      .object({
        worker_id: z.string(),
        runtime: z.string(),
        isolation: z.enum(['microvm', 'process']),
        warnings: z.array(z.string()),
        templates: z.array(PoolTemplate),
        pressure: z.object({
          admitting: z.boolean().meta({ description: 'Whether a new machine would be started now.' }),
          reason: z.string().nullable().meta({ description: 'What there is too little of.' }),
          memory_available_bytes: z.int().nullable(),
          memory_stall_percent: z
            .number()
            .nullable()
            .meta({ description: 'Share of the last ten seconds in which something waited for memory (PSI).' }),
          cpu_stall_percent: z.number().nullable().meta({ description: 'The same for the processor.' }),
          waiting: count.meta({ description: 'Sessions that wait for a machine to be started.' }),
        }),
      })
      .meta({ description: 'The worker that answers.' }),
  })
  .meta({ id: 'Pool' });
export type PoolResponse = z.infer<typeof Pool>;

export const getPool = endpoint({
  id: 'getPool',
  method: 'GET',
  path: '/admin/pool',
  tag: 'Operators',
  summary: 'The machines of this region, each with what it is used for',
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
  summary: 'Changes how many machines are kept warm in this region',
  description:
    'Holds at once and over restarts, in place of `BERTH_POOL_TARGET`. Machines in use are never touched; idle ones above the target are ended.',
  auth: 'admin',
  body: PoolTargetRequest,
  reply: Pool,
  status: 200,
  errors: ['store_unavailable'],
});
