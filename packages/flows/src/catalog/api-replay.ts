import { ServiceError, boundedRecord, boundedString, type ApiEndpoint } from '@berth/contract';
import { z } from 'zod';
import type { ReplayReply } from '@berth/page-scripts/read/site/documents.ts';
import { FlowError } from '../failure.ts';
import { defineFlow } from '../flow.ts';
import type { FlowRun } from '../flow-run.ts';
import { secretInput } from '../inputs.ts';
import { flowScripts } from '../page-scripts.ts';
import { toReplayedRequest } from '../read/replayed-request.ts';

const bodyCharsMax = 2_000_000;
const requestMsMax = 30_000;
const valuesMax = 100;

const Values = boundedRecord(boundedString(1, 200), boundedString(0, 10_000), valuesMax);

const output = z.object({
  request: z
    .object({ method: z.string().describe('HTTP method.'), url: z.string().describe('URL.') })
    .describe('The request that was sent.'),
  status_code: z.int().describe('HTTP status.'),
  headers: z.record(z.string(), z.string()).describe('Response headers that the page may read; never `Set-Cookie`.'),
  content_type: z.string().describe('Media type; empty without one.'),
  json: z.unknown().describe('The body as JSON; null for another one.'),
  text: z.string().nullable().describe('The body as text, at most 2000000 characters; null where `json` has it.'),
  truncated: z.boolean().describe('Whether the body was longer.'),
  page_url: z.string().describe('URL of the page that sent it.'),
});

export const apiReplay = defineFlow({
  name: 'api_replay',
  title: 'Repeat an API call',
  description:
    'Repeats a call that an inspection found, with the page’s own `fetch` and the cookies of the browser. Send `session_id` of a session that is logged in where that is needed.',
  version: '1',
  category: 'extraction',
  inputs: z.strictObject({
    job_id: boundedString(1, 200).describe('Id of your inspection: `job_id` of its response.'),
    endpoint_id: boundedString(1, 50).describe('Id of the endpoint in `api.endpoints` of the report, such as `E3`.'),
    params: z
      .strictObject({
        path: Values.default({}).describe('Parameters of the path, at most 100. Default: those that were seen.'),
        query: Values.default({}).describe('Parameters of the query, at most 100. Default: the required ones, as they were seen.'),
        body: z.unknown().optional().describe('Body: text, or a value that is sent as JSON. Default: none.'),
      })
      .default({ path: {}, query: {} })
      .describe('Values of the call. Default: those that were seen.'),
    headers: boundedRecord(boundedString(1, 200), secretInput('A header.'), 20).default({}).meta({
      writeOnly: true,
      description:
        'Headers that the endpoint defines, at most 20, such as those with tokens. They are never stored, logged or returned. Default: none.',
    }),
    allow_unsafe: z
      .boolean()
      .default(false)
      .describe('Whether to send methods other than GET, HEAD and OPTIONS, which may change data of the site. Default: `false`.'),
  }),
  output,
  example: { job_id: 'job_id of an inspection', endpoint_id: 'E1', params: { query: { page: '2' } } },
  run: async (run, { job_id: jobId, endpoint_id: endpointId, params, headers, allow_unsafe: allowUnsafe }) => {
    const endpoint = await run.act('read_report', () => findEndpoint(run, jobId, endpointId));
    const request = toReplayedRequest(endpoint, { ...params, headers }, allowUnsafe);
    await openPageOf(run, endpoint);
    const timeoutMs = Math.max(1, Math.min(requestMsMax, run.leftMs));
    if (allowUnsafe) await run.touch();
    const reply = await run.act('request', () => send(run, request, timeoutMs));
    const type = (reply.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
    const json = /[/+]json$/.test(type) && !reply.truncated ? parseJson(reply.text) : undefined;
    return {
      request: { method: request.method, url: request.url },
      status_code: reply.status,
      headers: reply.headers,
      content_type: type,
      json: json ?? null,
      text: json === undefined ? reply.text : null,
      truncated: reply.truncated,
      page_url: run.url(),
    };
  },
});

async function findEndpoint(run: FlowRun, jobId: string, endpointId: string): Promise<ApiEndpoint> {
  const report = await run.readReport(jobId).catch((error: unknown) => {
    if (error instanceof ServiceError) throw new FlowError(error.code, error.publicMessage, { retryable: error.retryable });
    throw error;
  });
  const endpoints = report.api?.endpoints ?? [];
  const endpoint = endpoints.find(({ id }) => id === endpointId);
  if (endpoint) return endpoint;
  const ids = endpoints.map(({ id }) => id).slice(0, valuesMax);
  throw new FlowError('not_found', 'The report has no endpoint with this id. See api.endpoints.', { details: { available: ids } });
}

/** A page of the origin that made the call; the page that is open may already be one. */
async function openPageOf(run: FlowRun, { triggered_by: page, example_url: call }: ApiEndpoint): Promise<void> {
  const { origin } = new URL(page ?? call);
  if (URL.parse(run.url())?.origin === origin) return;
  // A URL with a placeholder in it is none.
  await run.open(page === null || page.includes('{{') ? `${origin}/` : page);
}

async function send(run: FlowRun, request: ReturnType<typeof toReplayedRequest>, timeoutMs: number): Promise<ReplayReply> {
  const { url, ...others } = request;
  const page = run.page();
  const options = { ...run.callOptions(), timeoutMs };
  const reply = await page.call<ReplayReply>(
    page.mainFrame(),
    flowScripts.sendRequest,
    [url, { ...others, max: bodyCharsMax, timeoutMs }],
    options,
  );
  if (reply.status !== 0) return reply;
  throw new FlowError(
    'request_failed',
    'The browser got no response: the host cannot be reached, or its cross-origin rules forbid the call.',
    {
      retryable: true,
    },
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
