/** Endpoints of flows and templates: named work in a browser, at once or as a job. */
import { z } from 'zod';
import { FailureDetails } from '../steps/steps.ts';
import { boundedRecord, boundedString } from '../bounds.ts';
import { Block } from './block.ts';
import { endpoint } from '../endpoint.ts';
import { FetchRequest } from './fetch.ts';
import { Timestamp } from '../fields.ts';
import { WorkError, WorkUsage, asyncReplyHeaders, jobStatuses, workErrors } from './jobs.ts';
import { WorkProfile } from '../sessions/profiles.ts';
import { Metadata } from '../sessions/session-request.ts';

export const flowCategories = ['extraction', 'navigation', 'forms', 'capture', 'monitoring', 'crawling', 'custom', 'research'] as const;

/** Work holds its browser until it ends. */
export const flowTimeoutMs = { min: 1000, max: 300_000, default: 120_000 } as const;
const bodyLimitBytes = 4 * 1024 * 1024;

const inputsMax = 100;
const Inputs = boundedRecord(boundedString(1, 100), z.unknown(), inputsMax).default({});
const { region, proxy, kind } = FetchRequest.shape;

const workFields = {
  session_id: boundedString(0, 200)
    .nullable()
    .default(null)
    .describe('Id of a session to work in: its active tab, cookies and egress are used. Default: null, a browser of its own.'),
  keep_session: z
    .boolean()
    .default(false)
    .describe('Whether to keep the session for further calls. It is then a session of its own, which counts as one. Default: `false`.'),
  region: region.describe('Region code from `GET /v1/regions`, from which traffic leaves. Default: the region of the worker.'),
  kind: kind.describe('Kind of browser: `headless`, or `full_browser` with windows on a display. Default: `headless`.'),
  proxy: proxy.describe('Proxy to use. Default: null, the region’s egress.'),
  profile: WorkProfile,
  timeout_ms: z
    .int()
    .min(flowTimeoutMs.min)
    .max(flowTimeoutMs.max)
    .default(flowTimeoutMs.default)
    .describe('Maximum time for all steps together in milliseconds, 1000 to 300000. Default: 120000.'),
  max_steps: z
    .int()
    .min(1)
    .max(1000)
    .default(100)
    .describe('Maximum number of steps, also those of loops, 1 to 1000. Each step is charged as an action. Default: 100.'),
  async: z.boolean().default(false).describe('Whether to return at once with a job to poll. Default: `false`.'),
  metadata: Metadata.default({}).describe('Up to 50 key-value pairs of your own, returned with the result. Default: none.'),
};

type WorkContext = z.core.ParsePayload<{
  session_id: string | null;
  region?: string | undefined;
  proxy: unknown;
  kind: string;
  profile: unknown;
}>;

/** A session has its own region, egress and kind. */
function checkSession({ value, issues }: WorkContext): void {
  if (value.session_id === null) return;
  const addIssue = (path: 'region' | 'proxy' | 'kind' | 'profile', message: string) =>
    issues.push({ code: 'custom', message, path: [path], input: value[path], params: { type: 'value_error' } });
  if (value.region !== undefined) addIssue('region', 'The region is that of the session. Omit this field');
  if (value.proxy !== null) addIssue('proxy', 'The egress is that of the session. Omit this field');
  if (value.kind !== 'headless') addIssue('kind', 'The kind is that of the session. Omit this field');
  if (value.profile !== null) addIssue('profile', 'The profile is that of the session. Omit this field');
}

const FlowName = boundedString(1, 100);

export const AgentRequest = z
  .strictObject({
    task: FlowName.describe('Name of the flow to run, one of `GET /v1/agent/tasks`, at most 100 characters.'),
    inputs: Inputs.describe('Inputs of the flow, as its JSON Schema describes them, at most 100.'),
    ...workFields,
  })
  .check(checkSession)
  .meta({ id: 'AgentRequest' });
export type AgentRequest = z.infer<typeof AgentRequest>;

export const TemplateRequest = z
  .strictObject({
    template: FlowName.describe('Name of the template to run, one of `GET /v1/templates`, at most 100 characters.'),
    inputs: Inputs.describe('Inputs of the template, as its JSON Schema describes them, at most 100.'),
    ...workFields,
  })
  .check(checkSession)
  .meta({ id: 'TemplateRequest' });
export type TemplateRequest = z.infer<typeof TemplateRequest>;

export const AgentStep = z
  .object({
    index: z.int().describe('Position of the step in the whole run, from 0.'),
    type: z.string().describe('Type of the step: one of the step language, or an act of the flow itself such as `find_list`.'),
    turn: z.int().optional().describe('Iteration of the enclosing loop, from 0.'),
    selector_used: z
      .union([z.string(), z.array(z.string())])
      .nullable()
      .describe('Selector that matched; null if the step needs none or nothing matched.'),
    healed: z.boolean().describe('Whether another selector than the given ones was found and used.'),
    duration_ms: z.int().describe('Duration of the step in milliseconds.'),
    status: z
      .enum(['ok', 'error', 'skipped'])
      .describe('Result of the step. `skipped`: its condition did not hold, or it is optional and failed.'),
    error: z
      .object({
        code: z.string().describe('Error code of the step.'),
        message: z.string().describe('What went wrong and what to do.'),
        details: FailureDetails,
      })
      .optional()
      .describe('Error of the step. Also present if the step is `skipped` because it is optional.'),
  })
  .meta({ id: 'AgentStep' });
export type AgentStep = z.infer<typeof AgentStep>;

const resultFields = {
  version: z.string().describe('Version of what ran.'),
  status: z.enum(jobStatuses).describe('Result of the run; `pending` while its job runs.'),
  output: z.unknown().describe('Output, as its JSON Schema describes it; null unless the status is `ok`.'),
  steps: z
    .array(AgentStep)
    .describe(
      'Steps in the order in which they ended, at most 1000; then `warnings` has `steps_truncated`. Those of a loop or branch are listed before it.',
    ),
  session_id: z.string().nullable().describe('Id of the session in which it ran; null if it did not start.'),
  block: Block.nullable().describe('What blocked the page; null if nothing did.'),
  usage: WorkUsage.describe('Resources that the run has used.'),
  final_url: z.string().nullable().describe('URL of the page at the end; null if no page was opened.'),
  warnings: z.array(z.string()).describe('Warnings that explain incomplete results, such as `limit_reached`.'),
  error: WorkError.nullable().describe('Error of a run with `status: error`; null otherwise.'),
  metadata: Metadata.describe('Metadata of the request.'),
  created_at: Timestamp.describe('When the run was requested (RFC 3339, UTC).'),
  started_at: Timestamp.nullable().describe('When the run started (RFC 3339, UTC); null before that.'),
  finished_at: Timestamp.nullable().describe('When the run finished (RFC 3339, UTC); null while it is pending.'),
};
const jobFields = {
  job_id: z.string().nullable().describe('Id of the job, which can be polled; null without `async`.'),
  poll_url: z.string().nullable().describe('URL at which to poll the job, the same as in `Location`; null without `async`.'),
};

export const AgentResult = z
  .object({ ...jobFields, task: z.string().describe('Name of the flow.'), ...resultFields })
  .meta({ id: 'AgentResponse' });
export type AgentResponse = z.infer<typeof AgentResult>;

export const TemplateResult = z
  .object({ ...jobFields, template: z.string().describe('Name of the template.'), ...resultFields })
  .meta({ id: 'TemplateResponse' });
export type TemplateResponse = z.infer<typeof TemplateResult>;

const JsonSchema = z.record(z.string(), z.unknown());

const itemFields = {
  name: z.string().describe('Name to run it by.'),
  title: z.string().describe('Title for people.'),
  description: z.string().describe('What it does and returns.'),
  version: z.string().describe('Version, which changes with its inputs or output.'),
  category: z.enum(flowCategories).describe('Category.'),
  inputs: JsonSchema.describe('JSON Schema (draft 2020-12) of the inputs. `writeOnly` marks secrets.'),
  output: JsonSchema.describe('JSON Schema (draft 2020-12) of the output.'),
  example: z.record(z.string(), z.unknown()).describe('Valid inputs.'),
};

export const AgentTask = z.object(itemFields).meta({ id: 'AgentTaskResponse' });
export type AgentTaskResponse = z.infer<typeof AgentTask>;

export const runAgent = endpoint({
  id: 'runAgent',
  method: 'POST',
  path: '/v1/agent',
  tag: 'Agent',
  summary: 'Run a flow',
  description:
    'Runs a named flow in a browser and returns its output and steps. The response status is 200 for `ok`, `blocked` ' +
    'and `error` alike, so that a direct and a polled result have the same shape. With `async` the result is ' +
    '`pending`, with `Location` and `Retry-After` headers; poll it with `GET /v1/job/{job_id}`.',
  auth: 'bearer',
  body: AgentRequest,
  reply: AgentResult,
  replyHeaders: asyncReplyHeaders,
  status: 200,
  errors: ['unknown_task', ...workErrors],
  cost: 'action',
  deadlineMs: flowTimeoutMs.max + 60_000,
  bodyLimitBytes,
});

export const listTasks = endpoint({
  id: 'listTasks',
  method: 'GET',
  path: '/v1/agent/tasks',
  tag: 'Agent',
  summary: 'List flows',
  description: 'Returns the flows that this service runs, with the JSON Schemas of their inputs and outputs and an example.',
  auth: 'bearer',
  reply: z.array(AgentTask),
  status: 200,
  errors: [],
});

export const templateFormats = ['steps', 'recorder', 'playwright'] as const;

export const Template = z
  .object({
    ...itemFields,
    steps: z
      .array(z.record(z.string(), z.unknown()))
      .describe('Its steps, in the step language. A step of the type `call` runs the flow `task` with `inputs`.'),
    recording: z
      .record(z.string(), z.unknown())
      .nullable()
      .describe(
        'The steps as a recording of the Chrome DevTools Recorder; null unless `format` is `recorder` and all steps have a counterpart.',
      ),
    playwright: z
      .string()
      .nullable()
      .describe('The steps as a Playwright test; null unless `format` is `playwright` and all steps have a counterpart.'),
  })
  .meta({ id: 'TemplateItemResponse' });
export type TemplateItemResponse = z.infer<typeof Template>;

export const runTemplate = endpoint({
  id: 'runTemplate',
  method: 'POST',
  path: '/v1/template',
  tag: 'Agent',
  summary: 'Run a template',
  description: 'Runs a template, a step list for a common task, and returns its output and steps. It responds as `POST /v1/agent` does.',
  auth: 'bearer',
  body: TemplateRequest,
  reply: TemplateResult,
  replyHeaders: asyncReplyHeaders,
  status: 200,
  errors: ['unknown_template', ...workErrors],
  cost: 'action',
  deadlineMs: flowTimeoutMs.max + 60_000,
  bodyLimitBytes,
});

export const listTemplates = endpoint({
  id: 'listTemplates',
  method: 'GET',
  path: '/v1/templates',
  tag: 'Agent',
  summary: 'List templates',
  description: 'Returns the templates with their steps, which you can change and run with the flow `custom`.',
  auth: 'bearer',
  query: z.strictObject({
    format: z
      .enum(templateFormats)
      .default('steps')
      .describe('Also returns the steps as a Recorder recording (`recorder`) or a Playwright test (`playwright`). Default: `steps`.'),
  }),
  reply: z.array(Template),
  status: 200,
  errors: [],
});
