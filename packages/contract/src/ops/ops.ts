import { z } from 'zod';
import { endpoint } from '../endpoint.ts';

export const Health = z
  .object({
    status: z
      .enum(['ok', 'degraded', 'unhealthy', 'starting'])
      .describe(
        'Overall status: the worst of all checks except `event_loop`, `loops`, `keys` and `browser`, which only report. `starting` until the worker is ready.',
      ),
    checks: z
      .record(
        z.string(),
        z.object({
          status: z.enum(['ok', 'degraded', 'unhealthy']).describe('Status of the check.'),
          note: z.string().describe('Explanation of the status.'),
        }),
      )
      .describe('Results of the checks, by name: each with its `status` and a `note`.'),
  })
  .meta({ id: 'HealthResponse' });
export type Health = z.infer<typeof Health>;

/** Unknown parameters are ignored: probes and balancers add some of their own, and what they ask for has no parameter. */
const anyQuery = z.object({});

export const health = endpoint({
  id: 'health',
  method: 'GET',
  path: '/health',
  tag: 'Health',
  summary: 'Get worker health',
  description:
    'Returns whether this worker can serve requests, with the result of each check. The response status is 503 ' +
    'unless `status` is `ok`, so that a load balancer can use it as a readiness check. The checks `event_loop`, `loops`, `keys` and `browser` do not count: ' +
    'they report what is no reason to leave the worker out.',
  auth: 'none',
  query: anyQuery,
  reply: Health,
  status: 200,
  alsoStatus: [503],
  errors: [],
});

export const livez = endpoint({
  id: 'livez',
  method: 'GET',
  path: '/livez',
  tag: 'Health',
  summary: 'Check liveness',
  description: 'Returns `ok` as long as the process responds. It checks nothing else.',
  auth: 'none',
  query: anyQuery,
  reply: z.object({ status: z.literal('ok').describe('Always `ok`.') }),
  status: 200,
  errors: [],
});

export const openapi = endpoint({
  id: 'openapi',
  method: 'GET',
  path: '/openapi.json',
  tag: 'Health',
  summary: 'Get the OpenAPI document',
  description: 'Returns the description of this API as an OpenAPI 3.1 document.',
  auth: 'none',
  reply: z.record(z.string(), z.unknown()),
  status: 200,
  errors: [],
});

export const docs = endpoint({
  id: 'docs',
  method: 'GET',
  path: '/docs',
  tag: 'Health',
  summary: 'Get the API reference',
  description: 'Returns the API reference as a web page, generated from the OpenAPI document.',
  auth: 'none',
  replyKind: 'html',
  status: 200,
  errors: [],
});

export const metrics = endpoint({
  id: 'metrics',
  method: 'GET',
  path: '/metrics',
  tag: 'Operators',
  summary: 'Get metrics',
  description:
    'Returns the metrics of this worker in the Prometheus text format. Send the metrics token as `Authorization: ' +
    'Bearer`; if none is configured, send the admin key in `x-admin-key`.',
  auth: 'metrics',
  reply: z.string(),
  replyKind: 'text',
  status: 200,
  errors: [],
});
