import { z } from 'zod';
import { endpoint } from './endpoint.ts';

export const Health = z
  .object({
    status: z.enum(['ok', 'degraded', 'unhealthy']),
    checks: z.record(z.string(), z.object({ status: z.enum(['ok', 'degraded', 'unhealthy']), note: z.string() })),
  })
  .meta({ id: 'Health' });
export type Health = z.infer<typeof Health>;

export const health = endpoint({
  id: 'health',
  method: 'GET',
  path: '/health',
  tag: 'Health',
  summary: 'Whether this worker can serve, check by check',
  auth: 'none',
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
  summary: 'That the process responds',
  auth: 'none',
  reply: z.object({ status: z.literal('ok') }),
  status: 200,
  errors: [],
});

export const openapi = endpoint({
  id: 'openapi',
  method: 'GET',
  path: '/openapi.json',
  tag: 'Health',
  summary: 'This description',
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
  summary: 'This description as a page',
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
  summary: 'Counters and gauges of this worker, in the text format of Prometheus',
  description: 'Takes `Authorization: Bearer` with the metrics token; where none is configured, the admin key in `x-admin-key`.',
  auth: 'metrics',
  reply: z.string(),
  replyKind: 'text',
  status: 200,
  errors: [],
});
