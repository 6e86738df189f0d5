/** Work that the service does in a browser of its own: fetches, reports, flows, and jobs. */
import { readFileSync } from 'node:fs';
import type { AgentResponse, FetchRequest, InspectResponse, JobResponse, ListJobsQuery } from '@berth/sdk';
import type { Action, Context } from '../context.ts';
import { usageError } from '../failures.ts';
import { openInBrowser } from '../open-in-browser.ts';
import { toPairs } from '../options.ts';
import { renderTable, renderValue, report } from '../output.ts';
import { contentOf, refuseFailure, renderContent } from './outcome.ts';
import { toUrl } from './pages.ts';
import { readStdin } from './read.ts';

const isAsync = ({ options }: Context): { async?: true } => (options.flag('async') ? { async: true } : {});
const timeOf = ({ options }: Context): { timeout_ms?: number } => {
  const timeoutMs = options.number('timeout');
  return timeoutMs === undefined ? {} : { timeout_ms: timeoutMs };
};

export const fetchPage: Action = async (context) => {
  const { options } = context;
  const formats = options.list('format');
  const berth = await context.berth();
  const mode = options.text('mode');
  const request = {
    url: toUrl(context.arg(0)),
    formats: formats.length > 0 ? formats : ['markdown'],
    ...(mode === undefined ? {} : { mode }),
    ...(options.flag('main') ? { only_main_content: true } : {}),
    ...isAsync(context),
    ...timeOf(context),
  } as FetchRequest;
  const page = await berth.fetch(request, {}, { signal: context.signal });
  refuseFailure(page);
  const [first = 'markdown'] = request.formats ?? [];
  return report(page, (seen, paint) => (page.status === 'pending' ? renderValue(seen, paint) : renderContent(contentOf(seen, first))));
};

export const inspect: Action = async (context) => {
  const { options } = context;
  const berth = await context.berth();
  const [word] = context.args;
  const harFile = options.text('har');
  if (word === undefined && harFile === undefined)
    throw usageError('inspect needs a URL, or --har FILE.', 'berth inspect shop.example --open');
  const source = harFile === undefined ? { url: toUrl(word ?? '') } : { har: JSON.parse(readFileSync(harFile, 'utf8')) as never };
  const found = await berth.inspect({ ...source, ...isAsync(context), ...timeOf(context) }, {}, { signal: context.signal });
  refuseFailure(found);
  if (options.flag('open') && found.report_url !== null) openInBrowser(found.report_url);
  return report(found, (seen, paint) => renderInspection(seen, paint));
};

function renderInspection(found: InspectResponse, paint: Parameters<typeof renderValue>[1]): string {
  const { status, final_url, pages, api, third_parties, report_url, warnings } = found;
  return renderValue(
    {
      status,
      url: final_url,
      pages: pages.length,
      endpoints: (api as { endpoints?: unknown[] } | null)?.endpoints?.length,
      third_parties: third_parties?.length,
      report: report_url,
      ...(warnings.length > 0 ? { warnings } : {}),
    },
    paint,
  );
}

/** Runs a flow; without a name it lists them. Inputs are `name=value`; a value that is JSON is sent as what it says. */
export const run: Action = async (context) => {
  const [task, ...pairs] = context.args;
  const berth = await context.berth();
  if (task === undefined) {
    const flows = await berth.flows.list({ signal: context.signal });
    return report(flows, (seen, paint) =>
      renderTable(
        seen,
        [
          ['flow', ({ name }) => name],
          ['category', ({ category }) => category],
          ['what it does', ({ title }) => title],
        ],
        paint,
      ),
    );
  }
  const text = context.options.text('inputs');
  const given = text === undefined ? {} : parseInputs(text === '-' ? await readStdin() : readFileSync(text, 'utf8'));
  const inputs = {
    ...given,
    ...Object.fromEntries(Object.entries(toPairs(pairs, 'An input')).map(([name, value]) => [name, toValue(value)])),
  };
  const session = context.options.flag('here') ? { session_id: context.session().id } : {};
  const reply = await berth.run({ task, inputs, ...session, ...isAsync(context), ...timeOf(context) }, undefined, undefined, {
    signal: context.signal,
  });
  refuseFailure(reply);
  return report(reply, (seen: AgentResponse, paint) => renderValue((seen as { output?: unknown }).output ?? seen, paint));
};

function parseInputs(text: string): Record<string, unknown> {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    throw usageError('The inputs are not JSON.');
  }
}

function toValue(text: string): unknown {
  if (!/^(?:[[{"]|-?\d|true$|false$|null$)/.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** A screen of jobs where nobody said how many. */
const jobsShown = 20;

export const listJobs: Action = async (context) => {
  const { options, signal } = context;
  const berth = await context.berth();
  const [kind, status] = [options.text('kind'), options.text('status')];
  const filter = {
    limit: options.number('limit') ?? jobsShown,
    ...(kind === undefined ? {} : { kind }),
    ...(status === undefined ? {} : { status }),
  };
  const { items } = await berth.jobs.list(filter as ListJobsQuery, { signal });
  return report(items, (seen, paint) =>
    renderTable(
      seen,
      [
        ['job', ({ job_id }) => job_id],
        ['kind', (job) => job.kind],
        ['status', (job) => (job.status === 'pending' ? job.stage : job.status)],
        ['target', ({ target }) => target],
        ['credits', ({ usage }) => usage?.credits],
        ['created', ({ created_at }) => created_at],
        ['error', ({ error }) => error?.code],
      ],
      paint,
    ),
  );
};

export const showJob: Action = async (context) => {
  const berth = await context.berth();
  const id = context.arg(0);
  if (!context.options.flag('wait')) return report(await berth.jobs.get(id, {}, { signal: context.signal }));
  const note = ({ stage, status }: JobResponse): void => context.output.note(`${stage} (${status})`);
  return report(await berth.jobs.wait(id, { onProgress: note, signal: context.signal }));
};

export const cancelJob: Action = async (context) => {
  const berth = await context.berth();
  return report(await berth.jobs.cancel(context.arg(0), { signal: context.signal }));
};
