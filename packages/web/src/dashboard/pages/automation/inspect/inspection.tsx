/** One inspection: its progress, then its findings. */
import type { InspectResponse, JobResponse } from '@berth/contract';
import { hrefOf } from '../../../href.ts';
import type { PageProps } from '../../../page-entry.ts';
import { Icon } from '../../../ui/icons.tsx';
import { ForeignLink } from '../../../ui/values/foreign-link.tsx';
import { Table, type Column } from '../../../ui/table.tsx';
import { durationText } from '../../../ui/values/texts.ts';
import { BlockNote } from './block-note.tsx';
import { toFindings, type Finding } from './findings.ts';
import { JobBadge, JobView, Stats, usageText, Warnings, WorkErrorNote } from '../jobs/job-view.tsx';
import { saveForeign } from '../values/save-foreign.ts';
import '../automation.css';

export default function InspectionPage({ params }: PageProps) {
  const jobId = params['job_id'] ?? '';
  return (
    <div class="page">
      <div class="page-head">
        <h1>Inspection</h1>
        <a class="button" href={hrefOf('/inspections')}>
          All inspections
        </a>
      </div>
      <JobView key={jobId} jobId={jobId} kinds={['inspect']}>
        {(job) => <ReportView job={job} />}
      </JobView>
    </div>
  );
}

/** What a report says, in short; the whole of it is a page of its own. */
export function ReportView({ job }: { job: JobResponse }) {
  const report = job.result as InspectResponse | null;
  const error = report?.error ?? job.error;
  const title = report?.site?.title || report?.pages[0]?.title;
  return (
    <section class="automation-result" aria-label="Report">
      {title && <h2 class="automation-foreign">{title}</h2>}
      <Stats
        items={[
          ['Result', <JobBadge status={job.status} />],
          report !== null && ['Time', durationText(report.duration_ms)],
          job.usage !== null && ['Used', usageText(job.usage)],
          report !== null && report.final_url !== null && ['Address', <ForeignLink to={report.final_url} />],
        ]}
      />
      {report?.block && <BlockNote block={report.block} />}
      {error && <WorkErrorNote error={error} />}
      {report && <Warnings warnings={report.warnings} />}
      {report && <Actions report={report} />}
      {report && <Findings findings={toFindings(report)} />}
      {report && <Pages pages={report.pages} />}
      {report?.api && <Endpoints endpoints={report.api.endpoints} />}
    </section>
  );
}

function Actions({ report }: { report: InspectResponse }) {
  const { report_url: reportUrl, api, har } = report;
  const files: [label: string, name: string, content: string | null][] = [
    ['OpenAPI document', 'openapi.json', api?.openapi ? JSON.stringify(api.openapi, null, 2) : null],
    ['TypeScript client', 'client.ts', api?.client ?? null],
    ['HAR', 'site.har', har && JSON.stringify(har)],
    ['JSON of the report', 'report.json', JSON.stringify(report, null, 2)],
  ];
  return (
    <div class="row">
      {reportUrl !== null && (
        <a class="button button-main" href={reportUrl} target="_blank" rel="noopener">
          <Icon name="file" />
          Open the full report
        </a>
      )}
      {files.map(
        ([label, name, content]) =>
          content !== null && (
            <button key={name} type="button" class="button" onClick={() => saveForeign(name, content)}>
              <Icon name="download" />
              {label}
            </button>
          ),
      )}
    </div>
  );
}

/** Findings by topic. The words, not only the colour, say which are warnings. */
function Findings({ findings }: { findings: readonly Finding[] }) {
  const topics = [...new Set(findings.map(({ topic }) => topic))];
  return (
    <dl class="automation-findings">
      {topics.map((topic) => (
        <div key={topic}>
          <dt>{topic}</dt>
          <dd>
            <ul>
              {findings
                .filter((finding) => finding.topic === topic)
                .map(({ text, tone }, n) => (
                  <FindingLine key={n} text={text} tone={tone} />
                ))}
            </ul>
          </dd>
        </div>
      ))}
    </dl>
  );
}

const toneClasses = { plain: '', good: 'tone-good', warning: 'tone-warn' } as const;

const FindingLine = ({ text, tone }: Pick<Finding, 'text' | 'tone'>) => (
  <li class={`automation-finding automation-foreign ${toneClasses[tone]}`}>
    {tone === 'warning' && <Icon name="alert" />}
    {tone === 'good' && <Icon name="check" />}
    <span>
      {tone === 'warning' && <span class="visually-hidden">Warning: </span>}
      {text}
    </span>
  </li>
);

type InspectedPage = InspectResponse['pages'][number];
const pageColumns: readonly Column<InspectedPage>[] = [
  {
    title: 'Page',
    cell: ({ title, url }) => <ForeignLink to={url}>{title || url}</ForeignLink>,
    text: ({ title, url }) => `${title} ${url}`,
  },
  { title: 'Status', cell: ({ status_code: status }) => status ?? '–', text: ({ status_code: status }) => status, isNumber: true },
  { title: 'Requests', cell: ({ requests }) => requests, text: ({ requests }) => requests, isNumber: true },
  {
    title: 'Load',
    cell: ({ load_ms: ms }) => (ms === null ? '–' : durationText(ms)),
    text: ({ load_ms: ms }) => ms,
    isNumber: true,
    isMinor: true,
  },
];

const Pages = ({ pages }: { pages: readonly InspectedPage[] }) =>
  pages.length === 0 ? null : (
    <div class="automation-stack">
      <h2>Pages</h2>
      <Table caption="Pages" columns={pageColumns} rows={pages} keyOf={({ page_id: id }) => id} empty={null} hasFilter={false} />
    </div>
  );

type ApiEndpoint = NonNullable<InspectResponse['api']>['endpoints'][number];
const endpointColumns: readonly Column<ApiEndpoint>[] = [
  {
    title: 'Endpoint',
    cell: ({ method, host, path_template: path }) => (
      <code class="automation-foreign">
        {method} {host}
        {path}
      </code>
    ),
    text: ({ method, host, path_template: path }) => `${method} ${host}${path}`,
  },
  { title: 'Kind', cell: ({ kind }) => kind, text: ({ kind }) => kind, isMinor: true },
  { title: 'Sign-in', cell: ({ auth_required: auth }) => auth, text: ({ auth_required: auth }) => auth },
  { title: 'Replay', cell: ({ replayable }) => replayable.replaceAll('_', ' '), text: ({ replayable }) => replayable, isMinor: true },
  { title: 'Calls', cell: ({ calls }) => calls, text: ({ calls }) => calls, isNumber: true },
];

const Endpoints = ({ endpoints }: { endpoints: readonly ApiEndpoint[] }) =>
  endpoints.length === 0 ? null : (
    <div class="automation-stack">
      <h2>Endpoints of its API</h2>
      <Table caption="Endpoints" columns={endpointColumns} rows={endpoints} keyOf={({ id }) => id} empty={null} />
    </div>
  );
