/** The state of the service at a glance, for its operator. */
import { z } from 'zod';
import { endpoint } from '../endpoint.ts';
import { Timestamp } from '../fields.ts';
import { PoolCounts } from '../fleet/pool.ts';

const count = z.int().min(0);

const Worker = z.object({
  worker_id: z.string().describe('Id of the worker.'),
  region: z.string().describe('Region of the worker.'),
  url: z.string().describe('URL at which other workers reach it.'),
  started_at: Timestamp.describe('When the worker started (RFC 3339, UTC).'),
  heartbeat_at: Timestamp.describe('When the worker last reported (RFC 3339, UTC).'),
  alive: z.boolean().describe('Whether the worker still reports. A worker that does not is lost: its sessions are ended.'),
});

const Loop = z.object({
  name: z.string().describe('Name of the loop.'),
  interval_ms: count.describe('Time between two iterations in milliseconds.'),
  turns: count.describe('Iterations since the start.'),
  last_turn_at: Timestamp.nullable().describe('When the last iteration began (RFC 3339, UTC); null before the first one.'),
  last_error: z.string().nullable().describe('Error of the last iteration; null if it succeeded.'),
  failures: count.describe('Consecutive failed iterations.'),
});

export const Overview = z
  .object({
    object: z.literal('overview').describe('Always `overview`.'),
    version: z.string().describe('Version of the worker that responds.'),
    worker_id: z.string().describe('Id of the worker that responds.'),
    region: z.string().describe('Region of the worker that responds.'),
    uptime_seconds: z.number().min(0).describe('Seconds since the worker that responds was started.'),
    warnings: z.array(z.string()).describe('Insecure or incomplete settings, each as a sentence. Empty if there are none.'),
    workers: z.array(Worker).describe('Workers of all regions that share the database.'),
    sessions: z
      .object({
        starting: count.describe('Sessions that are starting.'),
        ready: count.describe('Sessions that can be used.'),
        ending: count.describe('Sessions whose machine is being released.'),
        ended: count.describe('Ended sessions that can still be read.'),
        failed: count.describe('Sessions that failed to start and can still be read.'),
      })
      .describe('Number of sessions of all owners and workers, by state.'),
    fetch_machines: count.describe('Machines that fetches of all owners use now.'),
    jobs: z
      .object({
        queued: count.describe('Jobs that have not started.'),
        running: count.describe('Jobs that run.'),
        ok: count.describe('Jobs that succeeded.'),
        blocked: count.describe('Jobs whose site blocked them.'),
        error: count.describe('Jobs that failed or were cancelled.'),
      })
      .describe('Number of jobs of all owners and workers that can still be read, by state.'),
    pool: z
      .object({
        targets: z
          .object({
            headless: count.describe('Target for `headless` machines.'),
            full_browser: count.describe('Target for `full_browser` machines.'),
          })
          .describe('Warm machines that the region keeps.'),
        counts: PoolCounts.describe('Machines of the region by state.'),
      })
      .describe('The warm pool of the region. `GET /admin/pool` has each machine.'),
    host: z
      .object({
        admitting: z.boolean().describe('Whether the worker would start a new machine now.'),
        memory_available_bytes: z.int().nullable().describe('Available memory in bytes; null if it cannot be read.'),
        disk_free_bytes: z.int().nullable().describe('Free disk space in bytes; null before it was first read.'),
        disk: z.enum(['ok', 'low', 'full']).describe('Whether the disk is below its floor.'),
      })
      .describe('The host of the worker that responds.'),
    egress: z
      .object({
        bytes_in: count.describe('Bytes from sites and proxies.'),
        bytes_out: count.describe('Bytes to sites and proxies.'),
        proxied_bytes: count.describe('Bytes of both directions through managed and rotating proxies.'),
        routes: count.describe('Open routes.'),
      })
      .describe('Traffic through the egress gate of the worker that responds, since its start.'),
    denials: z
      .record(z.string(), count)
      .describe('Requests that the worker that responds has denied since its start, by error code. Codes without one are absent.'),
    credits: z
      .object({
        granted: z.number().describe('Credits that were granted or redeemed with codes, less those taken back.'),
        spent: z.number().describe('Credits that were charged, or are used and not charged yet.'),
        balance: z.number().describe('What is left of them for all owners: the difference of the two.'),
      })
      .describe('Credits of all owners since the service exists.'),
    blocks_24h: count.describe('Blocks that fetches and navigations met in the last 24 hours.'),
    loops: z.array(Loop).describe('Background loops of the worker that responds.'),
  })
  .meta({ id: 'OverviewResponse' });
export type OverviewResponse = z.infer<typeof Overview>;

export const overview = endpoint({
  id: 'overview',
  method: 'GET',
  path: '/admin/overview',
  tag: 'Operators',
  summary: 'Get the overview',
  description:
    'Returns the state of the service at a glance: workers, sessions, jobs, the warm pool, credits, blocks, denied requests, ' +
    'background loops, and warnings about insecure settings.',
  auth: 'admin',
  reply: Overview,
  status: 200,
  errors: ['store_unavailable'],
});
