/** Jobs: those of this tab, and any other by its id. */
import { useSignal } from '@preact/signals';
import { useLocation } from 'preact-iso';
import { hrefOf } from '../../href.ts';
import { useLive } from '../../live.ts';
import { TextField } from '../../ui/fields.tsx';
import { Empty, ErrorNote } from '../../ui/states.tsx';
import { Table, type Column } from '../../ui/table.tsx';
import { Time } from '../../ui/time.tsx';
import { JobBadge } from './job-view.tsx';
import { refreshPending, startedJobs } from './jobs-of-tab.ts';
import type { StartedJob } from './started-jobs.ts';
import './automation.css';

const hrefOfJob = (jobId: string): string => hrefOf(`/jobs/${encodeURIComponent(jobId)}`);

export const kindNames: Readonly<Record<StartedJob['kind'], string>> = {
  fetch: 'Fetch',
  inspect: 'Inspection',
  agent: 'Flow',
  template: 'Template',
};

const columns: readonly Column<StartedJob>[] = [
  {
    title: 'Job',
    cell: ({ jobId, title }) => <a href={hrefOfJob(jobId)}>{title || jobId}</a>,
    text: ({ title, jobId }) => `${title} ${jobId}`,
  },
  { title: 'Kind', cell: ({ kind }) => kindNames[kind], text: ({ kind }) => kindNames[kind], isMinor: true },
  { title: 'Status', cell: ({ status }) => <JobBadge status={status} />, text: ({ status }) => status },
  { title: 'Started', cell: ({ startedAtMs: at }) => <Time at={new Date(at).toISOString()} />, text: ({ startedAtMs: at }) => at },
  { title: 'Id', cell: ({ jobId }) => <code class="automation-foreign">{jobId}</code>, text: ({ jobId }) => jobId, isMinor: true },
];

export default function JobsPage() {
  const isPending = startedJobs.list.value.some(({ status }) => status === 'pending');
  const { error } = useLive(refreshPending, { everyMs: 5000, isEnabled: isPending });
  return (
    <div class="page">
      <div class="page-head">
        <h1>Jobs</h1>
      </div>
      <p class="muted">
        Fetches, inspections, flows and templates that were started in this tab. The service does not list jobs: to see one that a program
        or another tab started, enter its id.
      </p>
      <OpenJob />
      {error && <ErrorNote error={error} />}
      <Table
        caption="Jobs"
        columns={columns}
        rows={startedJobs.list.value}
        keyOf={({ jobId }) => jobId}
        empty={
          <Empty icon="clock" title="No jobs in this tab">
            <a href={hrefOf('/fetch')}>Fetch a page</a>, <a href={hrefOf('/inspections')}>inspect a site</a> or{' '}
            <a href={hrefOf('/flows')}>run a flow</a>.
          </Empty>
        }
      />
    </div>
  );
}

function OpenJob() {
  const { route } = useLocation();
  const id = useSignal('');
  const open = (event: SubmitEvent) => {
    event.preventDefault();
    route(hrefOfJob(id.value.trim()));
  };
  return (
    <form class="automation-line" onSubmit={open}>
      <TextField label="Job id" value={id.value} isRequired onInput={(text) => (id.value = text)} />
      <button type="submit" class="button">
        Open the job
      </button>
    </form>
  );
}
