/** The addresses of the MCP server. Their protocol is that of its hosts, so they are no part of the contract. */
import { endpoint } from '@berth/contract';
import { families } from '@berth/mcp';
import { z } from 'zod';

const query = z.strictObject({
  tools: z
    .string()
    .max(200)
    .transform((text) => text.split(','))
    .pipe(z.array(z.enum(families)))
    .optional()
    .describe('Families of tools, separated by commas. Default: all.'),
  idle_seconds: z
    .string()
    .regex(/^\d{2,5}$/, 'should be a whole number from 10 to 86400')
    .transform(Number)
    .pipe(z.int().min(10).max(86_400))
    .optional()
    .describe('Seconds after which a session that no call uses ends. Default: 300.'),
});

const common = {
  method: 'POST',
  tag: 'Connect',
  query,
  rawBody: 'json',
  status: 200,
  errors: ['origin_not_allowed'],
  // A tool may make several calls, the longest of which wait for a page.
  deadlineMs: 300_000,
} as const;

export const callMcp = endpoint({ ...common, id: 'callMcp', path: '/mcp', auth: 'agent', summary: 'Send a message of MCP' });

export const callMcpByToken = endpoint({
  ...common,
  id: 'callMcpByToken',
  path: '/mcp/{token}',
  auth: 'connectPath',
  summary: 'Send a message of MCP with a connect token in the path',
  params: z.object({ token: z.string().max(200) }),
});
