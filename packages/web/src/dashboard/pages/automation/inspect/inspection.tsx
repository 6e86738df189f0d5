/** One inspection: its progress, then its report. */
import type { InspectResponse, JobResponse } from '@berth/contract';
import { hrefOf } from '../../../href.ts';
import type { PageProps } from '../../../page-entry.ts';
import { Icon } from '../../../ui/icons.tsx';
import { ForeignLink } from '../../../ui/values/foreign-link.tsx';
import { durationText } from '../../../ui/values/texts.ts';
import { BlockNote } from './block-note.tsx';
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

/** The report as the service renders it, in a frame without scripts: what a site wrote is no part of this page. */
export function ReportView({ job }: { job: JobResponse }) {
  const report = job.result as InspectResponse | null;
  const error = report?.error ?? job.error;
  const title = report?.site?.title || report?.pages[0]?.title;
  const reportPath = report?.report_url ? pathOf(report.report_url) : null;
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
      {report && <Actions report={report} reportPath={reportPath} />}
      {reportPath !== null && <iframe class="automation-report" src={reportPath} title="Report on the site" sandbox="" />}
    </section>
  );
}

/** The address at the service of this page, whatever name the service is known by elsewhere. */
function pathOf(address: string): string {
  const { pathname, search } = new URL(address);
  return pathname + search;
}

function Actions({ report, reportPath }: { report: InspectResponse; reportPath: string | null }) {
  const { api, har } = report;
  const files: [label: string, name: string, content: string | null][] = [
    ['OpenAPI document', 'openapi.json', api?.openapi ? JSON.stringify(api.openapi, null, 2) : null],
    ['TypeScript client', 'client.ts', api?.client ?? null],
    ['HAR', 'site.har', har && JSON.stringify(har)],
    ['JSON of the report', 'report.json', JSON.stringify(report, null, 2)],
  ];
  return (
    <div class="row">
      {reportPath !== null && (
        <a class="button button-main" href={reportPath} target="_blank" rel="noopener">
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
