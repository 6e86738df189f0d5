/** Jobs of the owner, whoever started them: filtered by the address, page by page. */
import type { JobItemResponse } from '@berth/contract';
import { call, callPage } from '../../../api.ts';
import { hrefOf } from '../../../href.ts';
import { useQuery } from '../../../query.ts';
import { SelectField } from '../../../ui/form/fields.tsx';
import { BulkBar, useSelection } from '../../../ui/selection.tsx';
import { ShortId } from '../../../ui/values/short-id.tsx';
import { Empty } from '../../../ui/states.tsx';
import { List, type Column } from '../../../ui/table.tsx';
import { durationText, numberText, wordsOf } from '../../../ui/values/texts.ts';
import { Time } from '../../../ui/values/time.tsx';
import { usePages } from '../../../use-pages.ts';
import { isExpired } from './history.tsx';
import { JobBadge, targetText } from './job-view.tsx';
import '../automation.css';

const refreshMs = 5000;
const dayMs = 86_400_000;

export const kindNames: Readonly<Record<JobItemResponse['kind'], string>> = {
  fetch: 'Fetch',
  inspect: 'Inspection',
  agent: 'Flow',
  template: 'Template',
};
const optionsOf = (all: string, names: Readonly<Record<string, string>>) => [
  { value: '', label: all },
  ...Object.entries(names).map(([value, label]) => ({ value, label })),
];
const kinds = optionsOf('All kinds', kindNames);
const statuses = optionsOf('All statuses', { pending: 'Pending', ok: 'Succeeded', 'blocked,error': 'Failed or blocked' });
const spans = optionsOf('Any time', { 1: '24 hours', 7: '7 days' });

const durationOf = ({ started_at: from, finished_at: to }: JobItemResponse): number | null =>
  from === null || to === null ? null : Date.parse(to) - Date.parse(from);

const isPending = ({ status }: JobItemResponse): boolean => status === 'pending';

const columns: readonly Column<JobItemResponse>[] = [
  {
    title: 'Job',
    // The result of an expired job cannot be opened.
    cell: (job) =>
      isExpired(job) ? (
        <>
          <bdi class="cell-text">{targetText(job)}</bdi> <span class="muted">Result deleted</span>
        </>
      ) : (
        <a class="automation-foreign" href={hrefOf(`/jobs/${encodeURIComponent(job.job_id)}`)}>
          {targetText(job)}
        </a>
      ),
    text: targetText,
  },
  { title: 'Kind', cell: ({ kind }) => kindNames[kind], text: ({ kind }) => kindNames[kind], isMinor: true },
  {
    title: 'Status',
    cell: ({ status, error }) => (
      <>
        <JobBadge status={status} /> {error && <span class="muted">{wordsOf(error.code)}</span>}
      </>
    ),
    text: ({ status, error }) => `${status} ${error?.code ?? ''}`,
  },
  {
    title: 'Duration',
    cell: (job) => (durationOf(job) === null ? '–' : durationText(durationOf(job) ?? 0)),
    text: durationOf,
    isNumber: true,
    isMinor: true,
  },
  {
    title: 'Credits',
    cell: ({ usage }) => (usage ? numberText(usage.credits) : '–'),
    text: ({ usage }) => usage?.credits ?? null,
    isNumber: true,
    isMinor: true,
  },
  { title: 'Created', cell: ({ created_at: at }) => <Time at={at} />, text: ({ created_at: at }) => at },
  { title: 'Id', cell: ({ job_id: id }) => <ShortId id={id} what="the job id" />, isMinor: true },
];

export default function JobsPage() {
  const { values, set } = useQuery({ kind: kinds, status: statuses, days: spans });
  const { kind, status, days } = values;
  const selection = useSelection();
  const list = usePages(
    ({ cursor, signal }) => {
      const since = days === undefined ? undefined : Math.floor((Date.now() - Number(days) * dayMs) / 1000);
      return callPage('listJobs', { query: { kind, status, since, cursor }, signal });
    },
    { everyMs: refreshMs, inputs: [kind, status, days] },
  );
  const isFiltered = Object.keys(values).length > 0;
  return (
    <div class="page">
      <div class="page-head">
        <h1>Jobs</h1>
      </div>
      <p class="muted">
        Fetches, inspections, flows and templates that were started as jobs, here and by programs. Results are kept for 24 hours after the
        end, and the list for 31 days.
      </p>
      <div class="filter-fields">
        <SelectField label="Kind" value={kind ?? ''} options={kinds} onInput={(value) => set({ kind: value })} />
        <SelectField label="Status" value={status ?? ''} options={statuses} onInput={(value) => set({ status: value })} />
        <SelectField label="Created" value={days ?? ''} options={spans} onInput={(value) => set({ days: value })} />
      </div>
      <BulkBar
        selection={selection}
        possible={(list.live.data ?? []).filter(isPending).map(({ job_id: id }) => id)}
        nouns={['job', 'jobs']}
        verbs={['Cancel', 'cancelled']}
        text="What they have done so far is charged, and they have no result. This cannot be undone."
        act={(id) => call('cancelJob', { params: { job_id: id } })}
        onDone={list.live.reload}
      />
      <List
        live={list.live}
        caption="Jobs"
        name="main"
        columns={columns}
        keyOf={({ job_id: id }) => id}
        onMore={list.onMore}
        selection={{ of: selection, canChoose: isPending, nameOf: targetText }}
        empty={
          isFiltered ? (
            <Empty icon="search" title="No job matches">
              <a href={hrefOf('/jobs')}>Show all jobs</a>
            </Empty>
          ) : (
            <Empty icon="clock" title="No jobs yet">
              <a href={hrefOf('/fetch')}>Fetch a page</a>, <a href={hrefOf('/inspections')}>inspect a site</a> or{' '}
              <a href={hrefOf('/flows')}>run a flow</a>.
            </Empty>
          )
        }
      />
    </div>
  );
}
