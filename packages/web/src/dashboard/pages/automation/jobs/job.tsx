/** One job of any kind: its progress, then its result. */
import type { JobResponse } from '@berth/contract';
import { hrefOf } from '../../../href.ts';
import type { PageProps } from '../../../page-entry.ts';
import { Time } from '../../../ui/values/time.tsx';
import { FetchView } from '../fetch/fetch-result.tsx';
import { ReportView } from '../inspect/inspection.tsx';
import { JobView, Stats } from './job-view.tsx';
import { kindNames } from './jobs.tsx';
import { RunView } from '../flows/run-view.tsx';
import '../automation.css';

export default function JobPage({ params }: PageProps) {
  const jobId = params['job_id'] ?? '';
  return (
    <div class="page">
      <div class="page-head">
        <h1>Job</h1>
        <a class="button" href={hrefOf('/jobs')}>
          All jobs
        </a>
      </div>
      <code class="automation-foreign">{jobId}</code>
      <JobView key={jobId} jobId={jobId} kinds={['fetch', 'inspect', 'agent', 'template']}>
        {(job) => (
          <>
            <Stats
              items={[
                ['Kind', kindNames[job.kind]],
                ['Created', <Time at={job.created_at} />],
                ['Finished', <Time at={job.finished_at} />],
                ['Result deleted', <Time at={job.expires_at} />],
              ]}
            />
            <ResultView job={job} />
          </>
        )}
      </JobView>
    </div>
  );
}

function ResultView({ job }: { job: JobResponse }) {
  if (job.kind === 'fetch') return <FetchView job={job} />;
  return job.kind === 'inspect' ? <ReportView job={job} /> : <RunView job={job} />;
}
