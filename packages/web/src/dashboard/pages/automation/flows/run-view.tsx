import { useSignal } from '@preact/signals';
import type { AgentResponse, AgentStep, JobResponse } from '@berth/contract';
import { hrefOf } from '../../../href.ts';
import { Badge } from '../../../ui/badge.tsx';
import { ForeignLink } from '../../../ui/values/foreign-link.tsx';
import { Table, type Column } from '../../../ui/table.tsx';
import { Tabs } from '../../../ui/tabs.tsx';
import { durationText, wordsOf } from '../../../ui/values/texts.ts';
import { BlockNote } from '../inspect/block-note.tsx';
import { JobBadge, Stats, usageText, Warnings, WorkErrorNote } from '../jobs/job-view.tsx';
import { TextBlock, ValueView } from '../values/value-view.tsx';

/** A run of a flow or template that has ended. Both have the same fields, except for the name. */
export function RunView({ job }: { job: JobResponse }) {
  const run = job.result as AgentResponse | null;
  const error = run?.error ?? job.error;
  const view = useSignal(job.status === 'ok' ? 'output' : 'steps');
  return (
    <section class="automation-result" aria-label="Result">
      <Stats
        items={[
          ['Result', <JobBadge status={job.status} />],
          run !== null && ['Time', runTime(run)],
          job.usage !== null && ['Used', usageText(job.usage)],
          run !== null && run.final_url !== null && ['Address', <ForeignLink to={run.final_url} />],
          job.session_id !== null && ['Session', <SessionLink id={job.session_id} />],
        ]}
      />
      {run?.block && <BlockNote block={run.block} />}
      {error && <WorkErrorNote error={error} />}
      {run && <Warnings warnings={run.warnings} />}
      {run && (
        <Tabs
          label="Result"
          current={view.value}
          onChange={(id) => (view.value = id)}
          tabs={[
            { id: 'output', title: 'Output' },
            { id: 'steps', title: `Steps (${run.steps.length})` },
            { id: 'json', title: 'JSON' },
          ]}
        >
          {view.value === 'output' &&
            (job.status === 'ok' ? (
              <ValueView value={run.output} label="output" />
            ) : (
              <p class="muted">Without success there is no output.</p>
            ))}
          {view.value === 'steps' && <Steps steps={run.steps} />}
          {view.value === 'json' && <TextBlock text={JSON.stringify(run, null, 2)} label="Result" fileName="run.json" />}
        </Tabs>
      )}
    </section>
  );
}

const SessionLink = ({ id }: { id: string }) => <a href={hrefOf(`/sessions/${encodeURIComponent(id)}`)}>{id}</a>;

const runTime = ({ started_at: from, finished_at: to }: AgentResponse): string =>
  from !== null && to !== null ? durationText(new Date(to).getTime() - new Date(from).getTime()) : '–';

const stepTones = { ok: 'good', error: 'bad', skipped: 'neutral' } as const;

const columns: readonly Column<AgentStep>[] = [
  { title: '#', cell: ({ index }) => index + 1, text: ({ index }) => index, isNumber: true },
  { title: 'Step', cell: ({ type }) => wordsOf(type), text: ({ type }) => type },
  {
    title: 'Result',
    cell: ({ status, healed, error }) => (
      <>
        <Badge tone={stepTones[status]}>{status}</Badge> {healed && <Badge tone="accent">healed</Badge>}
        {error && <p class="automation-foreign">{error.message}</p>}
      </>
    ),
    text: ({ status, error }) => `${status} ${error?.message ?? ''}`,
  },
  {
    title: 'Selector',
    cell: ({ selector_used: selector }) => selector !== null && <code class="automation-foreign">{[selector].flat().join(' › ')}</code>,
    text: ({ selector_used: selector }) => [selector ?? ''].flat().join(' '),
    isMinor: true,
  },
  { title: 'Time', cell: ({ duration_ms: ms }) => durationText(ms), text: ({ duration_ms: ms }) => ms, isNumber: true },
];

const Steps = ({ steps }: { steps: readonly AgentStep[] }) =>
  steps.length === 0 ? (
    <p class="muted">No step ran.</p>
  ) : (
    <Table
      caption="Steps"
      columns={columns}
      rows={steps}
      keyOf={({ index }) => String(index)}
      empty={null}
      hasFilter={false}
      rowsPerPage={50}
    />
  );
