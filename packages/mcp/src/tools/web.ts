/** The web without a session: a page, and a report on a site. */
import type { FetchRequest, FetchResponse, InspectResponse } from '@berth/sdk';
import { z } from 'zod';
import { inLine, type Answer } from '../answer.ts';
import { fittingLength } from '../tokens.ts';
import { tool } from '../tool.ts';
import { jobAnswer, jobArgs, startOrWait } from './jobs.ts';
import { url } from './inputs.ts';
import { jsonAnswer, pageFrom } from './read.ts';

const formats = ['markdown', 'text', 'html', 'links', 'metadata', 'tables', 'json', 'snapshot', 'screenshot'] as const;
type Format = (typeof formats)[number];

export const fetchPage = tool({
  name: 'fetch',
  family: 'web',
  description: 'Fetch a URL without a session, with retries and block detection.',
  input: z.object({
    url,
    formats: z.array(z.enum(formats)).max(4).optional(),
    fields: z.record(z.string().max(64), z.string().max(2000)).optional().describe('name → CSS, for json'),
  }),
  isReadOnly: true,
  async run({ url, formats: named, fields }, { berth, options }) {
    const formats: readonly Format[] = named ?? ['markdown'];
    const asked: Format[] = fields && !formats.includes('json') ? [...formats, 'json'] : [...formats];
    const request: FetchRequest = { url, formats: asked, mode: asked.includes('screenshot') ? 'browser' : 'auto', timeout_ms: 50_000 };
    if (fields) request.extract = { fields: Object.fromEntries(Object.entries(fields).map(([name, selector]) => [name, { selector }])) };
    return describeFetch(await berth.fetch(request, undefined, options), asked);
  },
});

function describeFetch(reply: FetchResponse, asked: readonly Format[]): Answer {
  const problem = reply.error
    ? `${reply.error.code}: ${inLine(reply.error.message, 500)}`
    : reply.block
      ? `blocked: ${reply.block.type}`
      : null;
  const image = reply.screenshot?.data_base64 ?? reply.screenshot?.tiles?.[0]?.data_base64;
  const parts = asked.map((format) => partOf(reply, format)).filter((part) => part !== '');
  return {
    ...pageFrom([`${inLine(reply.title ?? '', 200)}\n${inLine(reply.final_url ?? reply.url)}`, ...parts].join('\n\n'), { tokens: 3000 }),
    head: [`${reply.status}, status ${reply.status_code ?? 'unknown'}`, problem],
    ...(image && reply.screenshot ? { image: { data: image, mimeType: reply.screenshot.content_type } } : {}),
    isError: reply.status !== 'ok',
  };
}

function partOf(reply: FetchResponse, format: Format): string {
  if (format === 'screenshot') return '';
  if (format === 'links') return (reply.links ?? []).map(({ text, url }) => `${inLine(text, 80)} ${inLine(url)}`).join('\n');
  if (format === 'metadata') return JSON.stringify(reply.page);
  if (format === 'tables' || format === 'json') return jsonAnswer(reply[format]).page ?? '';
  return reply[format] ?? '';
}

const reportTokens = 1400;

export const inspect = tool({
  name: 'inspect',
  family: 'web',
  description:
    'Report on a site: technologies, API, sign-in, security, how to automate it. Returns a job id if it takes longer than `wait` seconds.',
  input: z.object({ url: url.optional(), ...jobArgs }),
  isReadOnly: true,
  async run({ url, job, wait }, context) {
    if (url === undefined && job === undefined) return { head: ['`inspect` needs a `url`, or the `job` of an inspection.'], isError: true };
    const start = () => context.berth.inspect({ url: url ?? null, async: true }, undefined, context.options);
    const done = await startOrWait(context, { job, wait, start });
    return jobAnswer(done, (result) => summarize(result as unknown as InspectResponse));
  },
});

/** The parts that say what to do next; the rest is behind the link. */
function summarize({ site, api, auth, automation, security, report_url: link, ...report }: InspectResponse): Answer {
  const lines = [
    `${inLine(site?.title ?? '', 120)} ${inLine(report.final_url ?? '', 200)} (${report.status})`,
    list(
      'technologies',
      site?.technologies.map(({ name, version }) => `${name}${version === null ? '' : ` ${version}`}`),
    ),
    list(
      'protection',
      site?.waf.map(({ name }) => name),
    ),
    automation ? `automate by: ${automation.recommended_mode} (${automation.reason})` : '',
    list('content', automation?.content_selectors),
    auth
      ? list('sign-in', [
          auth.required_for_page ? 'required' : 'not required',
          ...auth.mechanisms.map(({ type, name }) => `${type} ${name ?? ''}`),
        ])
      : '',
    list('advice', auth?.recommendations),
    list(
      'security',
      security?.score_notes.filter(({ level }) => level === 'warning').map(({ text }) => text),
    ),
    api ? `API: ${api.summary.endpoints} endpoints` : '',
    ...(api?.endpoints ?? [])
      .filter((one) => one.first_party)
      .map((one) => `  ${one.method} ${one.host}${one.path_template} auth=${one.auth_required}`),
  ].filter((line) => line !== '');
  const text = lines.map((line) => inLine(line.trimEnd(), 400)).join('\n');
  const end = fittingLength(text, reportTokens);
  const page = end < text.length ? `${text.slice(0, end)}\n… (the rest is in the report)` : text;
  return { page, tail: [link === null ? null : `report, for a day: ${link}`], isError: report.status !== 'ok' };
}

const list = (name: string, values: readonly string[] | undefined): string =>
  values && values.length > 0 ? `${name}: ${values.slice(0, 20).join(', ')}` : '';
